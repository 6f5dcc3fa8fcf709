"""What a question asks of the rows that match: their number, their sum, their average or a quantile.

An aggregate knows its exact answer on given rows, which answers public bounds allow, and what it needs to be asked at
all.  ``Facts`` are the public facts of one question, all that a decider is made from.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.arrays import Ints
from hushtable.deciders.intervals import Interval
from hushtable.deciders.tallies import Tally
from hushtable.errors import QueryError

BETA = 0.05
"""How often a race may fail through its shifts (dp-pqd's beta in its examples); smaller means larger shifts."""

MAX_STEPS = 2**30
"""Largest value of a SUM or AVG in grid steps: 2^32 rows of it stay below 2^62, so that int64 holds every sum."""


@dataclass(frozen=True)
class Facts:
    """The interval in grid steps, the attribute's possible values in increasing order, the quantile, and R2T's beta."""

    interval: Interval
    domain: Sequence[int] = ()
    quantile: Fraction = Fraction(1, 2)
    beta: float = BETA

    @property
    def low(self) -> int:
        """The smallest possible value."""
        return int(self.domain[0])

    @property
    def high(self) -> int:
        """The largest possible value."""
        return int(self.domain[-1])

    @property
    def bound(self) -> int:
        """The largest possible absolute value."""
        return max(abs(self.low), abs(self.high))


def rank(quantile: Fraction, rows: int) -> int:
    """ceil(a n / b) for the a/b-quantile of n rows."""
    return -(-quantile.numerator * rows // quantile.denominator)


@dataclass(frozen=True)
class Aggregate(ABC):
    """One of COUNT, SUM, AVG and MEDIAN; ``arguments`` are what one must suppose of the data to speak of its errors.

    ``whole`` says whether its answers lie on the grid.
    """

    name: str
    arguments: tuple[str, ...] = ("values", "domain")
    whole: bool = True

    @abstractmethod
    def answer(self, rows: int, values: Ints, quantile: Fraction) -> Fraction:
        """The answer on rows with these values, in grid steps; refused when it needs a row and there is none."""

    def check(self, facts: Facts) -> None:
        """Refuse facts of which it has no answer."""
        if len(facts.domain) == 0:
            raise QueryError(
                "query.no-bounds",
                f"A {self.name} needs the bounds of the attribute.",
                "Declare bounds in the schema (and a resolution for a real attribute).",
            )

    def possible(self, facts: Facts) -> tuple[float, float]:
        """The least and the largest answer that the bounds allow."""
        return facts.low, facts.high

    def require_open(self, facts: Facts) -> None:
        """Refuse an interval that contains every possible answer, or none."""
        lowest, highest = self.possible(facts)
        within = facts.interval
        if within.low < lowest and highest < within.high:
            raise QueryError(
                "query.tau-covers-range",
                "Every possible answer is within tau of the synthetic answer.",
                "Give a smaller tau.",
            )
        if within.high <= lowest or highest <= within.low:
            raise QueryError(
                "query.out-of-range",
                "No possible answer is within tau of the synthetic answer.",
                "Check the synthetic file against the declared bounds.",
            )


class Additive(Aggregate):
    """An aggregate that a row moves by its own share, whatever the other rows are."""

    lowest: int | None = None
    """No answer lies below it, whatever the bounds are."""

    @abstractmethod
    def of(self, exact: Tally) -> int:
        """The answer of rows with this tally."""

    def table(self, answer: int) -> Tally:
        """A tally without edges that has this answer, however large: tau may reach beyond 64 bits."""
        one = np.array([answer], object)
        return Tally(one, one)

    @abstractmethod
    def sensitivity(self, facts: Facts) -> int:
        """The most that a row moves it."""


class Count(Additive):
    lowest = 0

    def answer(self, rows: int, values: Ints, quantile: Fraction) -> Fraction:
        return Fraction(rows)

    def check(self, facts: Facts) -> None:
        """A count needs no attribute."""

    def possible(self, facts: Facts) -> tuple[float, float]:
        return 0, math.inf

    def of(self, exact: Tally) -> int:
        return exact.rows

    def sensitivity(self, facts: Facts) -> int:
        return 1


class Sum(Additive):
    def answer(self, rows: int, values: Ints, quantile: Fraction) -> Fraction:
        return Fraction(int(values.sum()))

    def check(self, facts: Facts) -> None:
        super().check(facts)
        if facts.bound == 0:
            raise QueryError("query.no-bounds", "The attribute can only be zero.", "Declare its bounds.")

    def possible(self, facts: Facts) -> tuple[float, float]:
        """Rows without end: only the sign of the values bounds their sum."""
        return (0 if facts.low >= 0 else -math.inf), (0 if facts.high <= 0 else math.inf)

    def of(self, exact: Tally) -> int:
        return exact.total

    def sensitivity(self, facts: Facts) -> int:
        return max(1, facts.bound)  # 1 where every value is 0


class Average(Aggregate):
    def answer(self, rows: int, values: Ints, quantile: Fraction) -> Fraction:
        return Fraction(int(_some(values).sum()), len(values))


class Quantile(Aggregate):
    """The a/b-quantile: value number ceil(a n / b) in sorted order, the lower median for 1/2."""

    def answer(self, rows: int, values: Ints, quantile: Fraction) -> Fraction:
        place = rank(quantile, len(_some(values))) - 1
        return Fraction(int(np.partition(values, place)[place]))

    def check(self, facts: Facts) -> None:
        super().check(facts)
        if not 0 < facts.quantile < 1:
            raise QueryError(
                "query.bad-quantile",
                "A quantile is a number between 0 and 1.",
                "Write for example QUANTILE(age, 0.25).",
            )


COUNT = Count("count", ("true",))
SUM = Sum("sum", ("values", "bound"))
AVG = Average("avg", whole=False)
MEDIAN = Quantile("median")

AGGREGATES: dict[str, Aggregate] = {
    "COUNT": COUNT,
    "SUM": SUM,
    "AVG": AVG,
    "MEDIAN": MEDIAN,
    "QUANTILE": MEDIAN,
}
"""By the function of a query."""


def _some(values: Ints) -> Ints:
    if len(values) == 0:
        raise QueryError(
            "query.no-synthetic-answer",
            "No synthetic row matches, so the query has no synthetic answer.",
            "Ask a query that some synthetic rows match.",
        )
    return values
