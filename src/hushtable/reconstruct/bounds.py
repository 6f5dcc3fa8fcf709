"""Bounds on cells of marginals that may not have been measured in full.

A marginal whose residuals were all measured has unbiased estimates with known variance, hence intervals.  Any other one
is bounded by its measured sub-tables: a cell is at most each of them, and at least what two of them force together
(Frechet).  Both hold whatever the data are; an estimate from a model carries no guarantee of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isfinite

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, closure, largest_sets, subsets
from hushtable.reconstruct.mle import ResidualEstimates

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


def published_ends(lower: Floats, upper: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """The ends as they are published: widened to hold the estimate, and cut at 0, below which no count lies.

    Both steps only add counts that are possible, so that the ends hold all the more.
    """
    low, high = np.minimum(lower, estimate), np.maximum(upper, estimate)
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


class Bounder:
    """Bounds of many marginals: what they share is computed once."""

    def __init__(self, estimates: ResidualEstimates, sets: Sequence[AttributeSet], alpha: float) -> None:
        self._estimates, self._alpha = estimates, alpha
        inside = closure(sets, estimates.layout.sizes)
        known = np.isfinite(estimates.model.cell_variances(inside))
        self._layout = Layout(estimates.layout.sizes, tuple(inside[k] for k in np.flatnonzero(known)))
        self._flat = estimates.estimate_all(self._layout)
        self._std = estimates.errors(self._layout.sets, alpha).std
        self._reach: dict[int, Floats] = {}

    def bounds(self, attributes: AttributeSet, shared: int | None = None) -> CellBounds:
        """Bounds that hold for each cell with probability at least ``1 - alpha``.

        With ``shared``, the number of cells of sub-tables or more, they hold for all cells of the marginal together.
        """
        index = self._layout.index
        if attributes in index:
            lower, upper = self._ends(attributes, attributes, 1)
            return CellBounds(lower.ravel(), upper.ravel(), float(self._std[index[attributes]]), FULLY)
        known = self._largest_measured(attributes)
        flag = PARTLY if any(len(s) == len(attributes) - 1 for s in known) else DERIVED
        whole = set(attributes)
        forcing = [(a, b) for a, b in combinations(known, 2) if whole == {*a, *b}]
        common = {(a, b): tuple(sorted({*a} & {*b})) for a, b in forcing}
        used = {*known, *common.values()}
        ends = {s: self._ends(s, attributes, shared or len(used)) for s in used}
        shape = self._estimates.layout.shape(attributes)
        lower, upper = np.zeros(shape), np.full(shape, np.inf)
        for s in known:
            np.minimum(upper, np.maximum(ends[s][1], 0.0), out=upper)
        for a, b in forcing:
            np.maximum(lower, ends[a][0] + ends[b][0] - ends[common[a, b]][1], out=lower)
        np.minimum(lower, upper, out=lower)
        return CellBounds(lower.ravel(), upper.ravel(), np.nan, flag)

    def _largest_measured(self, attributes: AttributeSet) -> tuple[AttributeSet, ...]:
        """Sub-tables that are fully measured and lie in no other such."""
        sizes = self._layout.sizes
        return largest_sets([s for s in subsets(attributes, sizes) if s in self._layout.index], sizes)

    def _ends(self, attributes: AttributeSet, above: AttributeSet, shared: int) -> tuple[Floats, Floats]:
        """Interval of a sub-table's cells at level ``1 - alpha / shared``, shaped to be repeated over ``above``."""
        if shared not in self._reach:
            sets, alpha = self._layout.sets, self._alpha / shared
            self._reach[shared] = self._estimates.model.half_widths(sets, alpha)
        reach = float(self._reach[shared][self._layout.index[attributes]])
        axes = self._layout.axes
        held = [axes.level_in(attributes, axis) for axis in above]
        shape = tuple(1 if a < 0 else axes[a] for a in held)
        centre = self._layout.view(self._flat, attributes).reshape(shape)
        for k, (axis, a) in enumerate(zip(above, held, strict=True)):
            if a not in (axis, -1):
                centre = np.take(centre, axes.codes_above(axis, a), axis=k)
        return centre - reach, centre + reach


def measured_flags(estimates: ResidualEstimates, sets: tuple[AttributeSet, ...]) -> list[str]:
    """ "fully", "partly" or "derived" for each marginal."""
    flags: list[str] = []
    inside, axes = closure(sets, estimates.layout.sizes), estimates.layout.axes
    variances = estimates.model.cell_variances(inside).tolist()
    known = {s for s, variance in zip(inside, variances, strict=True) if isfinite(variance)}
    for attributes in sets:
        if attributes in known:
            flags.append(FULLY)
        else:
            below = axes.covers(attributes)
            flags.append(PARTLY if any(s in known for s in below) else DERIVED)
    return flags
