"""Parquet files that strangers wrote: looked over before anything is decoded, so that a small file cannot fill memory.

A column may repeat one value two thousand million times in a few bytes, and what a file says of itself in its footer
need not be true.  So the header of every page is read first: encodings are those that we write, values and bytes add
up to what the footer says, and the footer to what the caller expects.  Only then does Arrow decode.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.arrays import Floats
from hushtable.errors import BundleError
from hushtable.release.bundle_files import UNREADABLE, Damaged, damaged, require

MOST_FOOTER = 4 * 2**20
MOST_HEADER = 2**20
"""Bytes of a footer and of the header of a page, far above what our files have: what is larger is damaged or
hostile."""
SPARE = 64 * 2**20
"""Bytes that every file may decompress to, however few values it is said to hold."""

LARGEST_NUMBER = 1e100
"""No count, error or amount of noise comes near it."""

_DICTIONARY, _DATA, _DATA_2 = 2, 0, 3
_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY = 0, 2, 3, 8
_ENCODINGS = frozenset({_PLAIN, _PLAIN_DICTIONARY, _RLE, _RLE_DICTIONARY})
_PAGES = {_DATA: (5, 2), _DICTIONARY: (7, 2), _DATA_2: (8, 4)}
"""By the type of a page: the field that holds its header, and the field of the encoding in that."""


@contextmanager
def refusing_damage(place: Path) -> Generator[None]:
    """Whatever goes wrong inside is damage of the bundle."""
    try:
        yield
    except BundleError:
        raise
    except (*UNREADABLE, pa.ArrowException):
        raise damaged(place) from None


@dataclass(frozen=True)
class Leaf:
    """The physical type of a leaf column, and whether it lies in a list."""

    kind: str
    listed: bool = False


FLAT = (Leaf("BYTE_ARRAY"), Leaf("INT64"), Leaf("INT32"), Leaf("DOUBLE"), Leaf("BOOLEAN"))
"""What a column may be of which None is expected: one plain value per row."""


class ParquetPart:
    """An open Parquet file with all ``expected`` columns and perhaps ``optional`` ones, and no others."""

    def __init__(
        self,
        file: BinaryIO,
        expected: Mapping[str, Leaf | None],
        optional: Mapping[str, Leaf | None] | None = None,
    ) -> None:
        self._file = file
        self._length, self._groups = _footer(file)
        self._opened = pq.ParquetFile(file, memory_map=False)
        self._columns = _columns(self._opened.metadata)
        known = {**(optional or {}), **expected}
        require(expected.keys() <= self._columns.keys() <= known.keys(), "columns")
        for path, (_, column) in self._columns.items():
            require(column in (FLAT if known[path] is None else (known[path],)), "columns")

    @property
    def rows(self) -> int:
        """Rows as the footer says."""
        return int(self._opened.metadata.num_rows)

    @property
    def metadata(self) -> Mapping[bytes, bytes]:
        """Key-value metadata of the file."""
        return self._opened.metadata.metadata or {}

    def values(self, path: str) -> int:
        """Values of a leaf column as the footer says."""
        place = self._columns[path][0]
        return sum(group.chunks[place].values for group in self._groups)

    def read(self, paths: Sequence[str], *, most_bytes: int) -> pa.Table:
        """Some leaf columns as one table; texts stay dictionaries.  Their pages may hold ``most_bytes`` in all."""
        self._check_pages(paths, most_bytes + SPARE)
        texts = [path for path in paths if self._columns[path][1].kind == "BYTE_ARRAY"]
        self._file.seek(0)
        opened = pq.ParquetFile(self._file, memory_map=False, read_dictionary=texts)
        table = opened.read(columns=list(paths), use_threads=False)
        require(table.num_rows == self.rows, "rows")
        return table

    def _check_pages(self, paths: Sequence[str], most_bytes: int) -> None:
        bytes_left = most_bytes
        for group in self._groups:
            for path in paths:
                place, column = self._columns[path]
                chunk = group.chunks[place]
                require(column.listed or chunk.values == group.rows, "values")
                bytes_left -= self._check_chunk(chunk)
                require(bytes_left >= 0, "bytes")
        require(sum(group.rows for group in self._groups) == self.rows, "rows")

    def _check_chunk(self, chunk: _Chunk) -> int:
        """Bytes that the pages of a column chunk decompress to."""
        at, end = chunk.start, chunk.start + chunk.length
        require(at >= 4 and end <= self._length, "offsets")
        values = size = 0
        while at < end:
            page = _page(self._file, at, end)
            at, values, size = at + page.length, values + page.values, size + page.size
            require(at <= end, "pages")
        require(values == chunk.values, "values")
        return size


def text_column(column: pa.ChunkedArray, longest: int) -> pa.ChunkedArray:
    """Texts as plain strings, when none is longer than ``longest`` letters; other columns as they are."""
    if not pa.types.is_dictionary(column.type):
        return column
    for chunk in column.chunks:
        chunk.validate(full=True)
        chunk.dictionary.validate(full=True)
        require(all(len(text) <= longest for text in chunk.dictionary.drop_null().to_pylist()), "text")
    return column.cast(pa.string())


def float_column(column: pa.ChunkedArray, *, nulls: bool = False) -> Floats:
    """Doubles that can be squared; a missing one is nan, if there may be any."""
    require(pa.types.is_float64(column.type) and (nulls or not column.null_count), "numbers")
    found = column.to_numpy()
    require(not (np.abs(found) > LARGEST_NUMBER).any(), "numbers")
    return found


def finite_column(column: pa.ChunkedArray) -> Floats:
    """Doubles that are all finite."""
    found = float_column(column)
    require(not np.isnan(found).any(), "numbers")
    return found


class _Page(NamedTuple):
    """Bytes in the file with the header, bytes after decompression, and values: 0 for a dictionary."""

    length: int
    size: int
    values: int


class _Chunk(NamedTuple):
    values: int
    start: int
    length: int


class _Group(NamedTuple):
    rows: int
    chunks: list[_Chunk]


def _footer(file: BinaryIO) -> tuple[int, list[_Group]]:
    """Length of the file, and its row groups; read here, because Arrow's accessors end the process on some damage."""
    length = file.seek(0, 2)
    require(length >= 12, "length")
    file.seek(length - 8)
    size = int.from_bytes(file.read(4), "little")
    require(size <= min(MOST_FOOTER, length - 12), "footer")
    file.seek(length - 8 - size)
    fields, _ = _struct(file.read(size), 0, 0)
    file.seek(0)
    return length, [_Group(group[3], [_chunk(column[3]) for column in group[1]]) for group in fields[4]]


