"""The page that sets our records beside those of peers, from what ``peers`` has left; where a peer wins comes first.

hush bench peers_page -- [--rows bench/out/peers.json] [--out docs/benchmarks-peers.md]
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.peers.environments import DPMM, JUDGE, OPENDP, SMARTNOISE
from bench.peers.peers import OWN
from bench.shared.places import OUT, ROOT

ERRORS = ("1-way", "2-way", "3-way", "4-way")
SCORES = ("accuracy", "auc", "shapes", "trends")
HEAD = """\
# Beside other synthesizers

Written by `hush bench peers_page` from what `hush bench peers` measured. Everybody gets the same rows, epsilon and
delta 1e-9, and as many records are drawn as there were rows. Errors are mean L1 over tables divided by the rows (2 is
the most; sparse tables of few rows cannot be near 0). A classifier (gradient boosting of scikit-learn) is trained on
the records and tested on rows that nobody saw; shapes and trends are the scores of sdmetrics. The row *real* has the
rows that nobody saw in place of records, and a classifier trained on the true rows. A run ends at a limit of
processor time.
"""


@dataclass(frozen=True)
class Cell:
    """The runs of one peer on one table at one epsilon."""

    rows: Sequence[dict[str, Any]]

    @property
    def done(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if "left_out" not in row]

    def mean(self, figure: str) -> float | None:
        values = [row[figure] for row in self.done if figure in row]
        return fmean(values) if values else None

    def reason(self) -> str:
        return next((row["left_out"] for row in self.rows if "left_out" in row), "")


Grid = dict[tuple[str, float], dict[str, Cell]]


def grid(rows: Sequence[dict[str, Any]]) -> Grid:
    """Runs by table and epsilon, then by peer."""
    found: dict[tuple[str, float], dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["table"], row["epsilon"]][row["peer"]].append(row)
    return {key: {peer: Cell(runs) for peer, runs in peers.items()} for key, peers in sorted(found.items())}


def wins(cells: Grid) -> Iterator[str]:
    """Where a peer is better than we are, by any figure."""
    for (table, epsilon), peers in cells.items():
        own = peers.get(OWN)
        for peer, cell in peers.items():
            if own is None or peer in (OWN, "real"):
                continue
            for figure in (*ERRORS, *SCORES):
                ours, theirs = own.mean(figure), cell.mean(figure)
                if ours is None or theirs is None:
                    continue
                if (theirs < ours) if figure in ERRORS else (theirs > ours):
                    yield f"- {table}, epsilon {epsilon:g}, {figure}: {peer} {theirs:.4g}, {OWN} {ours:.4g}"


def table_of(peers: dict[str, Cell]) -> Iterator[str]:
    """A row for each peer."""
    yield "| | runs | " + " | ".join((*ERRORS, *SCORES)) + " | processor seconds |"
    yield "|---" * (len(ERRORS) + len(SCORES) + 3) + "|"
    for peer, cell in peers.items():
        figures = [cell.mean(figure) for figure in (*ERRORS, *SCORES)]
        shown = ["" if value is None else f"{value:.4g}" for value in figures]
        seconds = cell.mean("processor")
        last = cell.reason() if not cell.done else "" if seconds is None else f"{seconds:.3g}"
        yield f"| {peer} | {len(cell.done)} | " + " | ".join(shown) + f" | {last} |"


def page(rows: Sequence[dict[str, Any]]) -> str:
    """All of it."""
    cells = grid(rows)
    lines = [HEAD, "## Where a peer is better", "", *(list(wins(cells)) or ["Nowhere in what was run."])]
    real = {table: peers for (table, epsilon), peers in cells.items() if epsilon == 0}
    for (table, epsilon), peers in cells.items():
        if epsilon:
            lines += ["", f"## {table}, epsilon {epsilon:g}", "", *table_of(peers | real.get(table, {}))]
    versions = [e.versions() for e in (DPMM, SMARTNOISE, OPENDP, JUDGE) if e.python.exists()]
    return "\n".join([*lines, "", "Installed: " + "; ".join(versions) + ".", ""])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, default=OUT / "peers.json")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks-peers.md")
    given = parser.parse_args()
    given.out.write_text(page(json.loads(given.rows.read_text())), encoding="utf-8")


if __name__ == "__main__":
    main()
