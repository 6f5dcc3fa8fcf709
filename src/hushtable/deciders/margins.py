"""Margins: one integer that says how far the data are from the other verdict, for each aggregate.

A margin is at least 1 when the true answer is within tau and at most 0 otherwise, and one row moves it by at most
its sensitivity.  ``extremes`` are the least margin at distance 0 and the largest ones from 2 tau on, over the true
tables that keep a premise: what the error of a verdict is at most.  The deciders that see a margin and nothing else
are in ``on_margin``; see ``proofs/decider-margin.md``.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from hushtable.deciders.aggregates import AVG, MEDIAN, rank
from hushtable.deciders.decider import AdditiveDecider, Decider
from hushtable.deciders.tallies import Tally
from hushtable.errors import QueryError

FIXED_POINT = 256
"""Steps per grid unit that the ends of an AVG interval are rounded to.

With more of them, smaller tau can be decided, and noise, which is drawn in these steps, is refused for narrower bounds.
"""
CERTAIN = 2**62
"""A margin beyond every noise: scales of noise are refused from there on."""


class Extreme(NamedTuple):
    """A margin at which a verdict is judged, and whether the truth is inside there."""

    inside: bool
    margin: int


class MarginDecider(Decider):
    """A decider to which the data are a margin, at least in what it assumes."""

    @property
    @abstractmethod
    def sensitivity(self) -> int:
        """The most that one row moves the margin."""

    @abstractmethod
    def margin(self, tally: Tally) -> int:
        """How far data with this tally are from the other verdict."""

    @abstractmethod
    def extremes(self, premise: int) -> list[Extreme]:
        """The hardest margins at distance 0 and from 2 tau on, over the true tables that keep the premise."""

    def truth(self, tally: Tally) -> bool:
        return self.margin(tally) >= 1


class AdditiveMargin(AdditiveDecider, MarginDecider):
    """Distance of the count or the sum from the nearer end."""

    @property
    def sensitivity(self) -> int:
        return self.aggregate.sensitivity(self.facts)

    def margin(self, tally: Tally) -> int:
        return self.interval.margin(self.aggregate.of(tally))

    def extremes(self, premise: int) -> list[Extreme]:
        answers = self.interval.clear_answers(self.aggregate.lowest)
        return [Extreme(self.interval.contains(n), self.interval.margin(n)) for n in answers]


class QuantileDecider(Decider):
    """About the lower a/b-quantile, in rows weighted by it: one row moves a n - b #(<= l) by at most max(a, b - a).

    The premise k: in sorted order, the k rows before the quantile and the k rows after it lie inside when it does, and
    beyond the same end when it does not.
    """

    aggregate = MEDIAN

    @property
    def sensitivity(self) -> int:
        """The most that one row moves a rank."""
        a, b = self.facts.quantile.as_integer_ratio()
        return max(a, b - a)

    def assumption(self, premise: int, unit: Fraction) -> str:
        if premise == 0:
            return ""
        rows = f"{premise:,} true rows" if premise > 1 else "true row"
        return (
            f"the next {rows} below it and the next {rows} above it, in order, lie where it lies: within that "
            "distance, or beyond the same end of it"
        )


class QuantileMargin(QuantileDecider, MarginDecider):
    """Rows, weighted by the quantile a/b, until the lower a/b-quantile crosses an end of the interval.

    The quantile is value number ceil(a n / b) in sorted order.  It is above l when a n - b #(<= l) >= 1 and
    below r when (b - a) n - b #(>= r) >= 0; the second gets 1 added so that both speak alike.
    """

    @property
    def edges(self) -> Sequence[int]:
        return (self.interval.first - 1, self.interval.last)

    def margin(self, tally: Tally) -> int:
        a, b = self.facts.quantile.as_integer_ratio()
        below, _, above = (int(count) for count in tally.counts)
        rows = tally.rows
        return min(a * rows - b * below, (b - a) * rows - b * above + 1)

    def extremes(self, premise: int) -> list[Extreme]:
        steps = self.facts.quantile.denominator * premise
        return [Extreme(True, 1 + steps), Extreme(False, -steps)]

    def premise(self, tally: Tally, largest: int | None = None) -> int:
        """Half of the rows that these data have inside on the shorter side of the quantile."""
        below, inside, _ = (int(count) for count in tally.counts)
        place = rank(self.facts.quantile, tally.rows)
        return max(0, min(place - 1 - below, below + inside - place) // 2)


class AverageMargin(MarginDecider):
    """min(S - l n, r n - S) in steps of 1/256: the average is inside when both are positive.

    Values are in [low, high].  A row moves the first by at most max(|high - l|, |low - l|), the second alike.  The
    premise n: at least n rows match.
    """

    aggregate = AVG

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
        low, high = self.facts.low * FIXED_POINT, self.facts.high * FIXED_POINT
        return max(
            1, *(abs(value - end) for value in (low, high) for end in self.ends)
        )  # 1: one value, one end

    def margin(self, tally: Tally) -> int:
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
            (centre + far <= self.facts.high, (centre + far) * FIXED_POINT - right),
            (centre - far >= self.facts.low, left - (centre - far) * FIXED_POINT),
        ):
            if reachable:
                found.append(Extreme(False, -math.ceil(rows * beyond) if beyond >= 0 else CERTAIN))
        return found

    def premise(self, tally: Tally, largest: int | None = None) -> int:
        """Half of these rows."""
        return tally.rows // 2

    def assumption(self, premise: int, unit: Fraction) -> str:
        return f"at least {premise:,} true rows match" if premise > 1 else ""
