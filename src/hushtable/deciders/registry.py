"""The deciders by name: the one list from which commands, refusals and documentation take them.

A new decider is a file with a class and a line here, or a call of ``register`` from somebody else's code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType

from hushtable.deciders import count, median, noisy_answer, on_margin, race, svt
from hushtable.deciders.aggregates import BETA, Aggregate, Facts
from hushtable.deciders.decider import Decider
from hushtable.deciders.interval import Interval, Number
from hushtable.errors import QueryError

_KNOWN: dict[str, type[Decider]] = {
    decider.name: decider
    for decider in (
        noisy_answer.CountLaplace,
        count.CountExponential,
        count.CountNaive,
        on_margin.CountOptimal,
        on_margin.CountLogistic,
        noisy_answer.SumLaplace,
        race.SumRace,
        svt.SumSparse,
        race.SumRaceShared,
        race.SumRaceCentred,
        on_margin.SumThreshold,
        on_margin.SumLogistic,
        median.QuantileExponential,
        median.QuantileHistogram,
        median.QuantileExponentialTight,
        median.QuantileSides,
        on_margin.MedianThreshold,
        on_margin.MedianLogistic,
        on_margin.AverageThreshold,
        on_margin.AverageLogistic,
    )
}
DECIDERS: Mapping[str, type[Decider]] = MappingProxyType(_KNOWN)
"""Every decider by its name."""


def register(decider: type[Decider]) -> type[Decider]:
    """Make a decider known by its name, in place of one that had it; may stand above a class."""
    _KNOWN[decider.name] = decider
    return decider


def lookup(name: str, aggregate: Aggregate | None = None) -> type[Decider]:
    """The decider of a name, for this aggregate if one is given; or a refusal that lists the names."""
    names = [known for known, kind in DECIDERS.items() if aggregate in (None, kind.aggregate)]
    if name in names:
        return DECIDERS[name]
    fix = f"Choose one of {', '.join(names)}."
    if name in DECIDERS:
        raise QueryError("query.wrong-decider", f"The decider {name!r} is for another aggregate.", fix)
    raise QueryError("query.unknown-decider", f"There is no decider {name!r}.", fix)


def build(
    name: str,
    *,
    within: Interval,
    epsilon: Number,
    domain: Sequence[int] | None = None,
    quantile: Fraction = Fraction(1, 2),
    beta: float = BETA,
) -> Decider:
    """A decider from public facts; ``domain`` are the attribute's possible values on the grid, e.g. a range."""
    facts = Facts(within, () if domain is None else domain, quantile, beta)
    return lookup(name).of(facts, epsilon)
