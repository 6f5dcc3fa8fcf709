"""The privacy card: what is promised, to whom, and where it can be checked."""

from __future__ import annotations

import polars as pl

from hushtable.report.parts import Grid, Section
from hushtable.report.view import View


def card_section(view: View) -> Section:
    """Unit, neighbours, amounts, noise, versions and the ledger's head."""
    guarantees = Grid(
        "guarantees",
        "What the price means: an (epsilon, delta) guarantee for each delta",
        guarantee_data(view),
        {"delta": "delta", "epsilon": "epsilon at most"},
        {"epsilon": "{:.4g}"},
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
    found = view.card["epsilon_by_delta"]
    return pl.DataFrame({"delta": list(found), "epsilon": [float(e) for e in found.values()]})


def _facts(view: View) -> tuple[tuple[str, str], ...]:
    card = view.card
    unit, entry = card["unit"], card["ledger"]
    learnt = card["learnt_from_data"]
    plan = card.get("plan", {})
    return (
        ("Who is protected", f"{unit['person']}. {unit['note']}"),
        ("Neighbours", card["neighbours"]),
        ("Price", f"{price_text(card)} per person"),
        ("Budget asked for", str(card.get("budget", "–"))),
        ("Noise", str(plan.get("noise", "–"))),
        ("Strategy", f"{plan.get('strategy', '–')}, tables by {card.get('reconstruct', 'mle')}"),
        (
            "Domain",
            "declared" if not learnt else f"declared; learnt from the data and reviewed: {', '.join(learnt)}",
        ),
        ("Ledger", f"{entry['name']}, entry {entry['entry']}, {entry['time']}"),
        ("Ledger head", entry["head"]),
        ("Schema", f"SHA-256 {card['schema_sha256']}"),
        ("Made with", ", ".join(f"{name} {version}" for name, version in card["versions"].items())),
    )


def price_text(card: dict[str, object]) -> str:
    """``rho 0.1`` or ``epsilon 0.2 and rho 0.1``."""
    charged = card["charged"]
    if not isinstance(charged, dict):
        return "–"
    words = (("xi", "epsilon"), ("rho", "rho"), ("delta", "delta"))
    parts = [f"{word} {charged[key]}" for key, word in words if charged.get(key, "0") != "0"]
    return " and ".join(parts) or "nothing"
