"""How often a verdict is wrong, as a function of the distance between the synthetic and the true answer.

The data are supposed by the caller (usually the synthetic rows themselves): the profile moves the synthetic answer
away from the answer on these data.  It never describes the true distance, and other rows have other errors; what holds
for all of them is the ``claim``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from numpy.typing import ArrayLike

from hushtable.deciders.catalog import BETA, build, clamp, entry
from hushtable.deciders.decider import Claim, Decider
from hushtable.deciders.interval import Interval, Number, exact
from hushtable.deciders.tally import IntArray, Tally, rows_only, tally, whole
from hushtable.errors import QueryError


@dataclass(frozen=True)
class Supposed:
    """Data that somebody supposes: the matching rows, or their values on the grid, within public bounds."""

    rows: int = 0
    values: IntArray | None = None
    domain: Sequence[int] | None = None
    quantile: Fraction = Fraction(1, 2)

    @classmethod
    def count(cls, rows: int) -> Supposed:
        """For COUNT."""
        return cls(rows=int(rows))

    @classmethod
    def of(cls, values: ArrayLike, domain: Sequence[int], quantile: Number = Fraction(1, 2)) -> Supposed:
        """For the other aggregates; values outside the domain are clamped."""
        codes = clamp(values, domain)
        return cls(len(codes), codes, domain, exact(quantile))

    def tally(self, decider: Decider) -> Tally:
        """What the decider needs of these data."""
        return rows_only(self.rows) if self.values is None else tally(self.values, decider.edges)

    def answer(self, aggregate: str) -> Fraction:
        """The answer on these data, in grid steps."""
        if aggregate == "count":
            return Fraction(self.rows)
        values = whole([]) if self.values is None else self.values
        if aggregate == "sum":
            return Fraction(int(values.sum()))
        if len(values) == 0:
            raise QueryError(
                "query.no-synthetic-answer",
                "No supposed row matches, so there is no answer to move away from.",
                "Suppose some rows.",
            )
        if aggregate == "avg":
            return Fraction(int(values.sum()), len(values))
        rank = -(-self.quantile.numerator * len(values) // self.quantile.denominator)
        values = values.copy()
        values.partition(rank - 1)
        return Fraction(int(values[rank - 1]))


def satisfied_at(
    decider: str,
    supposed: Supposed,
    *,
    tau: Number,
    epsilon: Number | str,
    distances: Iterable[Number],
    beta: float = BETA,
) -> list[float]:
    """Probability of "satisfied" when the synthetic answer exceeds the answer on supposed data by each distance."""
    centre = supposed.answer(entry(decider).aggregate)
    found = []
    for distance in distances:
        made = _moved(decider, supposed, centre + exact(distance), exact(tau), epsilon, beta)
        found.append(made.probability(supposed.tally(made)))
    return found


def errors_at(
    decider: str,
    supposed: Supposed,
    *,
    tau: Number,
    epsilon: Number | str,
    distances: Iterable[Number],
    beta: float = BETA,
) -> list[float]:
    """Probability of the wrong verdict at each distance."""
    places = [exact(distance) for distance in distances]
    satisfied = satisfied_at(decider, supposed, tau=tau, epsilon=epsilon, distances=places, beta=beta)
    bound = exact(tau)
    return [1 - p if abs(place) < bound else p for place, p in zip(places, satisfied, strict=True)]


def claim(
    decider: str, supposed: Supposed, *, tau: Number, epsilon: Number | str, beta: float = BETA
) -> Claim:
    """What a verdict about the answer on supposed data may say of its error, and of which true tables."""
    centre = supposed.answer(entry(decider).aggregate)
    made = _moved(decider, supposed, centre, exact(tau), epsilon, beta)
    return made.claim(supposed.tally(made))


def error_bound(
    decider: str, supposed: Supposed, *, tau: Number, epsilon: Number | str, beta: float = BETA
) -> float:
    """The larger error at distance 0 and from distance 2 tau on: for all the true tables that ``claim`` names."""
    return claim(decider, supposed, tau=tau, epsilon=epsilon, beta=beta).error


def gap_to_optimal(
    decider: str, *, tau: Number, epsilon: Number | str, distances: Iterable[Number]
) -> list[float]:
    """By how much a COUNT decider errs more often than the optimal test, at each distance."""
    supposed = Supposed.count(0)
    places = list(distances)
    own = errors_at(decider, supposed, tau=tau, epsilon=epsilon, distances=places)
    best = errors_at("count-optimal", supposed, tau=tau, epsilon=epsilon, distances=places)
    return [mine - least for mine, least in zip(own, best, strict=True)]


def _moved(
    decider: str, supposed: Supposed, centre: Fraction, tau: Fraction, epsilon: Number | str, beta: float
) -> Decider:
    return build(
        decider,
        within=Interval(centre, tau),
        epsilon=epsilon,
        domain=supposed.domain,
        quantile=supposed.quantile,
        beta=beta,
    )
