"""Deciders for SUM from a race of truncated sums; the sparse-vector decider over the same sums is in ``svt``.

Values are whole grid steps in [0, bound].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from hushtable.arrays import Floats
from hushtable.deciders import laplace
from hushtable.deciders.aggregates import SUM
from hushtable.deciders.decider import AdditiveDecider, NoisyDecider, rho_of_parts
from hushtable.deciders.intervals import number_text
from hushtable.deciders.tallies import Tally


def levels(bound: int) -> int:
    """L = ceil(log2 bound), at least 1: the number of truncated sums, and the factor in their noise."""
    return max(1, (bound - 1).bit_length())


def truncations(bound: int) -> tuple[int, ...]:
    """t_j = 2^j for j = 1..L."""
    return tuple(2**j for j in range(1, levels(bound) + 1))


def shared_factor(bound: int) -> Fraction:
    """2 - 2^(1 - L): the most that one row moves sum_j q(D, t_j) / t_j."""
    return 2 - Fraction(2, 2 ** levels(bound))


class TruncatedSums(AdditiveDecider, NoisyDecider):
    """What the deciders over sums of the values of at most t_j share."""

    aggregate = SUM
    nonnegative = True

    @property
    def bound(self) -> int:
        """The largest possible value."""
        return self.facts.bound

    @property
    def edges(self) -> Sequence[int]:
        return truncations(self.bound)


class SumRace(TruncatedSums):
    """R2T_sum: is the race's estimate inside the interval?  dp-pqd sec. 5.2, eqs. 11 and 12.

    The estimate is the largest of 0 and q(D, t_j) + noise_j - shift_j, with noise of scale s_j = factor t_j / epsilon
    and shift_j = s_j ln(L / beta).  Published: factor L.  ``shared_factor`` is enough, because the truncated sums
    move together.  With ``centred``, shift_j = max(0, s_j ln((L + 1) / beta) - tau): the room that tau leaves at
    distances 0 and 2 tau is used, which halves the threshold.

    The premise is how many of the highest levels are empty: no value is above t_(L - premise).
    """

    name = "sum-r2t"
    summary = "race of truncated sums, noise L t / epsilon"
    published = True
    centred: ClassVar[bool] = False

    @property
    def factor(self) -> Fraction:
        """What the noise is multiplied by because a row moves several levels."""
        return Fraction(levels(self.bound))

    @property
    def noise(self) -> tuple[Fraction, ...]:
        unit = self.factor / self.epsilon
        return tuple(unit * t for t in self.edges)

    @property
    def rho(self) -> Fraction:
        """Worst over the value v of the row that moves: levels with t_j >= v move by v, the others not at all."""
        scales = self.noise
        return max(
            rho_of_parts(value / scale for scale in scales[first:]) for first, value in enumerate(self.edges)
        )

    @cached_property
    def limits(self) -> tuple[tuple[int, int], ...]:
        """Per level (smallest noisy sum that lifts the estimate above l, largest that keeps it below r)."""
        found: list[tuple[int, int]] = []
        events = levels(self.bound) + self.centred
        for scale in self.noise:
            shift = Fraction(float(scale) * math.log(events / self.facts.beta))
            if self.centred:
                shift = max(Fraction(0), shift - self.interval.tau)
            found.append(
                (math.floor(self.interval.low + shift) + 1, math.ceil(self.interval.high + shift) - 1)
            )
        return tuple(found)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        sums = [int(q) + v for q, v in zip(tally.cumulative_sums(), noise, strict=True)]
        pairs = list(zip(sums, self.limits, strict=True))
        if self.interval.high <= 0 or any(noisy > upper for noisy, (_, upper) in pairs):
            return False
        return self.interval.low < 0 or any(noisy >= lower for noisy, (lower, _) in pairs)

    def probability(self, tally: Tally) -> float:
        if self.interval.high <= 0:
            return 0.0
        below_r = below_l = 0.0
        for q, scale, (lower, upper) in zip(tally.cumulative_sums(), self.noise, self.limits, strict=True):
            below_r += float(laplace.log_at_most(upper - int(q), scale))
            below_l += float(laplace.log_at_most(lower - 1 - int(q), scale))
        return float(np.exp(below_r)) if self.interval.low < 0 else laplace.difference(below_r, below_l)

    def premise(self, tally: Tally, largest: int | None = None) -> int:
        """The levels above the largest value of these data, or above the largest value that is publicly known."""
        size = levels(self.bound)
        occupied = np.flatnonzero(tally.counts)
        highest = levels(largest) if largest is not None else 1 + int(occupied.max(initial=0))
        return size - min(size, highest)

    def assumption(self, premise: int, unit: Fraction) -> str:
        top = self.edges[-1 - premise]
        return f"no true value is above {number_text(top * unit)}" if premise else ""

    def worst_error(self, premise: int = 0) -> float:
        """From level L - premise on, a truncated sum is the sum; the sums below are anything from 0 to it."""
        whole = levels(self.bound) - 1 - premise
        above = math.ceil(self.interval.centre + 2 * self.interval.tau)
        below = math.floor(self.interval.centre - 2 * self.interval.tau)
        found = [float(np.exp(self._below(above)[0][whole:].sum()))]
        if below >= 0:
            found.append(float(-np.expm1(self._below(below)[1].sum())))
        if self.interval.centre.denominator == 1 and self.interval.centre >= 0:
            found.append(self._wrong_inside(int(self.interval.centre), whole))
        return min(1.0, max(found))

    def _wrong_inside(self, total: int, whole: int) -> float:
        """1 - prod F_j(r_j - q_j) + prod F_j(l_j - q_j), largest over the sums q_j below level ``whole``.

        Each q_j is 0 or the total at the maximum.  Where a higher level gains more of the first term and loses less of
        the second one, all levels from some level on have the total; otherwise the two terms are bounded apart.
        """
        (up, low), (up_empty, low_empty) = self._below(total), self._below(0)
        if self.interval.low < 0:
            return float(-np.expm1(up.sum()))
        gains, losses = (up - up_empty)[:whole], (low - low_empty)[:whole]
        if np.all(np.diff(gains) <= 0) and np.all(np.diff(losses) >= 0):
            above = up[whole:].sum() + _tails(up[:whole], up_empty[:whole])
            under = low[whole:].sum() + _tails(low[:whole], low_empty[:whole])
            return float((np.exp(under) - np.expm1(above)).max())
        return float(np.exp(low[whole:].sum()) - np.expm1(up.sum()))

    def _below(self, total: int) -> tuple[Floats, Floats]:
        """log P[not above r] and log P[not above l] of every level whose truncated sum is ``total``."""
        scales = np.array([float(scale) for scale in self.noise])
        lower, upper = (np.array(ends, np.float64) for ends in zip(*self.limits, strict=True))
        return laplace.log_at_most(upper - total, scales), laplace.log_at_most(lower - 1 - total, scales)


class SumRaceShared(SumRace):
    name = "sum-r2t-shared"
    summary = "race of truncated sums, noise below 2 t / epsilon"
    published = False

    @property
    def factor(self) -> Fraction:
        return shared_factor(self.bound)


class SumRaceCentred(SumRaceShared):
    name = "sum-r2t-centred"
    summary = "the same race with tau taken off the shifts"
    preferred = "largest"
    reason = "the largest supposed value is far below the bound"
    centred = True


def _tails(full: Floats, empty: Floats) -> Floats:
    """Sums with the levels below m empty and those from m on full, for every m."""
    return np.concatenate([[0.0], np.cumsum(empty)]) + np.concatenate([np.cumsum(full[::-1])[::-1], [0.0]])
