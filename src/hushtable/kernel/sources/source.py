"""A confidential table as a stream of integer codes.

A pass gives batches of codes: rows that the schema drops are left out, and of each person those k rows count that
``keeping`` chooses, whatever the order.  A first pass over the person column finds out who has more.  A pass over plain
values gives the same rows before bins.  What a batch contains never leaves the kernel.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from copy import copy
from dataclasses import dataclass
from enum import Enum
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Ints, Words
from hushtable.kernel.sources.assign import Codes
from hushtable.kernel.sources.encode import CodeArray, Encoder
from hushtable.kernel.sources.files import Guard
from hushtable.kernel.sources.kept_rows import Held, Ranking, packed
from hushtable.kernel.sources.keys import as_keys, as_names
from hushtable.kernel.sources.losses import mark_words, marks
from hushtable.kernel.sources.people import Crowded, People, hashes_of
from hushtable.kernel.sources.plain_values import PlainArray, PlainReader
from hushtable.kernel.sources.row_tables import Block, Table
from hushtable.kernel.sources.text import Values
from hushtable.schema import Schema

BATCH = 1 << 18
"""Rows that travel together: of a dozen small attributes, 3 MB.  More take memory, fewer cost more Python per row;
counts are the same.  Not tuned finely."""
_THREADS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2, 4)
"""Encoding threads; one thread reads for all of them.  That more than four would wait for it is assumed, not
measured."""
_FEW = 8
"""Below one row in this many, picking rows from each attribute takes less time than computing words of all."""


class RowView(Enum):
    """What a pass gives of rows: codes for tables, plain values for checks, or marks of what befell them."""

    CODES = "codes"
    VALUES = "values"
    MARKS = "marks"


@dataclass(frozen=True)
class _Encoded:
    """Rows that count, one array per column; and rows of people who have too many, whose hashes decide."""

    arrays: list[NDArray[Any]]
    crowded: tuple[Ints, Words, list[NDArray[Any]]] | None = None


@dataclass(frozen=True)
class LabelledRows:
    """Rows as one array per column, with the hash of each row's person and the hash by which rows are kept."""

    people: Words
    ranks: Words
    arrays: list[NDArray[Any]]


_Columns = Sequence[Any]
_Shape = Callable[[Encoder, PlainReader, Values, Codes], NDArray[Any]]
"""What a pass gives of an attribute: from its values and codes to an array."""
T = TypeVar("T")


def _as_codes(encoder: Encoder, _reader: PlainReader, _values: Values, codes: Codes) -> NDArray[Any]:
    return codes.astype(encoder.dtype)


def _as_values(_encoder: Encoder, reader: PlainReader, values: Values, codes: Codes) -> NDArray[Any]:
    return reader.read(values, codes)


def _as_whole(whole: Callable[[Floats], Ints]) -> _Shape:
    """The numbers of rows as integers; a row without one is dropped, whatever stands in its place."""
    return lambda _encoder, reader, values, codes: whole(reader.read(values, codes))


