"""The exact whole numbers that deciders are functions of: rows and totals per bucket of values.

``edges`` e_0 < e_1 < ... cut the integers into (-inf, e_0], (e_0, e_1], ..., (e_last, inf).  A tally of private
values is private: it stays with whoever made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.errors import QueryError


@dataclass(frozen=True, eq=False)
class Tally:
    """Rows and sums of values per bucket, one more bucket than edges."""

    counts: Ints
    sums: Ints

    @property
    def rows(self) -> int:
        """All matching rows."""
        return int(self.counts.sum())

    @property
    def total(self) -> int:
        """Sum of all values."""
        return int(self.sums.sum())

    def cumulative_rows(self) -> Ints:
        """Rows with a value of at most each edge."""
        return np.cumsum(self.counts)[:-1]

    def cumulative_sums(self) -> Ints:
        """Sum of the values of at most each edge."""
        return np.cumsum(self.sums)[:-1]


def tally(values: ArrayLike, edges: Sequence[int] = ()) -> Tally:
    """Tally of whole values on the grid."""
    codes = whole(values)
    counts, sums = np.zeros(len(edges) + 1, np.int64), np.zeros(len(edges) + 1, np.int64)
    if isinstance(edges, range) and edges.step == 1:
        _fill_consecutive(codes, edges.start, counts, sums)
    else:
        _fill(codes, np.asarray(edges, np.int64), counts, sums)
    return Tally(counts, sums)


def as_array(numbers: Sequence[int]) -> Ints:
    """The numbers as int64; quick for a range."""
    if isinstance(numbers, range):
        return np.arange(numbers.start, numbers.stop, numbers.step, dtype=np.int64)
    return np.asarray(numbers, np.int64)


def rows_only(count: int) -> Tally:
    """Tally of a COUNT, which has no values."""
    return Tally(np.array([count], np.int64), np.zeros(1, np.int64))


def whole(values: ArrayLike) -> Ints:
    """Values as int64; refused when they are not whole numbers."""
    given = np.asarray(values)
    if given.size == 0:
        return np.zeros(0, np.int64)
    codes = given.astype(np.int64, copy=False) if given.dtype.kind in "biuf" else None
    if codes is None or not np.array_equal(codes, given):
        raise QueryError(
            "query.values-off-grid",
            "The values are not whole numbers of grid steps.",
            "Divide them by the attribute's resolution.",
        )
    return codes


@njit(cache=True, nogil=True)
def _fill_consecutive(values: Ints, first: int, counts: Ints, sums: Ints) -> None:
    last = len(counts) - 1
    for value in values:
        bucket = min(max(value - first, 0), last)
        counts[bucket] += 1
        sums[bucket] += value


@njit(cache=True, nogil=True)
def _fill(values: Ints, edges: Ints, counts: Ints, sums: Ints) -> None:
    for value in values:
        low, high = 0, len(edges)
        while low < high:
            middle = (low + high) // 2
            if edges[middle] < value:
                low = middle + 1
            else:
                high = middle
        counts[low] += 1
        sums[low] += value
