"""Mechanisms that are one table over bucketised attributes: ages in 1, 4, 9 or 23 buckets, by sex.

Every attribute is divided into buckets and each cell of the table has independent noise.  The common mechanism of any
number of such tables is the table of the finest buckets that none of them cuts, each cell with the largest of the
variances that summing up would give (``proofs/common-by-residuals.md``).  Buckets need not be nested nor of equal
width.  Options with several such tables have no closed form: use ``dense``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.arrays import is_whole
from hushtable.errors import WorkloadError
from hushtable.linear.checks import not_common
from hushtable.linear.curve import gaussian_delta
from hushtable.linear.dense import LinearGaussian
from hushtable.linear.lattice import checked_sizes, positive, require_small
from hushtable.privacy import Number

Buckets = tuple[int, ...]
"""The bucket number of every value of an attribute; buckets are numbered 0, 1, ... by first appearance."""

Fractions = NDArray[Any]
"""Array of exact fractions."""


@dataclass(frozen=True, eq=False)
class BucketTable:
    """One table of bucket counts with independent noise of variance ``variances[cell]`` (exact fractions).

    >>> table = bucket_table([buckets(4, cuts=(2,)), buckets(2, cuts=(1,))], rho=1)
    >>> table.variances.shape, str(table.variances[0, 0])
    ((2, 2), '1/2')
    """

    kinds: ClassVar[tuple[str, ...]] = ("buckets",)
    """What ``to_dict`` calls it."""

    partitions: tuple[Buckets, ...]
    variances: Fractions
    fixed: bool = True

    def __post_init__(self) -> None:
        shape = tuple(max(p, default=-1) + 1 for p in self.partitions)
        noise = np.asarray(self.variances, object)
        if not shape or any(p != _numbered(p) for p in self.partitions) or noise.shape != shape:
            raise WorkloadError(
                "linear.buckets",
                "The buckets are not numbered 0, 1, ... by first appearance, or the variances do not fit them.",
                "Make the table with bucket_table().",
            )
        exact = np.array([positive("variance", v) for v in noise.flat], object).reshape(shape)
        exact.setflags(write=False)
        object.__setattr__(self, "variances", exact)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute before bucketing."""
        return tuple(map(len, self.partitions))

    @property
    def cells(self) -> int:
        """Cells of the domain before bucketing."""
        return prod(self.sizes)

    @cached_property
    def profile(self) -> Fractions:
        """Cost of a record in each cell of the table."""
        return 1 / self.variances

    @property
    def rho(self) -> Fraction:
        """zCDP parameter, exact."""
        return max(self.profile.flat) / 2

    @property
    def mu(self) -> float:
        """Gaussian DP parameter."""
        return float(max(self.profile.flat)) ** 0.5

    def delta(self, epsilon: float) -> float:
        """Smallest delta with which the mechanism is (epsilon, delta)-differentially private."""
        return float(gaussian_delta(float(max(self.profile.flat)), epsilon))

    def scaled(self, *, rho: Number) -> Self:
        """The same table with all noise multiplied so that it costs exactly ``rho``."""
        return replace(self, variances=self.variances * (self.rho / positive("rho", rho)), fixed=True)

    def coarse_variances(self, partitions: Sequence[Buckets]) -> Fractions:
        """Variance of the cells of a coarser table when they are summed from this one."""
        return sum_cells(self.variances, bucket_maps(self.partitions, partitions))

    def dense(self) -> LinearGaussian:
        """The same mechanism with explicit matrices; small domains only."""
        return LinearGaussian(indicator(self.partitions), self.variances.astype(np.float64).ravel())

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, exact."""
        return {
            "kind": self.kinds[0],
            "partitions": [list(p) for p in self.partitions],
            "variances": [str(v) for v in self.variances.flat],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The mechanism that ``to_dict`` described; ``KeyError``, ``TypeError`` or ``ValueError`` for anything else."""
        partitions = tuple(tuple(p) for p in values["partitions"])
        noise = np.array([Fraction(v) for v in values["variances"]], object)
        return cls(partitions, noise.reshape([max(p) + 1 for p in partitions]))

    def shared_with(self, others: Sequence[BucketTable]) -> BucketTable:
        """The table of the finest shared buckets, each cell with the largest summed variance."""
        tables = (self, *others)
        shared = tuple(map(_join, zip(*(t.partitions for t in tables), strict=True)))
        return BucketTable(shared, np.maximum.reduce([t.coarse_variances(shared) for t in tables]))

    def answerable(self, from_: BucketTable) -> bool:
        """Whether every cell is a sum of cells of ``from_`` with no less noise; exact."""
        if any(_join([p, q]) != p for p, q in zip(self.partitions, from_.partitions, strict=True)):
            return False
        return bool((self.variances >= from_.coarse_variances(self.partitions)).all())

    def beyond(self, common: BucketTable) -> BucketResidual | None:
        """What completes ``common`` to this table, or None when nothing is missing."""
        if not common.answerable(self):
            raise not_common()
        totals = 1 / self.coarse_variances(common.partitions) - 1 / common.variances
        if common.partitions == self.partitions and not totals.any():
            return None
        return BucketResidual(self, common.partitions, totals)

    def stacked(self, others: Sequence[BucketTable]) -> LinearGaussian:
        """All of them with independent noise, which is no single table."""
        return self.dense().stacked([m.dense() for m in others])


