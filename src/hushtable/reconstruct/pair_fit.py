"""Two-way tables: the noisy table drawn to a prior mean, as far as the dispersion of all tables makes likely.

The prior mean comes from chains of other two-way tables (if i and k, and k and j, are known, so is something of i and
j) and from each cell's neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet
from hushtable.reconstruct import maxent_loops as loops
from hushtable.reconstruct.dispersion import DISPERSIONS, dispersions_by_set
from hushtable.reconstruct.maxent_tables import MaxentTables

CHAIN_SPREAD = 4.0
"""Prior variance of the exponent of a chain.  Chosen on adult, where errors are 0.5% larger with 1 and alike with
16."""

FEWEST_NEIGHBOURS = 5
"""Attributes with this many values or more may turn out smooth: a cell is then like its neighbours.  On adult 3 and 10
make no difference; without it errors are 3%, 2% and 0.4% larger at epsilon 0.1, 1 and 10."""

THREADS = 2
"""Threads that fit pairs: 1, 2 and 4 could not be told apart on a busy machine of two cores."""


def fit_pairs(fitted: MaxentTables, pairs: Sequence[AttributeSet]) -> None:
    """Fit the two-way tables: first drawn to independence, then to what chains of the first ones say."""
    noisy = {s: _noisy_pair(fitted, s) for s in pairs if fitted.residuals.known(s)}
    fitted.prior = dict(fitted.products)
    _shrink(fitted, noisy)
    chained = _each(lambda s: _chained(fitted, s, noisy.get(s)), pairs)
    fitted.prior = dict(zip(pairs, chained, strict=True))
    _shrink(fitted, noisy)


def shrink_to_products(fitted: MaxentTables, pairs: Sequence[AttributeSet]) -> None:
    """Fit some two-way tables, drawn to independence."""
    fitted.prior = {s: fitted.products[s] for s in pairs}
    _shrink(fitted, {s: _noisy_pair(fitted, s) for s in pairs if fitted.residuals.known(s)})


def neighbours(table: Floats, axis: int) -> Floats:
    """The two values on either side along an axis, the farther ones halved, the value itself left out."""
    along = np.moveaxis(table, axis, 0)
    summed = np.zeros_like(along)
    summed[1:] += along[:-1]
    summed[:-1] += along[1:]
    summed[2:] += 0.5 * along[:-2]
    summed[:-2] += 0.5 * along[2:]
    return np.moveaxis(summed, 0, axis)


def _each(work: Callable[[AttributeSet], Any], sets: Sequence[AttributeSet]) -> list[Any]:
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


def _shrink(fitted: MaxentTables, noisy: dict[AttributeSet, Floats]) -> None:
    """Every pair: the noisy table drawn towards its prior mean; unmeasured: the mean."""
    residuals, measured = fitted.residuals, list(noisy)
    fitted.pairs = dict(fitted.prior)
    if not measured:
        return

    def likelihood(pair: AttributeSet) -> Floats:
        mean = fitted.prior[pair]
        out = np.empty(DISPERSIONS.size)
        residual = (noisy[pair] - mean).reshape(-1)
        noise, price = residuals.block_noise(pair), residuals.price(pair)
        loops.dispersion_likelihood(residual, mean.reshape(-1), noise, price, DISPERSIONS, out)
        return out

    found = np.array(_each(likelihood, measured))
    fitted.dispersion = dispersions_by_set(residuals, measured, fitted.total, found)

    def shrink(pair: AttributeSet) -> Floats:
        i, j = pair
        table = np.empty_like(noisy[pair])
        strength = 1.0 / (residuals.precision(pair) * fitted.dispersion[pair])
        margins = loops.Margins(fitted.ones[i], fitted.ones[j])
        loops.fit_pair(noisy[pair], fitted.prior[pair], strength, margins, table)
        loops.scale_to_margins(table, margins, 10)
        return table

    fitted.pairs |= dict(zip(measured, _each(shrink, measured), strict=True))


def _chained(fitted: MaxentTables, pair: AttributeSet, noisy: Floats | None) -> Floats:
    """Prior mean of a pair from chains i - k - j of the fitted pairs and from each cell's neighbours.

    The pair's own residual only weighs them.
    """
    i, j = pair
    product, margins = fitted.products[pair], loops.Margins(fitted.ones[i], fitted.ones[j])
    chains = [
        (_oriented(fitted, i, k) / np.maximum(fitted.ones[k], 1e-300)) @ _oriented(fitted, k, j)
        for k in fitted.ones
        if k not in pair and _pair(i, k) in fitted.pairs and _pair(k, j) in fitted.pairs
    ]
    if not chains:
        return product
    if noisy is None:
        strongest = max(chains, key=lambda chain: float(np.abs(chain - product).sum()))
        mean = fitted.zeros.clear(pair, np.maximum(strongest, 1e-9))
        loops.scale_to_margins(mean, margins, 5)
        return fitted.zeros.clear(pair, np.maximum(mean, 1e-9))
    positive = np.maximum(product, 1e-12)
    smooth = [
        neighbours(fitted.pairs[pair], axis) / np.maximum(neighbours(product, axis), 1e-12) * product
        for axis in (0, 1)
        if product.shape[axis] >= FEWEST_NEIGHBOURS
    ]
    logs = np.log(np.maximum(np.array([*chains, *smooth]), 1e-12)) - np.log(positive)
    np.clip(logs, -5.0, 5.0, out=logs)
    loops.centre_logs(logs, margins, fitted.total)
    mean = np.empty_like(product)
    noise = fitted.residuals.block_noise(pair)
    loops.fit_chains(noisy, product, logs, noise, margins, CHAIN_SPREAD, DISPERSIONS, mean)
    return fitted.zeros.clear(pair, np.maximum(mean, 1e-9))


def _pair(a: int, b: int) -> AttributeSet:
    return (a, b) if a < b else (b, a)


def _oriented(fitted: MaxentTables, a: int, b: int) -> Floats:
    """The fitted table of two attributes with ``a`` along the rows."""
    return fitted.pairs[(a, b)] if a < b else fitted.pairs[(b, a)].T
