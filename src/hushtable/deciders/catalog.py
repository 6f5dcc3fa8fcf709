"""The deciders by name, and the probability of their verdicts as functions of hypothetical data.

``build`` turns public facts into a decider; the values that ``suppose`` takes are an assumption of
the caller's (or synthetic), never a query on private data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Required, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hushtable.deciders.count import CountExponential, CountLaplace, CountNaive
from hushtable.deciders.decider import Decider, NoisyDecider
from hushtable.deciders.interval import Interval, Number, exact, interval
from hushtable.deciders.margin import (
    AverageMargin,
    CountMargin,
    Margin,
    MarginCoin,
    MarginThreshold,
    QuantileMargin,
    SumMargin,
)
from hushtable.deciders.median import QuantileExponential, QuantileHistogram, QuantileSides
from hushtable.deciders.sum import SumLaplace, SumRace, levels, shared_factor
from hushtable.deciders.svt import SumSparse
from hushtable.deciders.tally import IntArray, Tally, rows_only, tally, whole
from hushtable.errors import QueryError
from hushtable.privacy.amounts import positive
from hushtable.privacy.sampler import LARGEST_SCALE

Aggregate = Literal["count", "sum", "median", "avg"]

BETA = 0.05  # failure probability that the race's shifts allow for


@dataclass(frozen=True)
class Entry:
    """What a name stands for."""

    aggregate: Aggregate
    published: bool
    summary: str


CATALOG: dict[str, Entry] = {
    "count-lm": Entry("count", True, "noisy count inside the interval"),
    "count-em": Entry("count", True, "coin with log odds epsilon times the clipped margin"),
    "count-naive": Entry("count", True, "coin on the truth itself, a baseline"),
    "count-optimal": Entry("count", False, "noisy margin above zero: the optimal epsilon-DP test"),
    "count-logistic": Entry("count", False, "coin on the margin, cheapest in zCDP"),
    "sum-lm": Entry("sum", True, "noisy sum inside the interval"),
    "sum-r2t": Entry("sum", True, "race of truncated sums, noise L t / epsilon"),
    "sum-svt": Entry("sum", True, "sparse vector over truncated sums with a private bound"),
    "sum-r2t-shared": Entry("sum", False, "race of truncated sums, noise below 2 t / epsilon"),
    "sum-r2t-centred": Entry("sum", False, "the same race with tau taken off the shifts"),
    "sum-margin": Entry("sum", False, "noisy margin above zero"),
    "sum-logistic": Entry("sum", False, "coin on the margin, cheapest in zCDP"),
    "median-em": Entry("median", True, "exponential mechanism on ranks, sensitivity one"),
    "median-histogram": Entry("median", True, "noisy rows on either side against noisy n / 2"),
    "median-em-tight": Entry("median", False, "exponential mechanism on tied ranks, sensitivity one half"),
    "median-histogram-tight": Entry("median", False, "noisy surplus of rows on either side"),
    "median-margin": Entry("median", False, "noisy margin in rows above zero"),
    "median-logistic": Entry("median", False, "coin on the margin in rows, cheapest in zCDP"),
    "avg-margin": Entry("avg", False, "noisy margin of the average above zero"),
    "avg-logistic": Entry("avg", False, "coin on the margin of the average, cheapest in zCDP"),
}

NONNEGATIVE_ONLY = frozenset({"sum-r2t", "sum-svt", "sum-r2t-shared", "sum-r2t-centred"})


def entry(name: str) -> Entry:
    """The catalog's entry, or a refusal that lists the names."""
    found = CATALOG.get(name)
    if found is None:
        raise QueryError(
            "query.unknown-decider", f"There is no decider {name!r}.", f"Choose one of {', '.join(CATALOG)}."
        )
    return found


def build(
    name: str,
    *,
    within: Interval,
    epsilon: Number | str,
    domain: Sequence[int] | None = None,
    quantile: Fraction = Fraction(1, 2),
    beta: float = BETA,
) -> Decider:
    """A decider from public facts; ``domain`` are the attribute's possible values on the grid, e.g. a range."""
    made = _made(name, positive(epsilon, "epsilon"), within, domain, quantile, beta)
    if isinstance(made, NoisyDecider) and max(made.noise) > LARGEST_SCALE:
        raise QueryError(
            "query.noise-too-large",
            f"The noise of {name!r} would not fit into 64-bit integers.",
            "Declare narrower bounds or a coarser resolution, or spend a larger epsilon.",
        )
    return made


def _made(
    name: str,
    amount: Fraction,
    within: Interval,
    domain: Sequence[int] | None,
    quantile: Fraction,
    beta: float,
) -> Decider:
    kind = entry(name).aggregate
    if kind == "count":
        return _count(name, amount, within)
    if domain is None or len(domain) == 0:
        raise QueryError(
            "query.no-bounds",
            f"The decider {name!r} needs the bounds of the attribute.",
            "Declare bounds in the schema (and a resolution for a real attribute).",
        )
    low, high = int(domain[0]), int(domain[-1])
    if kind == "sum":
        return _sum(name, amount, within, low, high, beta)
    if kind == "avg":
        return _on_margin(name, amount, AverageMargin(within, low, high))
    return _median(name, amount, within, domain, quantile)


