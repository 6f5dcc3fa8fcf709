"""The published deciders that add noise to the count or the sum itself, and see whether it falls into the interval."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hushtable.deciders import laplace
from hushtable.deciders.aggregates import COUNT, SUM
from hushtable.deciders.decider import AdditiveDecider, NoisyDecider
from hushtable.deciders.tallies import Tally


class NoisyAnswer(AdditiveDecider, NoisyDecider):
    """Is the noisy answer inside the interval?  Noise of scale sensitivity / epsilon."""

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (self.aggregate.sensitivity(self.facts) / self.epsilon,)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return self.interval.contains(self.aggregate.of(tally) + noise[0])

    def probability(self, tally: Tally) -> float:
        return laplace.between(*self._reach(tally), self.noise[0])

    def error(self, tally: Tally) -> float:
        wrong = laplace.outside if self.truth(tally) else laplace.between
        return wrong(*self._reach(tally), self.noise[0])

    def _reach(self, tally: Tally) -> tuple[int, int]:
        answer = self.aggregate.of(tally)
        return self.interval.first - answer, self.interval.last - answer


class CountLaplace(NoisyAnswer):
    """LM_count, dp-pqd sec. 4.1."""

    name = "count-lm"
    aggregate = COUNT
    summary = "noisy count inside the interval"
    published = True


class SumLaplace(NoisyAnswer):
    """LM_sum, dp-pqd sec. 5.1; values in [-bound, bound]."""

    name = "sum-lm"
    aggregate = SUM
    summary = "noisy sum inside the interval"
    published = True
