"""What every decider is: a frozen description of the draw, its decision rule, its price and its exact error.

A decider is public: it holds bounds, tau and epsilon, never data.  Given the exact ``Tally`` of the private values
over ``edges``, one of three draws decides:

* ``NoisyDecider``: independent discrete Laplace noise with the scales of ``noise``; ``decide`` compares integers;
* ``CoinDecider``: one Bernoulli(sigmoid(x)) with the rational x of ``logit``;
* ``CandidateDecider``: an exponential-mechanism draw of a candidate with integer penalties.

``probability`` is the probability of "satisfied" over that draw, a number about hypothetical data.  Nothing is drawn
in this package.

What a decider promises is ``worst_error``: the largest error over all true tables whose answer equals the synthetic
one or is 2 tau or more away.  Where no useful number holds for all of them, it is taken over those that keep a
``premise``, a whole number in the decider's own terms (rows that match, levels that stay empty); 0 excludes no table,
and a larger one never gives a larger error.  ``proofs/decider-errors.md`` derives each of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.deciders.cost import rho_of_exponential, rho_of_pure
from hushtable.deciders.interval import Interval, Number, exact
from hushtable.deciders.tally import IntArray, Tally
from hushtable.privacy.mechanism import Price

CLEAR = 1e-3
"""An error that is small enough: from here on a claim asks less of the true table rather than promise more."""


@dataclass(frozen=True)
class Claim:
    """The error is at most ``error`` at distance 0 and from 2 tau on, for every true table, or if ``assumes`` holds."""

    error: float
    assumes: str = ""


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

    @abstractmethod
    def at(self, within: Interval) -> Decider:
        """The same decider with another interval."""

    @abstractmethod
    def worst_error(self, premise: int = 0) -> float:
        """The largest error at distance 0 and from 2 tau on, over every true table that keeps the premise."""

    def premise(self, tally: Tally, largest: int | None = None) -> int:
        """The premise that one may rely on when the true table is like a supposed one; ``largest`` is public."""
        return 0

    def assumption(self, premise: int, unit: Fraction) -> str:
        """The premise in words, as what follows "provided that"; ``unit`` is the step of the grid."""
        return ""

    def supposed_error(self, tally: Tally, largest: int | None = None) -> float:
        """The worst error under the premise that a supposed table suggests."""
        return self.worst_error(self.premise(tally, largest))

    def claim(self, tally: Tally, unit: Fraction = Fraction(1), largest: int | None = None) -> Claim:
        """What a verdict may say: an error as small as a supposed table suggests, and the fewest tables left out."""
        premise = self.premise(tally, largest)
        error = max(CLEAR, self.worst_error(premise)) if premise else self.worst_error()
        needed = first_whole(lambda least: self.worst_error(least) <= error, premise)
        if needed == 0:
            error = self.worst_error()
        return Claim(error, self.assumption(needed, unit))

    @property
    def by_distance(self) -> bool:
        """Whether the worst error depends on tau and not on where the interval lies, so that there is a threshold."""
        return False

    def threshold(self, accepted: float, premise: int = 0) -> float | None:
        """The smallest tau in whole steps whose worst error is at most ``accepted``; None without ``by_distance``."""
        if not self.by_distance:
            return None

        def effective(tau: int) -> bool:
            return self.around(tau).worst_error(premise) <= accepted

        limit = 1
        while not effective(limit):
            limit *= 2
        return float(first_whole(effective, limit, above=limit // 2))

    def around(self, tau: Number) -> Decider:
        """The same decider with an interval of this size that is far from zero."""
        size = exact(tau)
        return self.at(Interval(Fraction(4 * math.ceil(size)), size))


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

    def error(self, tally: Tally) -> float:
        x = float(self.logit(tally))
        return sigmoid(-x if self.truth(tally) else x)


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


def first_whole(holds: Callable[[int], bool], last: int, *, above: int = -1) -> int:
    """The smallest whole number in (above, last] from which on something holds; it holds at ``last``."""
    low, high = above, last
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    small = float(np.exp(-abs(x)))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)
