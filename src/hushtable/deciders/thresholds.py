"""Which tau a decider can decide: the effectiveness threshold, and backwards the epsilon that a tau needs.

A decider is effective at delta when it errs with probability at most delta at distance 0 and at every distance of
2 tau or more (dp-pqd def. 3.4).  Both directions of the error count, so the Laplace deciders need ln(1/delta), not
the printed ln(1/(2 delta)).  Formulas only, of public numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from hushtable.deciders.catalog import build, entry
from hushtable.deciders.interval import Interval, Number
from hushtable.deciders.sum import levels, shared_factor
from hushtable.deciders.tally import Tally, rows_only, tally
from hushtable.errors import QueryError
from hushtable.privacy.amounts import positive

# One formula per decider: epsilon, delta, bound on a value, largest value supposed in the data.
Formula = Callable[[float, float, int, int], float]


def _laplace(epsilon: float, delta: float, bound: int, largest: int) -> float:
    return bound / epsilon * math.log(1 / delta)


def _exponential(epsilon: float, delta: float, bound: int, largest: int) -> float:
    return bound / epsilon * math.log((1 - delta) / delta)


def _margin(epsilon: float, delta: float, bound: int, largest: int) -> float:
    """P[margin tau is lost] = a^tau / (1 + a), a = exp(-epsilon/bound)."""
    return bound / epsilon * -math.log(delta * (1 + math.exp(-epsilon / bound)))


def _logistic(epsilon: float, delta: float, bound: int, largest: int) -> float:
    return 0.5 + _exponential(epsilon, delta, bound, largest)


def _race(epsilon: float, delta: float, bound: int, largest: int) -> float:
    return 4 * levels(bound) * math.log(levels(bound) / delta) * largest / epsilon


def _race_shared(epsilon: float, delta: float, bound: int, largest: int) -> float:
    return 4 * float(shared_factor(bound)) * math.log(levels(bound) / delta) * largest / epsilon


def _race_centred(epsilon: float, delta: float, bound: int, largest: int) -> float:
    return 2 * float(shared_factor(bound)) * math.log((levels(bound) + 1) / delta) * largest / epsilon


FORMULAS: dict[str, Formula] = {
    "count-lm": _laplace,
    "count-em": _exponential,
    "count-optimal": _margin,
    "count-logistic": _logistic,
    "sum-lm": _laplace,
    "sum-margin": _margin,
    "sum-logistic": _logistic,
    "sum-r2t": _race,
    "sum-r2t-shared": _race_shared,
    "sum-r2t-centred": _race_centred,
}

RACES = frozenset({"sum-r2t", "sum-r2t-shared", "sum-r2t-centred"})


def effectiveness_threshold(
    decider: str,
    *,
    epsilon: Number | str,
    delta: float,
    bound: int | None = None,
    largest: int | None = None,
) -> float:
    """A tau from which the decider is effective at ``delta``.

    ``bound`` is the largest possible value of a SUM's attribute.  ``largest`` is the largest value that the caller
    supposes in the data (R2T's DS; the race's beta is delta); without it, the bound.  The Laplace deciders have the
    formula of continuous noise; ``least_tau`` has the exact value on the grid, at most about half a step above.
    """
    formula = _formula(decider)
    amount = float(positive(epsilon, "epsilon"))
    limit = _limit(decider, bound)
    supposed = limit if largest is None else int(largest)
    return max(0.0, formula(amount, probability(delta, "delta", 1), limit, supposed))


def epsilon_needed(
    decider: str, *, tau: Number, beta: float, bound: int | None = None, largest: int | None = None
) -> float:
    """The epsilon with which ``tau`` is the effectiveness threshold at ``beta``: it decides tau with error <= beta."""
    formula = _formula(decider)
    accepted, limit = probability(beta, "beta"), _limit(decider, bound)
    supposed = limit if largest is None else int(largest)
    wanted = float(tau)

    def enough(log_epsilon: float) -> bool:
        return formula(math.exp(log_epsilon), accepted, limit, supposed) <= wanted

    low, high = -60.0, 60.0
    if not enough(high):
        raise QueryError(
            "query.tau-too-small",
            f"No epsilon lets {decider!r} decide this tau.",
            "Give a tau of at least one step.",
        )
    if enough(low):
        return math.exp(low)
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return math.exp(high)


def least_tau(decider: str, *, epsilon: Number | str, delta: float, bound: int | None = None) -> int:
    """The smallest whole tau at which the decider, with its discrete noise, is effective at ``delta``.

    For deciders whose error depends on the distance alone: COUNT, and SUM without truncation.
    """
    if decider in RACES:
        raise _no_threshold(decider)
    accepted, limit = probability(delta, "delta"), _limit(decider, bound)
    _formula(decider)

    def effective(tau: int) -> bool:
        made = build(
            decider,
            within=Interval(Fraction(0), Fraction(tau)),
            epsilon=epsilon,
            domain=range(-limit, limit + 1),
        )
        return all(made.error(_at(decider, answer)) <= accepted for answer in (0, 2 * tau, -2 * tau))

    high = 1
    while not effective(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if effective(middle) else (middle, high)
    return high


def _at(decider: str, answer: int) -> Tally:
    return rows_only(answer) if entry(decider).aggregate == "count" else tally([answer])


def _formula(decider: str) -> Formula:
    entry(decider)
    if decider not in FORMULAS:
        raise _no_threshold(decider)
    return FORMULAS[decider]


def _no_threshold(decider: str) -> QueryError:
    return QueryError(
        "query.no-threshold",
        f"The error of {decider!r} is not a function of the distance alone.",
        "Ask for its error on supposed values with error_probability.",
    )


def _limit(decider: str, bound: int | None) -> int:
    if entry(decider).aggregate == "count":
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
