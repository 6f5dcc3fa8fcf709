"""Figures of plans: what a check would be worth, what options of a choice would show; before anything is paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from hushtable.deciders import PlannedQuestion, number_text
from hushtable.release import ChoiceView
from hushtable.report.pieces import Figure, Section
from hushtable.report.theme import GREEN, KINDS, RED, chart, finished, tips
from hushtable.spreadsheets import write_csv


def drawn(*sections: Section) -> dict[str, Any]:
    """Specs and data of the figures of some sections, by key."""
    return drawn_figures([figure for section in sections for figure in section.figures])


def drawn_figures(figures: Sequence[Figure]) -> dict[str, Any]:
    """The same of figures alone."""
    return {
        "specs": {figure.key: figure.spec for figure in figures},
        "csv": {figure.key: write_csv(figure.data, raw=False) for figure in figures},
    }


def profile_figure(planned: PlannedQuestion) -> Figure:
    """How often a verdict would say yes, and be wrong, by the distance of the synthetic answer."""
    words = {"satisfied": "says yes", "error": "is wrong"}
    rows = [
        {"distance": one.distance, "curve": words[name], "probability": getattr(one, name)}
        for one in planned.profile()
        for name in words
    ]
    data = pl.DataFrame(rows)
    tau = planned.question.tau
    colours = alt.Scale(domain=list(words.values()), range=[GREEN, RED])
    lines = (
        chart(data)
        .mark_line(interpolate="monotone")
        .encode(
            x=alt.X("distance:Q", title="distance from the truth"),
            y=alt.Y("probability:Q", title="probability", axis=alt.Axis(format="%")),
            color=alt.Color("curve:N", title=None, scale=colours),
            strokeDash=alt.StrokeDash("curve:N", legend=None),
            tooltip=tips("curve:N", ("distance:Q", ",.4g"), ("probability:Q", ".1%")),
        )
    )
    limit = (
        chart(pl.DataFrame({"distance": [float(tau)]})).mark_rule(strokeDash=[2, 2]).encode(x="distance:Q")
    )
    sentence = (
        f"Probability that the verdict says yes, and that it is wrong, if the synthetic answer lies from 0 to "
        f"{number_text(3 * tau)} away from the truth; the allowed distance is {number_text(tau)}."
    )
    return Figure("profile", "Error profile", sentence, finished(lines + limit, height=220), data)


DASHES = [[1, 0], [7, 5], [2, 4], [10, 3, 2, 3]]
"""Lines of options: one that lies upon another leaves it to be seen."""


def signal_figure(view: ChoiceView) -> Figure:
    """Which share of the cells of each open option would stand out of its noise, by how much."""
    rows = [
        {"option": f"{one.option}: {one.what}", "ratio": float(ratio), "share": share, "at_least": low}
        for one in view.standings
        for ratio, share, low in one.shares
    ]
    data = pl.DataFrame(rows)
    legend = alt.Legend(columns=1)  # one for colour and dash: they are merged where all is alike
    lines = (
        chart(data)
        .mark_line(point=True)
        .encode(
            x=alt.X("ratio:O", title="at least so many times its noise", axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "share:Q",
                title="share of the cells",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            color=alt.Color("option:N", title=None, scale=alt.Scale(range=list(KINDS)), legend=legend),
            strokeDash=alt.StrokeDash("option:N", title=None, scale=alt.Scale(range=DASHES), legend=legend),
            tooltip=tips("option:N", "ratio:O", ("share:Q", ".0%"), ("at_least:Q", ".0%")),
        )
    )
    said = "; ".join(
        f"option {one.option} " + ", ".join(f"{share:.0%} at {ratio}" for ratio, share, _ in one.shares)
        for one in view.standings
    )
    sentence = (
        f"Share of the primary cells whose count is at least R times the noise that an option adds: {said}."
    )
    return Figure("signal", "Signal and noise of each option", sentence, finished(lines, height=240), data)
