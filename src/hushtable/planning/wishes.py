"""What may be asked of a plan besides its budget, read without any planner, so that a slip is refused at once."""

from __future__ import annotations

import re

from hushtable.errors import WorkloadError

OBJECTIVES = ("sum_variance", "max_variance")

CELLS_PER_SECOND = 250_000_000
"""Cells that one second is worth under ``--time``: a public constant, calibrated on made-up tables."""


def checked_objective(objective: str) -> str:
    """An objective that there is."""
    if objective not in OBJECTIVES:
        raise WorkloadError(
            "planning.objective", "The objective is not known.", f"Choose one of {', '.join(OBJECTIVES)}."
        )
    return objective


def work_limit(time: str | float | None) -> int | None:
    """Cells that may be touched in a time such as ``90``, ``90s``, ``5min`` or ``1h``."""
    if time is None:
        return None
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(s|sec|m|min|h|)\s*", str(time), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise WorkloadError(
            "time.unreadable", "The time limit cannot be read.", 'Write it as "90s" or "5min".'
        )
    unit = {"": 1, "s": 1, "m": 60, "h": 3600}[match[2][:1].lower()]
    return int(float(match[1]) * unit * CELLS_PER_SECOND)
