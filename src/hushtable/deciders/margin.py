"""Deciders that see one integer: the margin, how far the data are from the other verdict.

A margin is at least 1 when the true answer is within tau and at most 0 otherwise, and one row moves it by at most
its sensitivity.  ``MarginThreshold`` adds noise to it and compares, which is the optimal epsilon-DP test when the
sensitivity is 1 (truncated-uniform-Laplace noise, at the cut that makes its uniform part vanish);
``MarginCoin`` throws a coin whose log odds it is, four times cheaper in zCDP.  See ``proofs/decider-margin.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.deciders import laplace
from hushtable.deciders.decider import CoinDecider, NoisyDecider
from hushtable.deciders.interval import Interval
from hushtable.deciders.tally import Tally
from hushtable.errors import QueryError

FIXED_POINT = 256  # steps per grid unit that the ends of an AVG interval are rounded to


@dataclass(frozen=True)
class CountMargin:
    """Rows to add or remove until the count crosses an end of the interval."""

    interval: Interval

    @property
    def edges(self) -> Sequence[int]:
        return ()

    @property
    def sensitivity(self) -> int:
        return 1

    def of(self, tally: Tally) -> int:
        """The margin of data with this tally."""
        return self.interval.margin(tally.rows)


@dataclass(frozen=True)
class SumMargin:
    """Distance of the sum from the nearer end; values are in [-bound, bound]."""

    interval: Interval
    bound: int

    @property
    def edges(self) -> Sequence[int]:
        return ()

    @property
    def sensitivity(self) -> int:
        return self.bound

    def of(self, tally: Tally) -> int:
        """The margin of data with this tally."""
        return self.interval.margin(tally.total)


@dataclass(frozen=True)
class QuantileMargin:
    """Rows, weighted by the quantile a/b, until the lower a/b-quantile crosses an end of the interval.

    The quantile is value number ceil(a n / b) in sorted order.  It is above l when a n - b #(<= l) >= 1 and
    below r when (b - a) n - b #(>= r) >= 0; the second gets 1 added so that both speak alike.
    """

    interval: Interval
    quantile: Fraction

    @property
    def edges(self) -> Sequence[int]:
        return (self.interval.first - 1, self.interval.last)

    @property
    def sensitivity(self) -> int:
        a, b = self.quantile.as_integer_ratio()
        return max(a, b - a)

    def of(self, tally: Tally) -> int:
        """The margin of data with this tally."""
        a, b = self.quantile.as_integer_ratio()
        below, _, above = (int(count) for count in tally.counts)
        rows = tally.rows
        return min(a * rows - b * below, (b - a) * rows - b * above + 1)


@dataclass(frozen=True)
class AverageMargin:
    """min(S - l n, r n - S) in steps of 1/256: the average is inside when both are positive.

    Values are in [low, high].  A row moves the first by at most max(|high - l|, |low - l|), the second alike.
    """

    interval: Interval
    low: int
    high: int

    @property
    def edges(self) -> Sequence[int]:
        return ()

    @property
    def ends(self) -> tuple[int, int]:
        """l and r in steps of 1/256, rounded to the nearest."""
        left, right = (math.floor(end * FIXED_POINT + Fraction(1, 2)) for end in _ends(self.interval))
        if left >= right:
            raise QueryError(
                "query.tau-empty", "tau is below the precision of an average.", "Give a larger tau."
            )
        return left, right

    @property
    def sensitivity(self) -> int:
        low, high = self.low * FIXED_POINT, self.high * FIXED_POINT
        return max(abs(value - end) for value in (low, high) for end in self.ends)

    def of(self, tally: Tally) -> int:
        """The margin of data with this tally."""
        left, right = self.ends
        total, rows = tally.total * FIXED_POINT, tally.rows
        return min(total - left * rows, right * rows - total)


Margin = CountMargin | SumMargin | QuantileMargin | AverageMargin


@dataclass(frozen=True)
class MarginThreshold(NoisyDecider):
    """Satisfied when margin + noise >= 1, with noise of scale sensitivity / epsilon."""

    margin: Margin

    @property
    def edges(self) -> Sequence[int]:
        return self.margin.edges

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (self.margin.sensitivity / self.epsilon,)

    def truth(self, tally: Tally) -> bool:
        return self.margin.of(tally) >= 1

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return self.margin.of(tally) + noise[0] >= 1

    def probability(self, tally: Tally) -> float:
        return float(np.exp(laplace.log_at_least(1 - self.margin.of(tally), self.noise[0])))


@dataclass(frozen=True)
class MarginCoin(CoinDecider):
    """Satisfied with log odds epsilon * (margin - 1/2) / sensitivity."""

    margin: Margin

    @property
    def edges(self) -> Sequence[int]:
        return self.margin.edges

    def truth(self, tally: Tally) -> bool:
        return self.margin.of(tally) >= 1

    def logit(self, tally: Tally) -> Fraction:
        return self.epsilon * (self.margin.of(tally) - Fraction(1, 2)) / self.margin.sensitivity


def _ends(interval: Interval) -> tuple[Fraction, Fraction]:
    return interval.low, interval.high
