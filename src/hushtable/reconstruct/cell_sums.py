"""Any sum of estimated cells with its exact variance, by the residuals that the estimates are made of.

A sum of cells is a sum over residuals of weights times their centred cells, and the noise of a residual is independent
between residuals and between blocks, equal inside a block: the variance is a sum of squares of centred weights.  Sums
that are the same along every axis (ranges, prefixes, areas by other attributes) are products, one factor for each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from hushtable.arrays import Floats
from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, subsets
from hushtable.reconstruct.mle import ResidualEstimates


def sum_table(table: Floats, matrices: Sequence[Floats]) -> Floats:
    """A table with every axis multiplied by the matrix of its sums (sums by categories)."""
    for k, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, k)), 0, k)
    return table


def sum_variances(
    estimates: ResidualEstimates, attributes: AttributeSet, matrices: Sequence[Floats]
) -> Floats:
    """Variance of each of these sums of a marginal's cells; infinite where a residual that it needs is unknown."""
    axes = estimates.layout.axes
    total = np.zeros([len(matrix) for matrix in matrices])
    for tau in subsets(attributes, estimates.layout.sizes):
        if not axes.real(tau):
            continue
        norms = [
            _norms(axes, axis, axes.level_in(tau, axis), m)
            for axis, m in zip(attributes, matrices, strict=True)
        ]
        product = reduce(np.multiply.outer, norms, np.ones(()))
        share = estimates.noise(tau) / _price(axes, tau)
        total = total + np.where(product > 0.0, share, 0.0) * np.where(product > 0.0, product, 1.0)
    return total


def combined(
    estimates: ResidualEstimates, terms: Sequence[tuple[AttributeSet, Floats]]
) -> tuple[float, float]:
    """One sum over cells of several marginals, weights shaped as each: its unbiased estimate, and its variance."""
    axes, sizes = estimates.layout.axes, estimates.layout.sizes
    weights: dict[AttributeSet, Floats] = {}
    for attributes, given in terms:
        for tau in subsets(attributes, sizes):
            gathered = given
            for k, axis in reversed(list(enumerate(attributes))):
                gathered = np.moveaxis(
                    _gathered(axes, axis, axes.level_in(tau, axis), np.moveaxis(gathered, k, -1)), -1, k
                )
            shaped = gathered.reshape([axes[a] for a in tau])
            weights[tau] = weights[tau] + shaped if tau in weights else shaped
    estimate = variance = 0.0
    for tau, weight in weights.items():
        if not axes.real(tau):
            continue
        scale, centred = np.ones(()), weight
        for k, axis in enumerate(tau):
            centred = np.moveaxis(_centred(axes, axis, np.moveaxis(centred, k, -1)), -1, k)
            scale = np.multiply.outer(scale, 1.0 - 1.0 / axes.block_sizes(axis))
        square = float((scale * centred**2).sum())
        noise = estimates.noise(tau)
        if not np.isfinite(noise):
            variance += np.inf if square > 0.0 else 0.0
            continue
        estimate += float((weight * estimates.value(tau)).sum())
        variance += square * noise / _price(axes, tau)
    return estimate, variance


def _price(axes: Axes, tau: AttributeSet) -> float:
    return float(np.prod([1.0 - 1.0 / axes.widest[a] for a in tau]))


def _gathered(axes: Axes, axis: int, level: int, weights: Floats) -> Floats:
    """Weights of an axis's categories (last) as those of a coarser level: times their shares, added up."""
    if level == axis:
        return weights
    shares, at = np.ones(axes[axis]), axis
    codes = np.arange(axes[axis])
    while at != level:
        shares = shares / axes.block_sizes(at)[codes]
        codes, at = axes.parent_codes(at)[codes], axes.parents[at]
    length = 1 if level < 0 else axes[level]
    return np.add.reduceat(weights * shares, np.searchsorted(codes, np.arange(length)), axis=-1)


def _centred(axes: Axes, axis: int, weights: Floats) -> Floats:
    """Less the mean of each block, along the last axis."""
    starts = axes.blocks[axis]
    lengths = np.diff(starts)
    means = np.add.reduceat(weights, starts[:-1], axis=-1) / lengths
    return weights - np.repeat(means, lengths, axis=-1)


def _norms(axes: Axes, axis: int, level: int, matrix: Floats) -> Floats:
    """For each sum along one axis its factor of the variance."""
    gathered = _gathered(axes, axis, level, np.asarray(matrix, np.float64))
    if level < 0:
        return gathered[:, 0] ** 2
    return ((1.0 - 1.0 / axes.block_sizes(level)) * _centred(axes, level, gathered) ** 2).sum(axis=1)
