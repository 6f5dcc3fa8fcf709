"""Which tau a decider can decide: the effectiveness threshold, and backwards the epsilon that a tau needs.

A decider is effective at delta when it errs with probability at most delta at distance 0 and at every distance of
2 tau or more (dp-pqd def. 3.4), whatever the table.  Both are exact for the noise that is drawn: found by bisection on
the decider's own worst error.  Public numbers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hushtable.deciders.aggregates import Facts
from hushtable.deciders.decider import Decider
from hushtable.deciders.intervals import Interval, Number, exact
from hushtable.deciders.registry import lookup
from hushtable.deciders.tallies import tally
from hushtable.errors import QueryError
from hushtable.privacy import positive

EPSILONS = (1e-26, 1e26)
"""Where an epsilon is looked for: noise of 1e26 is beyond 64 bits, and at the other end every verdict is certain."""
ANY = Interval(Fraction(1), Fraction(1))
"""An interval to build with where only its size will matter: a threshold is about all of them."""


def effectiveness_threshold(
    decider: str, *, epsilon: Number, delta: float, bound: int | None = None, largest: int | None = None
) -> float:
    """The smallest tau from which the decider is effective at ``delta``: whole steps, but for "count-em".

    ``bound`` is the largest possible value of a SUM's attribute.  ``largest`` is the largest value that the caller
    supposes in the data (R2T's DS; the race's beta is delta); without it, the bound.
    """
    accepted = probability(delta, "delta", 1)
    found = threshold_of(_sample(decider, positive(epsilon, "epsilon"), accepted, bound), accepted, largest)
    if found is None:
        raise _no_threshold(decider)
    return found


def threshold_of(decider: Decider, accepted: float, largest: int | None = None) -> float | None:
    """The same of a decider that is built; None when its error is not a function of the distance alone."""
    return _threshold(decider.at(ANY), accepted, largest)


@lru_cache(1024)
def _threshold(decider: Decider, accepted: float, largest: int | None) -> float | None:
    return decider.threshold(accepted, _premise(decider, largest))


def epsilon_needed(
    decider: str, *, tau: Number, beta: float, bound: int | None = None, largest: int | None = None
) -> float:
    """The smallest epsilon, to a relative 1e-12, with which the decider errs at ``tau`` with at most ``beta``."""
    accepted, wanted = probability(beta, "beta"), exact(tau)
    if not _sample(decider, Fraction(1), accepted, bound).by_distance:
        raise _no_threshold(decider)

    def wrong(epsilon: Fraction) -> float:
        made = _sample(decider, epsilon, accepted, bound)
        return made.around(wanted).worst_error(_premise(made, largest))

    found = least_epsilon(wrong, accepted, EPSILONS, precision=1e-12) if wanted > 0 else math.inf
    if math.isinf(found):
        raise QueryError(
            "query.tau-too-small", f"No epsilon lets {decider!r} decide this tau.", "Give a larger tau."
        )
    return found


def least_epsilon(
    wrong: Callable[[Fraction], float], accepted: float, between: tuple[float, float], *, precision: float
) -> float:
    """The smallest epsilon whose error is at most ``accepted``, to a relative precision; infinite if there is none."""

    def enough(log_epsilon: float) -> bool:
        try:
            return wrong(exact(math.exp(log_epsilon))) <= accepted
        except QueryError:  # noise too large to draw or to compute with
            return False

    low, high = (math.log(end) for end in between)
    if not enough(high):
        return math.inf
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.exp(high)


def _sample(name: str, epsilon: Fraction, beta: float, bound: int | None) -> Decider:
    """The decider with any interval."""
    kind = lookup(name)
    needs_bound = "bound" in kind.aggregate.arguments
    if needs_bound and (bound is None or int(bound) < 1):
        raise QueryError(
            "query.missing-argument",
            f"The decider {name!r} needs bound=.",
            "Give the attribute's largest value.",
        )
    limit = int(bound) if bound is not None and needs_bound else 1
    return kind.of(Facts(ANY, kind.span(limit), beta=beta), epsilon)


def _premise(made: Decider, largest: int | None) -> int:
    return 0 if largest is None else made.premise(tally([int(largest)], made.edges))


def _no_threshold(decider: str) -> QueryError:
    return QueryError(
        "query.no-threshold",
        f"The error of {decider!r} is not a function of the distance alone.",
        "Ask for its error on supposed values with error_probability.",
    )


def probability(value: float, name: str, below: float = 0.5) -> float:
    """A probability that an error may have."""
    if not 0 < value < below:
        raise QueryError(
            "query.bad-probability", f"{name} must be between 0 and {below}.", f"Write {name}=0.05."
        )
    return float(value)
