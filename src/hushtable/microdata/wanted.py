"""What may be asked of records: how they are fitted, how many there are, which counts are kept near the truth.

Apart from arrays and programs, so that what there is not is refused at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from hushtable.errors import WorkloadError


@dataclass(frozen=True)
class Method:
    """A way of fitting, and what follows from it."""

    name: str
    signed: bool = False
    """Whether cells may go below zero."""
    likely: bool = False
    """Whether it is least squares, and so the most likely table of measured residuals."""
    ordered: bool = False
    """Whether it takes priorities."""
    yields: bool = False
    """Whether records are generated instead where the whole table is too large."""


METHODS = {
    made.name: made
    for made in (
        Method("ols", signed=True, likely=True),
        Method("nnls", likely=True),
        Method("max"),
        Method("sequential", ordered=True),
        Method("reweighted", yields=True),
        Method("balanced"),
    )
}
POINT, SUM = "point", "sum"
MOST_ROWS = 100_000_000
"""Records that are made at once: 4 GB of codes for ten attributes."""


def checked_method(method: str, *, ordered: bool = False) -> Method:
    """A way of fitting that there is; ``ordered``: one that takes priorities."""
    if method not in METHODS:
        raise WorkloadError(
            "microdata.method", "The fit is not known.", f"Choose one of {', '.join(METHODS)}."
        )
    if ordered and not METHODS[method].ordered:
        raise WorkloadError(
            "microdata.priorities", "Priorities are for sequential fitting alone.", "Add --fit sequential."
        )
    return METHODS[method]


def whole_rows(rows: Any) -> int:
    """A number of records: whole, not below zero, and not more than ``MOST_ROWS``."""
    if isinstance(rows, bool) or not isinstance(rows, Integral) or not 0 <= int(rows) <= MOST_ROWS:
        raise WorkloadError(
            "microdata.rows",
            f"The number of rows must be a whole number from 0 to {MOST_ROWS:,}.",
            "Give --rows 1000.",
        )
    return int(rows)


def keeps_points(accurate: str) -> bool:
    """Whether each count is kept near the truth ("point") rather than their sum ("sum"); refuses other words."""
    if accurate not in (POINT, SUM):
        raise WorkloadError(
            "microdata.accurate", "Counts can be accurate one by one or in their sum.", "Give point or sum."
        )
    return accurate == POINT