@dataclass(frozen=True, eq=False)
class BucketResidual:
    """What completes a coarser table to ``table``.

    Measure in every cell ``c`` of block ``K`` its deviation ``x_c - (v_c / V_K) x_K`` with noise of variance ``v_c``
    (``V_K`` is the sum of the block's variances), and, where ``totals`` is positive, the block's count ``x_K`` with
    that precision.
    """

    table: BucketTable
    blocks: tuple[Buckets, ...]
    totals: Fractions

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each attribute before bucketing."""
        return self.table.sizes

    @property
    def cells(self) -> int:
        """Cells of the domain before bucketing."""
        return self.table.cells

    @cached_property
    def maps(self) -> tuple[Buckets, ...]:
        """For every attribute, the block of each bucket of the table."""
        return bucket_maps(self.table.partitions, self.blocks)

    @cached_property
    def weights(self) -> Fractions:
        """``v_c / V_K`` for every cell of the table."""
        return self.table.variances / spread(sum_cells(self.table.variances, self.maps), self.maps)

    @cached_property
    def profile(self) -> Fractions:
        """Cost of a record in each cell of the table: ``(1 - v_c/V_K) / v_c`` plus the block's precision."""
        return (1 - self.weights) / self.table.variances + spread(self.totals, self.maps)

    @property
    def rho(self) -> Fraction:
        """zCDP parameter of the residual alone, exact."""
        return max(self.profile.flat) / 2

    def dense(self) -> LinearGaussian:
        """The same mechanism with explicit matrices; small domains only."""
        cells = indicator(self.table.partitions)
        block = indicator(self.maps)
        weights = self.weights.astype(np.float64).ravel()
        rows = cells - (weights[:, None] * block.T) @ (block @ cells)
        known = self.totals.astype(np.float64).ravel()
        noise = np.concatenate([self.table.variances.astype(np.float64).ravel(), 1 / known[known > 0]])
        return LinearGaussian(np.vstack([rows, (block @ cells)[known > 0]]), noise)


def buckets(size: int, cuts: Iterable[int] = ()) -> Buckets:
    """Buckets of consecutive values: a new one starts at every cut.  Without cuts all values are one bucket.

    >>> buckets(5, cuts=(2, 3))
    (0, 0, 1, 2, 2)
    """
    (length,) = checked_sizes([size])
    starts = list(cuts)
    if any(not is_whole(c) or not 0 < c < length for c in starts) or starts != sorted(set(starts)):
        raise WorkloadError(
            "linear.buckets",
            f"The cuts must be rising whole numbers between 0 and {length}, both excluded.",
            "Give for example cuts=(18, 45, 65).",
        )
    return tuple(int(k) for k in np.searchsorted(starts, np.arange(length), side="right"))


