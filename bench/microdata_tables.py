"""The paper's figures for the bench of microdata: read from its text beside the data, never stored here.

``printed`` maps (query, family, law, amount) to {dataset: {method: (total, max)}}; sums have max None.  Without the
text the benchmark prints its own figures alone.
"""

from __future__ import annotations

import re
from pathlib import Path

METHODS = ("ols", "nnls", "max", "sequential", "reweighted")
Figures = dict[str, dict[str, tuple[float, float | None]]]
_CAPTION = re.compile(
    r"^Table (\d+): .*?(Id|Sum|Marg1|Marg2) Query\. (1-d|2-d|PUMS) datasets\. "
    r"(Lap|Gauss) Mechanism \(\$\\(?:epsilon|rho) = ([0-9.]+)\$\)"
)


def printed(text: Path) -> dict[tuple[str, str, str, float], Figures]:
    """All appendix tables of the paper's plain text; empty when it is not there."""
    found: dict[tuple[str, str, str, float], Figures] = {}
    if not text.exists():
        return found
    rows: Figures = {}
    for line in text.read_text(encoding="utf-8").splitlines():
        caption = _CAPTION.match(line)
        if caption:
            found[(caption[2].lower(), caption[3], caption[4].lower(), float(caption[5]))] = rows
            rows = {}
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|\n ").split("|")]
            numbers = [float(m[1]) for c in cells[1:] if (m := re.fullmatch(r"([0-9.]+)(?: ±.*)?", c))]
            if cells[0] and len(numbers) == 10:
                rows[cells[0]] = {m: (numbers[2 * k], numbers[2 * k + 1]) for k, m in enumerate(METHODS)}
            elif cells[0] and len(numbers) == 5:
                rows[cells[0]] = {m: (numbers[k], None) for k, m in enumerate(METHODS)}
        elif line.startswith("Table"):
            rows = {}
    return found
