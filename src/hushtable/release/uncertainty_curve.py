"""The curve of the uncertainty principle at a price: how exact a sum may be, and what some count then must pay.

From public numbers alone: cells, price and the errors that a release publishes.  Errors are roots of mean squares.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite, prod, sqrt
from typing import TYPE_CHECKING, Any

from hushtable.errors import RefusedError
from hushtable.marginals import marginal_label
from hushtable.microdata import lower_bound, upper_bound
from hushtable.privacy import UNIT, Budget, Cost
from hushtable.release.record_fits import counts_promise

if TYPE_CHECKING:
    from hushtable.release.release import Release

STEPS = tuple(2.0**k for k in range(-3, 6))
"""Errors of the sum at which the curve is given, in units of that of one count for the whole price."""
READING = (
    "Read: with this error of the sum, some count of any private nonnegative records errs by at least the second "
    "column for some true table; records made by sequential fitting promise the third. Tables may go below zero and "
    "lie under it."
)


@dataclass(frozen=True)
class CurvePoint:
    """At an error of the sum, the least that some count must err, and what a mechanism promises (None: nothing)."""

    sum_error: float
    least: float
    promised: float | None


@dataclass(frozen=True)
class CurvePlace:
    """Where something lies: errors of the sum and of a count."""

    what: str
    sum_error: float
    point_error: float


@dataclass(frozen=True)
class UncertaintyCurve:
    """The curve for so many counts at a price, and what lies where."""

    what: str
    cells: int
    price: str
    points: tuple[CurvePoint, ...]
    places: tuple[CurvePlace, ...] = ()
    reading: str = READING

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def curve_at(cells: int, budget: Budget) -> UncertaintyCurve:
    """The curve for counts at a budget."""
    return UncertaintyCurve("Counts", cells, str(budget), _points(cells, budget.limit))


def curve_of(release: Release) -> UncertaintyCurve:
    """The curve at the price of a release, for its largest fully measured table, with the place of that table.

    What earlier releases paid for is not in the price of this one, and has no place.
    """
    sizes, estimates = release.schema.sizes, release.estimates
    known = [s for s in release.workload if s and estimates.measured(s)]
    if not known or release.card.reuse is not None or release.card.charged == Cost.ZERO:
        raise RefusedError(
            "bounds.no-table",
            "No table of this release was measured in full at a price of its own.",
            "Ask for one with --strategy residual-planner, or give --cells and --budget.",
        )
    largest = max(known, key=lambda s: prod(sizes[a] for a in s))
    cells = prod(sizes[a] for a in largest)
    point, total = float(estimates.variance(largest)), float(estimates.variance(()))
    places = [CurvePlace("tables as released", sqrt(total), sqrt(point))]
    promised = counts_promise(release.answers)
    if promised is not None:
        places.append(
            CurvePlace("records by sequential fitting", sqrt(promised.sum_error), sqrt(promised.point_error))
        )
    name = marginal_label(largest, release.schema.names)
    charged = release.card.charged
    return UncertaintyCurve(name, cells, str(charged), _points(cells, charged), tuple(places))


def _points(cells: int, price: Cost) -> tuple[CurvePoint, ...]:
    given = _amounts(price)
    rho, epsilon = given.get("rho", 0.0), given.get("epsilon", 0.0)
    one = 0.5 / rho if rho else 2.0 / epsilon**2
    found: list[CurvePoint] = []
    for step in STEPS:
        allowed = one * step**2
        least = lower_bound(d=cells, **given, sum_error=allowed, whole=True)
        most = upper_bound(d=cells, **given, sum_error=allowed)
        found.append(CurvePoint(sqrt(allowed), sqrt(least), sqrt(most) if isfinite(most) else None))
    return tuple(found)


def _amounts(price: Cost) -> dict[str, float]:
    """A price as the bounds take it: rho, or epsilon with its delta; of both the rho, which is the larger part."""
    if price.rho:
        return {"rho": price.rho / UNIT}
    return {"epsilon": price.xi / UNIT, **({"delta": float(price.delta)} if price.delta else {})}
