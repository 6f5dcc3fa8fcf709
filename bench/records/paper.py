"""The paper's figures for the bench of microdata: read from its text beside the data, never stored here.

``printed`` maps (query, family, law, amount) to {dataset: {method: Printed}}; sums have no largest.  Without the text
the benchmark shows its own figures alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

METHODS = ("ols", "nnls", "max", "sequential", "reweighted")
_CAPTION = re.compile(
    r"^Table (\d+): .*?(Id|Sum|Marg1|Marg2) Query\. (1-d|2-d|PUMS) datasets\. "
    r"(Lap|Gauss) Mechanism \(\$\\(?:epsilon|rho) = ([0-9.]+)\$\)"
)


@dataclass
class Printed:
    """One printed figure: the total over cells, the largest over cells, and the standard error of the total."""

    table: int
    total: float
    largest: float | None
    error: float | None = None


Key = tuple[str, str, str, float]
Figures = dict[str, dict[str, Printed]]


def printed(text: Path) -> dict[Key, Figures]:
    """All appendix tables of the paper's plain text; empty when it is not there.  Cells that hold NA are left out."""
    found: dict[Key, Figures] = {}
    if not text.exists():
        return found
    rows: Figures = {}
    name = ""
    for line in text.read_text(encoding="utf-8").splitlines():
        caption = _CAPTION.match(line)
        if caption:
            for figures in rows.values():
                for figure in figures.values():
                    figure.table = int(caption[1])
            found[(caption[2].lower(), caption[3], caption[4].lower(), float(caption[5]))] = rows
            rows = {}
        elif line.startswith("Table"):
            rows = {}
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
            if cells[0]:
                name = cells[0]
                rows.update({name: row} if (row := _figures(cells[1:])) else {})
            elif name in rows:
                _add_errors(rows[name], cells[1:])
    return found


def _figures(cells: list[str]) -> dict[str, Printed]:
    """A row of five totals, or of five pairs of total and largest; a cell may hold its error as well."""
    wide = len(cells) == 2 * len(METHODS)
    row: dict[str, Printed] = {}
    for method, cell, largest in zip(
        METHODS, cells[::2] if wide else cells, cells[1::2] if wide else [""] * len(METHODS), strict=False
    ):
        total = re.fullmatch(r"([0-9.]+)(?: ± ?([0-9.]+))?", cell)
        if total:
            error = float(total[2]) if total[2] else None
            row[method] = Printed(0, float(total[1]), float(largest) if largest else None, error)
    return row


def _add_errors(row: dict[str, Printed], cells: list[str]) -> None:
    """The line below a row: ± of every figure."""
    per_method = cells[::2] if len(cells) == 2 * len(METHODS) else cells
    for method, cell in zip(METHODS, per_method, strict=False):
        error = re.fullmatch(r"± ?([0-9.]+)", cell)
        if error and method in row:
            row[method].error = float(error[1])
