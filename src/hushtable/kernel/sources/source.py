"""A confidential table as a stream of integer codes.

Opening checks that the data exist and that header and column types fit the schema; a refusal depends on nothing else.
A pass then gives batches of codes: rows that the schema drops are left out, and at most k rows of each person are kept
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
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import SchemaError, SourceError
from hushtable.kernel.sources import files, typed
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.assign import Codes
from hushtable.kernel.sources.delimited import TextFiles, require_columns, require_distinct
from hushtable.kernel.sources.encode import CodeArray, Encoder
from hushtable.kernel.sources.frames import ArrowTable, PandasFrame, PolarsFrame, Table
from hushtable.kernel.sources.keys import as_keys, check_key_type
from hushtable.kernel.sources.parquet import ParquetFiles
from hushtable.kernel.sources.people import People, Words
from hushtable.kernel.sources.plain import PlainArray, PlainReader
from hushtable.kernel.sources.text import Texts
from hushtable.schema import Schema

BATCH = 1 << 18
_CHUNK = 1 << 16  # rows of a typed block: small enough to stay in the processor's cache


class Block(Protocol):
    """Some rows, not yet decoded."""

    def columns(self) -> Sequence[Any]:
        """The wanted columns as Texts or Arrow arrays; called once, from any thread."""
        ...


class Reader(Protocol):
    """Gives the rows of a table, block by block and in order."""

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[Block]:
        """All rows of these columns."""
        ...


@dataclass(frozen=True)
class _Encoded:
    arrays: list[NDArray[Any]]
    people: Words | None


_Encode = Callable[[Sequence[Any]], tuple[list[NDArray[Any]], NDArray[np.bool_]]]
"""From the columns of a block to one array per attribute, and which rows the schema keeps."""


class Source:
    """Rows of a table as codes; made by ``open_source``, and can be read any number of times."""

    def __init__(
        self,
        reader: Reader,
        schema: Schema,
        *,
        size: int,
        shown: str,
        needed: Sequence[str] | None,
        threads: int,
    ) -> None:
        self.schema = schema
        self._reader = reader
        self._size = size
        self._shown = shown
        self._threads = threads
        attributes = schema.attributes.values()
        self._encoders = [Encoder(attribute, schema.csv.encoding) for attribute in attributes]
        self._readers = [PlainReader(attribute) for attribute in attributes]
        self._given = schema.axes(schema.names if needed is None else needed)
        self._columns = list(schema.columns)
        self._places = [self._columns.index(a.column) for a in attributes]

    def batches(self, rows: int = BATCH) -> Iterator[list[CodeArray]]:
        """Batches of at most ``rows`` rows: one contiguous array of codes per needed attribute.

        The type of an array is the smallest unsigned one for the attribute's size.
        """
        yield from self._batches(self._codes, rows)

    def plain_batches(self, rows: int = BATCH) -> Iterator[list[PlainArray]]:
        """The same rows as plain values of every attribute, see ``PlainReader``."""
        yield from self._batches(self._plain, rows)

    def _batches(self, encode: _Encode, rows: int) -> Iterator[list[NDArray[Any]]]:
        person = self.schema.person
        people = None if person is None else People(self.schema.max_rows_per_person)
        guard = files.Guard(self._shown)
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
        yield from self._reader.blocks(self._columns, self._size)

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
        given = [codes[k].astype(self._encoders[k].dtype) for k in self._given]
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


def open_source(
    data: Any, schema: Schema, *, columns_needed: Sequence[str] | None = None, threads: int | None = None
) -> Source:
    """Opens a path, a glob, a list of paths, an Arrow table, or a polars or pandas frame.

    ``columns_needed`` names the attributes whose codes are given; all attributes are read all the same, because any of
    them can drop a row.
    """
    schema.csv.require_lines()
    threads = threads or min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2, 4)
    shown = "the data"
    if isinstance(data, str | Path) or is_path_list(data):
        kind, found = files.find(data)
        shown = found[0].shown if len(found) == 1 else "the files"
        if kind == "text":
            reader = TextFiles(found, schema.csv, schema.positions)
            reader.check(schema.columns)
            return Source(reader, schema, size=1 << 21, shown=shown, needed=columns_needed, threads=threads)
        table: Table = ParquetFiles(found)
    else:
        table = as_table(data)
    _check_parts(table, schema)
    return Source(table, schema, size=_CHUNK, shown=shown, needed=columns_needed, threads=threads)


def _check_parts(table: Table, schema: Schema) -> None:
    kinds: set[str] = set()
    for part in table.parts:
        require_distinct(part.names, part.shown)
        require_columns(schema.columns, part.names, part.shown)
        for attribute in schema.attributes.values():
            typed.check_type(attribute, part.type_of(attribute.column))
        if schema.person is not None:
            rounded = part.rounded.get(schema.person)
            kinds.add(check_key_type(schema.person, part.type_of(schema.person), rounded))
    kinds.discard("null")  # a column without values agrees with any other
    if len(kinds) > 1:
        raise SchemaError(
            "source.person-types",
            f"The person column {schema.person!r} has different types in different files: {', '.join(sorted(kinds))}.",
            "Convert it to one type, so that a person is recognised in all of them.",
        )


def is_path_list(data: Any) -> bool:
    """Whether the data are several files."""
    items: Any = data
    return isinstance(data, list | tuple) and all(isinstance(item, str | Path) for item in items)


def as_table(data: Any) -> Table:
    """A table with typed columns; chooses by the class's name, so that polars and pandas need not be installed."""
    if isinstance(data, pa.Table):
        return ArrowTable(data)
    if isinstance(data, pa.RecordBatch):
        return ArrowTable(pa.Table.from_batches([data]))
    module, name = type(data).__module__.partition(".")[0], type(data).__name__
    if module == "polars" and name in ("DataFrame", "LazyFrame"):
        return PolarsFrame(data, lazy=name == "LazyFrame")
    if module == "pandas" and name == "DataFrame":
        return PandasFrame(data)
    raise SourceError(
        "source.unknown-kind",
        f"Data of type {type(data).__name__} cannot be read.",
        "Give a path, a glob, a list of paths, an Arrow table, or a polars or pandas frame.",
    )
