"""Which source to read for which task: tables, microdata, or neither."""

from __future__ import annotations

from typing import Any

import polars as pl

from hushtable.reconstruct import FULLY
from hushtable.report.headings import Heading
from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View

TABLES, MICRODATA, NEITHER = "tables", "microdata", "neither"
_ALSO: dict[str, Heading] = {"error": ("Expected error", "{:,}")}


def reading_section(view: View) -> Section:
    """A table of task, source and expected error."""
    return Section(
        "reading",
        "Which source for which task",
        ("Every published number has an error. This is the smallest that this release offers for a task.",),
        grids=(Grid("reading", "Task, source and expected error", reading_data(view), also=_ALSO),),
    )


def reading_data(view: View) -> pl.DataFrame:
    """One row per task."""
    rows = [_total(view), *_by_order(view), *_records(view), *_beyond(view)]
    return pl.DataFrame(
        rows, schema={"task": pl.String, "source": pl.String, "error": pl.String}, orient="row"
    )


def _total(view: View) -> tuple[str, str, str]:
    half = (view.total["upper"] - view.total["lower"]) / 2
    return ("How many records there are", TABLES, f"± {half:,.1f} at 95%")


def _by_order(view: View) -> list[tuple[str, str, str]]:
    """A count by one, two, ... attributes: what the narrowest, typical and widest table of that order gives."""
    rows = [_counts(order, view.small_errors.filter(pl.col("order") == order)) for order in (1, 2)]
    orders = {len(s) for s in view.release.workload}
    large = view.marginals.with_columns(order=pl.Series([len(s) for s in view.release.workload]))
    rows += [_counts(order, large.filter(pl.col("order") == order)) for order in sorted(orders) if order > 2]
    return [row for row in rows if row is not None]


def _counts(order: int, tables: pl.DataFrame) -> tuple[str, str, str] | None:
    if tables.is_empty():
        return None
    words = {1: "one attribute", 2: "two attributes", 3: "three attributes"}.get(order, f"{order} attributes")
    known = tables.filter(pl.col("measured") == FULLY)["half_width"].drop_nulls()
    if known.is_empty():
        return (f"A count by {words}", TABLES, "bounds per cell; the estimate is a model's guess")
    low, high = _number(known.min()), _number(known.max())
    error = (
        f"± {low:,.1f} at 95%" if f"{low:,.1f}" == f"{high:,.1f}" else f"± {low:,.1f} to {high:,.1f} at 95%"
    )
    if known.len() < tables.height:
        error += f" in {known.len():,} of {tables.height:,} tables, bounds in the others"
    return (f"A count by {words}", TABLES, error)


def _records(view: View) -> list[tuple[str, str, str]]:
    """The same counts taken from the records, where the bundle says how far they lie apart."""
    found = view.explanation
    if found is None:
        return []
    near, whole = found.agreeing, len(found.tables)
    part = f"{near:,} of {whole:,} tables; read the others from the tables" if near < whole else "all tables"
    error = f"that of the tables: the difference is within their noise in {part}"
    return [("The same counts, from records", MICRODATA, error)]


def _beyond(view: View) -> list[tuple[str, str, str]]:
    most = max((len(s) for s in view.release.workload), default=0)
    return [
        (
            "A sum of many cells of one table",
            TABLES,
            _sums(view),
        ),
        (
            f"A question about more than {most} attributes at once, or a model trained on records",
            MICRODATA,
            "unknown; hush check says whether a number can be trusted",
        ),
        ("Anything about one person, or about a handful", NEITHER, "the noise hides it; that is the purpose"),
    ]


def _sums(view: View) -> str:
    """Whether a total is sharper than its cells added up: it is not, where every cell was measured alone."""
    whole = _number(view.release.table()["std"][0])
    known = view.marginals.filter(pl.col("measured") == FULLY)
    added = known.select((pl.col("cells") * pl.col("std") ** 2).max()).item()
    if added is not None and whole**2 > 0.999 * added:
        return "that of the table of fewer attributes, which is such a sum; it grows with the root of their number"
    return "the table of fewer attributes has it with a smaller error; add cells only where there is none"


def _number(value: Any) -> float:
    return float(value)
