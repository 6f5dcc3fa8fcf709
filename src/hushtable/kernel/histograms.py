"""Counting with histograms: the cell of every record, found from codes that marginals share, plus one.

Plain compiled loops.  Codes must have been limited to their attribute's size before they get here; then every index
lies inside its table.  Which marginals are counted this way, and threads, are decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import njit
from hushtable.marginals import AttributeSet


class Histograms(NamedTuple):
    """Tables to fill, those with the same attributes but the last next to each other.

    ``group`` (tables) numbers the shared attributes; group g has rows ``start[g] .. start[g + 1] - 1`` of ``axis`` and
    ``size``.  ``last`` and ``width`` (tables) are the last attribute and its size; table t has the counters
    ``offset[t] .. offset[t + 1] - 1``.
    """

    group: NDArray[np.int64]
    start: NDArray[np.int64]
    axis: NDArray[np.int64]
    size: NDArray[np.uint32]
    last: NDArray[np.int64]
    width: NDArray[np.uint64]
    offset: NDArray[np.int64]


def build_histograms(sizes: Sequence[int], sets: Sequence[AttributeSet]) -> Histograms:
    """Lay out the tables of ``sets``, in this order; sorted sets share most."""
    groups: dict[AttributeSet, int] = {}
    group = [groups.setdefault(attributes[:-1], len(groups)) for attributes in sets]
    cells = [prod(sizes[axis] for axis in attributes) for attributes in sets]
    axes = [axis for shared in groups for axis in shared]
    return Histograms(
        np.array(group, np.int64),
        np.concatenate([[0], np.cumsum([len(shared) for shared in groups])]).astype(np.int64),
        np.array(axes, np.int64),
        np.array([sizes[axis] for axis in axes], np.uint32),
        np.array([attributes[-1] for attributes in sets], np.int64),
        np.array([sizes[attributes[-1]] for attributes in sets], np.uint64),
        np.concatenate([[0], np.cumsum(cells, dtype=np.int64)]).astype(np.int64),
    )


@njit(cache=True, nogil=True)
def _shared_codes(codes: Any, records: int, tables: Any, group: int, shared: Any) -> None:
    first = tables.start[group]
    stop = tables.start[group + 1]
    if first == stop:
        shared[:records] = 0
        return
    row = codes[tables.axis[first]]
    for record in range(records):
        shared[record] = row[record]
    for part in range(first + 1, stop):
        row = codes[tables.axis[part]]
        size = tables.size[part]
        for record in range(records):
            shared[record] = shared[record] * size + np.uint32(row[record])


@njit(cache=True, nogil=True)
def _fill(shared: Any, row: Any, records: int, width: Any, table: Any) -> None:
    for record in range(records):
        table[np.uint64(shared[record]) * width + np.uint64(row[record])] += 1


@njit(cache=True, nogil=True)
def count_tables(
    codes: Any, records: int, tables: Any, first: int, stop: int, shared: Any, counters: Any
) -> None:
    """Add the first ``records`` records to tables ``first .. stop - 1``; ``shared`` is scratch, one entry a record."""
    current = -1
    for table in range(first, stop):
        if tables.group[table] != current:
            current = tables.group[table]
            _shared_codes(codes, records, tables, current, shared)
        cells = counters[tables.offset[table] : tables.offset[table + 1]]
        _fill(shared, codes[tables.last[table]], records, tables.width[table], cells)
