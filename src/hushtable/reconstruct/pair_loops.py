"""The loops over many two-way tables at once: compiled, over flat arrays, one range of tables per call.

``numbers`` are the places of the tables of a loop among all pairs; their axes, one-way tables and prior means are by
that place.  A cell whose product of one-way tables is 0 is impossible and stays 0.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hushtable.compiled import njit
from hushtable.marginals import put_free
from hushtable.reconstruct.maxent_loops import (
    EMPTY,
    VANISHED,
    Margins,
    centre_logs,
    dispersion_likelihood,
    fit_chains,
    fit_pair,
    free_part,
    scale_to_margins,
)
from hushtable.reconstruct.triple_loops import one_way, table_of

CHAIN_SPREAD = 4.0
"""Prior variance of the exponent of a chain.  Chosen on adult, where errors are 0.5% larger with 1 and alike with
16."""

MOST_CHAINS = 16
"""Chains that a pair's prior mean is made of, at most: the farthest from independence.  The work of a pair grows with
the square.  With 8 errors on adult are 0.0% to 0.2% larger, with 4 up to 0.8%; with 40 attributes of two values neither
moves."""

FEWEST_NEIGHBOURS = 5
"""Attributes with this many values or more may turn out smooth: a cell is then like its neighbours.  On adult 3 and 10
make no difference."""

FARTHEST = 5.0
"""Logarithms of ratios to independence are cut off here: a factor of 148.  Not tuned."""

LAST_SWEEPS = 10
"""Proportional fits of a pair to its margins once it is fitted to about PAIR_TOLERANCE of them.  Not tuned; with fewer
its sums are further from those of one-way tables."""

LEAST_CELL = 1e-12
"""Cells are taken for at least this before their logarithm; ratios are cut off at FARTHEST long before."""


class Neighbourhood(NamedTuple):
    """What all pairs are fitted with: axes of each pair, place of each pair of axes (-1: none), one-way tables."""

    axes: Any
    places: Any
    ones: Any
    total: float


class NoisyPairs(NamedTuple):
    """Places of the measured pairs, where each begins in the flat noisy tables, and the noise of a cell.

    ``rows`` has the row of every pair among them, -1 where it was not measured; ``grid`` what dispersions there are.
    """

    numbers: Any
    starts: Any
    cells: Any
    noise: Any
    rows: Any
    grid: Any


@njit(cache=True, nogil=True)
def multiply_pairs(first: int, last: int, around: Any, out: Any) -> None:
    """Every table of two independent attributes."""
    for k in range(first, last):
        rows, columns = one_way(around.ones, around.axes[k, 0]), one_way(around.ones, around.axes[k, 1])
        table, cell = table_of(out, k), 0
        for a in range(rows.size):
            for b in range(columns.size):
                table[cell] = rows[a] * columns[b] / around.total
                cell += 1


@njit(cache=True, nogil=True)
def add_margins(first: int, last: int, around: Any, noisy: Any) -> None:
    """In place: centred residuals become the noisy tables with the fitted one-way margins."""
    for j in range(first, last):
        k, cell = noisy.numbers[j], noisy.starts[j]
        rows, columns = one_way(around.ones, around.axes[k, 0]), one_way(around.ones, around.axes[k, 1])
        mean = around.total / (rows.size * columns.size)
        for a in range(rows.size):
            for b in range(columns.size):
                noisy.cells[cell] += rows[a] / columns.size + columns[b] / rows.size - mean
                cell += 1


@njit(cache=True, nogil=True)
def noisy_likelihoods(first: int, last: int, noisy: Any, taken: Any, prior: Any, out: Any) -> None:
    """For each measured pair the likelihood of every dispersion around its prior mean.

    ``taken``: how many numbers of each pair its mean was fitted to.
    """
    for j in range(first, last):
        k = noisy.numbers[j]
        mean = table_of(prior, k)
        residual, free = np.empty(mean.size), np.empty(mean.size)
        put_free(mean, prior.shapes[k], free)
        for cell in range(mean.size):
            residual[cell] = noisy.cells[noisy.starts[j] + cell] - mean[cell]
        price = free_part(prior.shapes[k, 0], prior.shapes[k, 1], taken[k])
        dispersion_likelihood(residual, free, noisy.noise[j], price, noisy.grid, out[j])


@njit(cache=True, nogil=True)
def shrink_pairs(
    first: int, last: int, around: Any, noisy: Any, strength: Any, prior: Any, pairs: Any
) -> None:
    """Each measured pair drawn towards its prior mean, with the fitted one-way margins."""
    for j in range(first, last):
        k, at = noisy.numbers[j], noisy.starts[j]
        n1, n2 = prior.shapes[k, 0], prior.shapes[k, 1]
        margins = Margins(one_way(around.ones, around.axes[k, 0]), one_way(around.ones, around.axes[k, 1]))
        y = noisy.cells[at : at + n1 * n2].reshape((n1, n2))
        table = table_of(pairs, k).reshape((n1, n2))
        fit_pair(y, table_of(prior, k).reshape((n1, n2)), strength[j], margins, table)
        scale_to_margins(table, margins, LAST_SWEEPS)


@njit(cache=True, nogil=True)
def put_chain(around: Any, i: int, middle: int, j: int, pairs: Any, out: Any) -> None:
    """out = what i and ``middle``, and ``middle`` and j say of i and j if nothing else ties them."""
    n1, n2 = out.shape
    left = table_of(pairs, around.places[i, middle])
    right = table_of(pairs, around.places[middle, j])
    between = one_way(around.ones, middle)
    for a in range(n1):
        for b in range(n2):
            out[a, b] = 0.0
    for c in range(between.size):
        share = 1.0 / max(between[c], EMPTY)
        for a in range(n1):
            f = share * (left[a * between.size + c] if i < middle else left[c * n1 + a])
            if middle < j:
                for b in range(n2):
                    out[a, b] += f * right[c * n2 + b]
            else:
                for b in range(n2):
                    out[a, b] += f * right[b * between.size + c]


@njit(cache=True, nogil=True)
def nth_largest(values: Any, n: int) -> float:
    """The n-th largest value, -1 where there are fewer; numba takes longer to compile np.sort than all of this."""
    largest = np.empty(n)
    for at in range(n):
        largest[at] = -1.0
    for k in range(values.size):
        at = n - 1
        if values[k] > largest[at]:
            while at > 0 and largest[at - 1] < values[k]:
                largest[at] = largest[at - 1]
                at -= 1
            largest[at] = values[k]
    return largest[n - 1]


@njit(cache=True, nogil=True)
def strongest_chains(around: Any, i: int, j: int, pairs: Any, product: Any) -> Any:
    """The chains i - middle - j that are farthest from the product, in the order of their middles."""
    n1, n2 = product.shape
    middles, far = np.empty(around.places.shape[0], np.int64), np.empty(around.places.shape[0])
    count, chain = 0, np.empty((n1, n2))
    for middle in range(middles.size):
        if middle != i and middle != j and around.places[i, middle] >= 0 and around.places[middle, j] >= 0:
            put_chain(around, i, middle, j, pairs, chain)
            gap = 0.0
            for a in range(n1):
                for b in range(n2):
                    gap += abs(chain[a, b] - product[a, b])
            middles[count], far[count] = middle, gap
            count += 1
    least, kept = nth_largest(far[:count], MOST_CHAINS), 0
    for k in range(count):
        if far[k] >= least and kept < MOST_CHAINS:
            middles[kept], far[kept] = middles[k], far[k]
            kept += 1
    return middles[:kept], far[:kept]


@njit(cache=True, nogil=True)
def smooth_along(table: Any, axis: int, a: int, b: int) -> float:
    """The two values on either side of a cell along an axis, the farther ones halved, the value itself left out."""
    n = table.shape[axis]
    at = a if axis == 0 else b
    summed = 0.0
    for step, share in ((-2, 0.5), (-1, 1.0), (1, 1.0), (2, 0.5)):
        if 0 <= at + step < n:
            summed += share * (table[at + step, b] if axis == 0 else table[a, at + step])
    return summed


@njit(cache=True, nogil=True)
def put_logs(table: Any, product: Any, out: Any) -> None:
    """out = log(table / product), cut off; 0 where the product is."""
    for a in range(table.shape[0]):
        for b in range(table.shape[1]):
            log = math.log(max(table[a, b], LEAST_CELL)) - math.log(max(product[a, b], LEAST_CELL))
            out[a, b] = min(max(log, -FARTHEST), FARTHEST)


@njit(cache=True, nogil=True)
def keep_possible(product: Any, mean: Any) -> None:
    """No possible cell of a mean is 0, and every impossible one is."""
    for a in range(mean.shape[0]):
        for b in range(mean.shape[1]):
            mean[a, b] = max(mean[a, b], VANISHED) if product[a, b] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def smooth_tables(pair: Any, product: Any, axis: int, out: Any) -> None:
    """out = the product times how much a pair's neighbours along an axis exceed their products."""
    for a in range(pair.shape[0]):
        for b in range(pair.shape[1]):
            below = max(smooth_along(product, axis, a, b), LEAST_CELL)
            out[a, b] = smooth_along(pair, axis, a, b) / below * product[a, b]


