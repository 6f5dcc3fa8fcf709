"""How good a published number is, in a word: from estimate and interval alone, so that the word costs nothing.

The measure is the relative standard error (coefficient of variation), read from the interval: half its width, divided
by the spread of a normal law at its level and by the estimate.  It exists for every cell, also where no variance is
known.  Where an interval reaches zero, a relative error says nothing, and the word is that noise hides the number.
This is the one home of thresholds and words; tables, exports and reports take them from here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.planning import normal_spread
from hushtable.schema import QualityScale

CAUTION_ABOVE = 0.166
UNRELIABLE_ABOVE = 0.333
"""Relative standard errors beyond which a number is to be used with caution, and not by itself.  The bounds that
Statistics Canada prints beside survey estimates; readers of tables know them.  Smaller ones mark more cells."""

ZERO_BELOW = 0.5
"""Lower end of a count below which its interval reaches zero: it is printed as 0, and the word is read beside it."""


@dataclass(frozen=True)
class QualityFlag:
    """A word about a number: its name in files, the mark beside the number, SDMX's OBS_STATUS, and what it means."""

    name: str
    mark: str
    status: str
    meaning: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


RELIABLE = QualityFlag(
    "reliable", "", "A", f"relative standard error of {CAUTION_ABOVE:.1%} or less, or exact"
)
CAUTION = QualityFlag(
    "caution", "e", "E", f"relative standard error above {CAUTION_ABOVE:.1%}: use with caution"
)
UNRELIABLE = QualityFlag(
    "unreliable", "u", "U", f"relative standard error above {UNRELIABLE_ABOVE:.1%}: do not use by itself"
)
NEAR_ZERO = QualityFlag(
    "near-zero", "n", "N", "the interval reaches zero: noise hides the number; rely on its upper end"
)
QUALITY_FLAGS = (RELIABLE, CAUTION, UNRELIABLE, NEAR_ZERO)
"""By their numbers in what ``quality_codes`` gives, the best first."""


def relative_errors(estimate: Floats, lower: Floats, upper: Floats, alpha: float) -> Floats:
    """Relative standard error that an interval at ``1 - alpha`` implies; infinite where the estimate is not positive.

    An interval without width is exact, and its error is 0 whatever the estimate is.
    """
    error = (upper - lower) / (2.0 * normal_spread(alpha))
    with np.errstate(over="ignore"):  # of an estimate next to nothing: infinite too
        relative = np.divide(error, estimate, out=np.full(estimate.shape, np.inf), where=estimate > 0)
    return np.where(error > 0, relative, 0.0)


def quality_codes(
    estimate: Floats, lower: Floats, upper: Floats, alpha: float, *, counts: bool = True
) -> NDArray[np.int8]:
    """Number of the flag in ``QUALITY_FLAGS`` for every cell.

    Of means, shares and the like (not ``counts``) a half is not next to nothing, and numbers below 0 are as good as
    others of their size.
    """
    if not counts:
        below = estimate < 0
        lower, upper = np.where(below, -upper, lower), np.where(below, -lower, upper)
        estimate = np.abs(estimate)
    relative = relative_errors(estimate, lower, upper, alpha)
    codes = np.searchsorted(np.array([CAUTION_ABOVE, UNRELIABLE_ABOVE]), relative, side="left")
    reaches = lower < ZERO_BELOW if counts else lower <= 0
    hidden = (upper > lower) & (reaches | (estimate <= 0))
    return np.where(hidden, QUALITY_FLAGS.index(NEAR_ZERO), codes).astype(np.int8)


def grade_column(scale: QualityScale, table: pl.DataFrame, value: str, alpha: float) -> pl.Series:
    """Marks of a scale for a frame with ``value``, ``lower`` and ``upper``.

    A number below ``scale.small`` records is graded by its half-width, as if it were so many: the error is divided by
    the larger of the two.  So no rule jumps to another, and a narrower interval never has a worse mark.
    """
    values, lower, upper = (table[name].to_numpy().astype(np.float64) for name in (value, "lower", "upper"))
    relative = relative_errors(np.maximum(values, scale.small), lower, upper, alpha)
    codes = np.searchsorted(np.array(scale.limits), relative, side="left")
    return pl.Series("grade", scale.marks).gather(codes)


def quality_column(table: pl.DataFrame, alpha: float, *, counts: bool = True) -> pl.Series:
    """The names of the flags of a frame with ``estimate``, ``lower`` and ``upper``."""
    numbers = [table[name].to_numpy() for name in ("estimate", "lower", "upper")]
    codes = quality_codes(numbers[0], numbers[1], numbers[2], alpha, counts=counts)
    return pl.Series("quality", [flag.name for flag in QUALITY_FLAGS]).gather(codes)