def bucket_table(partitions: Sequence[Sequence[int]], *, rho: Number | None = None) -> BucketTable:
    """The table over the given buckets, equal noise in every cell; see ``marginals`` for ``rho``."""
    divided = tuple(_numbered(p) for p in partitions)
    if not divided:
        raise WorkloadError(
            "linear.buckets", "The table has no attributes.", "Give buckets for every attribute."
        )
    variance = 1 / (2 * positive("rho", 1 if rho is None else rho))
    shape = tuple(max(p) + 1 for p in divided)
    return BucketTable(divided, np.full(shape, variance, object), rho is not None)


def bucket_recreate(
    residual: BucketResidual,
    common: BucketTable,
    common_output: ArrayLike,
    deviations: ArrayLike,
    totals: ArrayLike,
) -> NDArray[np.float64]:
    """Cells of the table from the common cells, the measured deviations and the measured block counts.

    ``totals`` has the shape of the common table and is ignored where nothing was measured.  The result has exactly the
    table's independent noise.
    """
    shape = residual.table.variances.shape
    coarse, measured, fine = (np.asarray(a, np.float64) for a in (common_output, totals, deviations))
    if fine.shape != shape or coarse.shape != common.variances.shape or measured.shape != coarse.shape:
        raise WorkloadError(
            "linear.output",
            "The outputs do not have the shapes of the table and of the common table.",
            "Give deviations shaped like the table, common cells and totals shaped like the common table.",
        )
    share = (residual.totals / (residual.totals + common.profile)).astype(np.float64)
    block = np.where(share > 0, share * measured, 0.0) + (1 - share) * coarse
    weights = residual.weights.astype(np.float64)
    return fine + weights * spread(block - sum_cells(fine, residual.maps), residual.maps)


def bucket_maps(fine: Sequence[Buckets], coarse: Sequence[Buckets]) -> tuple[Buckets, ...]:
    """For every attribute, the coarse bucket that each fine bucket lies in."""
    maps: list[Buckets] = []
    for p, q in zip(fine, coarse, strict=True):
        inside = dict(zip(p, q, strict=True))
        if any(inside[a] != b for a, b in zip(p, q, strict=True)):
            raise WorkloadError(
                "linear.buckets",
                "The coarse buckets cut a fine bucket.",
                "Give buckets that are unions of the fine ones.",
            )
        maps.append(tuple(inside[k] for k in range(len(inside))))
    return tuple(maps)


def sum_cells(array: NDArray[Any], maps: Sequence[Buckets]) -> NDArray[Any]:
    """Cells of a table added up into coarser cells, axis by axis."""
    for axis, block in enumerate(maps):
        moved = np.moveaxis(array, axis, 0)
        summed = np.zeros_like(moved, shape=(max(block) + 1, *moved.shape[1:]))
        np.add.at(summed, np.asarray(block), moved)
        array = np.moveaxis(summed, 0, axis)
    return array


def spread(array: NDArray[Any], maps: Sequence[Buckets]) -> NDArray[Any]:
    """The value of its coarse cell for every fine cell."""
    return array[np.ix_(*(np.asarray(block) for block in maps))]


def indicator(partitions: Sequence[Buckets]) -> NDArray[np.float64]:
    """Matrix with a row per cell of the table and a column per cell of the domain."""
    require_small(prod(map(len, partitions)))
    factors = [np.eye(max(p) + 1)[:, list(p)] for p in partitions]
    return np.asarray(reduce(np.kron, factors, np.ones((1, 1))), np.float64)


def _join(partitions: Sequence[Buckets]) -> Buckets:
    """The finest buckets that are unions of buckets of every partition."""
    label = list(range(len(partitions[0])))
    for p in partitions:
        first: dict[int, int] = {}
        for value, bucket in enumerate(p):
            a, b = _root(label, first.setdefault(bucket, value)), _root(label, value)
            label[max(a, b)] = min(a, b)
    return _numbered([_root(label, value) for value in range(len(label))])


def _root(label: list[int], value: int) -> int:
    while label[value] != value:
        value = label[value]
    return value


def _numbered(partition: Sequence[int]) -> Buckets:
    numbers: dict[int, int] = {}
    labels = tuple(numbers.setdefault(int(k), len(numbers)) for k in partition)
    if not labels:
        raise WorkloadError("linear.buckets", "An attribute has no values.", "Give a bucket for every value.")
    return labels
