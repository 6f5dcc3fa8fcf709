"""What every decider is: a frozen description of the draw, its decision rule, its price and its exact error.

A decider is public: it holds bounds, tau and epsilon, never data.  Given the exact ``Tally`` of the private values
over ``edges``, one of three draws decides:

* ``NoisyDecider``: independent discrete Laplace noise with the scales of ``noise``; ``decide`` compares integers;
* ``CoinDecider``: one Bernoulli(sigmoid(x)) with the rational x of ``logit``;
* ``CandidateDecider``: an exponential-mechanism draw of a candidate with integer penalties.

``probability`` is the probability of "satisfied" over that draw, a number about hypothetical data.  Nothing is drawn
in this package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.deciders.cost import rho_of_exponential, rho_of_pure
from hushtable.deciders.tally import IntArray, Tally
from hushtable.privacy.mechanism import Price


@dataclass(frozen=True)
class Decider(ABC):
    """Common part; ``epsilon`` is the pure price per row."""

    name: str
    epsilon: Fraction

    @property
    def edges(self) -> Sequence[int]:
        """Where values are cut for the tally that this decider needs."""
        return ()

    @property
    def rho(self) -> Fraction:
        """The zCDP price per row, an upper bound."""
        return rho_of_pure(self.epsilon)

    def price(self, rows: int = 1) -> Price:
        """The price of a person with at most ``rows`` rows."""
        return Price(rows * self.epsilon, rows * rows * self.rho)

    def ratios(self, rows: int = 1) -> tuple[tuple[int, int], tuple[int, int]]:
        """The same as (xi, rho), each (numerator, denominator)."""
        price = self.price(rows)
        return (rows * self.epsilon).as_integer_ratio(), price.rho.as_integer_ratio()

    @abstractmethod
    def truth(self, tally: Tally) -> bool:
        """Whether the true answer is within tau: what a verdict without noise would say."""

    @abstractmethod
    def probability(self, tally: Tally) -> float:
        """Probability of the verdict "satisfied" on data with this tally."""

    def error(self, tally: Tally) -> float:
        """Probability of the wrong verdict on data with this tally, dp-pqd def. 3.2."""
        satisfied = self.probability(tally)
        return 1.0 - satisfied if self.truth(tally) else satisfied


@dataclass(frozen=True)
class NoisyDecider(Decider):
    """Adds independent discrete Laplace noise, then compares."""

    @property
    @abstractmethod
    def noise(self) -> tuple[Fraction, ...]:
        """Scales of the draws, in the order that ``decide`` takes them."""

    @abstractmethod
    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        """The verdict, in integer arithmetic."""


@dataclass(frozen=True)
class CoinDecider(Decider):
    """An exponential mechanism with two outcomes."""

    @property
    def rho(self) -> Fraction:
        return rho_of_exponential(self.epsilon)

    @abstractmethod
    def logit(self, tally: Tally) -> Fraction:
        """log P[satisfied] / P[unmet], a rational number."""

    def probability(self, tally: Tally) -> float:
        return sigmoid(float(self.logit(tally)))


@dataclass(frozen=True)
class CandidateDecider(Decider):
    """An exponential mechanism over candidate answers: P[i] is proportional to exp(-rate * penalties[i])."""

    @property
    def rho(self) -> Fraction:
        return rho_of_exponential(self.epsilon)

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """What one unit of penalty costs in log probability."""

    @property
    @abstractmethod
    def accepted(self) -> slice:
        """Candidates that mean "satisfied"."""

    @abstractmethod
    def penalties(self, tally: Tally) -> IntArray:
        """One nonnegative integer per candidate."""

    def probability(self, tally: Tally) -> float:
        logs = -float(self.rate) * self.penalties(tally)
        weights = np.exp(logs - logs.max())
        inside = np.zeros(len(weights), bool)
        inside[self.accepted] = True
        rest = weights[~inside].sum()
        return float(weights[inside].sum() / (weights[inside].sum() + rest))


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    small = float(np.exp(-abs(x)))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)
