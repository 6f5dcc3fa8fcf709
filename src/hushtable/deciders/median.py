"""Deciders for MEDIAN and other quantiles as published, and the same ideas with the noise they need.

The a/b-quantile of n values is number ceil(a n / b) in sorted order (the lower median for 1/2).  The decider on one
margin is in ``margin``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.deciders import laplace
from hushtable.deciders.cost import rho_of_parts
from hushtable.deciders.decider import CandidateDecider, NoisyDecider
from hushtable.deciders.interval import Interval
from hushtable.deciders.margin import QuantileMargin
from hushtable.deciders.tally import IntArray, Tally, as_array
from hushtable.errors import QueryError

MAX_CANDIDATES = 2**20


@dataclass(frozen=True)
class QuantileExponential(CandidateDecider):
    """EM_med: the exponential mechanism picks a candidate e; is it inside the interval?  dp-pqd sec. 6.1.

    Published: the penalty |b #(< e) - a n| counts b steps per row and is charged as if one row moved it by b.
    ``tight``: max(b #(< e) - a n + 1, a n - b #(<= e), 0), which is zero at the quantile alone, however often that
    value occurs, and which one row moves by max(a, b - a).
    """

    interval: Interval
    candidates: Sequence[int]
    quantile: Fraction
    tight: bool

    def __post_init__(self) -> None:
        if len(self.candidates) > MAX_CANDIDATES:
            raise QueryError(
                "query.too-many-candidates",
                f"The attribute has more than {MAX_CANDIDATES} values to choose from.",
                'Use the decider "median-margin", or declare a coarser resolution.',
            )

    @property
    def edges(self) -> Sequence[int]:
        values = self.candidates
        if isinstance(values, range) and values.step == 1:
            return range(values.start - 1, values.stop)
        return sorted({*values, *(value - 1 for value in values)})

    @property
    def rate(self) -> Fraction:
        a, b = self.quantile.as_integer_ratio()
        return self.epsilon / (2 * (max(a, b - a) if self.tight else b))

    @property
    def accepted(self) -> slice:
        found = np.searchsorted(as_array(self.candidates), [self.interval.first, self.interval.last + 1])
        return slice(int(found[0]), int(found[1]))

    def truth(self, tally: Tally) -> bool:
        """Whether the quantile is inside; an empty table has none."""
        a, b = self.quantile.as_integer_ratio()
        ranks = self._ranks(tally)
        inside = (b * ranks[0] < a * tally.rows) & (a * tally.rows <= b * ranks[1])
        return bool(inside[self.accepted].any())

    def penalties(self, tally: Tally) -> IntArray:
        a, b = self.quantile.as_integer_ratio()
        below, up_to = self._ranks(tally)
        if not self.tight:
            return np.abs(b * below - a * tally.rows)
        return np.maximum(np.maximum(b * below - a * tally.rows + 1, a * tally.rows - b * up_to), 0)

    def _ranks(self, tally: Tally) -> tuple[IntArray, IntArray]:
        """#(< e) and #(<= e) for every candidate e."""
        rows = tally.cumulative_rows()
        if isinstance(self.edges, range):
            return rows[:-1], rows[1:]
        at = np.searchsorted(as_array(self.edges), as_array(self.candidates))
        return rows[at - 1], rows[at]


@dataclass(frozen=True)
class QuantileHistogram(NoisyDecider):
    """Hist_med: are fewer than half of the rows on either side of the interval?  dp-pqd algorithm 3.

    Noisy n, noisy #(<= l), noisy #(>= r), each with noise of scale 2 / epsilon.
    """

    interval: Interval
    quantile: Fraction

    @property
    def edges(self) -> Sequence[int]:
        return self._margin.edges

    @property
    def _margin(self) -> QuantileMargin:
        return QuantileMargin(self.interval, self.quantile)

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (2 / self.epsilon,) * 3

    @property
    def rho(self) -> Fraction:
        """The two sides are disjoint, so one of them moves, and n."""
        return rho_of_parts((self.epsilon / 2, self.epsilon / 2))

    def truth(self, tally: Tally) -> bool:
        return self._margin.of(tally) >= 1

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        a, b = self.quantile.as_integer_ratio()
        rows = tally.rows + noise[0]
        left, right = -(-a * rows // b), -(-(b - a) * rows // b)
        return int(tally.counts[0]) + noise[1] < left and int(tally.counts[2]) + noise[2] < right

    def probability(self, tally: Tally) -> float:
        a, b = self.quantile.as_integer_ratio()
        scale = self.noise[0]
        offsets = laplace.support(scale)
        rows = tally.rows + offsets
        left, right = -(-a * rows // b), -(-(b - a) * rows // b)
        logs = laplace.log_at_most(left - 1 - int(tally.counts[0]), scale)
        logs = logs + laplace.log_at_most(right - 1 - int(tally.counts[2]), scale)
        return float(np.dot(laplace.mass(offsets, scale), np.exp(logs)))


@dataclass(frozen=True)
class QuantileSides(NoisyDecider):
    """The histogram decider on (b #(<= l) - a n, b #(>= r) - (b - a) n), which one row moves by 2 max(a, b - a) in all.

    No noisy n; unmet when the first is at least 0 or the second at least 1, which is right for even n too.
    """

    interval: Interval
    quantile: Fraction

    @property
    def edges(self) -> Sequence[int]:
        return self._margin.edges

    @property
    def _margin(self) -> QuantileMargin:
        return QuantileMargin(self.interval, self.quantile)

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (2 * self._margin.sensitivity / self.epsilon,) * 2

    @property
    def rho(self) -> Fraction:
        return rho_of_parts((self.epsilon / 2, self.epsilon / 2))

    def truth(self, tally: Tally) -> bool:
        return self._margin.of(tally) >= 1

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        left, right = self._sides(tally)
        return left + noise[0] < 0 and right + noise[1] < 1

    def probability(self, tally: Tally) -> float:
        left, right = self._sides(tally)
        scale = self.noise[0]
        return float(np.exp(laplace.log_at_most(-1 - left, scale) + laplace.log_at_most(-right, scale)))

    def _sides(self, tally: Tally) -> tuple[int, int]:
        a, b = self.quantile.as_integer_ratio()
        rows = tally.rows
        return b * int(tally.counts[0]) - a * rows, b * int(tally.counts[2]) - (b - a) * rows