def _chunk(fields: dict[int, Any]) -> _Chunk:
    """Of a column's metadata: values, where its pages begin and how long they are."""
    chunk = _Chunk(fields[5], min(fields[9], fields.get(11, fields[9])), fields[7])
    require(min(chunk) >= 0, "chunk")
    return chunk


def _columns(meta: Any) -> dict[str, tuple[int, Leaf]]:
    found: dict[str, tuple[int, Leaf]] = {}
    for k in range(meta.num_columns):
        leaf = meta.schema.column(k)
        require(leaf.path not in found and leaf.max_repetition_level <= 1, "columns")
        found[leaf.path] = (k, Leaf(leaf.physical_type, leaf.max_repetition_level == 1))
    return found


def _page(file: BinaryIO, at: int, end: int) -> _Page:
    """The header of the page that begins at ``at``."""
    for length in (512, MOST_HEADER):
        file.seek(at)
        data = file.read(min(length, end - at))
        try:
            fields, size = _struct(data, 0, 0)
            break
        except IndexError:
            continue
    else:
        raise Damaged("header")
    kind: Any = fields.get(1)
    require(kind in _PAGES, "header")
    place, encoding = _PAGES[kind]
    require(type(fields.get(place)) is dict, "header")
    header: dict[int, Any] = fields[place]
    require(header.get(encoding) in _ENCODINGS, "header")
    numbers: list[Any] = [fields.get(2), fields.get(3), header.get(1)]
    require(all(isinstance(number, int) and number >= 0 for number in numbers), "header")
    plain, packed, values = numbers
    require(kind != _DICTIONARY or values <= plain, "dictionary")
    return _Page(size + packed, size + plain, 0 if kind == _DICTIONARY else values)


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """A struct of Thrift's compact protocol: fields by number, and where it ends.

    An IndexError means that it goes on beyond ``data``.  Texts are passed over.
    """
    require(depth <= 8, "depth")
    fields: dict[int, Any] = {}
    number = 0
    while (lead := data[at]) != 0:
        at += 1
        step, kind = lead >> 4, lead & 15
        if step == 0:
            number, at = _zigzag(data, at)
        number += step
        fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _zigzag(data, at)
    if kind == 7:
        return None, _inside(data, at + 8)
    if kind == 8:
        length, at = _varint(data, at)
        return None, _inside(data, at + length)
    if kind in (9, 10):
        return _list(data, at, depth + 1)
    if kind == 12:
        return _struct(data, at, depth + 1)
    raise Damaged("field")


def _list(data: bytes, at: int, depth: int) -> tuple[list[Any], int]:
    count, kind = data[at] >> 4, data[at] & 15
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    require(count <= len(data) and depth <= 8, "list")
    found: list[Any] = []
    for _ in range(count):
        value, at = _value(data, at, 3 if kind in (1, 2) else kind, depth)
        found.append(value)
    return found, at


def _inside(data: bytes, at: int) -> int:
    if at >= len(data):
        raise IndexError
    return at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        require(shift <= 63, "number")


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at
