"""Tables of maximum entropy from noisy residuals: nonnegative, of the noisy total, smooth where little was measured.

From small to large.  One-way tables: the estimate moved to the simplex.  Two-way tables: a prior mean built from chains
of other two-way tables (if i and k, and k and j, are known, so is something of i and j), from which the noisy table may
depart as far as the dispersion of its cells, learnt from all tables together, makes likely.  Larger tables: the most
random table with the given sub-tables (iterative proportional fitting), moved the same way where its own residual was
measured.  Each table is fitted alone, so tables that overlap agree only approximately.  All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.marginals import AttributeSet, Layout, centre
from hushtable.reconstruct import maxent_loops as loops

Floats = NDArray[np.float64]

DISPERSIONS = np.exp(np.linspace(math.log(1e-2), math.log(3e4), 28))
"""Candidates for phi, where the variance of a cell around its prior mean m is phi m."""

CHAIN_SPREAD = 4.0
"""Prior variance of the exponent of a chain."""

FEWEST_NEIGHBOURS = 5
"""Attributes with this many values or more may turn out smooth: a cell is then like its neighbours."""

SWEEPS = 6
SWEEPS_AFTER = 4
SMALLEST = 1e-3
"""Least expected count of a one-way cell: no category is ruled out by noise."""

THREADS = 2


@dataclass
class Residuals:
    """Centred residual estimates with their precisions (0: never measured)."""

    layout: Layout
    values: Floats
    precisions: Floats

    def known(self, attributes: AttributeSet) -> bool:
        """Whether the residual was measured."""
        k = self.layout.index.get(attributes)
        return k is not None and self.precisions[k] > 0 and math.isfinite(self.precisions[k])

    def value(self, attributes: AttributeSet) -> Floats:
        """The centred estimate, shaped."""
        return self.layout.view(self.values, attributes)

    def precision(self, attributes: AttributeSet) -> float:
        """1 / s2."""
        return float(self.precisions[self.layout.index[attributes]])

    def cell_noise(self, attributes: AttributeSet) -> float:
        """Variance of the noise of one centred cell."""
        price = math.prod(1.0 - 1.0 / self.layout.sizes[a] for a in attributes)
        return price / self.precision(attributes)


@dataclass
class MaxentTables:
    """The fitted tables of a closure; larger tables are made when asked for."""

    residuals: Residuals
    total: float
    ones: dict[int, Floats]
    products: dict[AttributeSet, Floats]
    prior: dict[AttributeSet, Floats] = field(default_factory=dict)
    pairs: dict[AttributeSet, Floats] = field(default_factory=dict)
    dispersion: dict[AttributeSet, float] = field(default_factory=dict)
    _faces: dict[AttributeSet, Floats] = field(default_factory=dict, repr=False)

    def table(self, attributes: AttributeSet) -> Floats:
        """The estimate of one marginal, shaped."""
        if len(attributes) == 0:
            return np.array(self.total)
        if len(attributes) == 1:
            return self.ones[attributes[0]]
        if len(attributes) == 2:
            return self.pairs.get(attributes, self.products[attributes])
        table = self.spread(attributes)
        if attributes in self.dispersion:
            move = self.residuals.value(attributes) - centre(table)
            strength = 1.0 / (self.residuals.precision(attributes) * self.dispersion[attributes])
            loops.shrink_cells(table.reshape(-1), np.ascontiguousarray(move).reshape(-1), strength)
            self._fit_faces(table, attributes, SWEEPS_AFTER)
        return table

    def spread(self, attributes: AttributeSet, sweeps: int = SWEEPS) -> Floats:
        """The most random table with the fitted sub-tables, ignoring the marginal's own residual."""
        ones = [self.ones[a] for a in attributes]
        if len(attributes) == 3:
            table = loops.product_of_three(ones[0], ones[1], ones[2], self.total)
        else:
            table = np.ones(())
            for one in ones:
                table = np.multiply.outer(table, one / self.total)
            table = table * self.total
        self._fit_faces(table, attributes, sweeps)
        return table

    def estimate_all(self, layout: Layout) -> Floats:
        """The estimates of all marginals of ``layout`` in one flat array."""
        flat = np.empty(layout.cells)

        def fill(attributes: AttributeSet) -> None:
            layout.view(flat, attributes)[...] = self.table(attributes)

        each(fill, layout.sets)
        return flat

    def _fit_faces(self, table: Floats, attributes: AttributeSet, sweeps: int) -> None:
        faces = [self._face(s) for s in combinations(attributes, len(attributes) - 1)]
        if len(attributes) == 3:
            loops.scale_to_faces(table, faces[0], faces[1], faces[2], sweeps)
            return
        for _ in range(sweeps):
            for axis, face in zip(range(len(attributes) - 1, -1, -1), faces, strict=True):
                sums = table.sum(axis=axis)
                table *= np.expand_dims(np.divide(face, sums, out=np.zeros_like(sums), where=sums > 0), axis)

    def _face(self, attributes: AttributeSet) -> Floats:
        if len(attributes) < 3:
            return self.table(attributes)
        if attributes not in self._faces:
            self._faces[attributes] = self.table(attributes)
        return self._faces[attributes]


