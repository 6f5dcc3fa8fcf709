"""Tables of maximum entropy from noisy residuals: nonnegative, of the noisy total, smooth where little was measured.

From small to large.  One-way tables: the estimate moved to the simplex and towards its neighbours.  Two-way tables:
drawn to a prior mean (``pair_fit``).  Larger tables: the most random table with the given sub-tables (iterative
proportional fitting), moved the same way where its own residual was measured.  Three-way tables are then made to agree
on the pairs they share, nearly.  What a schema declares impossible is 0.  All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, centre
from hushtable.measurement import Residuals
from hushtable.reconstruct import maxent_loops as loops
from hushtable.reconstruct.dispersion import DISPERSIONS, dispersions_by_set
from hushtable.reconstruct.maxent_tables import MaxentTables
from hushtable.reconstruct.pair_fit import fit_pairs, independent_pairs
from hushtable.reconstruct.pair_loops import FEWEST_NEIGHBOURS
from hushtable.reconstruct.zeros import Zeros

SMALLEST = 1e-3
"""Least expected count of a one-way cell: no category is ruled out by noise.  With 1e-6 or 0.1 errors on adult do not
move, with 1 by 0.3% at epsilon 10."""

MASKED_SWEEPS = 12
"""Sweeps that give a product with impossible cells its margins again; such tables are few and small.  Not tuned."""

MOST_AGREED = 50_000_000
"""Three-way tables with more cells together, 400 MB, are fitted one by one, and do not agree."""

_CHUNK = 20_000_000
"""Cells of three-way tables whose likelihoods are found at once: 160 MB.  It bounds memory; 0.5 million was no
slower."""


def fit_maxent(
    residuals: Residuals, sets: Sequence[AttributeSet], zeros: Zeros | None = None, *, agree: bool = True
) -> MaxentTables:
    """Fit the tables of a closure ``sets`` (every subset listed) of attributes without levels."""
    fitted = start_tables(residuals, sets, zeros)
    fit_pairs(fitted, [s for s in sets if len(s) == 2])
    three = [s for s in sets if len(s) == 3]
    disperse_three(fitted, [s for s in three if residuals.known(s)])
    if agree and three and Layout(residuals.layout.sizes, tuple(three)).cells <= MOST_AGREED:
        fitted.agree(three)
    for order in range(4, max(map(len, sets), default=0) + 1):
        _disperse(fitted, [s for s in sets if len(s) == order and residuals.known(s)])
    return fitted


def start_tables(
    residuals: Residuals, sets: Sequence[AttributeSet], zeros: Zeros | None = None
) -> MaxentTables:
    """Total, one-way tables and their products."""
    empty = Zeros() if zeros is None else zeros
    deviation = 1.0 / math.sqrt(residuals.precision(()))
    total = max(float(residuals.value(())), deviation)
    ones = {axis: _one_way(residuals, axis, total, empty) for (axis,) in (s for s in sets if len(s) == 1)}
    _smooth_ones(residuals, ones, total, empty)
    pairs = [s for s in sets if len(s) == 2]
    products = independent_pairs(residuals.layout.sizes, pairs, total, ones)
    for s in (s for s in pairs if s in empty.masks):
        margins = loops.Margins(ones[s[0]], ones[s[1]])
        loops.scale_to_margins(empty.clear(s, products[s]), margins, MASKED_SWEEPS)
    return MaxentTables(residuals, total, ones, products, empty)


def _one_way(residuals: Residuals, axis: int, total: float, zeros: Zeros) -> Floats:
    size = residuals.layout.sizes[axis]
    possible = _possible(axis, size, zeros)
    noisy = np.full(size, total / size)
    if residuals.known((axis,)):
        noisy += residuals.value((axis,))
    table = np.zeros(size)
    table[possible] = np.maximum(to_simplex(noisy[possible], total), SMALLEST)
    return table * (total / table.sum())


def _possible(axis: int, size: int, zeros: Zeros) -> NDArray[np.bool_]:
    return ~zeros.masks.get((axis,), np.zeros(size, bool))


def _smooth_ones(residuals: Residuals, ones: dict[int, Floats], total: float, zeros: Zeros) -> None:
    """Draw one-way tables towards the mean of each cell's neighbours, as far as the likelihood says."""
    axes = [
        axis for axis, table in ones.items() if table.size >= FEWEST_NEIGHBOURS and residuals.known((axis,))
    ]
    if not axes:
        return
    means: dict[int, Floats] = {}
    likelihoods = np.empty((len(axes), DISPERSIONS.size))
    for k, axis in enumerate(axes):
        size = ones[axis].size
        mean = _beside(ones[axis]) / _beside(np.ones(size))
        mean = np.maximum(mean, 1e-3 * total / size) * _possible(axis, size, zeros)
        means[axis] = mean * (total / mean.sum())
        residual = total / size + residuals.value((axis,)) - means[axis]
        noise, price = residuals.block_noise((axis,)), residuals.price((axis,))
        loops.dispersion_likelihood(residual, means[axis], noise, price, DISPERSIONS, likelihoods[k])
    found = dispersions_by_set(residuals, [(axis,) for axis in axes], total, likelihoods)
    for (axis,), phi in found.items():
        possible = means[axis] > 0
        strength = 1.0 / (residuals.precision((axis,)) * phi)
        logs = np.log(means[axis][possible])
        base = total / means[axis].size + residuals.value((axis,))[possible] + strength * logs
        loops.fit_line(base, strength, total, 0.0, logs)
        table = np.zeros(means[axis].size)
        table[possible] = np.maximum(np.exp(logs), SMALLEST)
        ones[axis] = table * (total / table.sum())


