"""The privacy card: what is promised, to whom, and at what price."""

from __future__ import annotations

import polars as pl

from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View


def card_section(view: View) -> Section:
    """Unit, neighbours, amounts and noise."""
    guarantees = Grid(
        "guarantees",
        "What the price means: an (epsilon, delta) guarantee for each delta",
        guarantee_data(view),
        also={"epsilon": ("epsilon at most", "{:.4g}")},
    )
    return Section(
        "card",
        "Privacy card",
        (
            "Every number here was protected by adding random noise before it left the confidential data. "
            "The noise hides whether any one person is in the data at all.",
        ),
        facts=_facts(view),
        grids=(guarantees,),
    )


def guarantee_data(view: View) -> pl.DataFrame:
    """One row per delta."""
    return pl.DataFrame(view.card.epsilon_by_delta, schema=["delta", "epsilon"], orient="row")


def _facts(view: View) -> tuple[tuple[str, str], ...]:
    card = view.card
    learnt = card.learnt_from_data
    return (
        ("Who is protected", f"{card.unit}. {card.unit.note}"),
        *([] if card.counted is None else [("What a row counts as", card.counted)]),
        *([] if card.summed is None else [("What a row adds to totals", " ".join(card.summed))]),
        *([] if card.fixed is None else [("Taken as fixed", card.fixed)]),
        *([] if card.known is None else [("Taken as exact", " ".join(card.known))]),
        *([] if card.doubts is None else [("What speaks against that", " ".join(card.doubts))]),
        *([] if card.conditional is None else [("Condition", " ".join(card.conditional))]),
        *([] if card.benchmarks is None else [("Benchmarks", " ".join(card.benchmarks))]),
        *([] if card.sampling is None else [("What intervals cover", card.sampling)]),
        ("Neighbours", card.neighbours),
        ("Price of this release", f"{card.charged} per person"),
        ("Budget asked for", card.budget or "–"),
        ("Noise", card.plan.noise or "–"),
        ("Strategy", f"{card.plan.strategy}, tables by {card.reconstruct}"),
        (
            "Domain",
            "declared" if not learnt else f"declared; learnt from the data and reviewed: {', '.join(learnt)}",
        ),
    )
