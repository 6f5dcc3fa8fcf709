"""What every decider is: a name, what it answers, and for one question its draw, decision rule, price and exact error.

The class is what the registry knows: its name, its aggregate, when "auto" takes it.  An instance is public too: it
holds the ``Facts`` of one question and an epsilon, never data.  Given the exact ``Tally`` of the private values over
``edges``, one of three draws decides:

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
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self

import numpy as np

from hushtable.arrays import Ints
from hushtable.deciders.aggregates import Additive, Aggregate, Facts
from hushtable.deciders.intervals import Interval, Number, exact
from hushtable.deciders.tallies import Tally
from hushtable.errors import BudgetError, QueryError
from hushtable.privacy import LARGEST_SCALE, Mechanism, Ratio, positive, pure_rho

CLEAR = 1e-3
"""An error that is small enough: from here on a claim asks less of the true table rather than promise more."""

PRECISION = 10**12
"""The epsilon for a rho is found to one part in so many: prices are exact, so all that it costs is that part."""

Preferred = Literal["epsilon", "rho", "largest"]
"""When "auto" takes a decider: for a price in epsilon, for one in rho, or for its threshold under a largest value."""


@dataclass(frozen=True)
class ErrorClaim:
    """The error is at most ``error`` at distance 0 and from 2 tau on, for every true table, or if ``assumes`` holds."""

    error: float
    assumes: str = ""


@dataclass(frozen=True)
class Decider(Mechanism):
    """Common part; ``epsilon`` is the pure price per row.  A subclass adds no fields.

    Every decider is epsilon-DP, so that it can be paid for in each currency; ``rho`` is what it costs in zCDP.
    """

    name: ClassVar[str]
    aggregate: ClassVar[Aggregate]
    summary: ClassVar[str]
    """What it does, in a few words."""
    published: ClassVar[bool] = False
    """Whether dp-pqd describes it."""
    nonnegative: ClassVar[bool] = False
    """Whether it needs values that cannot be negative."""
    preferred: ClassVar[Preferred | None] = None
    reason: ClassVar[str] = ""
    """Why "auto" takes it then."""
    by_distance: ClassVar[bool] = False
    """Whether the worst error depends on tau and not on where the interval lies, so that there is a threshold."""

    epsilon: Fraction
    facts: Facts

    @classmethod
    def of(cls, facts: Facts, epsilon: Number) -> Self:
        """The decider of a question with these facts, or a refusal."""
        made = cls(positive(epsilon, "epsilon"), facts)
        made.check()
        return made

    @classmethod
    def priced(cls, facts: Facts, *, epsilon: Number | None = None, rho: Number | None = None) -> Self:
        """The same for a pure or a zCDP price per row, not checked.

        A rho buys the largest epsilon, to a relative 1e-12, whose zCDP price is at most as high.
        """
        if epsilon is not None and rho is None:
            return cls(positive(epsilon, "epsilon"), facts)
        if rho is None or epsilon is not None:
            raise BudgetError("budget.one-price", "Give either epsilon or rho.", "Leave one of them out.")
        price = positive(rho, "rho")
        small, large = Fraction(0), max(Fraction(1), 8 * price)
        while cls(large, facts).rho <= price:
            large *= 2
        while large - small > large / PRECISION:
            middle = (small + large) / 2
            fits = cls(middle, facts).rho <= price
            small, large = (middle, large) if fits else (small, middle)
        return cls(small, facts)

    @classmethod
    def span(cls, limit: int) -> range:
        """All values of at most this size that it can take."""
        return range(0 if cls.nonnegative else -limit, limit + 1)

    def check(self) -> None:
        """Refuse facts with which it cannot decide, or not in exact 64-bit arithmetic."""
        self.aggregate.check(self.facts)
        if self.nonnegative and self.facts.low < 0:
            raise QueryError(
                "query.negative-values",
                f"The decider {self.name!r} needs values that cannot be negative.",
                'Leave the choice to "auto", or declare a lower bound of 0.',
            )

    @property
    def interval(self) -> Interval:
        """What is close enough, in grid steps."""
        return self.facts.interval

    @property
    def edges(self) -> Sequence[int]:
        """Where values are cut for the tally that this decider needs."""
        return ()

    @property
    def rho(self) -> Fraction:
        """The zCDP price per row, an upper bound."""
        return rho_of_parts((self.epsilon,))

    def ratios(self, rows: int = 1) -> tuple[Ratio, Ratio]:
        """rows epsilon, and rows^2 rho."""
        return (rows * self.epsilon).as_integer_ratio(), (rows * rows * self.rho).as_integer_ratio()

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

    def at(self, within: Interval) -> Self:
        """The same decider with another interval."""
        return replace(self, facts=replace(self.facts, interval=within))

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

    def claim(self, tally: Tally, unit: Fraction = Fraction(1), largest: int | None = None) -> ErrorClaim:
        """What a verdict may say: an error as small as a supposed table suggests, and the fewest tables left out."""
        premise = self.premise(tally, largest)
        error = max(CLEAR, self.worst_error(premise)) if premise else self.worst_error()
        needed = first_whole(lambda least: self.worst_error(least) <= error, premise)
        if needed == 0:
            error = self.worst_error()
        return ErrorClaim(error, self.assumption(needed, unit))

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

    def around(self, tau: Number) -> Self:
        """The same decider with an interval of this size that is far from zero."""
        size = exact(tau)
        return self.at(Interval(Fraction(4 * math.ceil(size)), size))


class AdditiveDecider(Decider):
    """About a COUNT or a SUM: the truth is whether that number is inside, and the error follows the distance."""

    aggregate: ClassVar[Additive]
    by_distance = True

    def truth(self, tally: Tally) -> bool:
        return self.interval.contains(self.aggregate.of(tally))

    def worst_error(self, premise: int = 0) -> float:
        """The error falls beyond 2 tau, whatever the rows are."""
        answers = self.interval.clear_answers(self.aggregate.lowest)
        return max(self.error(self.aggregate.table(answer)) for answer in answers)


class NoisyDecider(Decider):
    """Adds independent discrete Laplace noise, then compares."""

    def check(self) -> None:
        super().check()
        if max(self.noise) > LARGEST_SCALE:
            raise QueryError(
                "query.noise-too-large",
                f"The noise of {self.name!r} would not fit into 64-bit integers.",
                "Declare narrower bounds or a coarser resolution, or spend a larger epsilon.",
            )

    @property
    @abstractmethod
    def noise(self) -> tuple[Fraction, ...]:
        """Scales of the draws, in the order that ``decide`` takes them."""

    @abstractmethod
    def decide(self, tally: Tally, noise: Sequence[int]) -> bool:
        """The verdict, in integer arithmetic."""


class ExponentialDecider(Decider):
    """Its log odds have a range of epsilon, which zCDP charges less than pure epsilon-DP in general."""

    @property
    def rho(self) -> Fraction:
        return self.epsilon**2 / 8


class CoinDecider(ExponentialDecider):
    """An exponential mechanism with two outcomes."""

    @abstractmethod
    def logit(self, tally: Tally) -> Fraction:
        """log P[satisfied] / P[unmet], a rational number."""

    def probability(self, tally: Tally) -> float:
        return sigmoid(float(self.logit(tally)))

    def error(self, tally: Tally) -> float:
        x = float(self.logit(tally))
        return sigmoid(-x if self.truth(tally) else x)


class CandidateDecider(ExponentialDecider):
    """An exponential mechanism over candidate answers: P[i] is proportional to exp(-rate * penalties[i])."""

    @property
    @abstractmethod
    def rate(self) -> Fraction:
        """What one unit of penalty costs in log probability."""

    @property
    @abstractmethod
    def accepted(self) -> slice:
        """Candidates that mean "satisfied"."""

    @abstractmethod
    def penalties(self, tally: Tally) -> Ints:
        """One nonnegative integer per candidate."""

    def probability(self, tally: Tally) -> float:
        logs = -float(self.rate) * self.penalties(tally)
        weights = np.exp(logs - logs.max())
        inside = np.zeros(len(weights), bool)
        inside[self.accepted] = True
        rest = weights[~inside].sum()
        return float(weights[inside].sum() / (weights[inside].sum() + rest))


def rho_of_parts(epsilons: Iterable[Fraction]) -> Fraction:
    """The zCDP price of pure mechanisms one after another, independent or adaptive, rounded up to a rational.

    epsilon tanh(epsilon/2) for each, which is tight where nothing else is known (``proofs/decider-cost.md``).
    """
    return sum((Fraction(*pure_rho(part.as_integer_ratio())) for part in epsilons), Fraction(0))


def first_whole(holds: Callable[[int], bool], last: int, *, above: int = -1) -> int:
    """The smallest whole number in (above, last] from which on something holds; it holds at ``last``."""
    return above + 1 + bisect_left(range(above + 1, last), True, key=holds)


def sigmoid(x: float) -> float:
    """1 / (1 + exp(-x)) without overflow."""
    small = float(np.exp(-abs(x)))
    return 1.0 / (1.0 + small) if x >= 0 else small / (1.0 + small)
