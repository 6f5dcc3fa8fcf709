"""Parquet files as Arrow record batches: what the file holds, and nothing that its path says.

A footer is read when a source is opened; rows only during a pass, page by page, so that memory does not grow with the
file or its row groups.  Folder names such as ``sex=F`` are never values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.arrow import pa, pq
from hushtable.kernel.sources.files import PARQUET, DataFile, shown
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, described
from hushtable.schema import Schema

_BUFFER = 1 << 20
"""Bytes of a column that are read at a time: bounds memory by columns and not by row groups.  Not tuned."""
_SMALL_DICTIONARY = 1 << 16
"""Bytes of a dictionary page up to which text is decoded once per dictionary entry and not once per row: a third less
time for categories.  A dictionary of identifiers would be decoded again for every batch: four times the time and a
gigabyte more for 5 million rows."""


class ParquetFiles:
    """Several Parquet files with the same wanted columns, possibly at different places."""

    block = TYPED_ROWS

    def __init__(self, files: Sequence[DataFile]) -> None:
        self._files = files
        self.shown = shown(files)
        self.headers = [described(file.shown, lambda file=file: _footer(file)) for file in files]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of the named columns, at most ``size`` at a time, in file order."""
        for file, header in zip(self._files, self.headers, strict=True):
            file.require_unchanged()
            found = _open(file)
            if found.schema_arrow.names != header.names or found.schema_arrow.types != header.types:
                raise file.changed()
            places = _leaves(found, columns)
            coded = [name for name, place in places.items() if _is_coded(found, name, place)]
            for batch in _batches(_open(file, coded), sorted(places.values()), size):
                yield ArrowBlock([batch.column(name) for name in columns])
            file.require_unchanged()


class ParquetOpener(TableOpener):
    """Parquet files."""

    name = "parquet"
    what = "a path, a glob or a list of paths"
    suffixes = PARQUET

    def table(self, data: Sequence[DataFile], schema: Schema | None) -> ParquetFiles:
        return ParquetFiles(data)


def _footer(file: DataFile) -> Header:
    """Names and types of a file's columns; INT96 has nanoseconds, and is read in microseconds."""
    found = _open(file)
    leaves = [found.metadata.schema.column(k) for k in range(found.metadata.num_columns)]
    rounded = {leaf.path: "INT96" for leaf in leaves if leaf.physical_type == "INT96"}
    return Header(file.shown, list(found.schema_arrow.names), list(found.schema_arrow.types), rounded)


def _open(file: DataFile, coded: Sequence[str] = ()) -> Any:
    """``coded`` columns come as dictionaries.  A local file whatever its name looks like, read as it is needed."""
    return pq.ParquetFile(
        pa.OSFile(str(file.path)),
        read_dictionary=list(coded),
        buffer_size=_BUFFER,
        pre_buffer=False,
        coerce_int96_timestamp_unit="us",  # nanoseconds would wrap around outside of 1677 to 2262
    )


def _batches(found: Any, places: list[int], size: int) -> Iterator[Any]:
    groups = range(found.metadata.num_row_groups)
    yield from found.reader.iter_batches(size, row_groups=groups, column_indices=places, use_threads=False)


def _leaves(found: Any, columns: Sequence[str]) -> dict[str, int]:
    """Place of each column among the file's leaves; a name with a point is not a path into a nested column."""
    places = {path[0]: i for i, path in enumerate(found.reader.column_paths) if len(path) == 1}
    return {name: places[name] for name in columns}


def _is_coded(found: Any, name: str, place: int) -> bool:
    """Whether a column of text is read as a dictionary: it is made of small ones, or was one when it was written.

    Arrow would give the latter the width of its indices back, and refuse the column for one text that is no UTF-8.
    """
    if found.metadata.schema.column(place).physical_type != "BYTE_ARRAY":
        return False
    return pa.types.is_dictionary(found.schema_arrow.field(name).type) or _has_small_dictionaries(
        found, place
    )


def _has_small_dictionaries(found: Any, place: int) -> bool:
    """Whether a column is made of dictionaries with few entries."""
    for group in range(found.metadata.num_row_groups):
        chunk = found.metadata.row_group(group).column(place)
        if not chunk.has_dictionary_page:
            return False
        if not 0 <= chunk.data_page_offset - chunk.dictionary_page_offset <= _SMALL_DICTIONARY:
            return False
    return True
