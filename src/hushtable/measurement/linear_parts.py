"""Parts of a choice between tables over buckets, or between matrices of queries.

Bucket counts are exact; matrices are rounded to integers first, so that the price is that of what is really measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby
from math import floor, isfinite, log2
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.errors import WorkloadError
from hushtable.linear import BucketResidual, BucketTable, LinearGaussian, spread, sum_cells
from hushtable.marginals import AttributeSet, Layout
from hushtable.measurement.arithmetic import DEVIATIONS, LARGEST, MAX_ROWS
from hushtable.measurement.parts import DiscreteNoise, Part, computed_once
from hushtable.privacy import GaussianNoise

MATRIX_BITS = 25
"""Bits of the largest entry of a rounded matrix: products with counts stay exact in 64 bits."""

FINEST_SCALE = 40
"""A matrix is multiplied by two to this power before rounding, at most: its noise then has the variance 4^40, far below
the largest that can be drawn."""


@dataclass(frozen=True, eq=False)
class CellPart(Part):
    """Every cell of a table over buckets, with its own variance."""

    table: BucketTable

    @computed_once
    def layout(self) -> Layout:
        """The marginal over the attributes that have more than one bucket."""
        return _table_layout(self.table)

    @property
    def noise(self) -> DiscreteNoise:
        """One variance per cell."""
        return _segments(list(self.table.variances.flat))

    @property
    def rho(self) -> Fraction:
        """Exact cost for one row of the dearest cell."""
        return self.table.rho

    def exact(self, counts: Ints) -> Ints:
        """Bucket counts."""
        return bucket_counts(self.table, counts).ravel()

    def check(self) -> None:
        """Refuse what could overflow, from public sizes."""
        _require_room(1, max(self.table.variances.flat))


@dataclass(frozen=True, eq=False)
class DeviationPart(Part):
    """What completes a coarser table: ``q x_c - p x_K`` in every cell, ``p/q`` its share of its block; block counts.

    Block counts are measured where the residual asks for them, after the deviations.
    """

    residual: BucketResidual

    @computed_once
    def layout(self) -> Layout:
        """The marginal over the attributes that have more than one bucket."""
        return _table_layout(self.residual.table)

    @computed_once
    def whole(self) -> NDArray[np.object_]:
        """``q`` of every cell."""
        return np.vectorize(attrgetter("denominator"), [object])(self.residual.weights)

    @computed_once
    def shares(self) -> NDArray[np.object_]:
        """``p`` of every cell."""
        return np.vectorize(attrgetter("numerator"), [object])(self.residual.weights)

    @computed_once
    def asked(self) -> NDArray[np.bool_]:
        """Blocks whose count is measured."""
        return self.residual.totals.astype(np.float64) > 0

    @property
    def noise(self) -> DiscreteNoise:
        """One variance per deviation, then one per block count."""
        deviations = (self.whole**2 * self.residual.table.variances).flat
        return _segments([*deviations, *(1 / p for p in self.residual.totals[self.asked])])

    @property
    def rho(self) -> Fraction:
        """Exact cost for one row of the dearest cell."""
        return self.residual.rho

    def exact(self, counts: Ints) -> Ints:
        """Deviations, then block counts."""
        cells = bucket_counts(self.residual.table, counts)
        blocks = sum_cells(cells, self.residual.maps)
        whole, shares = self.whole.astype(np.int64), self.shares.astype(np.int64)
        deviations = whole * cells - shares * spread(blocks, self.residual.maps)
        return np.concatenate([deviations.ravel(), blocks[self.asked]])

    def outputs(self, values: Ints) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Measured integers as deviations ``x_c - (v_c / V_K) x_K`` and block counts (zero where not measured)."""
        cells = self.whole.size
        deviations = values[:cells].reshape(self.whole.shape) / self.whole.astype(np.float64)
        totals = np.zeros(self.asked.shape)
        totals[self.asked] = values[cells:]
        return deviations, totals

    def check(self) -> None:
        """Refuse what could overflow, from public sizes."""
        _require_room(max(self.whole.ravel().tolist()), max(self.noise.parameters))


