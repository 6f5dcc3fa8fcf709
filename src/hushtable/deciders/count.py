"""Deciders for COUNT as published: Laplace and exponential mechanism, and the naive baseline.

The optimal test is in ``margin``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from hushtable.deciders import laplace
from hushtable.deciders.decider import CoinDecider, Decider, NoisyDecider
from hushtable.deciders.interval import Interval
from hushtable.deciders.tally import Tally, rows_only


@dataclass(frozen=True)
class CountDecider(Decider):
    """What a COUNT asks for; the error falls as the count moves beyond 2 tau, whatever the rows are."""

    interval: Interval

    def truth(self, tally: Tally) -> bool:
        return self.interval.contains(tally.rows)

    def at(self, within: Interval) -> Self:
        return replace(self, interval=within)

    def worst_error(self, premise: int = 0) -> float:
        return max(self.error(rows_only(rows)) for rows in self.interval.clear_answers(lowest=0))

    @property
    def by_distance(self) -> bool:
        return True


@dataclass(frozen=True)
class CountLaplace(CountDecider, NoisyDecider):
    """LM_count: is the noisy count inside the interval?  dp-pqd sec. 4.1."""

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (1 / self.epsilon,)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return self.interval.contains(tally.rows + noise[0])

    def probability(self, tally: Tally) -> float:
        return laplace.between(*self._reach(tally), self.noise[0])

    def error(self, tally: Tally) -> float:
        wrong = laplace.outside if self.truth(tally) else laplace.between
        return wrong(*self._reach(tally), self.noise[0])

    def _reach(self, tally: Tally) -> tuple[int, int]:
        return self.interval.first - tally.rows, self.interval.last - tally.rows


@dataclass(frozen=True)
class CountExponential(CountDecider, CoinDecider):
    """EM_count: log odds of epsilon * clip(tau - |distance|, -tau, tau), dp-pqd sec. 4.2.2."""

    def logit(self, tally: Tally) -> Fraction:
        tau = self.interval.tau
        return self.epsilon * max(-tau, tau - abs(tally.rows - self.interval.centre))

    def threshold(self, accepted: float, premise: int = 0) -> float | None:
        """ln((1 - delta) / delta) / epsilon: the log odds follow tau itself, which need not be whole."""
        found = max(0.0, math.log((1 - accepted) / accepted) / float(self.epsilon))
        while found and self.around(found).worst_error() > accepted:
            found = math.nextafter(found, math.inf)
        return found


@dataclass(frozen=True)
class CountNaive(CountDecider, CoinDecider):
    """The exponential mechanism on the truth itself, dp-pqd sec. 4.2.1: a baseline that no tau helps."""

    def logit(self, tally: Tally) -> Fraction:
        return self.epsilon / 2 if self.truth(tally) else -self.epsilon / 2

    @property
    def by_distance(self) -> bool:
        return False
