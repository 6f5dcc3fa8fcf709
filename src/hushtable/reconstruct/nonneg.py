"""Nonnegative tables that agree wherever they overlap (the local polytope), nearest to the noisy residuals.

Tables are assembled from one array of residuals, so shared sub-tables are equal by construction.  Residuals minimise
the likelihood's weighted squares subject to nonnegative cells; a dual method finds them, and a final step towards a
strictly positive consistent table removes what negativity is left.  All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.marginals import AttributeSet, Layout, accumulate, assemble, centre_all
from hushtable.reconstruct.maxent import start_tables
from hushtable.reconstruct.residuals import Residuals

Floats = NDArray[np.float64]

STEPS = 200
UNMEASURED = 1e-3
"""Precision of a residual that was never measured, relative to the least precise one that was: nearly free."""


@dataclass(frozen=True)
class ConsistentTables:
    """Residuals whose tables are nonnegative."""

    layout: Layout
    values: Floats

    def estimate_all(self, layout: Layout) -> Floats:
        """All marginals of ``layout``, flat; rounding below zero is cut."""
        return np.maximum(assemble(self.layout, self.values, layout), 0.0)


def fit_nonneg(residuals: Residuals, sets: Sequence[AttributeSet]) -> ConsistentTables:
    """Fit the tables of a closure ``sets`` (every subset listed)."""
    layout = Layout(residuals.layout.sizes, tuple(sets))
    start = start_tables(residuals, sets)
    target, weight = _targets(residuals, layout)
    target[0] = start.total
    largest = tuple(s for s in sets if not any(set(s) < set(other) for other in _above(s, layout)))
    tables = Layout(layout.sizes, largest)
    values = _dual(layout, tables, target, weight)
    anchor = _anchor(layout, start.ones, start.total)
    return ConsistentTables(layout, _made_positive(layout, tables, values, anchor))


def _dual(layout: Layout, tables: Layout, target: Floats, weight: Floats) -> Floats:
    """Minimise ``sum weight |r - target|^2 / 2`` with nonnegative tables: accelerated gradient on the multipliers.

    A multiplier per cell; residuals respond by the transpose of the assembly, divided by their weights.
    """
    spread = np.repeat(1.0 / weight, layout.lengths)
    step = 1.0 / _curvature(layout, tables, 1.0 / weight)
    multiplier = np.zeros(tables.cells)
    ahead, momentum = multiplier.copy(), 1.0
    values = target
    for _ in range(STEPS):
        values = target + spread * _transpose(layout, tables, ahead)
        cells = assemble(layout, values, tables)
        fresh = np.maximum(ahead - step * cells, 0.0)
        following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        if float((fresh - multiplier) @ (fresh - ahead)) < 0.0:
            following = 1.0
        ahead = fresh + (momentum - 1.0) / following * (fresh - multiplier)
        multiplier, momentum = fresh, following
    return target + spread * _transpose(layout, tables, multiplier)


def _transpose(layout: Layout, tables: Layout, multiplier: Floats) -> Floats:
    """The pull of the multipliers on every residual but the total, which stays."""
    summed = accumulate(tables, multiplier, 1.0 / tables.lengths.astype(np.float64), layout)
    pull = centre_all(layout, summed, 1.0 / layout.lengths.astype(np.float64))
    pull[0] = 0.0
    return pull


def _curvature(layout: Layout, tables: Layout, response: Floats) -> float:
    """The dual's largest curvature by power iteration, with room."""
    spread = np.repeat(response, layout.lengths)
    vector = np.cos(np.arange(tables.cells, dtype=np.float64))
    size = 1.0
    for _ in range(20):
        vector /= np.sqrt(vector @ vector)
        vector = assemble(layout, spread * _transpose(layout, tables, vector), tables)
        size = float(np.sqrt(vector @ vector))
    return max(1.1 * size, 1e-300)


def _targets(residuals: Residuals, layout: Layout) -> tuple[Floats, Floats]:
    """Noisy residuals and their weights in the layout of the closure; unmeasured ones are zero and nearly free."""
    values, weight = np.zeros(layout.cells), np.zeros(len(layout.sets))
    for k, attributes in enumerate(layout.sets):
        if residuals.known(attributes):
            values[layout.offsets[k] : layout.offsets[k + 1]] = residuals.value(attributes).reshape(-1)
            weight[k] = residuals.precision(attributes)
    weight[weight == 0.0] = UNMEASURED * weight[weight > 0].min()
    return values, weight


def _anchor(layout: Layout, ones: dict[int, Floats], total: float) -> Floats:
    """Residuals of a strictly positive table: half the product of the one-way tables, half uniform."""
    parts: list[Floats] = []
    for attributes in layout.sets:
        product, even = np.ones(()), total
        for axis in attributes:
            product = np.multiply.outer(product, ones[axis] / total)
            even /= layout.sizes[axis]
        parts.append((0.5 * total * product + 0.5 * even).reshape(-1))
    return centre_all(layout, np.concatenate(parts))


def _made_positive(layout: Layout, tables: Layout, values: Floats, anchor: Floats) -> Floats:
    """The shortest step towards the anchor after which no cell is negative."""
    cells, positive = assemble(layout, values, tables), assemble(layout, anchor, tables)
    negative = cells < 0.0
    if not negative.any():
        return values
    step = float((-cells[negative] / (positive[negative] - cells[negative])).max())
    return values + step * (anchor - values)


def _above(attributes: AttributeSet, layout: Layout) -> list[AttributeSet]:
    """Sets with one attribute more."""
    found = (tuple(sorted((*attributes, a))) for a in range(len(layout.sizes)) if a not in attributes)
    return [s for s in found if s in layout.index]
