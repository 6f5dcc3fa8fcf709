"""Nonnegative tables that agree wherever they overlap (the local polytope), near the tables of maximum entropy.

Tables of maximum entropy nearly agree.  Multiplicative steps, one shared sub-table at a time, bring the tables above it
to the mean of what they say of it; they converge, because the tables of independent attributes agree.  What
difference is left is taken out in residuals, with a step towards a strictly positive table if that needs one; where a
schema declares cells impossible it is left, below 1e-9 of the total.  All of it is post-processing.

These are not the nonnegative tables of greatest likelihood.  They fit the measurements less well than those, which
follow the noise and have 1.7 to 25 times the error (docs/adr/0010-adaptive.md), and better than the truth does, which
is half a unit of squared noise off for each measured number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.axes import Axes
from hushtable.marginals import (
    AttributeSet,
    Layout,
    accumulate,
    assemble,
    centre_all,
    closure,
    in_ranges,
    repeated_along,
    summed_to,
)
from hushtable.measurement import Residuals
from hushtable.reconstruct.level_tables import LevelTables, fit_levels
from hushtable.reconstruct.maxent import fit_maxent
from hushtable.reconstruct.maxent_tables import MaxentTables
from hushtable.reconstruct.nonneg_loops import NEAR, Shared, bring_together
from hushtable.reconstruct.zeros import Zeros

MOST_CYCLES = 400
"""Adult took 86 to 285 cycles at epsilon 1 and 10.  What has not agreed by then is left to the last step, or stays
where none follows; more let badly matched tables agree at the price of time."""
STEP = 1.8
"""Over-relaxation of the multiplicative steps; below 2.  On adult at epsilon 1 1.8 agreed after 285 cycles; 1, 1.5 and
1.95 did not within 400."""

SMALLEST = 1e-6
"""Cells start above this, so that steps can raise them: far below a record, and a zero would stay one."""

CLOSE = 1e-7
"""Differences below this part of the total are left to the last step.  With 1e-5 a third of the cycles and 1% more
error on adult, with 1e-9 more cycles and the same error."""

CLOSER = 1e-9
"""The same where no last step follows."""


@dataclass(frozen=True)
class ConsistentTables:
    """The largest tables of a closure, flat; every other marginal is a sum over one of them."""

    layout: Layout
    tables: Floats

    def estimate_all(self, layout: Layout) -> Floats:
        """All marginals of ``layout``, flat."""
        if layout.sets == self.layout.sets:
            return self.tables.copy()
        axes = self.layout.axes
        above = {below: s for s in reversed(self.layout.sets) for below in axes.below(s)}
        flat = np.empty(layout.cells)
        for s in layout.sets:
            whole = self.layout.view(self.tables, above[s])
            layout.view(flat, s)[...] = summed_to(axes, whole, above[s], s)
        return flat


def fit_nonneg(
    residuals: Residuals, sets: Sequence[AttributeSet], zeros: Zeros | None = None
) -> ConsistentTables:
    """Fit the tables of a closure ``sets`` (every subset listed)."""
    fitted = fit_smooth(residuals, sets, zeros)
    tables = Layout(residuals.layout.sizes, _largest(sets, residuals.layout.axes))
    flat = np.maximum(fitted.estimate_all(tables), SMALLEST)
    for s in tables.sets if zeros else ():
        fitted.zeros.clear(s, tables.view(flat, s))
    bring_to_agreement(tables, flat, fitted.total, CLOSER if zeros else CLOSE)
    if zeros:
        return ConsistentTables(tables, flat)
    inside = Layout(tables.sizes, closure(tables.sets, tables.sizes))
    above = accumulate(tables, np.ones(tables.cells), 1.0 / tables.lengths, inside)
    values = centre_all(inside, accumulate(tables, flat, np.ones(len(tables.sets)), inside))
    values /= np.repeat(np.rint(np.add.reduceat(above, inside.offsets[:-1])), inside.lengths)
    values[0] = fitted.total
    cells = assemble(inside, values, tables)
    anchor = _anchor(tables, fitted.ones, fitted.total)
    return ConsistentTables(tables, np.maximum(_made_positive(cells, anchor), 0.0))


def bring_to_agreement(tables: Layout, flat: Floats, total: float, close: float) -> int:
    """Bring positive tables of one total to agreement, in place; gives the number of cycles that took."""
    shared = _LevelShared(tables) if tables.has_levels else _Shared(tables)
    step, best = STEP, np.inf
    for cycle in range(1, MOST_CYCLES + 1):
        worst = shared.cycle(flat, total, step)
        if worst <= close * total:
            return cycle
        step = 1.0 if worst > 4.0 * best else step
        best = min(best, worst)
    return MOST_CYCLES


def fit_smooth(
    residuals: Residuals, sets: Sequence[AttributeSet], zeros: Zeros | None = None
) -> MaxentTables | LevelTables:
    """Tables of maximum entropy of a closure, on levels or not."""
    fit = fit_levels if residuals.layout.has_levels else fit_maxent
    return fit(residuals, sets, zeros)


def _shared_sets(tables: Layout) -> tuple[list[AttributeSet], dict[AttributeSet, list[int]]]:
    """Sub-tables whose agreement makes all tables agree, and the tables above every sub-table."""
    axes, owners = tables.axes, dict[AttributeSet, list[int]]()
    for t, s in enumerate(tables.sets):
        for below in axes.below(s):
            owners.setdefault(below, []).append(t)
    larger: dict[AttributeSet, list[AttributeSet]] = {}
    for s in owners:
        for below in axes.covers(s):
            larger.setdefault(below, []).append(s)
    kept = [
        s
        for s, above in owners.items()
        if len(above) > 1 and not _connected(above, [owners[up] for up in larger.get(s, [])])
    ]
    return kept, owners


class _LevelShared:
    """The same on levels, one sub-table after another."""

    def __init__(self, tables: Layout) -> None:
        self._tables = tables
        self._kept, self._owners = _shared_sets(tables)

    def cycle(self, flat: Floats, total: float, step: float) -> float:
        """One step for every shared sub-table; gives the largest difference that was met."""
        tables, axes, worst = self._tables, self._tables.axes, 0.0
        for shared in self._kept:
            above = [tables.sets[t] for t in self._owners[shared]]
            sums = [summed_to(axes, tables.view(flat, s), s, shared) for s in above]
            mean = np.mean(sums, axis=0)
            worst = max(worst, float(np.ptp(sums, axis=0).max()))
            mean *= total / mean.sum()
            for s, own in zip(above, sums, strict=True):
                ratio = np.divide(mean, own, out=np.ones_like(mean), where=own > 0.0)
                near = (ratio > 1.0 / NEAR) & (ratio < NEAR)
                factor = np.where(near, ratio**step, ratio)
                tables.view(flat, s)[...] *= repeated_along(axes, factor, shared, s)
        return worst


class _Shared:
    """Sub-tables that several tables share, in groups whose members touch different tables."""

    def __init__(self, tables: Layout) -> None:
        kept, owners = _shared_sets(tables)
        self._tables = tables
        sizes = Layout(tables.sizes, tuple(kept)).lengths
        starts = np.cumsum([0, *(len(owners[s]) for s in kept)])
        above = np.array([t for s in kept for t in owners[s]], np.int64)
        width = tables.shapes.shape[1]
        masks = [_mask(s, tables.sets[t], width) for s in kept for t in owners[s]]
        self._lists = Shared(starts, above, np.array(masks, np.int64), sizes)
        self._groups = _disjoint([owners[s] for s in kept], len(tables.sets))
        self._work = 4 * (np.add.reduceat(tables.lengths[above], starts[:-1]) if kept else sizes)

    def cycle(self, flat: Floats, total: float, step: float) -> float:
        """One step for every shared sub-table; gives the largest difference that was met."""
        tables, worst = self._tables.tables(flat), np.zeros(len(self._work))
        for group in self._groups:
            in_ranges(bring_together, self._work[group], group, self._lists, total, step, tables, worst)
        return float(worst.max(initial=0.0))


def _connected(above: list[int], larger: list[list[int]]) -> bool:
    """Whether agreement on ``larger`` shared sub-tables, by their tables, already makes those ``above`` agree."""
    group = {t: t for t in above}

    def root(t: int) -> int:
        while group[t] != t:
            group[t] = group[group[t]]
            t = group[t]
        return t

    for shared in larger:
        for t in shared[1:]:
            group[root(t)] = root(shared[0])
    return len({root(t) for t in above}) == 1


def _mask(attributes: AttributeSet, above: AttributeSet, width: int) -> int:
    """Bits of the right-aligned axes of ``above`` that belong to ``attributes``."""
    shift = width - len(above)
    return sum(1 << (k + shift) for k, axis in enumerate(above) if axis in attributes)


def _disjoint(owners: list[list[int]], tables: int) -> list[Ints]:
    """Groups of numbers whose lists have nothing in common, greedily."""
    used, groups = [0] * tables, list[list[int]]()
    for k, above in enumerate(owners):
        taken = 0
        for t in above:
            taken |= used[t]
        free = (~taken & (taken + 1)).bit_length() - 1
        for t in above:
            used[t] |= 1 << free
        if free == len(groups):
            groups.append([])
        groups[free].append(k)
    return [np.array(group, np.int64) for group in groups]


def _largest(sets: Sequence[AttributeSet], axes: Axes) -> tuple[AttributeSet, ...]:
    """Sets of a closure that no other one tells."""
    inside = {below for s in sets for below in axes.covers(s)}
    return tuple(s for s in sets if s not in inside)


def _anchor(tables: Layout, ones: dict[int, Floats], total: float) -> Floats:
    """Strictly positive tables that agree: half the product of the one-way tables, half uniform over the finest."""
    parts, axes = list[Floats](), tables.axes
    for attributes in tables.sets:
        product, even = np.ones(()), np.full((), total)
        for axis in attributes:
            leaf = axes.finest[axes.owners[axis]]
            leaves = np.bincount(axes.codes_above(leaf, axis), minlength=axes[axis])
            product = np.multiply.outer(product, ones[axis] / total)
            even = np.multiply.outer(even, leaves / axes[leaf])
        parts.append((0.5 * total * product + 0.5 * even).reshape(-1))
    return np.concatenate(parts)


def _made_positive(cells: Floats, anchor: Floats) -> Floats:
    """The shortest step towards the anchor after which no cell is negative."""
    negative = cells < 0.0
    if not negative.any():
        return cells
    step = float((-cells[negative] / (anchor[negative] - cells[negative])).max())
    return cells + step * (anchor - cells)