def _on_margin(name: str, epsilon: Fraction, margin: Margin) -> Decider:
    if name.endswith("-logistic"):
        return MarginCoin(name, epsilon, margin)
    return MarginThreshold(name, epsilon, margin)


def _count(name: str, epsilon: Fraction, within: Interval) -> Decider:
    if name == "count-lm":
        return CountLaplace(name, epsilon, within)
    if name == "count-em":
        return CountExponential(name, epsilon, within)
    if name == "count-naive":
        return CountNaive(name, epsilon, within)
    return _on_margin(name, epsilon, CountMargin(within))


def _sum(name: str, epsilon: Fraction, within: Interval, low: int, high: int, beta: float) -> Decider:
    bound = max(abs(low), abs(high))
    if bound == 0:
        raise QueryError("query.no-bounds", "The attribute can only be zero.", "Declare its bounds.")
    if name in NONNEGATIVE_ONLY and low < 0:
        raise QueryError(
            "query.negative-values",
            f"The decider {name!r} needs values that cannot be negative.",
            'Use "sum-margin" or "sum-lm", or declare a lower bound of 0.',
        )
    if name == "sum-lm":
        return SumLaplace(name, epsilon, within, bound)
    if name == "sum-svt":
        return SumSparse(name, epsilon, within, bound)
    if name == "sum-r2t":
        return SumRace(name, epsilon, within, bound, Fraction(levels(bound)), beta)
    if name in NONNEGATIVE_ONLY:
        return SumRace(name, epsilon, within, bound, shared_factor(bound), beta, name == "sum-r2t-centred")
    return _on_margin(name, epsilon, SumMargin(within, bound))


def _median(
    name: str, epsilon: Fraction, within: Interval, domain: Sequence[int], quantile: Fraction
) -> Decider:
    if not 0 < quantile < 1:
        raise QueryError(
            "query.bad-quantile",
            "A quantile is a number between 0 and 1.",
            "Write for example QUANTILE(age, 0.25).",
        )
    if name in ("median-em", "median-em-tight"):
        return QuantileExponential(name, epsilon, within, domain, quantile, name == "median-em-tight")
    if name == "median-histogram":
        return QuantileHistogram(name, epsilon, within, quantile)
    if name == "median-histogram-tight":
        return QuantileSides(name, epsilon, within, quantile)
    return _on_margin(name, epsilon, QuantileMargin(within, quantile))


class Supposition(TypedDict, total=False):
    """The arguments of ``suppose``, by name."""

    synthetic: Required[Number]
    tau: Required[Number | str]
    epsilon: Required[Number | str]
    true: int | None
    values: ArrayLike | None
    bound: int | None
    domain: Sequence[int] | ArrayLike | None
    quantile: Number | str
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
    tau: Number | str,
    epsilon: Number | str,
    true: int | None = None,
    values: ArrayLike | None = None,
    bound: int | None = None,
    domain: Sequence[int] | ArrayLike | None = None,
    quantile: Number | str = Fraction(1, 2),
    beta: float = BETA,
) -> tuple[Decider, Tally]:
    """The decider, and what it would see of data that the caller supposes.

    COUNT needs ``true``, the supposed count.  SUM needs ``values`` and ``bound``, MEDIAN and AVG ``values`` and
    ``domain``: the possible values in increasing order, or just (lowest, highest).  Values are whole numbers of grid
    steps and are clamped to the bounds; tau is absolute, or a percentage of ``synthetic``.
    """
    kind = entry(name).aggregate
    within = interval(synthetic, tau, whole=kind != "avg")
    if kind == "count":
        if true is None:
            raise _missing(name, "true")
        return build(name, within=within, epsilon=epsilon), rows_only(int(true))
    if values is None:
        raise _missing(name, "values")
    if kind == "sum":
        if bound is None:
            raise _missing(name, "bound")
        possible: Sequence[int] = range(0 if name in NONNEGATIVE_ONLY else -int(bound), int(bound) + 1)
    else:
        if domain is None:
            raise _missing(name, "domain")
        possible = possible_values(domain)
    made = build(name, within=within, epsilon=epsilon, domain=possible, quantile=exact(quantile), beta=beta)
    return made, tally(clamp(values, possible), made.edges)


def possible_values(domain: Sequence[int] | ArrayLike) -> Sequence[int]:
    """The domain as increasing whole numbers; two numbers are the lowest and the highest, both included."""
    if isinstance(domain, range) and domain.step == 1:
        return domain
    values = np.unique(whole(np.asarray(domain)))
    if len(values) == 2 or (len(values) and values[-1] - values[0] + 1 == len(values)):
        return range(int(values[0]), int(values[-1]) + 1)
    return tuple(int(value) for value in values)


def clamp(values: ArrayLike, possible: Sequence[int]) -> IntArray:
    """Values moved to the nearest bound when they are outside."""
    return np.clip(whole(values), possible[0], possible[-1])


def _missing(name: str, argument: str) -> QueryError:
    return QueryError(
        "query.missing-argument", f"The decider {name!r} needs {argument}=.", f"Add {argument}= to the call."
    )
