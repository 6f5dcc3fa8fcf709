"""The history of an adaptive release: one row per round, from public replies alone."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hushtable.marginals import marginal_label
from hushtable.measurement import Round


def history_frame(names: Sequence[str], rounds: Sequence[Round]) -> pl.DataFrame:
    """What was asked in each round, about which marginal, with how much noise, for which share of the budget."""
    return pl.DataFrame(
        {
            "round": list(range(len(rounds))),
            "action": [r.action for r in rounds],
            "marginal": [None if r.chosen is None else marginal_label(r.chosen, names) for r in rounds],
            "residuals": [r.residuals for r in rounds],
            "sigma": [r.sigma for r in rounds],
            "epsilon": [r.epsilon for r in rounds],
            "share": [r.share for r in rounds],
        },
        schema_overrides={
            "marginal": pl.String,
            "sigma": pl.Float64,
            "epsilon": pl.Float64,
            "share": pl.Float64,
        },
    )
