"""Choices between analyses, and the budget they saved."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import polars as pl

from hushtable.report.books import MadeChoice
from hushtable.report.pieces import Figure, Grid, Section
from hushtable.report.theme import BLUE, GREY, bars, finished, tips

CHARGED, USUAL = "charged", "the usual way"


def choices_section(choices: Sequence[MadeChoice]) -> Section | None:
    """What each choice cost, and what measuring first and starting again would have cost."""
    if not choices:
        return None
    data = choices_data(choices)
    finished_ones = data.filter(pl.col("usual_rho").is_not_null())
    figures = () if finished_ones.is_empty() else (_figure(finished_ones),)
    return Section(
        "choices",
        "Choices, and the budget they saved",
        (
            "Before an analysis was picked, what the options have in common was measured. That part was not measured "
            "again: the price lies below that of looking first and then starting anew.",
        ),
        figures=figures,
        grids=(Grid("choices", "Choices", data),),
    )


def choices_data(choices: Sequence[MadeChoice]) -> pl.DataFrame:
    """One row per choice."""
    return pl.DataFrame(
        {
            "entry": [c.number for c in choices],
            "options": ["; ".join(f"{k}: {text}" for k, text in enumerate(c.options)) for c in choices],
            "taken": [c.state if c.taken is None else str(c.taken) for c in choices],
            "rho": [c.rho for c in choices],
            "usual_rho": [c.usual_rho for c in choices],
            "saved": [None if not c.usual_rho else 1 - c.rho / c.usual_rho for c in choices],
        },
        schema_overrides={"usual_rho": pl.Float64, "saved": pl.Float64},
    )


def _figure(data: pl.DataFrame) -> Figure:
    ways = data.select("entry", pl.col("rho").alias(CHARGED), pl.col("usual_rho").alias(USUAL))
    long = ways.unpivot(index="entry", variable_name="way", value_name="rho")
    saved = ", ".join(f"{row['saved']:.1%} in entry {row['entry']}" for row in data.iter_rows(named=True))
    sentence = f"What each choice was charged beside what the usual way would have cost: saved {saved}."
    return Figure(
        "choice-costs", "Charged, and what the usual way would have cost", sentence, _draw(long), long
    )


def _draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    colours = alt.Scale(domain=[CHARGED, USUAL], range=[BLUE, GREY])
    costs = bars(
        data,
        y=alt.Y("entry:O", title="entry of the ledger"),
        yOffset=alt.YOffset("way:N", sort=[CHARGED, USUAL]),
        x=alt.X("rho:Q", title="rho per person"),
        color=alt.Color("way:N", title=None, scale=colours),
        tooltip=tips("way:N", ("rho:Q", ".6g")),
    )
    return finished(costs, height=44 * data["entry"].n_unique())
