"""Tables of maximum entropy where attributes have levels: from coarse to fine, each made of those just below it.

Tables of first levels are read as without levels (``maxent``).  A finer one starts as the most random one whose coarser
and smaller tables are the fitted ones (iterative proportional fitting).  Where its own residual was measured it is
moved towards it, as far as the dispersion of all such tables makes likely, and fitted again: nonnegative, and a
category holds what its own categories add up to, nearly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, Layout, centre_all, summed_to
from hushtable.measurement import Residuals
from hushtable.planning import State
from hushtable.reconstruct import maxent_loops as loops
from hushtable.reconstruct.dispersion import DISPERSIONS, dispersions_by_set
from hushtable.reconstruct.maxent import fit_maxent
from hushtable.reconstruct.maxent_tables import NO_MASS, SWEEPS
from hushtable.reconstruct.zeros import Zeros


@dataclass
class LevelTables:
    """Fitted tables by their sets; what was not asked for is made of what lies below it when it is."""

    residuals: Residuals
    total: float
    zeros: Zeros
    dispersion: dict[AttributeSet, float] = field(default_factory=dict[AttributeSet, float])
    made: dict[AttributeSet, Floats] = field(default_factory=dict[AttributeSet, Floats], repr=False)

    @property
    def axes(self) -> Axes:
        """The axes with their levels."""
        return self.residuals.layout.axes

    @property
    def ones(self) -> dict[int, Floats]:
        """One-way tables that add up exactly: of each attribute the finest that was fitted, and its sums."""
        fitted = {s[0] for s in self.made if len(s) == 1}
        found: dict[int, Floats] = {}
        for leaf in self.axes.finest:
            levels = [a for a in self.axes.chains[leaf] if a in fitted]
            for axis in levels:
                finest = (levels[-1],)
                found[axis] = summed_to(self.axes, self.made[finest], finest, (axis,))
        return found

    def table(self, attributes: AttributeSet) -> Floats:
        """The estimate of one marginal, shaped."""
        if attributes not in self.made:
            table = self.spread(attributes)
            if attributes in self.dispersion:
                self._move(table, attributes)
            self.made[attributes] = table
        return self.made[attributes]

    def estimate_all(self, layout: Layout) -> Floats:
        """The estimates of all marginals of ``layout`` in one flat array."""
        flat = np.empty(layout.cells)
        for k, attributes in enumerate(layout.sets):
            layout.at(flat, k)[:] = self.table(attributes).ravel()
        return flat

    def spread(self, attributes: AttributeSet) -> Floats:
        """The most random table with the fitted ones just below it."""
        if not attributes:
            return np.array(self.total)
        if len(attributes) == 1:
            (axis,) = attributes
            above = self.table(self.axes.covers(attributes)[0]).reshape(-1)
            table = (above / np.diff(self.axes.blocks[axis]))[self.axes.parent_codes(axis)]
            return self.zeros.clear(attributes, table)
        ones = [self.table((axis,)) / self.total for axis in attributes]
        table = self.zeros.clear(attributes, reduce(np.multiply.outer, ones) * self.total)
        self._fit_below(table, attributes, SWEEPS)
        return table

    def gap(self, table: Floats, attributes: AttributeSet) -> Floats:
        """What the measured residual says beyond a table, flat."""
        layout = Layout(self.residuals.layout.sizes, (attributes,))
        return self.residuals.value(attributes).ravel() - centre_all(layout, table.ravel())

    def _move(self, table: Floats, attributes: AttributeSet) -> None:
        strength = self.residuals.block_noise(attributes) / self.dispersion[attributes]
        loops.shrink_cells(table.reshape(-1), self.gap(table, attributes), strength)
        self._fit_below(table, attributes, SWEEPS)

    def _fit_below(self, table: Floats, attributes: AttributeSet, sweeps: int) -> None:
        """Scale a table, in place, until its sums over each attribute's blocks are the fitted tables just below it."""
        below = [self.table(s) for s in self.axes.covers(attributes)]
        for _ in range(sweeps):
            gap = 0.0
            for k, (axis, face) in enumerate(zip(attributes, below, strict=True)):
                starts = self.axes.blocks[axis]
                sums = np.add.reduceat(table, starts[:-1], axis=k)
                target = face.reshape(sums.shape)
                gap += float(np.abs(target - sums).sum())
                factor = np.divide(target, sums, out=np.zeros_like(sums), where=sums > NO_MASS)
                table *= np.repeat(factor, np.diff(starts), axis=k)
            if gap <= loops.TOLERANCE * self.total:
                break


def fit_levels(residuals: Residuals, sets: Sequence[AttributeSet], zeros: Zeros | None = None) -> LevelTables:
    """Fit the tables of a closure ``sets``, those of the same depth together."""
    deviation = 1.0 / float(residuals.precision(())) ** 0.5
    total = max(float(residuals.value(())), deviation)
    fitted = LevelTables(residuals, total, Zeros() if zeros is None else zeros)
    axes = fitted.axes
    first = [s for s in sets if all(axes.parents[a] < 0 for a in s)]
    if any(first):
        coarsest = fit_maxent(residuals, first, zeros)
        fitted.made |= {s: coarsest.table(s) for s in first if s}

    def depth(s: AttributeSet) -> tuple[int, int]:
        return sum(len(axes.chains[a]) for a in s), len(s)

    for _, group in groupby(sorted(sets, key=depth), key=depth):
        _fit_group(fitted, [s for s in group if s not in fitted.made and s])
    return fitted


def refit_levels(
    state: State, changed: Sequence[int], *, layout: Layout, zeros: Zeros | None = None
) -> tuple[Ints, Floats]:
    """The tables of a loop after a measurement: all of them, because coarser ones carry over to finer ones."""
    return np.arange(len(layout.sets)), fit_levels(state, layout.sets, zeros).estimate_all(layout)


def _fit_group(fitted: LevelTables, sets: list[AttributeSet]) -> None:
    measured = [s for s in sets if fitted.residuals.known(s) and fitted.axes.real(s)]
    if not measured:
        return
    likelihoods = np.empty((len(measured), DISPERSIONS.size))
    for k, s in enumerate(measured):
        mean, held = fitted.spread(s), fitted.axes.contrasted(s).reshape(-1)
        noise, price = fitted.residuals.block_noise(s), fitted.residuals.price(s)
        loops.dispersion_likelihood(
            fitted.gap(mean, s)[held], mean.reshape(-1)[held], noise, price, DISPERSIONS, likelihoods[k]
        )
    fitted.dispersion |= dispersions_by_set(fitted.residuals, measured, fitted.total, likelihoods)
    for s in sets:
        fitted.table(s)
