"""Sums of whole numbers over all marginals of a layout, in one pass: weighted counts, totals of a value.

The twin of ``tabulate`` for records that count by more than one.  The sums are exact and confidential: nothing here
adds noise, and nothing outside the kernel may see them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.errors import UsageError
from hushtable.kernel.covers import cover, offsets_of, spread
from hushtable.kernel.number_words import NumberWords
from hushtable.kernel.tabulate import CodeColumns, Tabulator, checked_codes
from hushtable.marginals import ROWS, AttributeSet, Counting, Layout, in_ranges
from hushtable.schema import Schema, replicate_of, total_of

BLOCK = 4096
"""Records whose cells are computed together: their 16 KB stay in the first-level cache."""


class CoverTables(NamedTuple):
    """Tables that are added to: table t has the attributes ``axis[start[t] .. start[t + 1] - 1]`` of these sizes, and
    its cells begin at ``offset[t]``."""

    start: NDArray[np.int64]
    axis: NDArray[np.int64]
    size: NDArray[np.uint32]
    offset: NDArray[np.int64]


class Weigher:
    """Adds whole numbers of batches of records to the marginals of a layout, for several quantities at once.

    ``limits`` are the largest sizes of the quantities' numbers; small ones are added together (``number_words``).

    >>> weigher = Weigher(Layout((2, 3), ((), (0,))), [9])
    >>> weigher.add([np.array([0, 1, 1], np.uint8), np.array([2, 0, 0], np.uint8)], [np.array([5, -1, 7])])
    >>> weigher.sums().tolist()
    [[11, 5, 6]]
    """

    def __init__(self, layout: Layout, limits: Sequence[int], *, threads: int | None = None) -> None:
        self._threads, self._packing = threads, NumberWords.of(limits)
        self._covers = cover(layout)
        sets = self._covers.sets
        self._offsets = offsets_of(layout, sets)
        axes = [axis for attributes in sets for axis in attributes]
        self._tables = CoverTables(
            np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64),
            np.array(axes, np.int64),
            np.array([layout.sizes[axis] for axis in axes], np.uint32),
            self._offsets,
        )
        self._layout = layout
        self._used = sorted(set(axes))
        self._kind = np.min_scalar_type(max(layout.sizes, default=1) - 1)
        self._words = np.zeros((len(self._packing.groups), int(self._offsets[-1])), np.int64)
        self._in_words = 0
        self._unpacked: NDArray[np.int64] | None = None

    def add(self, codes: CodeColumns, values: Sequence[Ints]) -> None:
        """One array of codes per attribute, and one of whole numbers per quantity; all of one length.

        A code that is not below its attribute's size counts as the last category; it never reaches another cell.
        """
        columns = checked_codes(codes, self._layout.sizes)
        length = len(columns[0]) if columns else 0
        if len(values) != len(self._packing.limits) or any(len(one) != length for one in values):
            raise UsageError(
                "tabulate.uneven-batch",
                "The columns of a batch have different lengths.",
                "Pass the same records in every column.",
            )
        limited = np.zeros((len(columns), length), self._kind)
        for axis in self._used:
            np.minimum(columns[axis], self._layout.sizes[axis] - 1, out=limited[axis], casting="unsafe")
        words, done = self._packing.words(values), 0
        while done < length:
            if self._in_words == self._packing.rows:
                self._unpack()
            taken = min(length - done, self._packing.rows - self._in_words)
            self._add(limited[:, done : done + taken], words[:, done : done + taken])
            self._in_words += taken
            done += taken

    def _add(self, codes: NDArray[Any], words: NDArray[np.int64]) -> None:
        tables = len(self._tables.start) - 1
        if self._threads == 1:
            add_values(0, tables, codes, words, self._tables, self._words)
        else:
            work = np.full(tables, words.shape[1], np.int64)
            in_ranges(add_values, work, codes, words, self._tables, self._words)

    def _unpack(self) -> NDArray[np.int64]:
        """The tables of each quantity of its own, where words are full."""
        more = self._packing.unpacked(self._words)
        self._unpacked = more if self._unpacked is None else self._unpacked + more
        self._words[:], self._in_words = 0, 0
        return self._unpacked

    def sums(self) -> NDArray[np.int64]:
        """The marginals of everything added so far: a row per quantity, flat, in the order of the layout."""
        tables = self._words if self._unpacked is None else self._unpack()
        found = np.empty((len(tables), self._layout.cells), np.int64)
        spread(self._covers, tables, found, threads=self._threads)
        packed = self._unpacked is None and self._packing.shares
        return self._packing.unpacked(found) if packed else found


class RowTabulator:
    """Exact tables of rows as a source gives them: codes of each attribute, then ``Schema.row_numbers``.

    Several tables are made in one pass: those of a layout share the look at its cells, and rows that count as one
    each, with nothing summed beside them, are counted by bit planes.
    """

    def __init__(self, schema: Schema, wanted: Sequence[Counting], *, threads: int | None = None) -> None:
        self._attributes, self._weighted = len(schema.attributes), schema.weight is not None
        self._summed = {total_of(name): k for k, name in enumerate(schema.sums)}
        self._replicates, self._numbers = schema.replicates, schema.row_numbers
        many = 0 if self._replicates is None else self._replicates.number
        self._summed |= {replicate_of(k): len(schema.sums) + k for k in range(many)}
        self._replicated = slice(len(schema.sums), len(schema.sums) + many)
        self._uses_replicates = any(
            self._replicated.start <= self._summed.get(one.of, -1) < self._replicated.stop for one in wanted
        )
        groups: dict[tuple[AttributeSet, ...], list[int]] = {}
        for position, one in enumerate(wanted):
            groups.setdefault(one.layout.sets, []).append(position)
        self._tables = [self._table(wanted, group, threads) for group in groups.values()]
        self._wanted = len(wanted)

    def _table(self, wanted: Sequence[Counting], group: list[int], threads: int | None) -> _GroupTables:
        layout = wanted[group[0]].layout
        alone = not self._weighted and all(wanted[k].of == ROWS for k in group)
        plain, others = (group, []) if alone else ([], group)
        columns = [self._summed.get(wanted[k].of, -1) for k in others]
        return _GroupTables(
            layout,
            layout.used_axes,
            Tabulator(layout, threads=threads) if plain else None,
            Weigher(layout, [self._limit(k) for k in columns], threads=threads) if others else None,
            plain,
            others,
            columns,
        )

    def add(self, batch: Sequence[NDArray[Any]]) -> None:
        """Take in a batch, on every level."""
        numbers = list(batch[self._attributes :])
        if self._replicates is not None and self._uses_replicates:
            numbers[self._replicated] = self._replicates.deviations(numbers[self._replicated])
        for table in self._tables:
            codes = table.layout.axes.every(batch, table.used)
            if table.tabulator is not None:
                table.tabulator.add(codes)
            if table.weigher is not None:
                table.weigher.add(codes, [self._values(numbers, k) for k in table.columns])

    def _values(self, numbers: Sequence[NDArray[Any]], column: int) -> Ints:
        """What each row adds: its weight, its value, or both multiplied."""
        if column < 0:
            return numbers[-1] if self._weighted else np.ones(len(numbers[0]), np.int64)
        weighs = self._weighted and not self._replicated.start <= column < self._replicated.stop
        return numbers[column] * numbers[-1] if weighs else numbers[column]

    def _limit(self, column: int) -> int:
        """The largest size of what ``_values`` gives."""
        if self._replicates is not None and self._replicated.start <= column < self._replicated.stop:
            return self._replicates.longest
        weight = self._numbers[-1].largest if self._weighted else 1
        return weight if column < 0 else weight * self._numbers[column].largest

    def counts(self) -> list[Ints]:
        """What was wanted of everything added so far, each flat, in the order of its layout."""
        found: list[Ints] = [np.empty(0, np.int64)] * self._wanted
        for table in self._tables:
            if table.tabulator is not None:
                for position in table.plain:
                    found[position] = table.tabulator.counts()
            if table.weigher is not None:
                for position, sums in zip(table.weighed, table.weigher.sums(), strict=True):
                    found[position] = sums
        return found


class _GroupTables(NamedTuple):
    """Tables of one layout: who counts them, at which places they were wanted, and of which numbers of a row."""

    layout: Layout
    used: frozenset[int]
    tabulator: Tabulator | None
    weigher: Weigher | None
    plain: list[int]
    weighed: list[int]
    columns: list[int]


@njit(cache=True, nogil=True)
def add_values(first: int, stop: int, codes: Any, values: Any, tables: Any, sums: Any) -> None:
    """Add all records to the tables ``first .. stop - 1``: cell by mixed radix, then one addition per quantity.

    Cells of up to 16 bits are computed in as many, twice as many at a time.
    """
    records = codes.shape[1]
    narrow, wide = np.empty(BLOCK, np.uint16), np.empty(BLOCK, np.uint32)
    for table in range(first, stop):
        axes = tables.axis[tables.start[table] : tables.start[table + 1]]
        sizes = tables.size[tables.start[table] : tables.start[table + 1]]
        own = sums[:, tables.offset[table] : tables.offset[table + 1]]
        for begin in range(0, records, BLOCK):
            block = codes[:, begin : min(begin + BLOCK, records)]
            given = values[:, begin : min(begin + BLOCK, records)]
            if own.shape[1] <= 1 << 16:
                find_cells(block, axes, sizes, narrow)
                add_block(narrow, given, own)
            else:
                find_cells(block, axes, sizes, wide)
                add_block(wide, given, own)


@njit(cache=True, nogil=True)
def find_cells(codes: Any, axes: Any, sizes: Any, cell: Any) -> None:
    """The cell of each record in a table of these attributes."""
    length = codes.shape[1]
    cell[:length] = 0
    for part in range(len(axes)):
        row, size = codes[axes[part]], cell.dtype.type(sizes[part])
        for record in range(length):
            cell[record] = cell[record] * size + cell.dtype.type(row[record])


@njit(cache=True, nogil=True)
def add_block(cell: Any, values: Any, sums: Any) -> None:
    """Add each quantity of each record to its cell."""
    for quantity in range(values.shape[0]):
        given, own = values[quantity], sums[quantity]
        for record in range(len(given)):
            own[cell[record]] += given[record]