def fit_maxent(residuals: Residuals, sets: Sequence[AttributeSet]) -> MaxentTables:
    """Fit the tables of a closure ``sets`` (every subset listed)."""
    fitted = start_tables(residuals, sets)
    pairs: list[AttributeSet] = [s for s in sets if len(s) == 2]
    measured = [s for s in pairs if residuals.known(s)]
    noisy: dict[AttributeSet, Floats] = {s: _noisy_pair(fitted, s) for s in measured}
    fitted.prior = dict(fitted.products)
    _shrink_pairs(fitted, noisy)
    chained = each(lambda s: _chained(fitted, s, noisy.get(s)), pairs)
    fitted.prior = dict(zip(pairs, chained, strict=True))
    _shrink_pairs(fitted, noisy)
    for order in range(3, max(map(len, sets), default=0) + 1):
        _disperse(fitted, [s for s in sets if len(s) == order and residuals.known(s)])
    return fitted


def start_tables(residuals: Residuals, sets: Sequence[AttributeSet]) -> MaxentTables:
    """Total, one-way tables and their products."""
    sizes = residuals.layout.sizes
    deviation = 1.0 / math.sqrt(residuals.precision(()))
    total = max(float(residuals.value(())), deviation)
    ones: dict[int, Floats] = {}
    for (axis,) in (s for s in sets if len(s) == 1):
        known = residuals.known((axis,))
        noisy = total / sizes[axis] + (residuals.value((axis,)) if known else np.zeros(sizes[axis]))
        table = np.maximum(to_simplex(noisy, total), SMALLEST)
        ones[axis] = table * (total / table.sum())
    _smooth_ones(residuals, ones, total)
    products = {s: np.outer(ones[s[0]], ones[s[1]]) / total for s in sets if len(s) == 2}
    return MaxentTables(residuals, total, ones, products)


def _smooth_ones(residuals: Residuals, ones: dict[int, Floats], total: float) -> None:
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
        mean = neighbours(ones[axis], 0) / neighbours(np.ones(size), 0)
        mean = np.maximum(mean, 1e-3 * total / size)
        means[axis] = mean * (total / mean.sum())
        residual = total / size + residuals.value((axis,)) - means[axis]
        noise = residuals.cell_noise((axis,))
        loops.dispersion_likelihood(residual, means[axis], noise, DISPERSIONS, likelihoods[k])
    for axis, phi in zip(axes, dispersions(likelihoods).tolist(), strict=True):
        strength = 1.0 / (residuals.precision((axis,)) * phi)
        logs = np.log(means[axis])
        base = total / logs.size + residuals.value((axis,)) + strength * logs
        loops.fit_line(base, strength, total, 0.0, logs)
        table = np.maximum(np.exp(logs), SMALLEST)
        ones[axis] = table * (total / table.sum())


def neighbours(table: Floats, axis: int) -> Floats:
    """The two values on either side along an axis, the farther ones halved, the value itself left out."""
    along = np.moveaxis(table, axis, 0)
    summed = np.zeros_like(along)
    summed[1:] += along[:-1]
    summed[:-1] += along[1:]
    summed[2:] += 0.5 * along[:-2]
    summed[:-2] += 0.5 * along[2:]
    return np.moveaxis(summed, 0, axis)


def to_simplex(values: Floats, total: float) -> Floats:
    """The nearest nonnegative array of the given sum."""
    falling = np.sort(values)[::-1]
    level = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    return np.maximum(values - level[np.flatnonzero(falling > level)[-1]], 0.0)


def dispersions(likelihoods: Floats) -> Floats:
    """Posterior mean of phi for each table (rows), under a log-normal prior that all tables share, fitted by EM."""
    logs = np.log(DISPERSIONS)
    centre_, width = math.log(30.0), 2.0
    scaled = likelihoods - likelihoods.max(axis=1, keepdims=True)
    weight = scaled
    for _ in range(30):
        weight = scaled - 0.5 * ((logs - centre_) / width) ** 2
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        centre_ = float((weight @ logs).mean())
        width = max(0.7, math.sqrt(float((weight * (logs - centre_) ** 2).sum(axis=1).mean())))
    return weight @ DISPERSIONS


