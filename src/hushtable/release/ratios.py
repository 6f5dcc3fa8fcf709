"""Intervals of ratios whose denominator may be near zero: means, shares and rates.

With Gaussian noise of numerator and denominator (P, Q) all r are kept for which ``P - r Q`` is no further from 0 than
its own noise explains (Fieller): a ratio is kept with exactly the asked probability however small Q is.  Otherwise
the intervals of both are taken, each at half of alpha, and every ratio that they leave.  Either is cut to the range
that the schema declares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats


@dataclass(frozen=True, eq=False)
class NoisyPair:
    """Unbiased estimates of numerators and denominators, with variances and covariances; arrays of one shape."""

    part: Floats
    whole: Floats
    part_variance: Floats
    whole_variance: Floats
    covariance: Floats

    def std(self, *, signed: bool = False) -> Floats:
        """Standard deviations of the ratios, to first order; nan where the denominator is not above its own noise.

        ``signed``: denominators may be below 0, and are then looked at by their size.
        """
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = self.part / self.whole
            square = (
                self.part_variance - 2.0 * ratio * self.covariance + ratio**2 * self.whole_variance
            ) / self.whole**2
            size = np.abs(self.whole) if signed else self.whole
            sure = size > 2.0 * np.sqrt(self.whole_variance)
            return np.where(sure, np.sqrt(np.maximum(square, 0.0)), np.nan)

    def fieller(self, reach: float, low: float, high: float) -> tuple[Floats, Floats]:
        """The ends of all r from ``low`` to ``high`` with ``|part - r whole| <= reach std(part - r whole)``.

        With ``a r^2 - 2 b r + c <= 0``: an interval where the denominator is clearly not 0; else what lies outside
        of one, or everything.  What remains of two pieces is published from the first to the last.
        """
        square = reach**2
        a = self.whole**2 - square * self.whole_variance
        b = self.part * self.whole - square * self.covariance
        c = self.part**2 - square * self.part_variance
        root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            first, last = (b - root) / a, (b + root) / a
        first, last = _moved_inside(first, last, low, high)
        inside = (a > 0.0) & (b**2 - a * c >= 0.0)
        lower = np.where(inside, np.maximum(first, low), low)
        upper = np.where(inside, np.minimum(last, high), high)
        outside = (a < 0.0) & (b**2 - a * c > 0.0)  # from below up to `last`, from `first` upward
        lower = np.where(outside & (last < low), np.maximum(first, low), lower)
        upper = np.where(outside & (first > high), np.minimum(last, high), upper)
        return _ordered(lower, upper, low, high)


def ratios_of_intervals(
    part: tuple[Floats, Floats],
    whole: tuple[Floats, Floats],
    low: float,
    high: float,
    *,
    signed: bool = False,
) -> tuple[Floats, Floats]:
    """The ends of all ratios from ``low`` to ``high`` of a number in one interval to one above 0 in another.

    ``signed``: the second may be below 0 as well, and every ratio remains where it can be 0.
    """
    either = np.zeros(np.shape(whole[0]), bool)
    if signed:
        below, either = whole[1] < 0.0, (whole[0] <= 0.0) & (whole[1] >= 0.0)
        part, whole = _turned(part, below), _turned(whole, below)
    least, most = np.maximum(whole[0], 0.0), np.maximum(whole[1], 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        lower = np.where(part[0] >= 0.0, part[0] / most, part[0] / least)
        upper = np.where(part[1] >= 0.0, part[1] / least, part[1] / most)
    lower, upper = np.where(np.isfinite(lower), lower, low), np.where(np.isfinite(upper), upper, high)
    lower, upper = _moved_inside(lower, upper, low, high)
    return _ordered(np.where(either, low, lower), np.where(either, high, upper), low, high)


def _turned(ends: tuple[Floats, Floats], where: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Intervals of numbers whose sign is changed in some places."""
    return np.where(where, -ends[1], ends[0]), np.where(where, -ends[0], ends[1])


def _moved_inside(first: Floats, last: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Intervals outside of the range, moved to its nearer end: a single value would look like certainty."""
    with np.errstate(invalid="ignore"):  # of infinite ranges, where nothing is moved
        width = last - first
        above, below = (width >= 0.0) & (first > high), (width >= 0.0) & (last < low)
        return (
            np.where(above, high - width, np.where(below, low, first)),
            np.where(above, high, np.where(below, low + width, last)),
        )


def _ordered(lower: Floats, upper: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Ends inside the range."""
    lower, upper = np.clip(lower, low, high), np.clip(upper, low, high)
    return np.minimum(lower, upper), np.maximum(lower, upper)
