"""Delimited text files (.csv, .tsv, also gzipped) as blocks of whole rows.

The header is read when the source is opened; rows only during a pass.  A file that is declared to have no header is not
looked at before a pass.  No type is guessed: a field is text until an attribute reads it.  ``rows`` says what a row is
and which rows are malformed.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import SourceError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources import rows
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.files import DataFile, Guard, empty_file, shown
from hushtable.kernel.sources.rows import MAX_ROW, Delimiters
from hushtable.kernel.sources.text import Texts
from hushtable.schema import Dialect

_BOM = b"\xef\xbb\xbf"
_MARKS = re.compile(b"\\A(?:" + _BOM + b")+")


class ByteStream(Protocol):
    """A file open for reading."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        ...


@dataclass(frozen=True)
class TextBlock:
    """Whole rows of one file; splitting them is left to whoever calls ``columns``, once.

    ``part`` is the number of the file; ``skipped`` rows before these were longer than a row may be.
    """

    data: NDArray[np.uint8]
    marks: Delimiters
    slots: NDArray[np.int32]
    wanted: int
    part: int = 0
    skipped: int = 0

    def columns(self) -> list[Texts]:
        """The wanted columns, in the order asked for."""
        starts, ends = rows.split_rows(self.data, self.marks, self.slots, self.wanted)
        return [Texts(self.data, starts[k], ends[k]) for k in range(self.wanted)]


class TextFiles:
    """Several text files with the same wanted columns, possibly at different places."""

    block = 1 << 21
    """Bytes: twice the longest row."""

    def __init__(
        self, files: Sequence[DataFile], dialect: Dialect, positions: Sequence[str] | None = None
    ) -> None:
        """``positions`` are the names of the columns of files that have no header."""
        self.files = files
        self._dialect = dialect
        self._headless = positions is not None
        self.shown = shown(files)
        self.headers = [self._header(file, positions) for file in files]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[TextBlock]:
        """All rows, a few megabytes at a time."""
        for part, (file, known) in enumerate(zip(self.files, self.headers, strict=True)):
            header = known.names
            file.require_unchanged()
            marks = _marks(self._dialect, file, headless=self._headless)
            slots = np.full(len(header), -1, np.int32)
            wanted = list(dict.fromkeys(columns))
            for k, column in enumerate(wanted):
                slots[header.index(column)] = k
            with _open(file) as stream:
                reader = _RowReader(stream, marks)
                if not self._headless and self._names_in(reader.first(), marks) != header:
                    raise file.changed()
                for data in reader.blocks(size):
                    yield TextBlock(data, marks, slots, len(wanted), part, reader.take_skipped())
                if skipped := reader.take_skipped():
                    yield TextBlock(_array(b""), marks, slots, len(wanted), part, skipped)
            file.require_unchanged()

    def _header(self, file: DataFile, positions: Sequence[str] | None) -> Header:
        names = self._names(file) if positions is None else list(positions)
        return Header(file.shown, names, [pa.string()] * len(names))

    def _names_in(self, line: NDArray[np.uint8] | None, marks: Delimiters) -> list[str] | None:
        return _names(line, marks, self._dialect.encoding)

    def _names(self, file: DataFile) -> list[str]:
        marks = _marks(self._dialect, file)
        guard, first = Guard(file.shown), None
        with guard, _open(file) as stream:
            first = _RowReader(stream, marks).first()
        guard.raise_failure()
        if first is None and file.stamp[:1] == (0,):
            raise empty_file(file.shown)
        header = self._names_in(first, marks)
        if header is None:
            raise SourceError(
                "source.bad-header",
                f"The first line of {file.shown} is no header in the declared dialect.",
                "Check `csv` in the schema: delimiter, quote, encoding; `header: false` if the first line is a row.",
            )
        return header


class _RowReader:
    """Cuts a stream of bytes at the ends of rows."""

    def __init__(self, stream: ByteStream, marks: Delimiters) -> None:
        self._stream = stream
        self._marked = marks.marked
        self._skipped = 0
        self._rest = stream.read(len(_BOM))
        if marks.utf8 and self._rest == _BOM:
            self._rest = b""

    def first(self) -> NDArray[np.uint8] | None:
        """The first row, without its line break; None when there is none of a reasonable length."""
        data, ended = self._rest, False
        while len(data) <= 2 * MAX_ROW and not ended:
            chunk = self._stream.read(TextFiles.block)
            ended = not chunk
            data += chunk
            end = data.find(b"\n")
            if end >= 0 or ended:
                end = end if end >= 0 else len(data)
                self._rest = data[end + 1 :]
                line = data[:end].removesuffix(b"\r")
                return np.frombuffer(line, np.uint8).copy() if 0 < len(line) <= MAX_ROW else None
        return None

    def take_skipped(self) -> int:
        """How many rows have been left out since this was last asked, because they do not end."""
        taken, self._skipped = self._skipped, 0
        return taken

    def blocks(self, size: int) -> Iterator[NDArray[np.uint8]]:
        """Arrays of whole rows, each with its line break; rows longer than MAX_ROW may be left out."""
        skipping = False
        while True:
            chunk = self._stream.read(size)
            data = self._rest + chunk
            if skipping:
                end = data.find(b"\n")
                data = data[end + 1 :] if end >= 0 else b""
                skipping = end < 0
            if self._marked:  # or a row that is cut here would be longer than the same row elsewhere
                data = _MARKS.sub(b"", data, count=1)
            if not chunk:
                if data:
                    yield _array(data if data.endswith(b"\n") else data + b"\n")
                return
            cut = data.rfind(b"\n") + 1
            if cut:
                yield _array(data[:cut])
            self._rest = data[cut:]
            if self._rest[MAX_ROW:].strip(b"\r"):
                self._rest, skipping = b"", True
                self._skipped += 1
            self._rest = self._rest[: MAX_ROW + 1]  # what was beyond can only be part of a line break


def _marks(dialect: Dialect, file: DataFile, *, headless: bool = False) -> Delimiters:
    """Without a header any row may come first, so that none may be changed by a byte order mark before it."""
    delimiter = dialect.delimiter or ("\t" if file.tabbed else ",")
    quote = ord(dialect.quote) if dialect.quote else -1
    escape = ord(dialect.escape) if dialect.escape else quote
    utf8 = dialect.encoding == "utf-8"
    return Delimiters(ord(delimiter), quote, escape, utf8, marked=utf8 and headless)


def _names(line: NDArray[np.uint8] | None, marks: Delimiters, encoding: str) -> list[str] | None:
    """The fields of a header; None when it is malformed."""
    if line is None or not line.all():
        return None
    slots = np.arange(np.count_nonzero(line == marks.delimiter) + 1, dtype=np.int32)
    starts, ends = np.empty((len(slots), 1), np.int32), np.empty((len(slots), 1), np.int32)
    count = rows.split_row.py_func(
        line, 0, len(line), marks, slots, starts, ends, 0
    )  # too short to compile for
    fields = (line[starts[k, 0] : ends[k, 0]].tobytes() for k in range(count))
    try:
        return [field.decode(encoding) for field in fields] or None
    except UnicodeDecodeError:
        return None


def _open(file: DataFile) -> AbstractContextManager[ByteStream]:
    return gzip.open(file.path, "rb") if file.packed else file.path.open("rb")


def _array(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(bytearray(data), np.uint8)
