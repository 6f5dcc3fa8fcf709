"""The kept history of figures: each run of a benchmark adds a line to ``bench/history/NAME.jsonl``.

A kept figure means the same on another machine: a ratio of two runs side by side, an error, a share.  Seconds alone are
printed and not kept.  The page of all that was kept is written again with each line.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from bench.shared import trends
from bench.shared.places import ROOT
from bench.shared.trends import FOLDER

DIGITS = 6


def keep(name: str, figures: Mapping[str, float], folder: Path = FOLDER, **facts: str) -> None:
    """Add a run; ``facts`` are what the figures were measured against or with."""
    line = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "commit": _commit(),
        **facts,
        "figures": {figure: float(f"{value:.{DIGITS}g}") for figure, value in figures.items()},
    }
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
    if folder == FOLDER:
        trends.write()


def _commit() -> str:
    """The commit that was measured, with a plus sign where files had changed since."""
    asked = subprocess.run(
        ["git", "describe", "--always", "--exclude=*", "--dirty=+"], cwd=ROOT, capture_output=True, text=True
    )
    return asked.stdout.strip() or "unknown"