@dataclass(frozen=True, eq=False)
class MatrixPart(Part):
    """Integer queries over all cells of the domain: ``matrix @ x`` plus discrete Gaussian noise of variance 4^scale."""

    sizes: tuple[int, ...]
    matrix: Ints
    scale: int

    @classmethod
    def rounded(cls, sizes: tuple[int, ...], mechanism: LinearGaussian) -> MatrixPart:
        """A mechanism with unit noise, its queries multiplied by a power of two and rounded."""
        rows = mechanism.whitened
        largest = float(np.abs(rows).max(initial=0.0))
        scale = min(FINEST_SCALE, floor(MATRIX_BITS - log2(largest))) if largest > 0 else 0
        if scale < 0 or not isfinite(largest):
            raise WorkloadError(
                "choose.overflow",
                "The noise of a matrix option is too small for exact 64-bit arithmetic.",
                "Give a smaller budget or larger variances.",
            )
        matrix = np.rint(np.ldexp(rows, scale)).astype(np.int64)
        return cls(sizes, matrix[matrix.any(axis=1)], scale)

    @property
    def layout(self) -> Layout:
        """The whole table."""
        return Layout(self.sizes, (tuple(range(len(self.sizes))),))

    @property
    def noise(self) -> DiscreteNoise:
        """One variance for all queries."""
        return DiscreteNoise(GaussianNoise, [Fraction(4**self.scale)], [len(self.matrix)])

    @computed_once
    def profile(self) -> NDArray[np.object_]:
        """Exact cost of one row in each cell: the squared column over the variance."""
        return np.array([Fraction(s, 4**self.scale) for s in _column_squares(self.matrix)], object)

    @computed_once
    def rho(self) -> Fraction:
        """Exact cost for one row of the dearest cell."""
        return max(self.profile.tolist(), default=Fraction(0)) / 2

    def exact(self, counts: Ints) -> Ints:
        """Answers of the integer queries."""
        return self.matrix @ counts

    def mechanism(self) -> LinearGaussian:
        """What was measured, as a mechanism: the rounded queries with unit noise."""
        return LinearGaussian(
            np.ldexp(self.matrix.astype(np.float64), -self.scale), np.ones(len(self.matrix))
        )

    def check(self) -> None:
        """Refuse what could overflow, from public sizes."""
        _require_room(int(np.abs(self.matrix).max(initial=0)), Fraction(4**self.scale))


def bucket_counts(table: BucketTable, counts: Ints) -> Ints:
    """Cells of a table over buckets from the marginal that ``CellPart.layout`` names."""
    axes = _axes(table)
    detailed = counts.reshape([table.sizes[i] for i in axes])
    return sum_cells(detailed, [table.partitions[i] for i in axes]).reshape(table.variances.shape)


def _axes(table: BucketTable) -> AttributeSet:
    return tuple(i for i, buckets in enumerate(table.partitions) if max(buckets) > 0)


def _table_layout(table: BucketTable) -> Layout:
    return Layout(table.sizes, (_axes(table),))


def _segments(variances: list[Fraction]) -> DiscreteNoise:
    """Equal neighbours together."""
    runs = [(variance, len(list(equal))) for variance, equal in groupby(variances)]
    return DiscreteNoise(GaussianNoise, [v for v, _ in runs], [length for _, length in runs])


def _column_squares(matrix: Ints) -> list[int]:
    """The sum of squares of every column, exactly: so many rows at a time as cannot leave 64 bits."""
    largest = max(1, int(matrix.max(initial=0)), -int(matrix.min(initial=0)))
    rows = LARGEST // largest**2
    if rows == 0:
        return [sum(v * v for v in column) for column in matrix.T.tolist()]
    blocks = (matrix[start : start + rows] for start in range(0, len(matrix), rows))
    sums = [np.einsum("ij,ij->j", block, block).tolist() for block in blocks]
    return [sum(column) for column in zip(*sums, strict=True)] or [0] * matrix.shape[1]


def _require_room(factor: int, variance: Fraction) -> None:
    if not factor * MAX_ROWS + DEVIATIONS * float(variance) ** 0.5 < LARGEST:
        raise WorkloadError(
            "choose.overflow",
            "The options could leave exact 64-bit arithmetic: their noise differs too much between cells.",
            "Give every option equal noise, or a larger budget.",
        )
