"""What an adaptive loop proves about whole tables: bounds on their L1 distance from the truth, with one confidence.

Noisy distances bound the tables they were asked about.  A selection bounds every candidate: had another table been much
worse than the chosen one, it would hardly have been passed over (AIM's argument).  A claim is about the tables of that
moment; a reader moves it to other tables by the triangle inequality.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, ndtri

from hushtable.marginals import AttributeSet, Layout, assemble
from hushtable.planning.problem import prices
from hushtable.planning.requests import GRID, Compare, Select

Floats = NDArray[np.float64]

BETA = 0.05
"""All bounds of a claim hold together with probability 1 - BETA."""

PART = 2**24
"""Cells of the tables that are looked at together."""


@dataclass(frozen=True, eq=False)
class Claim:
    """``|truth - table|_1 <= limits[k]`` for every set; ``tables`` is flat (None: the final unbiased estimates)."""

    sets: tuple[AttributeSet, ...]
    tables: Floats | None
    limits: Floats

    def about(self, wanted: Collection[AttributeSet], sizes: tuple[int, ...]) -> Claim | None:
        """What it says of some sets alone; None where it says nothing of them."""
        kept = [k for k, s in enumerate(self.sets) if s in wanted]
        if not kept:
            return None
        whole, tables = Layout(sizes, self.sets), self.tables
        if tables is not None:
            tables = np.concatenate([tables[whole.offsets[k] : whole.offsets[k + 1]] for k in kept])
        return Claim(tuple(self.sets[k] for k in kept), tables, self.limits[kept])


def claim_of_distances(request: Compare, noisy: Floats) -> Claim:
    """From noisy distances, in records: a normal quantile shared out over the tables, and the rounding of the grid."""
    reach = float(ndtri(1.0 - BETA / len(request.sets))) * sqrt(request.variance) / GRID
    rounding = request.layout.lengths / (2.0 * GRID)
    return Claim(request.sets, request.tables, np.maximum(noisy + reach, 0.0) + rounding)


def claim_of_selection(
    layout: Layout,
    precisions: Floats,
    select: Select,
    chosen: int,
    changes: tuple[tuple[int, Floats], ...],
) -> Claim | None:
    """From the last selection and what its measurement changed; None when the chosen marginal is not known in full.

    With weights w, sensitivity max w and n cells: ``w_r (e_r - penalty n_r) <= w_g (e_g - penalty n_g) + slack`` for
    the chosen g and all others r, where e is the L1 error before the measurement, with probability 1 - BETA / 2.
    """
    cells = layout.lengths.astype(np.float64)
    moved = _moved(layout, changes)
    noise = _noise_of(layout, precisions, chosen)
    weights = select.weights.astype(np.float64)
    rated = np.flatnonzero(weights)
    if noise is None:
        return None
    slack = 2.0 * weights.max() / float(select.epsilon) * log(2.0 * len(rated) / BETA)
    worst = weights[chosen] * (moved[chosen] + noise - select.penalty * cells[chosen]) + slack
    limits = np.full(len(cells), np.inf)
    limits[rated] = np.maximum(worst / weights[rated] + select.penalty * cells[rated], 0.0) + moved[rated]
    limits[chosen] = noise
    return Claim(layout.sets, None, limits + cells / GRID)


def claim_of_tables(
    layout: Layout, precisions: Floats, select: Select, chosen: int, unbiased: Floats
) -> Claim | None:
    """The same for a selection that was scored against tables, which the claim is then about.

    ``unbiased`` is the estimate of the chosen marginal from its residuals, after the measurement.
    """
    noise = _noise_of(layout, precisions, chosen)
    if noise is None or select.tables is None:
        return None
    cells = layout.lengths.astype(np.float64)
    weights = select.weights.astype(np.float64)
    rated = np.flatnonzero(weights)
    tables = select.tables.copy()
    away = float(np.abs(tables[layout.offsets[chosen] : layout.offsets[chosen + 1]] - unbiased).sum())
    slack = 2.0 * weights.max() / float(select.epsilon) * log(2.0 * len(rated) / BETA)
    worst = weights[chosen] * (away + noise - select.penalty * cells[chosen]) + slack
    limits = np.full(len(cells), np.inf)
    limits[rated] = np.maximum(worst / weights[rated] + select.penalty * cells[rated], 0.0)
    limits[chosen] = away + noise
    return Claim(layout.sets, tables, limits + cells / GRID)


def _moved(layout: Layout, changes: tuple[tuple[int, Floats], ...]) -> Floats:
    """L1 norm of what the changes add to every marginal; only those above a change are looked at, a part at a time."""
    changed = Layout(layout.sizes, tuple(layout.sets[k] for k, _ in changes))
    values = np.concatenate([change.reshape(-1) for _, change in changes])
    norms = np.zeros(len(layout.sets))
    smallest = [set(s) for s in changed.sets]
    above = np.array([k for k, s in enumerate(layout.sets) if any(tau.issubset(s) for tau in smallest)])
    cuts = np.flatnonzero(np.diff(np.cumsum(layout.lengths[above]) // PART)) + 1
    for numbers in np.split(above, cuts):
        part = Layout(layout.sizes, tuple(layout.sets[k] for k in numbers.tolist()))
        flat = assemble(changed, values, part)
        norms[numbers] = np.add.reduceat(np.abs(flat, out=flat), part.offsets[:-1])
    return norms


def _noise_of(layout: Layout, precisions: Floats, chosen: int) -> float | None:
    """A bound on the L1 noise of an unbiased estimate, with probability 1 - BETA / 2: sqrt(n) times the L2 norm."""
    gamma = set(layout.sets[chosen])
    below = [k for k, s in enumerate(layout.sets) if gamma.issuperset(s)]
    below = [k for k in below if prices(Layout(layout.sizes, (layout.sets[k],)))[0] > 0]
    if any(precisions[k] <= 0 for k in below):
        return None
    cells = float(layout.lengths[chosen])
    largest = max(float(layout.lengths[k]) / cells / float(precisions[k]) for k in below)
    return sqrt(cells * largest * float(chdtri(cells, BETA / 2.0)))
