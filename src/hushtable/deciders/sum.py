"""Deciders for SUM from one noisy answer or a race of truncated ones; the sparse-vector decider is in ``svt``.

Values are whole grid steps.  The race needs values in [0, bound]; the plain Laplace decider in [-bound, bound].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hushtable.deciders import laplace
from hushtable.deciders.cost import rho_of_parts
from hushtable.deciders.decider import NoisyDecider
from hushtable.deciders.interval import Interval
from hushtable.deciders.tally import Tally


def levels(bound: int) -> int:
    """L = ceil(log2 bound), at least 1: the number of truncated sums, and the factor in their noise."""
    return max(1, (bound - 1).bit_length())


def truncations(bound: int) -> tuple[int, ...]:
    """t_j = 2^j for j = 1..L."""
    return tuple(2**j for j in range(1, levels(bound) + 1))


def shared_factor(bound: int) -> Fraction:
    """2 - 2^(1 - L): the most that one row moves sum_j q(D, t_j) / t_j."""
    return 2 - Fraction(2, 2 ** levels(bound))


@dataclass(frozen=True)
class SumLaplace(NoisyDecider):
    """LM_sum: is the noisy sum inside the interval?  dp-pqd sec. 5.1."""

    interval: Interval
    bound: int

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (self.bound / self.epsilon,)

    def truth(self, tally: Tally) -> bool:
        return self.interval.contains(tally.total)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return self.interval.contains(tally.total + noise[0])

    def probability(self, tally: Tally) -> float:
        total = tally.total
        return laplace.between(self.interval.first - total, self.interval.last - total, self.noise[0])


@dataclass(frozen=True)
class SumRace(NoisyDecider):
    """R2T_sum: is the race's estimate inside the interval?  dp-pqd sec. 5.2, eqs. 11 and 12.

    The estimate is the largest of 0 and q(D, t_j) + noise_j - shift_j, with noise of scale s_j = factor t_j / epsilon
    and shift_j = s_j ln(L / beta).  Published: factor L.  ``shared_factor`` is enough, because the truncated sums
    move together.  With ``centred``, shift_j = max(0, s_j ln((L + 1) / beta) - tau): the room that tau leaves at
    distances 0 and 2 tau is used, which halves the threshold.
    """

    interval: Interval
    bound: int
    factor: Fraction
    beta: float
    centred: bool = False

    @property
    def edges(self) -> Sequence[int]:
        return truncations(self.bound)

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return tuple(self.factor * t / self.epsilon for t in self.edges)

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
        found = []
        events = levels(self.bound) + self.centred
        for scale in self.noise:
            shift = Fraction(float(scale) * math.log(events / self.beta))
            if self.centred:
                shift = max(Fraction(0), shift - self.interval.tau)
            found.append(
                (math.floor(self.interval.low + shift) + 1, math.ceil(self.interval.high + shift) - 1)
            )
        return tuple(found)

    def truth(self, tally: Tally) -> bool:
        return self.interval.contains(tally.total)

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
