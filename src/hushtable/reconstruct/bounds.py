"""Intervals of the cells of marginals, from all that was measured.

A marginal whose residuals were all measured has unbiased estimates with known variance, hence intervals.  Any other one
is bounded by its measured sub-tables: a cell is at most each of them, and at least what two of them force together
(Frechet).  Both hold whatever the data are; an estimate from a model carries no guarantee of its own.

A marginal that was measured roughly has both, and the interval published is what they have in common.  Each has a share
of alpha, and whether it takes part follows from noise variances alone: were it the realised widths that decide, the
narrower of two would hold less often than it says (proofs/intervals.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import isfinite, prod

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, closure, largest_sets, subsets
from hushtable.reconstruct.mle import ResidualEstimates

FULLY, PARTLY, DERIVED = "fully", "partly", "derived"

ROUGH = 2.0
"""A table is rough if its cells have this many times the standard deviation of some table below it: bounds from below
then take part in its intervals.  A smaller number lets them take part where they seldom help."""
OWN = 0.8
"""Share of alpha that a rough table's own noise keeps.  It widens its own interval by 5%; with 0.5 by 14%, and ends
from below, whose share is divided once more, become narrower by about as much."""


LEAST_UPPER = 0.5
"""Share of the half-width that an upper end has at least: about a standard error at 95%.  Noise that drew a count far
below zero would leave 0 to 0, which reads as certainty; given such a draw, counts up to about one standard error are
still likely (a truncated normal law has 95% below 0.8 to 1.1 of it for draws of -3 to -2).  With more, intervals of the
many cells that are empty become wider for nothing."""


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


def least_upper(lower: Floats, upper: Floats) -> Floats:
    """The upper ends of unbiased intervals of counts, none below what noise alone leaves possible: see ``LEAST_UPPER``.

    They are only moved up, so that they hold all the more.
    """
    return np.maximum(upper, LEAST_UPPER * 0.5 * (upper - lower))


def published_ends(lower: Floats, upper: Floats, estimate: Floats) -> tuple[Floats, Floats]:
    """The ends as they are published: widened to hold the estimate, and cut at 0, below which no count lies.

    Both steps only add counts that are possible, so that the ends hold all the more.
    """
    low, high = np.minimum(lower, estimate), np.maximum(upper, estimate)
    return np.maximum(low, 0.0), np.maximum(high, 0.0)


@dataclass(frozen=True, eq=False)
class Intervals:
    """Of all cells of some marginals, flat: ends, the unbiased estimate and its own reach (nan where not all was
    measured), standard deviations (nan too), and by marginal what was measured."""

    lower: Floats
    upper: Floats
    unbiased: Floats
    reach: Floats
    stds: Floats
    measured: list[str]


def intervals(
    estimates: ResidualEstimates,
    layout: Layout,
    alpha: float,
    *,
    simultaneous: bool = False,
    estimated: Floats | None = None,
) -> Intervals:
    """Intervals that hold for each cell with probability at least ``1 - alpha``; or for all cells of a table together.

    ``estimated`` are the unbiased estimates, where somebody has them already.  The noise of an adaptive
    release is taken for Gaussian, as everywhere.
    """
    model = estimates.model
    known = np.isfinite(model.cell_variances(layout.sets))
    every = np.repeat(known, layout.lengths)
    bounder = Bounder(estimates, layout.sets, alpha)
    rough = bounder.rough(layout.sets)
    reach = np.where(every, _reaches(estimates, layout, np.full(len(known), alpha), simultaneous), np.nan)
    own = reach
    if rough.any():
        own = _reaches(estimates, layout, np.where(rough, OWN, 1.0) * alpha, simultaneous)
    values = estimates.estimate_all(layout) if estimated is None else estimated
    unbiased = np.where(every, values, np.nan)
    lower = unbiased - own
    upper = least_upper(lower, unbiased + own)
    flags = [FULLY] * len(layout.sets)
    for k in np.flatnonzero(rough | ~known).tolist():
        cells, s = slice(layout.offsets[k], layout.offsets[k + 1]), layout.sets[k]
        if known[k]:
            np.minimum(upper[cells], bounder.at_most(s, 1.0 - OWN, together=simultaneous), out=upper[cells])
            continue
        part = bounder.from_below(s, together=simultaneous)
        lower[cells], upper[cells], flags[k] = part.lower, part.upper, part.measured
    stds = np.where(every, np.sqrt(model.variances_of(layout)), np.nan)
    return Intervals(lower, upper, unbiased, reach, stds, flags)


def _reaches(estimates: ResidualEstimates, layout: Layout, alphas: Floats, simultaneous: bool) -> Floats:
    """Half-widths of all cells, each marginal at its level; divided among its cells where they hold together."""
    levels = alphas / layout.lengths if simultaneous else alphas
    if np.ptp(levels) == 0.0:
        return estimates.model.half_widths_of(layout, float(levels[0]))
    found = np.empty(layout.cells)
    for level in np.unique(levels):
        numbers = np.flatnonzero(levels == level)
        some = Layout(layout.sizes, tuple(layout.sets[k] for k in numbers))
        widths = estimates.model.half_widths_of(some, float(level))
        for j, k in enumerate(numbers.tolist()):
            layout.at(found, k)[:] = some.at(widths, j)
    return found


class Bounder:
    """Bounds of many marginals: what they share is computed once."""

    def __init__(self, estimates: ResidualEstimates, sets: Sequence[AttributeSet], alpha: float) -> None:
        self._estimates, self._alpha = estimates, alpha
        inside = closure(sets, estimates.layout.sizes)
        known = np.isfinite(estimates.model.cell_variances(inside))
        self._layout = Layout(estimates.layout.sizes, tuple(inside[k] for k in np.flatnonzero(known)))
        self._std = np.sqrt(estimates.model.cell_variances(self._layout.sets))
        self._reach: dict[float, Floats] = {}

    @cached_property
    def _flat(self) -> Floats:
        return self._estimates.estimate_all(self._layout)

    def rough(self, sets: Sequence[AttributeSet]) -> NDArray[np.bool_]:
        """Which marginals were measured in full, but so that a table below says more; from noise variances alone."""
        index, axes = self._layout.index, self._layout.axes
        deviation = dict(zip(index, self._std.tolist(), strict=True))
        found = np.zeros(len(sets), bool)
        for k, s in enumerate(sets):
            if s in deviation:
                below = [deviation[cover] for cover in axes.covers(s) if cover in deviation]
                found[k] = bool(below) and deviation[s] > ROUGH * min(below)
        return found

    def bounds(self, attributes: AttributeSet, shared: int | None = None) -> CellBounds:
        """Bounds that hold for each cell with probability at least ``1 - alpha``.

        With ``shared``, the number of cells of sub-tables or more, they hold for all cells of the marginal together.
        """
        index = self._layout.index
        if attributes in index:
            lower, upper = self._ends(attributes, attributes, self._alpha)
            return CellBounds(lower.ravel(), upper.ravel(), float(self._std[index[attributes]]), FULLY)
        return self.from_below(attributes, shared=shared)

    def at_most(self, attributes: AttributeSet, part: float, *, together: bool = False) -> Floats:
        """Upper ends by the measured tables just below a marginal, flat, for a ``part`` of alpha; one-sided.

        What two of them force from below is left out: it adds three noises, and is wider than a table's own interval.
        """
        known = self._largest_measured(attributes)
        level = 2.0 * part * self._alpha / (self._cells(known) if together else len(known))
        upper = np.full(self._estimates.layout.shape(attributes), np.inf)
        for s in known:
            np.minimum(upper, least_upper(*self._ends(s, attributes, level)), out=upper)
        return upper.ravel()

    def from_below(
        self, attributes: AttributeSet, *, together: bool = False, shared: int | None = None
    ) -> CellBounds:
        """Bounds by the measured tables below a marginal, which divide alpha among themselves.

        ``together``: they hold for all cells of the marginal at once.
        """
        known = self._largest_measured(attributes)
        flag = PARTLY if any(len(s) == len(attributes) - 1 for s in known) else DERIVED
        whole = set(attributes)
        forcing = [(a, b) for a, b in combinations(known, 2) if whole == {*a, *b}]
        common = {(a, b): tuple(sorted({*a} & {*b})) for a, b in forcing}
        used = {*known, *common.values()}
        among = shared or (self._cells(used) if together else len(used))
        ends = {s: self._ends(s, attributes, self._alpha / max(among, 1)) for s in used}
        shape = self._estimates.layout.shape(attributes)
        lower, upper = np.zeros(shape), np.full(shape, np.inf)
        for s in known:
            np.minimum(upper, least_upper(*ends[s]), out=upper)
        for a, b in forcing:
            np.maximum(lower, ends[a][0] + ends[b][0] - ends[common[a, b]][1], out=lower)
        np.minimum(lower, upper, out=lower)
        return CellBounds(lower.ravel(), upper.ravel(), np.nan, flag)

    def _cells(self, sets: Iterable[AttributeSet]) -> int:
        return sum(prod(self._layout.shape(s)) for s in sets)

    def _largest_measured(self, attributes: AttributeSet) -> tuple[AttributeSet, ...]:
        """Tables below that are fully measured and lie in no other such."""
        axes, index = self._layout.axes, self._layout.index
        return largest_sets([s for s in subsets(attributes, axes) if s in index and s != attributes], axes)

    def _ends(self, attributes: AttributeSet, above: AttributeSet, alpha: float) -> tuple[Floats, Floats]:
        """Interval of a sub-table's cells at level ``1 - alpha``, shaped to be repeated over ``above``."""
        if alpha not in self._reach:
            self._reach[alpha] = self._estimates.model.half_widths(self._layout.sets, alpha)
        reach = float(self._reach[alpha][self._layout.index[attributes]])
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
