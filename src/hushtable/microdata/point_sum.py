"""Disjoint counts and their sum: what the two mechanisms of Theorem 4 measure.

"point" measures the counts alone, "sum" also their sum, with the same noise.  Either is turned into records by
sequential fitting: counts below zero become zero, or the counts are projected onto those with the measured sum.  Each
is measured with the noise that promises least (``bounds``): Laplace, Gaussian or cut off, as the budget allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import prod

from hushtable import microdata, privacy
from hushtable.errors import WorkloadError
from hushtable.marginals import Workload
from hushtable.microdata.wanted import keeps_points
from hushtable.privacy import UNIT, Budget, PureDP
from hushtable.schema import Schema


def counts_workload(schema: Schema, attributes: Sequence[str] | None, accurate: str) -> Workload:
    """The marginal of ``attributes`` (all by default), with the total beside it for "sum".

    The weights make the noise of both equal: independent noise goes as the cells times the weight.
    """
    names = tuple(schema.attributes) if attributes is None else tuple(attributes)
    if keeps_points(accurate):
        return Workload([names])
    cells = prod(schema.sizes[axis] for axis in schema.axes(names))
    return Workload([(), names], weights=[Fraction(cells), Fraction(1)])


def counts_to_buy(
    schema: Schema, attributes: Sequence[str] | None, accurate: str, budget: Budget
) -> tuple[Workload, Budget]:
    """What is measured for a budget, and what of the budget is bought."""
    if schema.has_levels:
        raise WorkloadError(
            "release.no-levels",
            "Counts with a promise for each of them are not measured on attributes with levels.",
            "Use a plain release: `hush release`, or session.release.",
        )
    workload = counts_workload(schema, attributes, accurate)
    cells = max(prod(schema.sizes[axis] for axis in s) for s in workload.resolve(schema).sets)
    return workload, counts_budget(cells, accurate, budget, rows=schema.most_per_person)


def counts_budget(d: int, accurate: str, budget: Budget, *, rows: int = 1) -> Budget:
    """The budget itself, or only its epsilon where noise that is cut off would promise no more for d counts.

    ``rows`` are those of a person.  A budget that buys Gaussian noise is left as it is.
    """
    limit = budget.limit
    if limit.rho or not limit.delta:
        return budget
    whole = PureDP(Fraction(limit.xi, UNIT))
    if keeps_points(accurate):
        return whole
    scale = Fraction(2 * rows * UNIT, limit.xi)
    bound = privacy.shared_bound([scale, scale], Fraction(limit.delta), rows)
    cut = microdata.promise(d, accurate, microdata.Noise.truncated_geometric(float(1 / scale), bound))
    uncut = microdata.promise(d, accurate, microdata.Noise.discrete_laplace(float(scale)))
    return budget if cut.point_error < uncut.point_error else whole
