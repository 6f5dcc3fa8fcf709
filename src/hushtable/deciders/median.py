"""Deciders for MEDIAN and other quantiles as published, and the same ideas with the noise they need.

The a/b-quantile of n values is number ceil(a n / b) in sorted order (the lower median for 1/2).  The deciders on one
margin are in ``on_margin``.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np

from hushtable.arrays import Ints
from hushtable.deciders import laplace
from hushtable.deciders.aggregates import rank
from hushtable.deciders.decider import CandidateDecider, NoisyDecider, rho_of_parts, sigmoid
from hushtable.deciders.intervals import number_text
from hushtable.deciders.margins import QuantileDecider, QuantileMargin
from hushtable.deciders.tallies import Tally, as_array
from hushtable.errors import QueryError

MAX_CANDIDATES = 2**20
"""Values that an exponential mechanism chooses from: a draw weighs each, which takes about 0.1 s for so many."""


class QuantileExponential(CandidateDecider, QuantileDecider):
    """EM_med: the exponential mechanism picks a candidate e; is it inside the interval?  dp-pqd sec. 6.1.

    Published: the penalty |b #(< e) - a n| counts b steps per row and is charged as if one row moved it by b.
    ``tight``: max(b #(< e) - a n + 1, a n - b #(<= e), 0), which is zero at the quantile alone, however often that
    value occurs, and which one row moves by max(a, b - a).

    The premise k is that of the margin when ``tight``.  The published score cannot tell a frequent quantile from its
    neighbours, so there the premise is about values: k rows lie strictly between the quantile and each end.
    """

    name = "median-em"
    summary = "exponential mechanism on ranks, sensitivity one"
    published = True
    tight: ClassVar[bool] = False

    def check(self) -> None:
        super().check()
        if len(self.candidates) > MAX_CANDIDATES:
            raise QueryError(
                "query.too-many-candidates",
                f"The attribute has more than {MAX_CANDIDATES} values to choose from.",
                'Leave the choice to "auto", or declare a coarser resolution.',
            )

    @property
    def candidates(self) -> Sequence[int]:
        """The possible values."""
        return self.facts.domain

    @property
    def edges(self) -> Sequence[int]:
        values = self.candidates
        if isinstance(values, range) and values.step == 1:
            return range(values.start - 1, values.stop)
        return sorted({*values, *(value - 1 for value in values)})

    @property
    def rate(self) -> Fraction:
        return self.epsilon / (2 * (self.sensitivity if self.tight else self.facts.quantile.denominator))

    @property
    def accepted(self) -> slice:
        first, after = self.interval.first, self.interval.last + 1
        return slice(bisect_left(self.candidates, first), bisect_left(self.candidates, after))

    def truth(self, tally: Tally) -> bool:
        """Whether the quantile is inside; an empty table has none."""
        a, b = self.facts.quantile.as_integer_ratio()
        ranks = self._ranks(tally)
        inside = (b * ranks[0] < a * tally.rows) & (a * tally.rows <= b * ranks[1])
        return bool(inside[self.accepted].any())

    def penalties(self, tally: Tally) -> Ints:
        a, b = self.facts.quantile.as_integer_ratio()
        below, up_to = self._ranks(tally)
        if not self.tight:
            return np.abs(b * below - a * tally.rows)
        return np.maximum(np.maximum(b * below - a * tally.rows + 1, a * tally.rows - b * up_to), 0)

    def worst_error(self, premise: int = 0) -> float:
        """Odds of a wrong candidate against the right ones are at most their number times exp(-rate * lead)."""
        if premise == 0 and not self.tight:
            return 1.0
        inside = self.accepted.stop - self.accepted.start
        left, right = self.accepted.start, len(self.candidates) - self.accepted.stop
        rivals = max(inside, left + right if self.tight else max(left, right))
        lead = self.facts.quantile.denominator * premise + self.tight
        return sigmoid(math.log(rivals) - float(self.rate) * lead) if rivals else 0.0

    def premise(self, tally: Tally, largest: int | None = None) -> int:
        """Half of what these data keep."""
        below, up_to = self._ranks(tally)
        place = rank(self.facts.quantile, tally.rows)
        inside = self.accepted
        found = np.flatnonzero((below < place) & (place <= up_to))
        if len(found) == 0 or inside.start == inside.stop:
            return 0
        smaller, larger = (place - 1, place) if self.tight else (below[found[0]], up_to[found[0]])
        return max(0, int(min(smaller - below[inside.start], up_to[inside.stop - 1] - larger)) // 2)

    def assumption(self, premise: int, unit: Fraction) -> str:
        if self.tight:
            return super().assumption(premise, unit)
        rows = "1 true row lies" if premise == 1 else f"{premise:,} true rows lie"
        ends = " and ".join(number_text(end * unit) for end in (self.interval.low, self.interval.high))
        return f"at least {rows} strictly between it and each of {ends}" if premise else ""

    def _ranks(self, tally: Tally) -> tuple[Ints, Ints]:
        """#(< e) and #(<= e) for every candidate e."""
        rows = tally.cumulative_rows()
        if isinstance(self.edges, range):
            return rows[:-1], rows[1:]
        at = np.searchsorted(as_array(self.edges), as_array(self.candidates))
        return rows[at - 1], rows[at]


class QuantileExponentialTight(QuantileExponential):
    name = "median-em-tight"
    summary = "exponential mechanism on tied ranks, sensitivity one half"
    published = False
    tight = True


class QuantileCounts(NoisyDecider, QuantileMargin):
    """What the deciders on rows beyond either end share."""

    @property
    def rho(self) -> Fraction:
        """Two parts of half the price each: one row moves both."""
        return rho_of_parts((self.epsilon / 2, self.epsilon / 2))


class QuantileHistogram(QuantileCounts):
    """Hist_med: are fewer than half of the rows on either side of the interval?  dp-pqd algorithm 3.

    Noisy n, noisy #(<= l), noisy #(>= r), each with noise of scale 2 / epsilon; the two sides are disjoint, so one of
    them moves, and n.
    """

    name = "median-histogram"
    summary = "noisy rows on either side against noisy n / 2"
    published = True

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (2 / self.epsilon,) * 3

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        a, b = self.facts.quantile.as_integer_ratio()
        rows = tally.rows + noise[0]
        left, right = -(-a * rows // b), -(-(b - a) * rows // b)
        return int(tally.counts[0]) + noise[1] < left and int(tally.counts[2]) + noise[2] < right

    def probability(self, tally: Tally) -> float:
        a, b = self.facts.quantile.as_integer_ratio()
        scale = self.noise[0]
        offsets = laplace.support(scale)
        rows = tally.rows + offsets
        left, right = -(-a * rows // b), -(-(b - a) * rows // b)
        logs = laplace.log_at_most(left - 1 - int(tally.counts[0]), scale)
        logs = logs + laplace.log_at_most(right - 1 - int(tally.counts[2]), scale)
        return float(np.dot(laplace.mass(offsets, scale), np.exp(logs)))

    def worst_error(self, premise: int = 0) -> float:
        """Summed over the noise on n; rounding a n / b moves a comparison by less than a row, in either direction."""
        a, b = self.facts.quantile.as_integer_ratio()
        scale = self.noise[0]
        offsets = laplace.support(scale)
        mass = laplace.mass(offsets, scale)
        left, right = -(-a * offsets // b), -(-(b - a) * offsets // b)
        right_inside = laplace.log_at_most(premise - 1 + left, scale)
        right_inside = right_inside + laplace.log_at_most(premise - 1 + right, scale)
        wrong_inside = 1.0 - float(np.dot(mass, np.exp(right_inside)))
        wrong_outside = (
            float(np.dot(mass, np.exp(laplace.log_at_most(side - 1 - premise, scale))))
            for side in (left, right)
        )
        return max(wrong_inside, *wrong_outside)


class QuantileSides(QuantileCounts):
    """The histogram decider on (b #(<= l) - a n, b #(>= r) - (b - a) n), which one row moves by 2 max(a, b - a) in all.

    No noisy n; unmet when the first is at least 0 or the second at least 1, which is right for even n too.
    """

    name = "median-histogram-tight"
    summary = "noisy surplus of rows on either side"

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (2 * self.sensitivity / self.epsilon,) * 2

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        left, right = self._sides(tally)
        return left + noise[0] < 0 and right + noise[1] < 1

    def probability(self, tally: Tally) -> float:
        left, right = self._sides(tally)
        scale = self.noise[0]
        return float(np.exp(laplace.log_at_most(-1 - left, scale) + laplace.log_at_most(-right, scale)))

    def worst_error(self, premise: int = 0) -> float:
        """The two margins are together at least b (2 k + 1) + 1, each at least b k + 1; worst when one is as small."""
        b = self.facts.quantile.denominator
        near, far = np.exp(laplace.log_at_least([b * premise + 1, b * premise + b], self.noise[0]))
        return float(near + far - near * far)

    def _sides(self, tally: Tally) -> tuple[int, int]:
        a, b = self.facts.quantile.as_integer_ratio()
        rows = tally.rows
        return b * int(tally.counts[0]) - a * rows, b * int(tally.counts[2]) - (b - a) * rows
