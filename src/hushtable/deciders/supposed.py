"""How often a verdict is wrong on data that somebody supposes, by distance or on given rows.

The data are an assumption of the caller's (usually the synthetic rows themselves), never a query on private rows.  A
profile by distance moves the synthetic answer away from the answer on these data.  It never describes the true
distance, and other rows have other errors; what holds for all of them is the ``claim``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Required, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hushtable.arrays import Ints
from hushtable.deciders.aggregates import AGGREGATES, BETA, Aggregate
from hushtable.deciders.decider import Decider
from hushtable.deciders.intervals import Interval, Number, exact, interval
from hushtable.deciders.registry import build, lookup
from hushtable.deciders.tallies import Tally, rows_only, tally, whole
from hushtable.errors import QueryError

_ARGUMENTS = frozenset(argument for known in AGGREGATES.values() for argument in known.arguments)
"""What one can suppose of the data."""


class ErrorAt(NamedTuple):
    """Probability of "satisfied" and of the wrong verdict where the synthetic answer is so far from the truth."""

    distance: float
    satisfied: float
    error: float


@dataclass(frozen=True)
class Supposed:
    """Data that somebody supposes: the matching rows, or their values on the grid, within public bounds."""

    rows: int = 0
    values: Ints | None = None
    domain: Sequence[int] | None = None
    quantile: Fraction = Fraction(1, 2)

    @classmethod
    def count(cls, rows: int) -> Supposed:
        """For COUNT."""
        return cls(rows=int(rows))

    @classmethod
    def of(cls, values: ArrayLike, domain: Sequence[int], quantile: Number = Fraction(1, 2)) -> Supposed:
        """For the other aggregates; values outside the domain are clamped."""
        codes = np.clip(whole(values), domain[0], domain[-1])
        return cls(len(codes), codes, domain, exact(quantile))

    def tally(self, decider: Decider) -> Tally:
        """What the decider needs of these data."""
        return rows_only(self.rows) if self.values is None else tally(self.values, decider.edges)

    def answer(self, aggregate: Aggregate) -> Fraction:
        """The answer on these data, in grid steps."""
        values = whole([]) if self.values is None else self.values
        return aggregate.answer(self.rows, values, self.quantile)

    def at(self, decider: Decider, distance: Number) -> ErrorAt:
        """What is said when the synthetic answer exceeds the answer on these data by this distance."""
        place, tau = exact(distance), decider.interval.tau
        moved = decider.at(Interval(self.answer(decider.aggregate) + place, tau))
        satisfied = moved.probability(self.tally(moved))
        return ErrorAt(float(place), satisfied, 1 - satisfied if abs(place) < tau else satisfied)


class Supposition(TypedDict, total=False):
    """The arguments of ``suppose``, by name."""

    synthetic: Required[Number]
    tau: Required[Number]
    epsilon: Required[Number]
    true: int | None
    values: ArrayLike | None
    bound: int | None
    domain: Sequence[int] | ArrayLike | None
    quantile: Number
    beta: float


def probability_satisfied(decider: str, **supposed: Unpack[Supposition]) -> float:
    """Probability of "satisfied" on data that the caller supposes, over the decider's discrete noise.

    Arguments as for ``suppose``.
    """
    made, found = suppose(decider, **supposed)
    return made.probability(found)


def error_probability(decider: str, **supposed: Unpack[Supposition]) -> float:
    """Probability of the wrong verdict on supposed data: dp-pqd props. 4.2 and C.1 with discrete noise.

    Arguments as for ``suppose``.
    """
    made, found = suppose(decider, **supposed)
    return made.error(found)


def suppose(
    name: str,
    *,
    synthetic: Number,
    tau: Number,
    epsilon: Number,
    quantile: Number = Fraction(1, 2),
    beta: float = BETA,
    **supposed: Any,
) -> tuple[Decider, Tally]:
    """The decider, and what it would see of data that the caller supposes.

    COUNT needs ``true``, the supposed count.  SUM needs ``values`` and ``bound``, MEDIAN and AVG ``values`` and
    ``domain``: the possible values in increasing order, or just (lowest, highest).  Values are whole numbers of grid
    steps and are clamped to the bounds; tau is absolute, or a percentage of ``synthetic``.
    """
    kind = lookup(name)
    within = interval(synthetic, tau, whole=kind.aggregate.whole)
    unknown = supposed.keys() - _ARGUMENTS
    if unknown:
        raise TypeError(f"suppose() got an unexpected keyword argument {min(unknown)!r}")
    needed: dict[str, Any] = {argument: supposed.get(argument) for argument in kind.aggregate.arguments}
    for argument, value in needed.items():
        if value is None:
            raise QueryError(
                "query.missing-argument",
                f"The decider {name!r} needs {argument}=.",
                f"Add {argument}= to the call.",
            )
    possible: Sequence[int] | None = None
    if "values" in needed:
        possible = kind.span(int(needed["bound"])) if "bound" in needed else possible_values(needed["domain"])
    made = build(name, within=within, epsilon=epsilon, domain=possible, quantile=exact(quantile), beta=beta)
    data = Supposed.count(needed["true"]) if possible is None else Supposed.of(needed["values"], possible)
    return made, data.tally(made)


def possible_values(domain: Sequence[int] | ArrayLike) -> Sequence[int]:
    """The domain as increasing whole numbers; two numbers are the lowest and the highest, both included."""
    if isinstance(domain, range) and domain.step == 1:
        return domain
    values = np.unique(whole(np.asarray(domain)))
    if len(values) == 2 or (len(values) and values[-1] - values[0] + 1 == len(values)):
        return range(int(values[0]), int(values[-1]) + 1)
    return tuple(int(value) for value in values)