@njit(cache=True, nogil=True)
def chain_pairs(
    first: int, last: int, around: Any, noisy: Any, products: Any, pairs: Any, prior: Any, taken: Any
) -> None:
    """Prior means of pairs from chains of fitted pairs and, where the pair was measured, from each cell's neighbours.

    A pair's own residual weighs them, which takes up some of its numbers; without one the strongest chain is the mean.
    """
    for k in range(first, last):
        i, j = around.axes[k, 0], around.axes[k, 1]
        n1, n2 = products.shapes[k, 0], products.shapes[k, 1]
        product, mean = table_of(products, k).reshape((n1, n2)), table_of(prior, k).reshape((n1, n2))
        margins = Margins(one_way(around.ones, i), one_way(around.ones, j))
        middles, far = strongest_chains(around, i, j, pairs, product)
        if middles.size == 0:
            for a in range(n1):
                for b in range(n2):
                    mean[a, b] = product[a, b]
            continue
        if noisy.rows[k] < 0:
            best = 0
            for c in range(middles.size):
                if far[c] > far[best]:
                    best = c
            put_chain(around, i, middles[best], j, pairs, mean)
            keep_possible(product, mean)
            scale_to_margins(mean, margins, 5)
            keep_possible(product, mean)
            continue
        axes = 0
        for n in (n1, n2):
            axes += 1 if n >= FEWEST_NEIGHBOURS else 0
        logs, made = np.empty((middles.size + axes, n1, n2)), 0
        for c in range(middles.size):
            put_chain(around, i, middles[c], j, pairs, mean)
            put_logs(mean, product, logs[made])
            made += 1
        for axis in range(2):
            if product.shape[axis] >= FEWEST_NEIGHBOURS:
                smooth_tables(table_of(pairs, k).reshape((n1, n2)), product, axis, mean)
                put_logs(mean, product, logs[made])
                made += 1
        centre_logs(logs, margins, around.total)
        at = noisy.starts[noisy.rows[k]]
        y = noisy.cells[at : at + n1 * n2].reshape((n1, n2))
        noise = noisy.noise[noisy.rows[k]]
        taken[k] = fit_chains(y, product, logs, noise, margins, CHAIN_SPREAD, noisy.grid, mean)
        keep_possible(product, mean)
