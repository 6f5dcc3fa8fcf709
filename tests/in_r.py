"""A line of R, run where R and the package that it names are installed; a test is skipped where they are not."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

_LOADS = "if (!requireNamespace({package}, quietly = TRUE)) quit(status = 9)"


def in_r(line: str, folder: Path) -> list[dict[str, str]]:
    """The rows of the data frame that ``line`` gives inside ``folder``."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("Rscript is not installed: apt-get install r-base-core r-cran-readxl")
    named = re.search(r"(\w+)::", line)
    needed = [_LOADS.format(package=f'"{named[1]}"')] if named else []
    told = folder.parent / "told.csv"
    script = [
        *needed,
        f"found <- {line}",
        f'write.csv(found, "{told}", row.names = FALSE, fileEncoding = "UTF-8")',
    ]
    ended = subprocess.run(
        [rscript, "--vanilla", "-e", "\n".join(script)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if ended.returncode == 9:
        pytest.skip(f"R has no package {named[1] if named else ''}")
    assert ended.returncode == 0, ended.stderr
    with told.open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))
