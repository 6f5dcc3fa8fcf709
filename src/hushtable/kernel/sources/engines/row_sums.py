"""What is added up over rows: a kind of sum takes batches of arrays and gives one flat array of integers.

The last three integers are the number of rows and a keyed sum of hashes of them, alike exactly when the rows are, in
whatever order: by these a second pass is seen to read other rows than the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints, Words
from hushtable.compiled import njit
from hushtable.deciders import Tally, columns_of
from hushtable.kernel.sources.kept_rows import packed
from hushtable.kernel.sources.losses import MARKS_BELOW, LossCounter
from hushtable.kernel.sources.people import siphash128
from hushtable.kernel.sources.records import FRAME_BYTES, record_frame
from hushtable.kernel.sources.rows import Octets
from hushtable.kernel.sources.source import RowView
from hushtable.kernel.sources.tallying import Asked
from hushtable.kernel.weighing import RowTabulator
from hushtable.marginals import AttributeSet, Counting, Layout
from hushtable.schema import Schema

Batch = Sequence[NDArray[Any]]
PRINT = 3
"""Integers of a fingerprint: rows, and two words of hashes."""


@njit(cache=True, nogil=True)
def _add_hashes(rows: Octets, width: int, key: Words, sums: Words) -> None:
    """Adds the hash of each row of ``width`` bytes to the two sums, which wrap around."""
    for start in range(0, rows.size, width):
        high, low = siphash128(rows, start, start + width, key[0], key[1])
        sums[0] += high
        sums[1] += low


class Fingerprint:
    """Of the rows that were counted, whatever their order."""

    def __init__(self, key: bytes, below: Sequence[int]) -> None:
        self._key, self._below = np.frombuffer(key, np.uint64).copy(), below
        self._rows, self._sums = 0, np.zeros(2, np.uint64)

    def add(self, batch: Batch) -> None:
        """Take in rows."""
        words = [_words(column) for column in batch]
        rows = packed(words, self._below)
        self._rows += len(rows)
        _add_hashes(rows.reshape(-1).view(np.uint8), 8 * rows.shape[1], self._key, self._sums)

    def integers(self) -> Ints:
        """Rows and hashes."""
        return np.concatenate([[self._rows], self._sums.view(np.int64)])


def _words(column: NDArray[Any]) -> NDArray[np.unsignedinteger[Any]]:
    if column.dtype.kind == "u":
        return column
    return column.astype(np.float64 if column.dtype.kind == "f" else np.int64).view(np.uint64)


class RowSum(Protocol):
    """What is added up; begun anew in every task."""

    @property
    def view(self) -> RowView:
        """What it takes of rows."""
        ...

    @property
    def length(self) -> int:
        """Integers of the result, without the fingerprint."""
        ...

    def begin(self, schema: Schema, key: bytes) -> RunningSum:
        """A sum of no rows yet; ``key`` is that of the fingerprint."""
        ...


class RunningSum(Protocol):
    """A sum while rows come."""

    def add(self, batch: Batch) -> None:
        """Take in rows."""
        ...

    def flat(self) -> Ints:
        """All integers so far, and the fingerprint."""
        ...


@dataclass(frozen=True)
class TableSum:
    """Marginals, each list of them of rows or of another quantity; ``sizes`` know how levels lie in each other."""

    sizes: Any
    tables: tuple[tuple[tuple[AttributeSet, ...], str], ...]
    view: RowView = RowView.CODES

    @property
    def length(self) -> int:
        """Cells."""
        return sum(one.layout.cells for one in self._wanted())

    def begin(self, schema: Schema, key: bytes) -> RunningSum:
        """One thread: the engine has as many tasks as it has processors."""
        below = [attribute.size for attribute in schema.attributes.values()]
        below += [n.largest + 1 if n.least == 0 else 1 << 64 for n in schema.row_numbers]
        tabulator = RowTabulator(schema, self._wanted(), threads=1)
        return _RunningTables(tabulator, Fingerprint(key, below))

    def _wanted(self) -> list[Counting]:
        return [Counting(Layout(self.sizes, sets), of) for sets, of in self.tables]


class _RunningTables:
    def __init__(self, tabulator: RowTabulator, fingerprint: Fingerprint) -> None:
        self._tabulator, self._print = tabulator, fingerprint

    def add(self, batch: Batch) -> None:
        if len(batch[0]):
            self._tabulator.add(batch)
            self._print.add(batch)

    def flat(self) -> Ints:
        return np.concatenate([*self._tabulator.counts(), self._print.integers()])


@dataclass(frozen=True)
class TallySum:
    """The tallies of questions: counts and sums of each, one after another."""

    asked: tuple[Asked, ...]
    view: RowView = RowView.VALUES

    @property
    def length(self) -> int:
        """Twice as many as there are buckets of values."""
        return 2 * sum(len(asked.edges) + 1 for asked in self.asked)

    def begin(self, schema: Schema, key: bytes) -> RunningSum:
        """Rows wait until they make a frame that is worth a query."""
        return _RunningTallies(schema, self, Fingerprint(key, [1 << 64] * len(schema.names)))

    def tallies(self, flat: Ints) -> list[Tally]:
        """The tallies in a result."""
        found: list[Tally] = []
        for asked in self.asked:
            size = len(asked.edges) + 1
            counts, sums, flat = flat[:size], flat[size : 2 * size], flat[2 * size :]
            found.append(Tally(counts.copy(), sums.copy()))
        return found


class _RunningTallies:
    def __init__(self, schema: Schema, wanted: TallySum, fingerprint: Fingerprint) -> None:
        self._schema, self._wanted, self._print = schema, wanted, fingerprint
        self._columns = columns_of(schema)
        self._flat = np.zeros(wanted.length, np.int64)
        self._waiting: list[Batch] = []

    def add(self, batch: Batch) -> None:
        if len(batch[0]):
            self._print.add(batch)
            self._waiting.append(batch)
        if sum(column.nbytes for held in self._waiting for column in held) >= FRAME_BYTES:
            self._count()

    def flat(self) -> Ints:
        if self._waiting:
            self._count()
        return np.concatenate([self._flat, self._print.integers()])

    def _count(self) -> None:
        frame = record_frame(list(self._schema.attributes.values()), self._waiting)
        tallies = [asked.tally(frame, self._columns) for asked in self._wanted.asked]
        parts: list[Ints] = reduce(lambda found, t: [*found, t.counts, t.sums], tallies, list[Ints]())
        self._flat += np.concatenate(parts)
        self._waiting = []


@dataclass(frozen=True)
class LossSum:
    """Rows that were dropped or moved to a bound, by field and reason, as ``Schema.losses`` lists them."""

    length: int
    view: RowView = RowView.MARKS

    def begin(self, schema: Schema, key: bytes) -> RunningSum:
        """The fingerprint is of the rows to which anything befell."""
        return _RunningLosses(schema, key)


class _RunningLosses:
    def __init__(self, schema: Schema, key: bytes) -> None:
        self._losses = LossCounter(schema)
        self._print = Fingerprint(key, [MARKS_BELOW] * (len(schema.row_fields) + 1))

    def add(self, batch: Batch) -> None:
        if len(batch[0]):
            self._losses.add(batch)
            self._print.add(batch)

    def flat(self) -> Ints:
        return np.concatenate([self._losses.counts(), self._print.integers()])
