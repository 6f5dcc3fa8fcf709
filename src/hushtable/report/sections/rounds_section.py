"""The rounds of an adaptive release as a timeline."""

from __future__ import annotations

import altair as alt
import polars as pl

from hushtable.report.headings import Heading
from hushtable.report.pieces import Figure, Grid, Section
from hushtable.report.theme import KINDS, bars, finished, tips
from hushtable.report.view import View

_ALSO: dict[str, Heading] = {"marginal": ("Table chosen", "{:,}")}
_MAY_BE_EMPTY = ("marginal", "epsilon")
"""Of a strategy that chooses nothing privately these hold nothing, and a reader would wonder what is missing."""

_BESIDE = (
    "Beside the counts: totals of columns and counts of what is left out, where the schema asks for them."
)

_TIMELINE = 2
"""A release that measured all in one round has no course to show: its one bar would say 100%."""


def rounds_section(view: View) -> Section | None:
    """What each round asked and what it cost."""
    data = rounds_data(view)
    if data is None or data.height < _TIMELINE:
        return None
    figure = Figure(
        "rounds",
        "Budget used, round by round",
        f"{data.height} rounds, which together used {data['spent'].last():.0%} of the budget of this release.",
        _draw(data),
        data,
    )
    said = [name for name in _MAY_BE_EMPTY if not data[name].is_null().all() and data[name].n_unique() > 1]
    unsaid = [name for name in _MAY_BE_EMPTY if name not in said]
    listed = data.drop("spent", "before", *unsaid)
    grid = Grid("round-list", "The rounds", listed, also=_ALSO, searchable=data.height > 30)
    return Section(
        "rounds",
        "How the budget was spent, round by round",
        (_looking(data), *([_BESIDE] if data["action"].is_in(["beside the counts"]).any() else [])),
        figures=(figure,),
        grids=(grid,),
    )


def _looking(data: pl.DataFrame) -> str:
    if data["marginal"].is_null().all():
        return "Later rounds were planned from the noisy answers of earlier ones."
    return (
        "An adaptive release looks, privately, for tables that are still badly known and measures those. Looking is "
        "paid for as well."
    )


def rounds_data(view: View) -> pl.DataFrame | None:
    """The history with the share of the budget before and after each round; totals have no one noise."""
    history = view.release.history
    if history is None:
        return None
    spent = pl.col("share").cum_sum()
    unknown = pl.when(pl.col("sigma") > 0).then("sigma")
    return history.with_columns(spent=spent, before=spent - pl.col("share"), sigma=unknown)


def _draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    colours = alt.Scale(range=list(KINDS))
    timeline = bars(
        data,
        x=alt.X("round:O", title="round", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("before:Q", title="share of the budget used", axis=alt.Axis(format="%")),
        y2=alt.Y2("spent:Q"),
        color=alt.Color("action:N", title=None, scale=colours, legend=alt.Legend(columns=2)),
        tooltip=tips(
            "round:O",
            "action:N",
            ("marginal:N", "", "table"),
            ("sigma:Q", ",.1f", "noise"),
            ("share:Q", ".1%"),
        ),
    )
    return finished(timeline, height=240)
