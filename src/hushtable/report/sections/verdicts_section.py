"""Verdicts of checks, and how sure each is."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import altair as alt
import polars as pl

from hushtable.deciders import COUNT, DECIDERS, Verdict, chance_text, number_text, probability_satisfied
from hushtable.report.pieces import Figure, Grid, Section
from hushtable.report.theme import GREEN, RED, chart, finished, tips

STEPS = 24
"""Points of a curve from no difference to three times the threshold: it looks smooth at the width of a page."""
MOST_CURVES = 12
"""Curves of error profiles; beyond a dozen colours nobody tells them apart."""


def verdicts_section(verdicts: Sequence[Verdict], rows_per_person: int) -> Section | None:
    """Every verdict that was paid for."""
    if not verdicts:
        return None
    data = verdicts_data(verdicts)
    yes = data.filter(pl.col("verdict") == "yes").height
    curves = profile_data(verdicts, rows_per_person)
    figures = () if curves.is_empty() else (_figure(curves),)
    return Section(
        "verdicts",
        "Can these numbers be trusted?",
        (
            f"Numbers of a synthetic file were checked privately against the truth. Is it close enough? The answer "
            f"was yes for {yes} and no for {len(verdicts) - yes}.",
            "A verdict itself is noisy. The bound says how often it is wrong if the truth equals the synthetic "
            "answer, or lies at twice the allowed distance or beyond; in between it is less sure. It holds for every "
            "true table unless a condition is written beside it.",
        ),
        figures=figures,
        grids=(Grid("verdicts", "Verdicts", data),),
    )


def verdicts_data(verdicts: Sequence[Verdict]) -> pl.DataFrame:
    """One row per verdict."""
    rows = [
        {
            "question": verdict.query,
            "verdict": "yes" if verdict.satisfied else "no",
            "synthetic": number_text(verdict.synthetic),
            "tau": number_text(verdict.tau),
            "error_bound": chance_text(verdict.error_bound),
            "assumes": verdict.assumes or None,
            "decider": verdict.decider,
            "price": str(verdict.price),
        }
        for verdict in verdicts
    ]
    return pl.DataFrame(rows, schema_overrides={"assumes": pl.String})


def profile_data(verdicts: Sequence[Verdict], rows_per_person: int) -> pl.DataFrame:
    """Probability of "yes" at distances up to three times the allowed one, for counts: others depend on the data."""
    rows = [
        {
            "question": f"{k + 1}. {verdict.query}",
            "verdict": "yes" if verdict.satisfied else "no",
            "distance": 3 * step / STEPS,
            "probability": probability_satisfied(
                verdict.decider,
                true=round(verdict.synthetic) + round(3 * verdict.tau * Fraction(step, STEPS)),
                synthetic=verdict.synthetic,
                tau=verdict.tau,
                epsilon=verdict.epsilon / rows_per_person,
            ),
        }
        for k, verdict in enumerate(verdicts[:MOST_CURVES])
        if verdict.decider in DECIDERS and DECIDERS[verdict.decider].aggregate is COUNT
        for step in range(STEPS + 1)
    ]
    return pl.DataFrame(rows)


def _figure(data: pl.DataFrame) -> Figure:
    questions = data["question"].n_unique()
    return Figure(
        "verdict-profile",
        "How sure each verdict is",
        f"Probability of the answer yes for {questions} counts, from a truth equal to the synthetic answer to one "
        "three times the allowed distance away: it falls from near one to near zero around the allowed distance.",
        _draw(data),
        data,
    )


def _draw(data: pl.DataFrame) -> alt.TopLevelMixin:
    colours = alt.Scale(domain=["yes", "no"], range=[GREEN, RED])
    dashes = alt.Scale(domain=["yes", "no"], range=[[1, 0], [5, 3]])
    lines = (
        chart(data)
        .mark_line(interpolate="monotone")
        .encode(
            x=alt.X("distance:Q", title="true distance, in units of the allowed one"),
            y=alt.Y("probability:Q", title="probability of yes", axis=alt.Axis(format="%")),
            detail="question:N",
            color=alt.Color("verdict:N", title="verdict given", scale=colours),
            strokeDash=alt.StrokeDash("verdict:N", title="verdict given", scale=dashes),
            tooltip=tips("question:N", ("distance:Q", ".2f"), ("probability:Q", ".1%")),
        )
    )
    limit = chart(pl.DataFrame({"distance": [1]})).mark_rule(strokeDash=[2, 2]).encode(x="distance:Q")
    return finished(lines + limit, height=260)
