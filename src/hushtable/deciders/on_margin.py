"""Deciders whose only view of the data is a margin: a noisy one above zero, or a coin whose log odds it is.

``MarginThreshold`` adds noise and compares, which is the optimal epsilon-DP test when the sensitivity is 1
(truncated-uniform-Laplace noise, at the cut that makes its uniform part vanish); ``MarginCoin`` throws a coin, four
times cheaper in zCDP.  Each comes for all four aggregates.  See ``proofs/decider-margin.md``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hushtable.deciders import laplace
from hushtable.deciders.aggregates import COUNT, SUM
from hushtable.deciders.decider import CoinDecider, NoisyDecider, sigmoid
from hushtable.deciders.margins import AdditiveMargin, AverageMargin, Extreme, MarginDecider, QuantileMargin
from hushtable.deciders.tallies import Tally


class OneMargin(MarginDecider):
    """The margin is all that it sees, so that its error is a function of it."""

    @abstractmethod
    def wrong(self, place: Extreme) -> float:
        """Probability of the wrong verdict at this margin."""

    def error(self, tally: Tally) -> float:
        return self.wrong(Extreme(self.truth(tally), self.margin(tally)))

    def worst_error(self, premise: int = 0) -> float:
        return max(self.wrong(place) for place in self.extremes(premise))


class MarginThreshold(OneMargin, NoisyDecider):
    """Satisfied when margin + noise >= 1, with noise of scale sensitivity / epsilon."""

    summary = "noisy margin above zero"
    preferred = "epsilon"
    reason = "a noisy margin is the strongest test for a pure epsilon"

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (self.sensitivity / self.epsilon,)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return self.margin(tally) + noise[0] >= 1

    def probability(self, tally: Tally) -> float:
        return self.wrong(Extreme(False, self.margin(tally)))

    def wrong(self, place: Extreme) -> float:
        lost = laplace.log_at_most(-place.margin, self.noise[0])
        won = laplace.log_at_least(1 - place.margin, self.noise[0])
        return float(np.exp(lost if place.inside else won))


class MarginCoin(OneMargin, CoinDecider):
    """Satisfied with log odds epsilon * (margin - 1/2) / sensitivity."""

    summary = "coin on the margin, cheapest in zCDP"
    preferred = "rho"
    reason = "a coin on the margin is the cheapest test in zCDP"

    def logit(self, tally: Tally) -> Fraction:
        return self._logit(self.margin(tally))

    def wrong(self, place: Extreme) -> float:
        x = float(self._logit(place.margin))
        return sigmoid(-x if place.inside else x)

    def _logit(self, margin: int) -> Fraction:
        return self.epsilon * (margin - Fraction(1, 2)) / self.sensitivity


class CountOptimal(MarginThreshold, AdditiveMargin):
    name = "count-optimal"
    aggregate = COUNT
    summary = "noisy margin above zero: the optimal epsilon-DP test"


class CountLogistic(MarginCoin, AdditiveMargin):
    name = "count-logistic"
    aggregate = COUNT


class SumThreshold(MarginThreshold, AdditiveMargin):
    name = "sum-margin"
    aggregate = SUM


class SumLogistic(MarginCoin, AdditiveMargin):
    name = "sum-logistic"
    aggregate = SUM


class MedianThreshold(MarginThreshold, QuantileMargin):
    name = "median-margin"
    summary = "noisy margin in rows above zero"


class MedianLogistic(MarginCoin, QuantileMargin):
    name = "median-logistic"
    summary = "coin on the margin in rows, cheapest in zCDP"


class AverageThreshold(MarginThreshold, AverageMargin):
    name = "avg-margin"
    summary = "noisy margin of the average above zero"


class AverageLogistic(MarginCoin, AverageMargin):
    name = "avg-logistic"
    summary = "coin on the margin of the average, cheapest in zCDP"