def _beside(table: Floats) -> Floats:
    """The two values on either side, the farther ones halved, the value itself left out."""
    summed = np.zeros_like(table)
    summed[1:] += table[:-1]
    summed[:-1] += table[1:]
    summed[2:] += 0.5 * table[:-2]
    summed[:-2] += 0.5 * table[2:]
    return summed


def to_simplex(values: Floats, total: float) -> Floats:
    """The nearest nonnegative array of the given sum."""
    falling = np.sort(values)[::-1]
    level = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    above = np.flatnonzero(falling > level)  # the first always, but for rounding of values beyond 2^53
    return np.maximum(values - level[above[-1] if len(above) else 0], 0.0)


def disperse_three(fitted: MaxentTables, measured: list[AttributeSet]) -> None:
    """The dispersions of measured three-way tables around the most random ones."""
    if not measured:
        return
    ends = Layout(fitted.residuals.layout.sizes, tuple(measured)).offsets[1:] // _CHUNK
    found: list[Floats] = []
    for part in np.unique(ends):
        sets = [measured[k] for k in np.flatnonzero(ends == part)]
        found.append(fitted.made_of_pairs(sets).likelihoods(fitted.residuals))
    fitted.dispersion |= dispersions_by_set(fitted.residuals, measured, fitted.total, np.concatenate(found))


def _disperse(fitted: MaxentTables, measured: list[AttributeSet]) -> None:
    """The dispersions of larger tables around the most random ones."""
    if not measured:
        return
    likelihoods = np.empty((len(measured), DISPERSIONS.size))
    for k, s in enumerate(measured):
        mean = fitted.spread([s]).reshape(fitted.residuals.layout.shape(s))
        residual = (fitted.residuals.value(s) - centre(mean)).reshape(-1)
        noise, price = fitted.residuals.block_noise(s), fitted.residuals.price(s)
        loops.dispersion_likelihood(residual, mean.reshape(-1), noise, price, DISPERSIONS, likelihoods[k])
    fitted.dispersion |= dispersions_by_set(fitted.residuals, measured, fitted.total, likelihoods)
