"""The curve of the uncertainty principle at a price: how exact a sum may be, and what some count then must pay.

From public numbers alone: cells, price and the errors that a release publishes.  Errors are roots of mean squares.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite, prod, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hushtable.errors import RefusedError
from hushtable.marginals import AttributeSet, marginal_label
from hushtable.microdata import Promise, lower_bound, upper_bound
from hushtable.notebook import html_card
from hushtable.privacy import UNIT, Budget, Cost
from hushtable.release.card import epsilon_by_delta
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


class BoundPrice(NamedTuple):
    """A price as the bounds take it: rho, or an epsilon with its delta."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None

    @classmethod
    def of(cls, price: Cost) -> BoundPrice:
        """Of all that a price has: what is paid in both currencies counts as epsilon and delta together."""
        if not price.rho:
            return cls(epsilon=price.xi / UNIT, delta=float(price.delta))
        if not price.xi and not price.delta:
            return cls(rho=price.rho / UNIT)
        delta, epsilon = epsilon_by_delta(price)[0]
        return cls(epsilon=epsilon, delta=float(delta))

    @property
    def of_one_count(self) -> float:
        """The squared error of a count that is measured for the whole price."""
        return 0.5 / self.rho if self.rho is not None else 2.0 / (self.epsilon or 1.0) ** 2

    def least(self, cells: int, *, sum_error: float | None = None, point_error: float | None = None) -> float:
        """The least squared error of the other kind, of any private records of whole numbers."""
        given = self._asdict()
        return lower_bound(d=cells, **given, sum_error=sum_error, point_error=point_error, whole=True)


@dataclass(frozen=True)
class MeasuredTable:
    """A table that was measured in full: squared errors of a count and of the sum, its price, what records promise."""

    attributes: AttributeSet
    cells: int
    point_error: float
    sum_error: float
    price: BoundPrice
    promise: Promise | None

    @property
    def best(self) -> Promise:
        """What records of it promise or, where they promise nothing, its own errors."""
        return self.promise or Promise(self.point_error, self.sum_error)

    @classmethod
    def largest_of(cls, release: Release) -> MeasuredTable | None:
        """The largest one of a release; what earlier releases paid for is not in the price of this one."""
        sizes, estimates, charged = release.schema.sizes, release.estimates, release.card.charged
        finite = np.isfinite(estimates.model.cell_variances(release.workload))
        known = [s for s, measured in zip(release.workload, finite.tolist(), strict=True) if s and measured]
        if not known or release.card.reuse is not None or charged == Cost.ZERO:
            return None
        largest = max(known, key=lambda s: prod(sizes[a] for a in s))
        return cls(
            largest,
            prod(sizes[a] for a in largest),
            float(estimates.variance(largest)),
            float(estimates.variance(())),
            BoundPrice.of(charged),
            counts_promise(release.answers, release.schema.count_unit),
        )


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        return f"<UncertaintyCurve of {self.cells:,} counts at {self.price}>"

    def _repr_html_(self) -> str:
        columns = ["error of the sum", "some count errs by at least", "records can promise"]
        rows = [(point.sum_error, point.least, point.promised) for point in self.points]
        return html_card(f"{self.what}: {self.cells:,} counts at {self.price}", {}, columns, rows)


def curve_at(cells: int, budget: Budget) -> UncertaintyCurve:
    """The curve for counts at a budget."""
    points = _points(cells, BoundPrice.of(budget.limit))
    return UncertaintyCurve("Counts", cells, str(budget), points)


def curve_of(release: Release) -> UncertaintyCurve:
    """The curve at the price of a release, for its largest fully measured table, with the place of that table."""
    found = MeasuredTable.largest_of(release)
    if found is None:
        raise RefusedError(
            "bounds.no-table",
            "No table of this release was measured in full at a price of its own.",
            "Ask for one with --strategy residual-planner, or give --cells and --budget.",
        )
    places = [CurvePlace("tables as released", sqrt(found.sum_error), sqrt(found.point_error))]
    if (made := found.promise) is not None:
        places.append(
            CurvePlace("records by sequential fitting", sqrt(made.sum_error), sqrt(made.point_error))
        )
    name = marginal_label(found.attributes, release.schema.names)
    points = _points(found.cells, found.price)
    return UncertaintyCurve(name, found.cells, str(release.card.charged), points, tuple(places))


def _points(cells: int, price: BoundPrice) -> tuple[CurvePoint, ...]:
    found: list[CurvePoint] = []
    for step in STEPS:
        allowed = price.of_one_count * step**2
        least = price.least(cells, sum_error=allowed)
        most = upper_bound(d=cells, **price._asdict(), sum_error=allowed)
        found.append(CurvePoint(sqrt(allowed), sqrt(least), sqrt(most) if isfinite(most) else None))
    return tuple(found)
