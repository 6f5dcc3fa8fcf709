"""Errors of a decider by its name, on data that a test supposes."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from hushtable.deciders import (
    AGGREGATES,
    Decider,
    ErrorClaim,
    Interval,
    Query,
    Supposed,
    Synthetic,
    build,
    lookup,
)
from hushtable.deciders.columns import Columns
from hushtable.deciders.intervals import exact


def answer(query: Query, frame: Any, columns: Columns) -> Fraction:
    """The exact answer of a resolved query on a table, in the attribute's own unit."""
    unit = None if query.column is None else columns[query.column].resolution
    return Synthetic(frame, columns).suppose(query).answer(AGGREGATES[query.function]) * (unit or Fraction(1))


def decider(name: str, supposed: Supposed, *, tau: Any, epsilon: Any, **more: Any) -> Decider:
    """A decider whose synthetic answer is the one on supposed data; tau is in grid steps."""
    within = Interval(supposed.answer(lookup(name).aggregate), exact(tau))
    public = {"domain": supposed.domain, "quantile": supposed.quantile}
    return build(name, within=within, epsilon=epsilon, **public, **more)


def claim(name: str, supposed: Supposed, **asked: Any) -> ErrorClaim:
    """What a verdict about the answer on supposed data may say of its error."""
    made = decider(name, supposed, **asked)
    return made.claim(supposed.tally(made))


def satisfied_at(name: str, supposed: Supposed, *, distances: Iterable[Any], **asked: Any) -> list[float]:
    """Probability of "satisfied" when the synthetic answer exceeds the answer on supposed data by each distance."""
    made = decider(name, supposed, **asked)
    return [supposed.at(made, distance).satisfied for distance in distances]


def errors_at(name: str, supposed: Supposed, *, distances: Iterable[Any], **asked: Any) -> list[float]:
    """Probability of the wrong verdict at each distance."""
    made = decider(name, supposed, **asked)
    return [supposed.at(made, distance).error for distance in distances]


def gap_to_optimal(name: str, *, distances: Iterable[Any], **asked: Any) -> list[float]:
    """By how much a COUNT decider errs more often than the optimal test, at each distance."""
    places = list(distances)
    own, best = (
        errors_at(one, Supposed.count(0), distances=places, **asked) for one in (name, "count-optimal")
    )
    return [mine - least for mine, least in zip(own, best, strict=True)]
