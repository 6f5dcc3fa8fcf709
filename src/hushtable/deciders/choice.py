"""Choosing a decider without looking: from the aggregate, public bounds, the price and nothing else.

For a pure price the noisy margin has the smallest threshold of all deciders whose threshold does not depend on the
data; for a zCDP price the coin on the margin has, because it costs a quarter.  The race wins for SUM only when the
caller supposes that the largest value is far below the bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from hushtable.deciders.catalog import BETA, Aggregate, build
from hushtable.deciders.interval import Interval, Number
from hushtable.deciders.thresholds import effectiveness_threshold
from hushtable.errors import BudgetError
from hushtable.privacy.amounts import positive

THRESHOLD = {"count": "count-optimal", "sum": "sum-margin", "median": "median-margin", "avg": "avg-margin"}
COIN = {"count": "count-logistic", "sum": "sum-logistic", "median": "median-logistic", "avg": "avg-logistic"}


@dataclass(frozen=True)
class Choice:
    """A decider, the epsilon it runs with, and why."""

    decider: str
    epsilon: Fraction
    reason: str


def choose_decider(
    aggregate: Aggregate,
    *,
    epsilon: Number | str | None = None,
    rho: Number | str | None = None,
    low: int = 0,
    high: int = 1,
    largest: int | None = None,
) -> Choice:
    """The decider for a pure price ``epsilon`` or a zCDP price ``rho``, per row.

    ``low`` and ``high`` are the attribute's bounds on the grid.  ``largest`` is what the caller supposes to be the
    largest value in the data: public knowledge, or None.
    """
    if (epsilon is None) == (rho is None):
        raise BudgetError("budget.one-price", "Give either epsilon or rho.", "Leave one of them out.")
    if rho is not None:
        name = COIN[aggregate]
        fitted = epsilon_for(name, rho=rho, low=low, high=high)
        chosen = Choice(name, fitted, "a coin on the margin is the cheapest test in zCDP")
    else:
        chosen = Choice(
            THRESHOLD[aggregate],
            positive(epsilon, "epsilon"),
            "a noisy margin is the strongest test for a pure epsilon",
        )
    if aggregate != "sum" or largest is None or low < 0:
        return chosen
    return _with_race(chosen, rho, high, largest)


def epsilon_for(decider: str, *, rho: Number | str, low: int = 0, high: int = 1) -> Fraction:
    """The largest epsilon, to a relative 1e-12, whose zCDP price is at most ``rho``; bounds as for the attribute."""
    price = positive(rho, "rho")
    unit = build(decider, within=Interval(Fraction(low), Fraction(1)), epsilon=1, domain=range(low, high + 1))
    small, large = Fraction(0), max(Fraction(1), 8 * price)
    while replace(unit, epsilon=large).rho <= price:
        large *= 2
    while large - small > large / 10**12:
        middle = (small + large) / 2
        fits = replace(unit, epsilon=middle).rho <= price
        small, large = (middle, large) if fits else (small, middle)
    return small


def _with_race(chosen: Choice, rho: Number | str | None, high: int, largest: int) -> Choice:
    """The race instead, when its threshold on the supposed data is smaller at the same price."""
    name = "sum-r2t-centred"
    epsilon = chosen.epsilon if rho is None else epsilon_for(name, rho=rho, high=high)
    race = effectiveness_threshold(name, epsilon=epsilon, delta=BETA, bound=high, largest=largest)
    plain = effectiveness_threshold(chosen.decider, epsilon=chosen.epsilon, delta=BETA, bound=high)
    if race >= plain:
        return chosen
    return Choice(name, epsilon, "the largest supposed value is far below the bound")