class Source:
    """Rows of a table as codes; can be read any number of times."""

    def __init__(self, table: Table, schema: Schema, *, threads: int | None = None, ledger: str = "") -> None:
        self.schema = schema
        self.headers = table.headers
        self._table = table
        self._size = table.block
        self._threads = threads or _THREADS
        attributes = schema.row_fields
        self._encoders = [Encoder(attribute, schema.csv.encoding) for attribute in attributes]
        self._readers = [PlainReader(attribute) for attribute in attributes]
        self._columns = list(schema.columns)
        self._places = [self._columns.index(a.column) for a in attributes]
        self._ranking = Ranking(ledger)
        self._crowded: Crowded | None = None

    def keyed(self, ledger: str) -> Source:
        """The same rows, of which those are kept that this ledger keeps."""
        found = copy(self)
        found._ranking = Ranking(ledger)
        return found

    def labelled(self, key: Words, view: RowView) -> Iterator[LabelledRows]:
        """All rows that the schema keeps, or all to which anything befell, each with what decides whether it counts.

        For those who bring a person's rows together elsewhere; people are told apart by a hash under ``key``.
        """
        guard = Guard(self._table.shown)
        with guard, closing(self._each(self._columns, partial(self._label, view, key))) as stream:
            yield from stream
        guard.raise_failure()

    def kinds(self, view: RowView) -> list[np.dtype[Any]]:
        """The type of each array of a batch."""
        if view is RowView.MARKS:
            return [np.dtype(np.uint8)] * (len(self._encoders) + 1)
        plain = view is RowView.VALUES
        attributes = zip(self._encoders, self._readers, strict=True)
        found = [reader.dtype if plain else np.dtype(encoder.dtype) for encoder, reader in attributes]
        numbers = [] if plain else [np.dtype(np.int64)] * len(self.schema.row_numbers)
        return [*found[: len(self.schema.attributes)], *numbers]

    def viewed(self, view: RowView) -> Iterator[list[NDArray[Any]]]:
        """Batches of rows that count, one contiguous array per column of ``kinds``."""
        passes = {RowView.CODES: self.batches, RowView.VALUES: self.plain_batches, RowView.MARKS: self.marked}
        return passes[view]()

    def batches(self, rows: int = BATCH) -> Iterator[list[CodeArray]]:
        """Batches of at most ``rows`` rows: one contiguous array of codes per attribute, then of each ``row_numbers``.

        The type of an array is the smallest unsigned one for the attribute's size.
        """
        yield from self._batches(_as_codes, rows)

    def plain_batches(self, rows: int = BATCH) -> Iterator[list[PlainArray]]:
        """The same rows as plain values of every attribute, see ``PlainReader``."""
        yield from self._batches(_as_values, rows)

    def marked(self) -> Iterator[list[NDArray[Any]]]:
        """What befell rows in each field, and last whether they are dropped, of rows to which anything did.

        Of each person at most as many as count; rows of nobody are nobody's loss.
        """
        guard = Guard(self._table.shown)
        with guard:
            crowded = self._crowd()
            with closing(self._each(self._columns, partial(self._mark, crowded))) as stream:
                yield from _counting(stream, crowded, self.schema.max_rows_per_person)
        guard.raise_failure()

    def _mark(self, crowded: Crowded | None, columns: _Columns) -> _Encoded:
        arrays = marks(self.schema.row_fields, *self._read(columns))
        touched = _touched(arrays)
        if crowded is None or self.schema.person is None:
            return _Encoded(_chosen(arrays, touched))
        column = columns[self._columns.index(self.schema.person)]
        keys = as_keys(column)
        touched &= keys.starts != keys.ends
        people = crowded.find(keys)
        rows = np.flatnonzero(touched & (people >= 0))
        few = _chosen(arrays, touched & (people < 0))
        if not len(rows):
            return _Encoded(few)
        theirs = [_picked(array, rows) for array in arrays]
        ranks = self._ranking.ranks(as_names(column, rows, self.schema.csv.encoding), mark_words(theirs))
        return _Encoded(few, (_picked(people, rows), ranks, theirs))

    def _batches(self, shape: _Shape, rows: int) -> Iterator[list[NDArray[Any]]]:
        guard = Guard(self._table.shown)
        with guard:
            crowded = self._crowd()
            with closing(self._each(self._columns, partial(self._encode, shape, crowded))) as stream:
                for arrays in _counting(stream, crowded, self.schema.max_rows_per_person):
                    for start in range(0, len(arrays[0]), rows):
                        yield (
                            arrays
                            if len(arrays[0]) <= rows
                            else [column[start : start + rows] for column in arrays]
                        )
        guard.raise_failure()

    def _crowd(self) -> Crowded | None:
        """Who has more rows than count, dropped ones included: known after one pass over the person column."""
        if self.schema.person is not None and self._crowded is None:
            people = People(self.schema.max_rows_per_person)

            def hashed(columns: _Columns) -> Words:
                keys = as_keys(columns[0])
                somebody = keys.starts != keys.ends
                return people.hashes(keys if somebody.all() else keys.take(np.flatnonzero(somebody)))

            with closing(self._each([self.schema.person], hashed)) as stream:
                for hashes in stream:
                    people.add(hashes)
            self._crowded = people.crowded()
        return self._crowded

    def _each(self, columns: Sequence[str], use: Callable[[_Columns], T]) -> Generator[T]:
        """What is made of each block, in order, by a few threads ahead of the caller; by the caller's if it is one."""
        blocks = iter(self._table.blocks(columns, self._size))
        if self._threads == 1:
            yield from (use(block.columns()) for block in blocks)
            return
        with ThreadPoolExecutor(self._threads) as pool:

            def begin(block: Block) -> Future[T]:
                return pool.submit(lambda: use(block.columns()))

            ahead: deque[Future[T]] = deque(map(begin, islice(blocks, self._threads + 1)))
            try:
                while ahead:
                    done = ahead.popleft().result()
                    ahead.extend(map(begin, islice(blocks, 1)))
                    yield done
            finally:
                pool.shutdown(cancel_futures=True)
                close = getattr(blocks, "close", None)
                if close is not None:
                    close()

    def _assigned(
        self, shape: _Shape, columns: _Columns
    ) -> tuple[list[Values], list[Codes], list[NDArray[Any]]]:
        """Values and codes of each attribute, and what the pass gives of it."""
        values, codes = self._read(columns)
        read = zip(self._encoders, self._readers, values, codes, strict=True)
        arrays = [of(*given) for of, given in zip(self._shapes(shape), read, strict=False)]
        return values, codes, arrays

    def _read(self, columns: _Columns) -> tuple[list[Values], list[Codes]]:
        """Values and codes of each field of the rows."""
        values = [encoder.values(columns[k]) for encoder, k in zip(self._encoders, self._places, strict=True)]
        return values, [encoder.assign(found) for encoder, found in zip(self._encoders, values, strict=True)]

    def _shapes(self, shape: _Shape) -> list[_Shape]:
        """What a pass gives of attribute after attribute; one over codes gives the row's numbers too."""
        numbers = [_as_whole(number.whole) for number in self.schema.row_numbers]
        return [shape] * len(self.schema.attributes) + (numbers if shape is _as_codes else [])

    def _label(self, view: RowView, key: Words, columns: _Columns) -> LabelledRows:
        column = columns[self._columns.index(str(self.schema.person))]
        keys = as_keys(column)
        somebody = keys.starts != keys.ends
        if view is RowView.MARKS:
            arrays = marks(self.schema.row_fields, *self._read(columns))
            rows = np.flatnonzero(_touched(arrays) & somebody)
            names = as_names(column, rows, self.schema.csv.encoding)
            ranks = self._ranking.ranks(names, mark_words([_picked(array, rows) for array in arrays]))
        else:
            values, codes, arrays = self._assigned(
                _as_values if view is RowView.VALUES else _as_codes, columns
            )
            rows = np.flatnonzero(_kept(codes) & somebody)
            ranks = self._ranks(column, rows, values, codes)
        whose = keys if len(rows) == len(keys) else keys.take(rows)
        return LabelledRows(hashes_of(whose, key), ranks, [_picked(array, rows) for array in arrays])

    def _ranks(
        self, column: Any, rows: NDArray[np.int64], values: Sequence[Values], codes: Sequence[Codes]
    ) -> Words:
        """By which hash some rows are kept."""
        names = as_names(column, rows, self.schema.csv.encoding)
        return self._ranking.ranks(names, self._words(values, codes, rows))

    def _encode(self, shape: _Shape, crowded: Crowded | None, columns: _Columns) -> _Encoded:
        values, codes, arrays = self._assigned(shape, columns)
        keep = _kept(codes)
        if crowded is None or self.schema.person is None:
            return _Encoded(_chosen(arrays, keep))
        column = columns[self._columns.index(self.schema.person)]
        keys = as_keys(column)
        keep &= keys.starts != keys.ends
        if not crowded.size:
            return _Encoded(_chosen(arrays, keep))
        people = crowded.find(keys)
        rows = np.flatnonzero(keep & (people >= 0))
        if not len(rows):
            return _Encoded(_chosen(arrays, keep))
        ranks = self._ranks(column, rows, values, codes)
        return _Encoded(
            _chosen(arrays, keep & (people < 0)),
            (_picked(people, rows), ranks, [_picked(array, rows) for array in arrays]),
        )

    def _words(self, values: Sequence[Values], codes: Sequence[Codes], rows: Ints) -> Words:
        """What can be seen of some rows, in few words each; where they are many, from all and then picked, once."""
        many = len(rows) > len(codes[0]) // _FEW
        if not many:
            values = [Values(found.numbers[rows], found.states[rows]) for found in values]
            codes = [found[rows] for found in codes]
        words = [r.words(v, c) for r, v, c in zip(self._readers, values, codes, strict=True)]
        found = packed(words, [reader.words_below for reader in self._readers])
        return _picked(found, rows) if many else found


