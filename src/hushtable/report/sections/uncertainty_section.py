"""Where a release lies against the uncertainty principle: errors of counts and of their sum, and what must be paid.

The lower bound holds for all nonnegative records of the same price, whatever made them; released tables may go below
zero and lie under it.  Errors here are roots of mean squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import altair as alt
import polars as pl

from hushtable.release import MeasuredTable
from hushtable.report.pieces import Figure, Section
from hushtable.report.theme import BLUE, GREEN, RED, chart, finished
from hushtable.report.view import View

LINE, TABLES, RECORDS = "no private records lie below", "tables as released", "promised for records"
_COLOURS = {LINE: RED, TABLES: BLUE, RECORDS: GREEN}
_STEPS = (0.5, 2.0)
"""Errors of the sum between which the line is drawn, in those of the release; it is nearly straight there."""

_IDLE = 0.01
"""Share of the error of a count below which the least that any records must have is no news: charts and bounds beside
it would be read as a warning.  A tenth is still drawn: a strategy of one table comes close to the line."""


@dataclass(frozen=True)
class Standing:
    """One table of a release with its squared errors, and the least that records must have."""

    table: MeasuredTable
    least_point_error: float
    least_sum_error: float

    @property
    def idle(self) -> bool:
        """Whether the bound lies so far below the table's errors that it forbids nothing here."""
        return self.least_sum_error == 0 and self.least_point_error < _IDLE**2 * self.table.best.point_error


def uncertainty_section(view: View) -> Section | None:
    """The largest fully measured table against the lower bound of its price; None where there is none."""
    found = standing(view)
    if found is None:
        return None
    table, promise = found.table, found.table.promise
    text = [
        f"The table {view.label(table.attributes)} has {table.cells:,} counts. As released, where counts may be below "
        f"zero, one of them errs by {_number(table.point_error)} and their sum by {_number(table.sum_error)} (standard "
        "errors).",
        _least(found),
    ]
    if promise is not None:
        text.append(
            "Records made of it by sequential fitting (hush microdata --fit sequential) err by at most "
            f"{_number(promise.sum_error)} in the sum and {_number(promise.point_error)} in any count, "
            "whatever the true table is; rounding to whole records adds less than 1 to a count."
        )
    figures = () if found.idle or found.least_point_error == 0.0 else (_figure(found),)
    return Section("uncertainty", "What records of this price must pay", tuple(text), figures=figures)


def standing(view: View) -> Standing | None:
    """Errors of the largest fully measured table, and the bounds for its price; None where that price is not known."""
    found = MeasuredTable.largest_of(view.release)
    if found is None:
        return None
    given = found.best
    return Standing(
        found,
        found.price.least(found.cells, sum_error=given.sum_error),
        found.price.least(found.cells, point_error=given.point_error),
    )


def _least(found: Standing) -> str:
    if found.least_point_error == 0.0 and found.least_sum_error == 0.0:
        return "The uncertainty principle asks nothing more of records here: there are too few counts for this price."
    kept = "that is promised below" if found.table.promise is not None else "of the sum"
    least = f"some count errs by at least {_number(found.least_point_error)} for some true table"
    if found.least_sum_error:
        least += f"; with the error of a count, the sum by at least {_number(found.least_sum_error)}"
    said = f"No private records of this price keep both: with the error {kept}, {least}."
    return (
        f"{said} That is far below the errors of this table: it forbids nothing here." if found.idle else said
    )


def _figure(found: Standing) -> Figure:
    table, shown = found.table, found.table.best
    errors = sorted((1.0, *_STEPS))
    least = {step: table.price.least(table.cells, sum_error=step**2 * shown.sum_error) for step in _STEPS} | {
        1.0: found.least_point_error
    }
    rows = [(LINE, step**2 * shown.sum_error, least[step]) for step in errors if least[step]]
    rows.append((TABLES, table.sum_error, table.point_error))
    if table.promise is not None:
        rows.append((RECORDS, table.promise.sum_error, table.promise.point_error))
    data = pl.DataFrame(
        [(what, sqrt(total), sqrt(point)) for what, total, point in rows],
        schema=["what", "error of the sum", "error of a count"],
        orient="row",
    )
    sentence = (
        f"With an error of the sum of {_number(shown.sum_error)}, the worst count of private records errs by at least "
        f"{_number(found.least_point_error)}; here it is {_number(shown.point_error)}."
    )
    return Figure("uncertainty", "Errors of a count and of the sum", sentence, _draw(data), data)


def _draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    shown = [what for what in _COLOURS if what in data["what"]]
    scale = alt.Scale(domain=shown, range=[_COLOURS[what] for what in shown])
    colour = alt.Color("what:N", title=None, scale=scale)
    axes: dict[str, Any] = {
        "x": alt.X("error of the sum:Q", scale=alt.Scale(type="log")),
        "y": alt.Y("error of a count:Q", scale=alt.Scale(type="log")),
        "color": colour,
    }
    line = chart(data.filter(pl.col("what") == LINE)).mark_line().encode(**axes)
    points = chart(data.filter(pl.col("what") != LINE)).mark_point(size=90, filled=True).encode(**axes)
    return finished(line + points, height=220)


def _number(square: float) -> str:
    root = sqrt(square)
    return f"{root:,.1f}" if root >= 10 else f"{root:.3g}"
