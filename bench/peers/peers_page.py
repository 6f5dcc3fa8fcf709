"""The page that sets our records beside those of peers, from what ``peers`` has left; where a peer wins comes first.

    hush bench peers_page -- [--rows bench/history/peers.json] [--out docs/benchmarks-peers.md]

The means of all that was run join the history of figures.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import altair as alt

from bench.peers.environments import DPMM, JUDGE, OPENDP, SMARTNOISE
from bench.peers.peers import OWN, ROWS
from bench.shared.history import keep
from bench.shared.places import ROOT

PAGE = ROOT / "docs" / "benchmarks-peers.md"
ERRORS = ("1-way", "2-way", "3-way", "4-way")
SCORES = ("accuracy", "auc", "shapes", "trends")
HEAD = """\
# Beside other synthesizers

Written by `hush bench peers_page` from what `hush bench peers` measured. Everybody gets the same rows, epsilon and
delta 1e-9, and as many records are drawn as there were rows. Errors are mean L1 over tables divided by the rows (2 is
the most; sparse tables of few rows cannot be near 0). A classifier (gradient boosting of scikit-learn) is trained on
the records and tested on rows that nobody saw; shapes and trends are the scores of sdmetrics. The row *real* has the
rows that nobody saw in place of records, and a classifier trained on the true rows. A run ends at a limit of
processor time. *tables* is the error of our released three-way tables themselves, which peers do not have.

A peer is said to be better where its mean is; "by chance" where the difference is within two standard errors of it.
Errors compare records with all the rows that the synthesizers saw, of up to 300 tables of each order.
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

    def error(self, figure: str) -> float | None:
        """Standard error of the mean; none of a single run."""
        values = [row[figure] for row in self.done if figure in row]
        return stdev(values) / len(values) ** 0.5 if len(values) > 1 else None

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
                    spread = [cell.error(figure), own.error(figure)]
                    sure = (
                        None not in spread and abs(theirs - ours) > 2 * sum(x * x for x in spread if x) ** 0.5
                    )
                    chance = "" if sure else " (by chance, or too few runs to tell)"
                    yield f"- {table}, epsilon {epsilon:g}, {figure}: {peer} {theirs:.4g}, {OWN} {ours:.4g}{chance}"


def table_of(peers: dict[str, Cell]) -> Iterator[str]:
    """A row for each peer."""
    columns = (*ERRORS, "tables", *SCORES, "processor", "memory")
    yield "| | runs | " + " | ".join((*ERRORS, "tables", *SCORES)) + " | processor seconds | GB |"
    yield "|---" * (len(columns) + 2) + "|"
    for peer, cell in peers.items():
        shown = ["" if value is None else f"{value:.4g}" for value in map(cell.mean, columns)]
        if not cell.done:
            shown[-2] = cell.reason()
        yield f"| {peer} | {len(cell.done)} | " + " | ".join(shown) + " |"


def chart(cells: Grid, path: Path) -> None:
    """Three-way errors of records by epsilon, a panel for each table."""
    values = [
        {"table": table, "epsilon": epsilon, "records of": peer, "error": cell.mean("3-way")}
        for (table, epsilon), peers in cells.items()
        for peer, cell in peers.items()
        if epsilon and cell.done
    ]
    panel = (
        alt.Chart(width=230, height=200)
        .mark_line(point=True)
        .encode(
            x=alt.X("epsilon:Q", scale=alt.Scale(type="log"), axis=alt.Axis(values=[0.1, 1, 10])),
            y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="mean L1 of three-way tables / rows"),
            color=alt.Color("records of:N", title=None),
        )
    )
    panel.facet(
        facet=alt.Facet("table:N", title=None), columns=2, data=alt.Data(values=values)
    ).resolve_scale(y="independent").save(str(path))


def page(rows: Sequence[dict[str, Any]], folder: Path) -> str:
    """All of it, with its chart in the folder of images."""
    cells = grid(rows)
    lines = [HEAD, "## Where a peer is better", "", *(list(wins(cells)) or ["Nowhere in what was run."])]
    chart(cells, folder / "images" / "peers.svg")
    lines += ["", "![Errors of three-way tables by epsilon](images/peers.svg)"]
    real = {table: peers for (table, epsilon), peers in cells.items() if epsilon == 0}
    for (table, epsilon), peers in cells.items():
        if epsilon:
            lines += ["", f"## {table}, epsilon {epsilon:g}", "", *table_of(peers | real.get(table, {}))]
    versions = [e.versions() for e in (DPMM, SMARTNOISE, OPENDP, JUDGE) if e.python.exists()]
    return "\n".join([*lines, "", "Installed: " + "; ".join(versions) + ".", ""])


def means(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Three-way errors of records, as the history keeps them."""
    return {
        f"{table}, epsilon {epsilon:g}, {peer}: three-way error of records": error
        for (table, epsilon), peers in grid(rows).items()
        for peer, cell in peers.items()
        if epsilon and (error := cell.mean("3-way")) is not None
    }


def write(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """The page and its chart."""
    (path.parent / "images").mkdir(exist_ok=True)
    path.write_text(page(rows, path.parent), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    rows = json.loads(given.rows.read_text())
    write(rows, given.out)
    if given.rows == ROWS:
        keep("peers", means(rows))


if __name__ == "__main__":
    main()
