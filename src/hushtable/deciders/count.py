"""Deciders for COUNT as published: Laplace and exponential mechanism, and the naive baseline.

The optimal test is in ``margin``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hushtable.deciders import laplace
from hushtable.deciders.decider import CoinDecider, NoisyDecider
from hushtable.deciders.interval import Interval
from hushtable.deciders.tally import Tally


@dataclass(frozen=True)
class CountLaplace(NoisyDecider):
    """LM_count: is the noisy count inside the interval?  dp-pqd sec. 4.1."""

    interval: Interval

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (1 / self.epsilon,)

    def truth(self, tally: Tally) -> bool:
        return self.interval.contains(tally.rows)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return self.interval.contains(tally.rows + noise[0])

    def probability(self, tally: Tally) -> float:
        rows = tally.rows
        return laplace.between(self.interval.first - rows, self.interval.last - rows, self.noise[0])


@dataclass(frozen=True)
class CountExponential(CoinDecider):
    """EM_count: log odds of epsilon * clip(tau - |distance|, -tau, tau), dp-pqd sec. 4.2.2."""

    interval: Interval

    def truth(self, tally: Tally) -> bool:
        return self.interval.contains(tally.rows)

    def logit(self, tally: Tally) -> Fraction:
        tau = self.interval.tau
        return self.epsilon * max(-tau, tau - abs(tally.rows - self.interval.centre))


@dataclass(frozen=True)
class CountNaive(CoinDecider):
    """The exponential mechanism on the truth itself, dp-pqd sec. 4.2.1: a baseline that no tau helps."""

    interval: Interval

    def truth(self, tally: Tally) -> bool:
        return self.interval.contains(tally.rows)

    def logit(self, tally: Tally) -> Fraction:
        return self.epsilon / 2 if self.truth(tally) else -self.epsilon / 2
