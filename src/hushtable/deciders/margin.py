"""Deciders that see one integer: the margin, how far the data are from the other verdict.

A margin is at least 1 when the true answer is within tau and at most 0 otherwise, and one row moves it by at most
its sensitivity.  ``extremes`` are the least margin at distance 0 and the largest ones from 2 tau on, over the true
tables that keep a premise: what the error of a verdict is at most.

``MarginThreshold`` adds noise to the margin and compares, which is the optimal epsilon-DP test when the sensitivity
is 1 (truncated-uniform-Laplace noise, at the cut that makes its uniform part vanish); ``MarginCoin`` throws a coin
whose log odds it is, four times cheaper in zCDP.  See ``proofs/decider-margin.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, Self

import numpy as np

from hushtable.deciders import laplace
from hushtable.deciders.decider import CoinDecider, Decider, NoisyDecider, sigmoid
from hushtable.deciders.interval import Interval
from hushtable.deciders.tally import Tally
from hushtable.errors import QueryError

FIXED_POINT = 256  # steps per grid unit that the ends of an AVG interval are rounded to
CERTAIN = 2**62  # a margin beyond every noise


class Extreme(NamedTuple):
    """A margin at which a verdict is judged, and whether the truth is inside there."""

    inside: bool
    margin: int


@dataclass(frozen=True)
class Margin(ABC):
    """A whole number about the data: at least 1 when the true answer is within tau, at most 0 otherwise."""

    interval: Interval

    @property
    def edges(self) -> Sequence[int]:
        """Where values are cut for the tally that it needs."""
        return ()

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The most that one row moves it."""

    @abstractmethod
    def of(self, tally: Tally) -> int:
        """The margin of data with this tally."""

    @abstractmethod
    def extremes(self, premise: int) -> list[Extreme]:
        """The hardest margins at distance 0 and from 2 tau on, over the true tables that keep the premise."""

    @property
    def by_distance(self) -> bool:
        """Whether the extremes are a matter of tau alone."""
        return False

    def premise(self, tally: Tally) -> int:
        """The premise that a table like this one keeps."""
        return 0

    def assumption(self, premise: int) -> str:
        """The premise in words."""
        return ""


@dataclass(frozen=True)
class CountMargin(Margin):
    """Rows to add or remove until the count crosses an end of the interval."""

    @property
    def sensitivity(self) -> int:
        return 1

    def of(self, tally: Tally) -> int:
        return self.interval.margin(tally.rows)

    def extremes(self, premise: int) -> list[Extreme]:
        answers = self.interval.clear_answers(lowest=0)
        return [Extreme(self.interval.contains(n), self.interval.margin(n)) for n in answers]

    @property
    def by_distance(self) -> bool:
        return True


@dataclass(frozen=True)
class SumMargin(Margin):
    """Distance of the sum from the nearer end; values are in [-bound, bound]."""

    bound: int

    @property
    def sensitivity(self) -> int:
        return self.bound

    def of(self, tally: Tally) -> int:
        return self.interval.margin(tally.total)

    def extremes(self, premise: int) -> list[Extreme]:
        answers = self.interval.clear_answers()
        return [Extreme(self.interval.contains(s), self.interval.margin(s)) for s in answers]

    @property
    def by_distance(self) -> bool:
        return True


