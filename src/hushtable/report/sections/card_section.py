"""The privacy card: what is promised, to whom, and where it can be checked."""

from __future__ import annotations

import polars as pl

from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View


def card_section(view: View) -> Section:
    """Unit, neighbours, amounts, noise, versions and the ledger's head."""
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
    found = view.card.epsilon_by_delta
    return pl.DataFrame({"delta": list(found), "epsilon": list(found.values())})


def _facts(view: View) -> tuple[tuple[str, str], ...]:
    card = view.card
    entry, learnt = card.ledger, card.learnt_from_data
    return (
        ("Who is protected", f"{card.unit}. {card.unit.note}"),
        ("Neighbours", card.neighbours),
        ("Price", f"{card.charged} per person"),
        ("Budget asked for", card.budget or "–"),
        ("Noise", card.plan.noise or "–"),
        ("Strategy", f"{card.plan.strategy}, tables by {card.reconstruct}"),
        (
            "Domain",
            "declared" if not learnt else f"declared; learnt from the data and reviewed: {', '.join(learnt)}",
        ),
        ("Ledger", f"{entry.name}, entry {entry.entry}, {entry.time}"),
        ("Ledger head", entry.head),
        ("Schema", f"SHA-256 {card.schema_sha256}"),
        ("Made with", ", ".join(f"{name} {version}" for name, version in card.versions.items())),
    )
