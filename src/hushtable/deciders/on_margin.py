"""Deciders whose only view of the data is a margin: a noisy one above zero, or a coin whose log odds it is.

``MarginThreshold`` adds noise and compares, which is the optimal epsilon-DP test when the sensitivity is 1
(truncated-uniform-Laplace noise, at the cut that makes its uniform part vanish); ``MarginCoin`` throws a coin, four
times cheaper in zCDP.  Each comes for all four aggregates.  See ``proofs/decider-margin.md``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from hushtable.deciders import laplace
from hushtable.deciders.aggregates import AVG, COUNT, MEDIAN, SUM
from hushtable.deciders.decider import CoinDecider, Decider, NoisyDecider, sigmoid
from hushtable.deciders.margins import AverageMargin, CountMargin, Extreme, Margin, QuantileMargin, SumMargin
from hushtable.deciders.tally import Tally


class MarginDecider(Decider):
    """What a decider takes from a margin: where values are cut, the truth, and what it assumes."""

    kind: ClassVar[type[Margin]]

    @cached_property
    def margin(self) -> Margin:
        """How far the data are from the other verdict."""
        return self.kind(self.facts)

    @property
    def edges(self) -> Sequence[int]:
        return self.margin.edges

    def truth(self, tally: Tally) -> bool:
        return self.margin.of(tally) >= 1

    @property
    def by_distance(self) -> bool:
        return self.margin.by_distance

    def premise(self, tally: Tally, largest: int | None = None) -> int:
        return self.margin.premise(tally)

    def assumption(self, premise: int, unit: Fraction) -> str:
        return self.margin.assumption(premise)


class OneMargin(MarginDecider):
    """The margin is all that it sees, so that its error is a function of it."""

    @abstractmethod
    def wrong(self, place: Extreme) -> float:
        """Probability of the wrong verdict at this margin."""

    def error(self, tally: Tally) -> float:
        return self.wrong(Extreme(self.truth(tally), self.margin.of(tally)))

    def worst_error(self, premise: int = 0) -> float:
        return max(self.wrong(place) for place in self.margin.extremes(premise))


class MarginThreshold(OneMargin, NoisyDecider):
    """Satisfied when margin + noise >= 1, with noise of scale sensitivity / epsilon."""

    summary = "noisy margin above zero"
    preferred = "epsilon"
    reason = "a noisy margin is the strongest test for a pure epsilon"

    @property
    def noise(self) -> tuple[Fraction, ...]:
        return (self.margin.sensitivity / self.epsilon,)

    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        return self.margin.of(tally) + noise[0] >= 1

    def probability(self, tally: Tally) -> float:
        return self.wrong(Extreme(False, self.margin.of(tally)))

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
        return self._logit(self.margin.of(tally))

    def wrong(self, place: Extreme) -> float:
        x = float(self._logit(place.margin))
        return sigmoid(-x if place.inside else x)

    def _logit(self, margin: int) -> Fraction:
        return self.epsilon * (margin - Fraction(1, 2)) / self.margin.sensitivity


class CountOptimal(MarginThreshold):
    name = "count-optimal"
    aggregate = COUNT
    kind = CountMargin
    summary = "noisy margin above zero: the optimal epsilon-DP test"


class CountLogistic(MarginCoin):
    name = "count-logistic"
    aggregate = COUNT
    kind = CountMargin


class SumThreshold(MarginThreshold):
    name = "sum-margin"
    aggregate = SUM
    kind = SumMargin


class SumLogistic(MarginCoin):
    name = "sum-logistic"
    aggregate = SUM
    kind = SumMargin


class MedianThreshold(MarginThreshold):
    name = "median-margin"
    aggregate = MEDIAN
    kind = QuantileMargin
    summary = "noisy margin in rows above zero"


class MedianLogistic(MarginCoin):
    name = "median-logistic"
    aggregate = MEDIAN
    kind = QuantileMargin
    summary = "coin on the margin in rows, cheapest in zCDP"


class AverageThreshold(MarginThreshold):
    name = "avg-margin"
    aggregate = AVG
    kind = AverageMargin
    summary = "noisy margin of the average above zero"


class AverageLogistic(MarginCoin):
    name = "avg-logistic"
    aggregate = AVG
    kind = AverageMargin
    summary = "coin on the margin of the average, cheapest in zCDP"
