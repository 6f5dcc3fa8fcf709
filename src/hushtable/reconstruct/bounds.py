"""Bounds on cells of marginals that may not have been measured in full.

A marginal whose residuals were all measured has unbiased estimates with known variance, hence intervals.  Any other one
is bounded by its measured sub-tables: a cell is at most each of them, and at least what two of them force together
(Frechet).  Both hold whatever the data are; an estimate from a model carries no guarantee of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import isfinite

import numpy as np
from numpy.typing import NDArray

from hushtable.marginals import AttributeSet, Layout, subsets
from hushtable.reconstruct.mle import ResidualEstimates

Floats = NDArray[np.float64]

FULLY, PARTLY, DERIVED = "fully", "partly", "derived"


@dataclass(frozen=True, eq=False)
class CellBounds:
    """Ends of the interval of every cell (flat), standard deviation of a cell (nan: unknown), and what was measured.

    ``measured`` is "fully" (every residual below the marginal), "partly" (some sub-table with one attribute fewer is
    fully measured) or "derived" (neither).
    """

    lower: Floats
    upper: Floats
    std: float
    measured: str

    def containing(self, estimate: Floats) -> CellBounds:
        """The same bounds, widened where an estimate (flat) lies outside; they hold all the more."""
        lower, upper = np.minimum(self.lower, estimate), np.maximum(self.upper, estimate)
        return CellBounds(lower, upper, self.std, self.measured)


def cell_bounds(estimates: ResidualEstimates, attributes: AttributeSet, alpha: float = 0.05) -> CellBounds:
    """Bounds that hold for each cell with probability at least ``1 - alpha``."""
    if estimates.measured(attributes):
        centre = estimates.marginal(attributes).ravel()
        errors = estimates.errors([attributes], alpha)
        reach = float(errors.half_width[0])
        return CellBounds(centre - reach, centre + reach, float(errors.std[0]), FULLY)
    known = _largest_measured(estimates, attributes)
    flag = PARTLY if any(len(s) == len(attributes) - 1 for s in known) else DERIVED
    shape = estimates.layout.shape(attributes)
    lower, upper = np.zeros(shape), np.full(shape, np.inf)
    forcing = [(a, b) for a, b in combinations(known, 2) if set(a) | set(b) == set(attributes)]
    common = {tuple(sorted(set(a) & set(b))) for a, b in forcing}
    used = {*known, *common}
    ends = {s: _ends(estimates, s, attributes, alpha / len(used)) for s in used}
    for s in known:
        upper = np.minimum(upper, np.maximum(ends[s][1], 0.0))
    for a, b in forcing:
        shared = tuple(sorted(set(a) & set(b)))
        lower = np.maximum(lower, ends[a][0] + ends[b][0] - ends[shared][1])
    lower = np.minimum(lower, upper)
    return CellBounds(np.ascontiguousarray(lower).ravel(), np.ascontiguousarray(upper).ravel(), np.nan, flag)


def measured_flags(estimates: ResidualEstimates, sets: tuple[AttributeSet, ...]) -> list[str]:
    """ "fully", "partly" or "derived" for each marginal."""
    flags: list[str] = []
    for attributes, variance in zip(sets, estimates.model.cell_variances(sets).tolist(), strict=True):
        if isfinite(variance):
            flags.append(FULLY)
        else:
            below = combinations(attributes, len(attributes) - 1)
            flags.append(PARTLY if any(estimates.measured(s) for s in below) else DERIVED)
    return flags


def _largest_measured(estimates: ResidualEstimates, attributes: AttributeSet) -> list[AttributeSet]:
    """Sub-tables that are fully measured and lie in no other such."""
    found = [s for s in subsets(attributes) if s in estimates.layout.index and estimates.measured(s)]
    return [s for s in found if not any(set(s) < set(other) for other in found)]


def _ends(
    estimates: ResidualEstimates, attributes: AttributeSet, above: AttributeSet, alpha: float
) -> tuple[Floats, Floats]:
    """Interval of a sub-table's cells, shaped to be repeated over the marginal above it."""
    layout = Layout(estimates.layout.sizes, (attributes,))
    reach = float(estimates.model.half_widths(layout.sets, alpha)[0])
    shape = tuple(estimates.layout.sizes[a] if a in attributes else 1 for a in above)
    centre = estimates.marginal(attributes).reshape(shape)
    return centre - reach, centre + reach