@dataclass(frozen=True)
class QuantileMargin(Margin):
    """Rows, weighted by the quantile a/b, until the lower a/b-quantile crosses an end of the interval.

    The quantile is value number ceil(a n / b) in sorted order.  It is above l when a n - b #(<= l) >= 1 and
    below r when (b - a) n - b #(>= r) >= 0; the second gets 1 added so that both speak alike.

    The premise k: in sorted order, the k rows before the quantile and the k rows after it lie inside when it does, and
    beyond the same end when it does not.
    """

    quantile: Fraction

    @property
    def edges(self) -> Sequence[int]:
        return (self.interval.first - 1, self.interval.last)

    @property
    def sensitivity(self) -> int:
        a, b = self.quantile.as_integer_ratio()
        return max(a, b - a)

    def of(self, tally: Tally) -> int:
        """The margin of data with this tally."""
        a, b = self.quantile.as_integer_ratio()
        below, _, above = (int(count) for count in tally.counts)
        rows = tally.rows
        return min(a * rows - b * below, (b - a) * rows - b * above + 1)

    def extremes(self, premise: int) -> list[Extreme]:
        steps = self.quantile.denominator * premise
        return [Extreme(True, 1 + steps), Extreme(False, -steps)]

    def premise(self, tally: Tally) -> int:
        """Half of the rows that these data have inside on the shorter side of the quantile."""
        below, inside, _ = (int(count) for count in tally.counts)
        rank = -(-self.quantile.numerator * tally.rows // self.quantile.denominator)
        return max(0, min(rank - 1 - below, below + inside - rank) // 2)

    def assumption(self, premise: int) -> str:
        if premise == 0:
            return ""
        rows = f"{premise:,} true rows" if premise > 1 else "true row"
        return (
            f"the next {rows} below it and the next {rows} above it, in order, lie where it lies: within that "
            "distance, or beyond the same end of it"
        )


@dataclass(frozen=True)
class AverageMargin(Margin):
    """min(S - l n, r n - S) in steps of 1/256: the average is inside when both are positive.

    Values are in [low, high].  A row moves the first by at most max(|high - l|, |low - l|), the second alike.  The
    premise n: at least n rows match.
    """

    low: int
    high: int

    @property
    def ends(self) -> tuple[int, int]:
        """l and r in steps of 1/256, rounded to the nearest."""
        ends = self.interval.low, self.interval.high
        left, right = (math.floor(end * FIXED_POINT + Fraction(1, 2)) for end in ends)
        if left >= right:
            raise QueryError(
                "query.tau-empty", "tau is below the precision of an average.", "Give a larger tau."
            )
        return left, right

    @property
    def sensitivity(self) -> int:
        low, high = self.low * FIXED_POINT, self.high * FIXED_POINT
        return max(abs(value - end) for value in (low, high) for end in self.ends)

    def of(self, tally: Tally) -> int:
        """The margin of data with this tally."""
        left, right = self.ends
        total, rows = tally.total * FIXED_POINT, tally.rows
        return min(total - left * rows, right * rows - total)

    def extremes(self, premise: int) -> list[Extreme]:
        """n rows with an average at the centre have n times this margin; rounded ends may be beyond 2 tau."""
        left, right = self.ends
        rows, centre, far = max(1, premise), self.interval.centre, 2 * self.interval.tau
        room = min(centre * FIXED_POINT - left, right - centre * FIXED_POINT)
        found = [Extreme(True, math.ceil(rows * room))]
        for reachable, beyond in (
            (centre + far <= self.high, (centre + far) * FIXED_POINT - right),
            (centre - far >= self.low, left - (centre - far) * FIXED_POINT),
        ):
            if reachable:
                found.append(Extreme(False, -math.ceil(rows * beyond) if beyond >= 0 else CERTAIN))
        return found

    def premise(self, tally: Tally) -> int:
        """Half of these rows."""
        return tally.rows // 2

    def assumption(self, premise: int) -> str:
        return f"at least {premise:,} true rows match" if premise > 1 else ""


@dataclass(frozen=True)
class MarginDecider(Decider):
    """A decider whose only view of the data is a margin."""

    margin: Margin

    @property
    def edges(self) -> Sequence[int]:
        return self.margin.edges

    def truth(self, tally: Tally) -> bool:
        return self.margin.of(tally) >= 1

    @abstractmethod
    def wrong(self, place: Extreme) -> float:
        """Probability of the wrong verdict at this margin."""

    def error(self, tally: Tally) -> float:
        return self.wrong(Extreme(self.truth(tally), self.margin.of(tally)))

    def at(self, within: Interval) -> Self:
        return replace(self, margin=replace(self.margin, interval=within))

    def worst_error(self, premise: int = 0) -> float:
        return max(self.wrong(place) for place in self.margin.extremes(premise))

    @property
    def by_distance(self) -> bool:
        return self.margin.by_distance

    def premise(self, tally: Tally, largest: int | None = None) -> int:
        return self.margin.premise(tally)

    def assumption(self, premise: int, unit: Fraction) -> str:
        return self.margin.assumption(premise)


@dataclass(frozen=True)
class MarginThreshold(MarginDecider, NoisyDecider):
    """Satisfied when margin + noise >= 1, with noise of scale sensitivity / epsilon."""

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


@dataclass(frozen=True)
class MarginCoin(MarginDecider, CoinDecider):
    """Satisfied with log odds epsilon * (margin - 1/2) / sensitivity."""

    def logit(self, tally: Tally) -> Fraction:
        return self._logit(self.margin.of(tally))

    def wrong(self, place: Extreme) -> float:
        x = float(self._logit(place.margin))
        return sigmoid(-x if place.inside else x)

    def _logit(self, margin: int) -> Fraction:
        return self.epsilon * (margin - Fraction(1, 2)) / self.margin.sensitivity
