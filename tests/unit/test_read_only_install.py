"""A package that cannot be written and a user without a home, as in a locked-down container: every command works."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hushtable

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
SCHEMA = "attributes:\n  sex: {type: categorical, values: [F, M]}\n  age: {type: integer, bounds: [0, 9]}\n"
KNOWN = "--schema s.yaml --ledger l.ledger"
SHORT = ["ledger create l.ledger --budget rho=1", "ledger show l.ledger"]
LONG = [
    *SHORT,
    f"release d.csv {KNOWN} --order 2 --budget rho=0.1 --out out",
    "table out age",
    "microdata out --out records.csv",
    f"check d.csv {KNOWN} --synthetic records.csv --query COUNT --tau 5 --budget rho=0.001",
]


def drop_override() -> None:
    """Let permissions count for root too."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a folder that nobody can write to")
@pytest.mark.parametrize(
    "commands", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)], ids=["short", "long"]
)
def test_every_command_works_where_nothing_can_be_kept(commands: list[str], tmp_path: Path) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    shutil.copytree(
        Path(hushtable.__file__).parent, site / "hushtable", ignore=shutil.ignore_patterns("__pycache__")
    )
    for path in (site, *site.rglob("*")):
        path.chmod(0o555)
    work.mkdir()
    (work / "s.yaml").write_text(SCHEMA)
    (work / "d.csv").write_text("sex,age\nF,1\nM,2\n")
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("XDG", "NUMBA", "PYTHON"))
    }
    environment = {**kept, "HOME": "/proc/nowhere", "PYTHONPATH": str(site)}
    try:
        for words in commands:
            done = subprocess.run(
                [sys.executable, "-c", "from hushtable.cli import main; main()", *words.split()],
                cwd=work,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                preexec_fn=drop_override if os.geteuid() == 0 else None,
            )
            assert done.returncode == 0 and "Traceback" not in done.stderr, (words, done.stdout, done.stderr)
        assert not list(site.rglob("__pycache__")), "something was kept"
    finally:
        for path in (site, *site.rglob("*")):
            path.chmod(0o755)
