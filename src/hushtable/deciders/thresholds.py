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

from hushtable.deciders.catalog import NONNEGATIVE_ONLY, build, entry
from hushtable.deciders.decider import Decider
from hushtable.deciders.interval import Interval, Number, exact
from hushtable.deciders.tally import tally
from hushtable.errors import QueryError
from hushtable.privacy.amounts import positive

EPSILONS = (1e-26, 1e26)  # where an epsilon is looked for; beyond, nothing can be drawn


def effectiveness_threshold(
    decider: str,
    *,
    epsilon: Number | str,
    delta: float,
    bound: int | None = None,
    largest: int | None = None,
) -> float:
    """The smallest tau from which the decider is effective at ``delta``: whole steps, but for "count-em".

    ``bound`` is the largest possible value of a SUM's attribute.  ``largest`` is the largest value that the caller
    supposes in the data (R2T's DS; the race's beta is delta); without it, the bound.
    """
    return _threshold(
        decider, positive(epsilon, "epsilon"), probability(delta, "delta", 1), _limit(decider, bound), largest
    )


@lru_cache(1024)
def _threshold(name: str, epsilon: Fraction, delta: float, limit: int, largest: int | None) -> float:
    made = _sample(name, epsilon, delta, limit)
    found = made.threshold(delta, _premise(made, largest))
    if found is None:
        raise _no_threshold(name)
    return found


def epsilon_needed(
    decider: str, *, tau: Number, beta: float, bound: int | None = None, largest: int | None = None
) -> float:
    """The smallest epsilon, to a relative 1e-12, with which the decider errs at ``tau`` with at most ``beta``."""
    accepted, limit, wanted = probability(beta, "beta"), _limit(decider, bound), exact(tau)
    if not _sample(decider, Fraction(1), accepted, limit).by_distance:
        raise _no_threshold(decider)

    def wrong(epsilon: Fraction) -> float:
        made = _sample(decider, epsilon, accepted, limit)
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


def least_tau(decider: str, *, epsilon: Number | str, delta: float, bound: int | None = None) -> int:
    """The smallest whole tau at which the decider is effective at ``delta``."""
    return math.ceil(effectiveness_threshold(decider, epsilon=epsilon, delta=delta, bound=bound))


def _sample(name: str, epsilon: Fraction, delta: float, limit: int) -> Decider:
    """The decider with any interval; a threshold is about all of them."""
    domain = range(0 if name in NONNEGATIVE_ONLY else -limit, limit + 1)
    return build(name, within=Interval(Fraction(1), Fraction(1)), epsilon=epsilon, domain=domain, beta=delta)


def _premise(made: Decider, largest: int | None) -> int:
    return 0 if largest is None else made.premise(tally([int(largest)], made.edges))


def _no_threshold(decider: str) -> QueryError:
    return QueryError(
        "query.no-threshold",
        f"The error of {decider!r} is not a function of the distance alone.",
        "Ask for its error on supposed values with error_probability.",
    )


def _limit(decider: str, bound: int | None) -> int:
    if entry(decider).aggregate != "sum":
        return 1
    if bound is None or int(bound) < 1:
        raise QueryError(
            "query.missing-argument",
            f"The decider {decider!r} needs bound=.",
            "Give the attribute's largest value.",
        )
    return int(bound)


def probability(value: float, name: str, below: float = 0.5) -> float:
    """A probability that an error may have."""
    if not 0 < value < below:
        raise QueryError(
            "query.bad-probability", f"{name} must be between 0 and {below}.", f"Write {name}=0.05."
        )
    return float(value)