def _counting(
    stream: Iterator[_Encoded], crowded: Crowded | None, limit: int
) -> Iterator[list[NDArray[Any]]]:
    """The rows that count: those of everybody who has few as they come, those of the others at the end."""
    held: Held | None = None
    for encoded in stream:
        if encoded.crowded is not None and crowded is not None:
            people, ranks, arrays = encoded.crowded
            held = held or Held(crowded.size, limit, [array.dtype for array in arrays])
            held.add(people, ranks, arrays)
        yield encoded.arrays
    if held is not None:
        yield held.arrays()


def _chosen(arrays: list[NDArray[Any]], keep: NDArray[np.bool_]) -> list[NDArray[Any]]:
    if keep.all():
        return arrays
    rows = np.flatnonzero(keep)
    return [array[rows] for array in arrays]


def _picked(array: NDArray[Any], rows: Ints) -> NDArray[Any]:
    """Some rows, in order; all of them without a copy."""
    return array if len(rows) == len(array) else array[rows]


def _touched(arrays: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
    """Rows to which anything befell."""
    return np.any([array > 0 for array in arrays], axis=0)


def _kept(codes: Sequence[Codes]) -> NDArray[np.bool_]:
    """Rows that no attribute drops."""
    keep = np.ones(len(codes[0]), np.bool_)
    for column in codes:
        keep &= column >= 0
    return keep