def each(work: Callable[[AttributeSet], Any], sets: Sequence[AttributeSet]) -> list[Any]:
    """Apply ``work`` to every set, on a few threads when there are many."""
    if len(sets) < 16:
        return [work(s) for s in sets]
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, sets, chunksize=8))


def _noisy_pair(fitted: MaxentTables, pair: AttributeSet) -> Floats:
    """The unbiased noisy table with the fitted one-way margins."""
    i, j = pair
    rows, columns = fitted.ones[i], fitted.ones[j]
    plain = (
        rows[:, None] / columns.size
        + columns[None, :] / rows.size
        - fitted.total / (rows.size * columns.size)
    )
    return fitted.residuals.value(pair) + plain


def _shrink_pairs(fitted: MaxentTables, noisy: dict[AttributeSet, Floats]) -> None:
    """Every pair: the noisy table drawn towards its prior mean, by how dispersed tables are; unmeasured: the mean."""
    residuals, measured = fitted.residuals, list(noisy)
    fitted.pairs = dict(fitted.prior)
    if not measured:
        return

    def likelihood(pair: AttributeSet) -> Floats:
        mean = fitted.prior[pair]
        out = np.empty(DISPERSIONS.size)
        residual = (noisy[pair] - mean).reshape(-1)
        loops.dispersion_likelihood(residual, mean.reshape(-1), residuals.cell_noise(pair), DISPERSIONS, out)
        return out

    found = dispersions(np.array(each(likelihood, measured)))
    fitted.dispersion = dict(zip(measured, found.tolist(), strict=True))

    def shrink(pair: AttributeSet) -> Floats:
        i, j = pair
        table = np.empty_like(noisy[pair])
        strength = 1.0 / (residuals.precision(pair) * fitted.dispersion[pair])
        loops.fit_pair(noisy[pair], fitted.prior[pair], strength, fitted.ones[i], fitted.ones[j], table)
        return table

    fitted.pairs |= dict(zip(measured, each(shrink, measured), strict=True))


def _chained(fitted: MaxentTables, pair: AttributeSet, noisy: Floats | None) -> Floats:
    """Prior mean of a pair from chains i - k - j of the fitted pairs and from each cell's neighbours.

    The pair's own residual only weighs them.
    """
    i, j = pair
    product, rows, columns = fitted.products[pair], fitted.ones[i], fitted.ones[j]
    chains = [
        (_oriented(fitted, i, k) / fitted.ones[k]) @ _oriented(fitted, k, j)
        for k in fitted.ones
        if k not in pair and _pair(i, k) in fitted.pairs and _pair(k, j) in fitted.pairs
    ]
    if not chains:
        return product
    if noisy is None:
        strongest = max(chains, key=lambda chain: float(np.abs(chain - product).sum()))
        mean = np.maximum(strongest, 1e-9)
        loops.scale_to_margins(mean, rows, columns, 5)
        return np.maximum(mean, 1e-9)
    smooth = [
        neighbours(fitted.pairs[pair], axis) / np.maximum(neighbours(product, axis), 1e-12) * product
        for axis in (0, 1)
        if product.shape[axis] >= FEWEST_NEIGHBOURS
    ]
    logs = np.log(np.maximum(np.array([*chains, *smooth]), 1e-12)) - np.log(product)
    np.clip(logs, -5.0, 5.0, out=logs)
    for chain in logs:
        loops.centre_logs(chain, rows, columns, fitted.total)
    mean = np.empty_like(product)
    noise = fitted.residuals.cell_noise(pair)
    loops.fit_chains(noisy, product, logs, noise, rows, columns, CHAIN_SPREAD, DISPERSIONS, mean)
    return np.maximum(mean, 1e-9)


def _disperse(fitted: MaxentTables, measured: list[AttributeSet]) -> None:
    """The dispersions of larger tables around the most random ones."""
    if not measured:
        return

    def likelihood(attributes: AttributeSet) -> Floats:
        mean = fitted.spread(attributes)
        residual = (fitted.residuals.value(attributes) - centre(mean)).reshape(-1)
        out = np.empty(DISPERSIONS.size)
        noise = fitted.residuals.cell_noise(attributes)
        loops.dispersion_likelihood(residual, mean.reshape(-1), noise, DISPERSIONS, out)
        return out

    found = dispersions(np.array(each(likelihood, measured)))
    fitted.dispersion |= dict(zip(measured, found.tolist(), strict=True))


def _pair(a: int, b: int) -> AttributeSet:
    return (a, b) if a < b else (b, a)


def _oriented(fitted: MaxentTables, a: int, b: int) -> Floats:
    """The fitted table of two attributes with ``a`` along the rows."""
    return fitted.pairs[(a, b)] if a < b else fitted.pairs[(b, a)].T
