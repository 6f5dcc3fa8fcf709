"""What a user calls close enough: tau, the synthetic answer and the open interval that they span.

Everything is exact and in units of the attribute's public grid, where true answers are whole numbers.  This module
knows nothing of queries, noise or data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hushtable.errors import BudgetError, QueryError
from hushtable.privacy import Number, exact_number

BEYOND = 2**62
"""No answer and no noise is as large, so that nothing is lost where a tau beyond 64 bits is cut off here."""
MOST_TAU = 10**60
"""Steps of the grid that tau may have: far beyond any answer, and its multiples are still numbers to a processor."""


def exact(number: Number) -> Fraction:
    """Like ``privacy.exact_number``; ValueError when it is not a finite number."""
    try:
        return exact_number(number, "number")
    except BudgetError:
        raise ValueError("not a finite number") from None


@dataclass(frozen=True)
class Interval:
    """The open interval (centre - tau, centre + tau), dp-pqd eq. 1.  Made by ``interval``, which checks it."""

    centre: Fraction
    tau: Fraction

    @property
    def low(self) -> Fraction:
        """The paper's l, not in the interval."""
        return self.centre - self.tau

    @property
    def high(self) -> Fraction:
        """The paper's r, not in the interval."""
        return self.centre + self.tau

    @property
    def first(self) -> int:
        """Smallest whole number inside, if an answer can be as large."""
        return max(-BEYOND, min(math.floor(self.low) + 1, BEYOND))

    @property
    def last(self) -> int:
        """Largest whole number inside, if an answer can be as large."""
        return max(-BEYOND, min(math.ceil(self.high) - 1, BEYOND))

    def contains(self, answer: int) -> bool:
        """Whether a whole answer is inside."""
        return self.first <= answer <= self.last

    def clear_answers(self, lowest: int | None = None) -> list[int]:
        """The whole answers that are the hardest of those at distance 0 and from 2 tau on; none below ``lowest``."""
        found = [math.ceil(self.centre + 2 * self.tau), math.floor(self.centre - 2 * self.tau)]
        if self.centre.denominator == 1:
            found.append(int(self.centre))
        return [answer for answer in found if lowest is None or answer >= lowest]

    def margin(self, answer: int) -> int:
        """How many whole steps the answer can move before the truth of "close enough" changes, with a sign.

        At least 1 inside and at most 0 outside; tau - |answer - centre| when both ends are whole.
        """
        return min(answer - self.first, self.last - answer) + 1


def distance_bound(tau: Number, synthetic: Number) -> Fraction:
    """tau as an absolute distance: a number is one already, "5%" is that share of the synthetic answer."""
    text = tau.strip() if isinstance(tau, str) else None
    try:
        if text is not None and text.endswith("%"):
            absolute = exact(text[:-1].strip()) / 100 * exact(synthetic)
        else:
            absolute = exact(tau if text is None else text)
    except ValueError:
        raise QueryError(
            "query.tau-unreadable",
            "tau is neither a number nor a percentage.",
            'Write for example 12 or "5%".',
        ) from None
    if absolute <= 0:
        raise QueryError(
            "query.tau-not-positive",
            "tau spans an empty or reversed interval around the synthetic answer.",
            "Give tau as an absolute number above zero.",
        )
    return absolute


def check_tau(tau: Number) -> None:
    """Refuse what is no distance whatever the synthetic answer is; a share of one below zero may be below zero."""
    text = str(tau).strip()
    distance_bound(tau, -1 if text.startswith("-") and text.endswith("%") else 1)


def interval(synthetic: Number, tau: Number, *, resolution: Number = 1, whole: bool = True) -> Interval:
    """The interval around the synthetic answer, in units of the grid; refused when no true answer could be inside.

    ``whole=False`` is for averages, which need not lie on the grid.
    """
    try:
        centre = exact(synthetic)
    except ValueError:
        raise QueryError(
            "query.no-synthetic-answer",
            "The synthetic file has no finite answer to this query.",
            "Ask a query that some synthetic rows match.",
        ) from None
    grid = exact(resolution)
    made = Interval(centre / grid, distance_bound(tau, centre) / grid)
    if made.tau > MOST_TAU:
        raise QueryError(
            "query.tau-too-large",
            "tau is larger than any answer can be.",
            "Give a smaller tau: every answer lies within this one.",
        )
    if whole and made.first > made.last:
        raise QueryError(
            "query.tau-empty",
            "No possible answer lies within tau of the synthetic answer.",
            "Give a larger tau.",
        )
    return made


def number_text(number: Fraction) -> str:
    """A number for people: whole ones in full, others to four digits after the point."""
    if number.denominator == 1:
        return f"{int(number):,}"
    return (
        f"{float(number):,.4f}".rstrip("0").rstrip(".")
        if abs(number) >= Fraction(1, 100)
        else f"{float(number):.4g}"
    )
