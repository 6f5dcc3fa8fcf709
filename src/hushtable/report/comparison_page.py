"""The page of a comparison: which numbers of two releases differ by more than noise."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import polars as pl

from hushtable.release import ReleaseComparison
from hushtable.report.page import Page, ReportFile, check_place
from hushtable.report.pieces import Chapter, Grid, Section
from hushtable.version import __version__

MOST_LISTED = 400
"""Rows of a table that the page lists, those with the smallest p-values; the CSV file beside it has all."""
_WHAT = (
    "Every number of both releases has noise that protects people. A difference is called significant where noise "
    "alone would hardly give as much."
)
_MANY = (
    "Among all cells: the same for all cells of a table together. Use it when you pick the largest changes; cell by "
    "cell, some that did not change are called significant by chance, and the table says how many to expect."
)


def comparison_page(found: ReleaseComparison, folder: str) -> Page:
    """The page with the data behind it in ``folder``."""
    this, last = found.this.card, found.last.card
    facts = (
        ("This", f"{found.this.schema.about.period or this.ledger.name}, made {this.ledger.time}, {this}"),
        ("Last", f"{found.last.schema.about.period or last.ledger.name}, made {last.ledger.time}, {last}"),
        ("Tables that both tell", f"{len(found.marginals):,}"),
        ("Level", f"{1 - found.alpha:.10g}"),
    )
    summary = found.summary()
    return Page(
        title=found.this.schema.about.title or f"What changed in {this.ledger.name}",
        lead=_WHAT,
        chapters=(
            Chapter.of(
                "changes",
                "",
                Section(
                    "overview",
                    "In short",
                    (_MANY,),
                    facts=facts,
                    grids=(Grid("summary", "Changes by table", summary, searchable=summary.height > 20),),
                ),
                *(_section(k, names, frame) for k, (names, frame) in enumerate(found.tables(), 1)),
            ),
        ),
        footer=found.note,
        folder=folder,
        version=__version__,
    )


def write_comparison_report(
    found: ReleaseComparison, out: str | PathLike[str] = "changes.html"
) -> ReportFile:
    """Write the page and its data."""
    file = Path(out).absolute()
    check_place(file)
    return comparison_page(found, file.with_suffix("").name + "-data").write(file)


def _section(number: int, names: tuple[str, ...], frame: pl.DataFrame) -> Section:
    title = " by ".join(names) if names else "All records"
    words = {True: "yes", False: ""}
    flags = [name for name in frame.columns if frame[name].dtype == pl.Boolean]
    shown = frame.with_columns(pl.col(name).replace_strict(words, return_dtype=pl.String) for name in flags)
    listed = None if shown.height <= MOST_LISTED else shown.sort("p_value").head(MOST_LISTED)
    said = () if listed is None else (f"The {MOST_LISTED} smallest p-values of {shown.height:,} cells.",)
    grid = Grid(f"table-{number}", title, shown, searchable=shown.height > 20, listed=listed)
    return Section(f"changes-{number}", title, said, grids=(grid,))
