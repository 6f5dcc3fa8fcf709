"""Errors of a decider by its name, on data that a test supposes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hushtable.deciders import ErrorClaim, Supposed


def claim(name: str, supposed: Supposed, **asked: Any) -> ErrorClaim:
    """What a verdict about the answer on supposed data may say of its error."""
    made = supposed.decider(name, **asked)
    return made.claim(supposed.tally(made))


def satisfied_at(name: str, supposed: Supposed, *, distances: Iterable[Any], **asked: Any) -> list[float]:
    """Probability of "satisfied" when the synthetic answer exceeds the answer on supposed data by each distance."""
    made = supposed.decider(name, **asked)
    return [supposed.at(made, distance).satisfied for distance in distances]


def errors_at(name: str, supposed: Supposed, *, distances: Iterable[Any], **asked: Any) -> list[float]:
    """Probability of the wrong verdict at each distance."""
    made = supposed.decider(name, **asked)
    return [supposed.at(made, distance).error for distance in distances]


def gap_to_optimal(name: str, *, distances: Iterable[Any], **asked: Any) -> list[float]:
    """By how much a COUNT decider errs more often than the optimal test, at each distance."""
    places = list(distances)
    own, best = (
        errors_at(one, Supposed.count(0), distances=places, **asked) for one in (name, "count-optimal")
    )
    return [mine - least for mine, least in zip(own, best, strict=True)]
