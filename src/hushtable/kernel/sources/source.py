"""A confidential table as a stream of integer codes.

A pass gives batches of codes: rows that the schema drops are left out, and at most k rows of each person are kept
(the first k that are not dropped, in reading order).  A pass over plain values gives the same rows before bins.  What a
batch contains never leaves the kernel.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.sources.assign import Codes
from hushtable.kernel.sources.encode import CodeArray, Encoder
from hushtable.kernel.sources.files import Guard
from hushtable.kernel.sources.keys import as_keys
from hushtable.kernel.sources.people import People, Words
from hushtable.kernel.sources.plain_values import PlainArray, PlainReader
from hushtable.kernel.sources.row_tables import Block, Table
from hushtable.kernel.sources.text import Texts
from hushtable.schema import Schema

BATCH = 1 << 18
"""Rows that travel together: of a dozen small attributes, 3 MB.  More take memory, fewer cost more Python per row;
counts are the same.  Not tuned finely."""
_THREADS = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2, 4)
"""Encoding threads; one thread reads for all of them.  That more than four would wait for it is assumed, not
measured."""


@dataclass(frozen=True)
class _Encoded:
    arrays: list[NDArray[Any]]
    people: Words | None


_Encode = Callable[[Sequence[Any]], tuple[list[NDArray[Any]], NDArray[np.bool_]]]
"""From the columns of a block to one array per attribute, and which rows the schema keeps."""


class Source:
    """Rows of a table as codes; can be read any number of times."""

    def __init__(self, table: Table, schema: Schema, *, threads: int | None = None) -> None:
        self.schema = schema
        self.headers = table.headers
        self._table = table
        self._size = table.block
        self._threads = threads or _THREADS
        attributes = schema.attributes.values()
        self._encoders = [Encoder(attribute, schema.csv.encoding) for attribute in attributes]
        self._readers = [PlainReader(attribute) for attribute in attributes]
        self._columns = list(schema.columns)
        self._places = [self._columns.index(a.column) for a in attributes]

    def batches(self, rows: int = BATCH) -> Iterator[list[CodeArray]]:
        """Batches of at most ``rows`` rows: one contiguous array of codes per attribute.

        The type of an array is the smallest unsigned one for the attribute's size.
        """
        yield from self._batches(self._codes, rows)

    def plain_batches(self, rows: int = BATCH) -> Iterator[list[PlainArray]]:
        """The same rows as plain values of every attribute, see ``PlainReader``."""
        yield from self._batches(self._plain, rows)

    def _batches(self, encode: _Encode, rows: int) -> Iterator[list[NDArray[Any]]]:
        person = self.schema.person
        people = None if person is None else People(self.schema.max_rows_per_person)
        guard = Guard(self._table.shown)
        with guard, closing(self._encoded(encode, people)) as stream:
            for encoded in stream:
                arrays = encoded.arrays
                if people is not None and encoded.people is not None:
                    keep = people.keep(encoded.people)
                    arrays = arrays if keep.all() else [column[keep] for column in arrays]
                for start in range(0, len(arrays[0]), rows):
                    yield (
                        arrays
                        if len(arrays[0]) <= rows
                        else [column[start : start + rows] for column in arrays]
                    )
        guard.raise_failure()

    def _encoded(self, encode: _Encode, people: People | None) -> Generator[_Encoded]:
        """Blocks in order, encoded by a few threads ahead of the caller."""
        with closing(self._blocks()) as blocks, ThreadPoolExecutor(self._threads) as pool:

            def begin(block: Block) -> Future[_Encoded]:
                return pool.submit(self._encode, block, encode, people)

            ahead: deque[Future[_Encoded]] = deque(map(begin, islice(blocks, self._threads + 1)))
            try:
                while ahead:
                    done = ahead.popleft().result()
                    ahead.extend(map(begin, islice(blocks, 1)))
                    yield done
            finally:
                pool.shutdown(cancel_futures=True)

    def _blocks(self) -> Generator[Block]:
        yield from self._table.blocks(self._columns, self._size)

    def _encode(self, block: Block, encode: _Encode, people: People | None) -> _Encoded:
        columns = block.columns()
        arrays, keep = encode(columns)
        keys: Texts | None = None
        if people is not None and self.schema.person is not None:
            column = columns[self._columns.index(self.schema.person)]
            keys = as_keys(column)
            keep &= keys.starts != keys.ends
        given = arrays if keep.all() else [array[keep] for array in arrays]
        if people is None or keys is None:
            return _Encoded(given, None)
        return _Encoded(given, people.hashes(keys.data, keys.starts[keep], keys.ends[keep]))

    def _codes(self, columns: Sequence[Any]) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
        codes = [encoder.codes(columns[k]) for encoder, k in zip(self._encoders, self._places, strict=True)]
        given = [found.astype(encoder.dtype) for found, encoder in zip(codes, self._encoders, strict=True)]
        return given, _kept(codes)

    def _plain(self, columns: Sequence[Any]) -> tuple[list[NDArray[Any]], NDArray[np.bool_]]:
        plain: list[NDArray[Any]] = []
        codes: list[Codes] = []
        for encoder, reader, k in zip(self._encoders, self._readers, self._places, strict=True):
            values = encoder.values(columns[k])
            codes.append(encoder.assign(values))
            plain.append(reader.read(values, codes[-1]))
        return plain, _kept(codes)


def _kept(codes: Sequence[Codes]) -> NDArray[np.bool_]:
    """Rows that no attribute drops."""
    keep = np.ones(len(codes[0]), np.bool_)
    for column in codes:
        keep &= column >= 0
    return keep
