"""Tables of maximum entropy from noisy residuals: nonnegative, of the noisy total, smooth where little was measured.

From small to large.  One-way tables: medians under a law of counts that they teach (``one_way``).  Two-way tables:
drawn to a prior mean (``pair_fit``).  Larger tables: the most random table with the given sub-tables (iterative
proportional fitting), moved the same way where its own residual was measured.  Three-way tables are then made to agree
on the pairs they share, nearly.  What a schema declares impossible is 0.  All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout, centre
from hushtable.measurement import Residuals
from hushtable.reconstruct import maxent_loops as loops
from hushtable.reconstruct.dispersion import DISPERSIONS, dispersions_by_set
from hushtable.reconstruct.maxent_tables import MaxentTables
from hushtable.reconstruct.one_way import one_way_table
from hushtable.reconstruct.pair_fit import fit_pairs, independent_pairs
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
    residuals: Residuals,
    sets: Sequence[AttributeSet],
    zeros: Zeros | None = None,
    kept: Mapping[int, Floats] | None = None,
) -> MaxentTables:
    """Total, one-way tables and their products; ``kept`` are one-way tables that are known to be the same."""
    empty = Zeros() if zeros is None else zeros
    deviation = 1.0 / math.sqrt(residuals.precision(()))
    total = max(float(residuals.value(())), deviation)
    ones = dict(kept or {})
    for (axis,) in (s for s in sets if len(s) == 1):
        if axis not in ones:
            ones[axis] = _one_way(residuals, axis, total, empty)
    pairs = [s for s in sets if len(s) == 2]
    products = independent_pairs(residuals.layout.sizes, pairs, total, ones)
    for s in (s for s in pairs if s in empty.masks):
        margins = loops.Margins(ones[s[0]], ones[s[1]])
        loops.scale_to_margins(empty.clear(s, products[s]), margins, MASKED_SWEEPS)
    return MaxentTables(residuals, total, ones, products, empty)


def _one_way(residuals: Residuals, axis: int, total: float, zeros: Zeros) -> Floats:
    size = residuals.layout.sizes[axis]
    possible = ~zeros.masks.get((axis,), np.zeros(size, bool))
    table = np.zeros(size)
    if residuals.known((axis,)):
        noisy = total / size + residuals.value((axis,))[possible]
        fitted = one_way_table(noisy, math.sqrt(residuals.block_noise((axis,))), total)
        table[possible] = np.maximum(fitted, SMALLEST)
    else:
        table[possible] = 1.0
    return table * (total / table.sum())


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
