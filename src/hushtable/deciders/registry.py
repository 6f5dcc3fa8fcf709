"""The deciders by name: the one list from which commands, refusals and documentation take them.

A new decider is a file with a class and a line here, or a call of ``register`` from somebody else's code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from hushtable import deciders
from hushtable.errors import QueryError
from hushtable.plugins import Registry

if TYPE_CHECKING:  # a list of names loads no decider
    from hushtable.deciders.aggregates import Aggregate
    from hushtable.deciders.decider import Decider
    from hushtable.deciders.intervals import Interval, Number

_HOMES = {
    "count-lm": "noisy_answer.CountLaplace",
    "count-em": "count.CountExponential",
    "count-naive": "count.CountNaive",
    "count-optimal": "on_margin.CountOptimal",
    "count-logistic": "on_margin.CountLogistic",
    "sum-lm": "noisy_answer.SumLaplace",
    "sum-r2t": "race.SumRace",
    "sum-svt": "svt.SumSparse",
    "sum-r2t-shared": "race.SumRaceShared",
    "sum-r2t-centred": "race.SumRaceCentred",
    "sum-margin": "on_margin.SumThreshold",
    "sum-logistic": "on_margin.SumLogistic",
    "median-em": "median.QuantileExponential",
    "median-histogram": "median.QuantileHistogram",
    "median-em-tight": "median.QuantileExponentialTight",
    "median-histogram-tight": "median.QuantileSides",
    "median-margin": "on_margin.MedianThreshold",
    "median-logistic": "on_margin.MedianLogistic",
    "avg-margin": "on_margin.AverageThreshold",
    "avg-logistic": "on_margin.AverageLogistic",
}


class _Known(Registry[Any]):
    """Deciders by name, each loaded from its home when it is asked for."""

    def __getitem__(self, name: str) -> type[Decider]:
        found = super().__getitem__(name)
        if isinstance(found, str):
            module, _, kind = found.partition(".")
            found = self[name] = getattr(import_module(f"hushtable.deciders.{module}"), kind)
        return found


_KNOWN = _Known(_HOMES)
DECIDERS: Mapping[str, type[Decider]] = MappingProxyType(_KNOWN)
"""Every decider by its name."""


def register(decider: type[Decider]) -> type[Decider]:
    """Make a decider known by its name, in place of one that had it; may stand above a class."""
    _KNOWN[decider.name] = decider
    return decider


def unregister(name: str) -> None:
    """Take a decider away that was registered; its stored verdicts stay readable."""
    del _KNOWN[name]


def lookup(name: str, aggregate: Aggregate | None = None) -> type[Decider]:
    """The decider of a name, for this aggregate if one is given; or a refusal that lists the names."""
    names = list(DECIDERS)  # without an aggregate, of names alone: no decider is loaded to refuse one
    if aggregate is not None:
        names = [known for known, kind in DECIDERS.items() if kind.aggregate == aggregate]
    if name in names:
        return DECIDERS[name]
    fix = f"Choose one of {', '.join(names)}."
    if name in DECIDERS:
        raise QueryError("query.wrong-decider", f"The decider {name!r} is for another aggregate.", fix)
    raise QueryError("query.unknown-decider", f"There is no decider {name!r}.", fix)


def check_name(name: str) -> None:
    """Refuse a name that is neither a decider's nor ``auto``; no decider is loaded."""
    if name != "auto" and name not in DECIDERS:
        lookup(name)


def build(
    name: str,
    *,
    within: Interval,
    epsilon: Number,
    domain: Sequence[int] | None = None,
    quantile: Fraction = Fraction(1, 2),
    beta: float | None = None,
) -> Decider:
    """A decider from public facts; ``domain`` are the attribute's possible values on the grid, e.g. a range."""
    known = {} if beta is None else {"beta": beta}
    facts = deciders.Facts(within, () if domain is None else domain, quantile, **known)
    return lookup(name).of(facts, epsilon)
