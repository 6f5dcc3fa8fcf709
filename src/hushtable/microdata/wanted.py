"""What may be asked of records: how they are fitted, how many there are, which counts are kept near the truth.

Apart from arrays and programs, so that what there is not is refused at once.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

from hushtable.errors import WorkloadError

METHODS = ("ols", "nnls", "max", "sequential", "reweighted", "balanced")
MOST_ROWS = 100_000_000
"""Records that are made at once: 4 GB of codes for ten attributes."""


def checked_method(method: str, *, ordered: bool = False) -> str:
    """A way of fitting that there is; ``ordered``: one that takes priorities."""
    if method not in METHODS:
        raise WorkloadError(
            "microdata.method", "The fit is not known.", f"Choose one of {', '.join(METHODS)}."
        )
    if ordered and method != "sequential":
        raise WorkloadError(
            "microdata.priorities", "Priorities are for sequential fitting alone.", "Add --fit sequential."
        )
    return method


def whole_rows(rows: Any) -> int:
    """A number of records: whole, not below zero, and not more than ``MOST_ROWS``."""
    if isinstance(rows, bool) or not isinstance(rows, Integral) or not 0 <= int(rows) <= MOST_ROWS:
        raise WorkloadError(
            "microdata.rows",
            f"The number of rows must be a whole number from 0 to {MOST_ROWS:,}.",
            "Give --rows 1000.",
        )
    return int(rows)


def checked_accuracy(accurate: str) -> str:
    """What counts can be near the truth in."""
    if accurate not in ("point", "sum"):
        raise WorkloadError(
            "microdata.accurate", "Counts can be accurate one by one or in their sum.", "Give point or sum."
        )
    return accurate
