"""What a COPY of PostgreSQL gives, as blocks of rows: the stream is cut where rows end, and its end is made sure of."""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushtable.kernel.sources.copy_fields import CopyFields, FieldPlaces, split
from hushtable.kernel.sources.copy_types import CopyReader
from hushtable.kernel.sources.libpq import FULL, WAIT, rows_of
from hushtable.kernel.sources.rows import Octets

_SIGNATURE = b"PGCOPY\n\xff\r\n\0" + bytes(8)
"""Of the only version, without flags and extensions."""
_LAST = b"\xff\xff"
_COMMAND_OK, _COPY_OUT, _SQLSTATE = 1, 3, ord("C")
"""libpq's numbers of what an answer is, and of a part of it."""
_BYTES = 1 << 22
"""Of rows that are fetched together, unless a single one is larger: about as many as a block of files has.  Half of it
took a twentieth more time, twice as much no less; memory is a few times this."""


class CopyError(Exception):
    """The server did not send all rows, or what came is no COPY; without its message, which may quote a row."""

    def __init__(self, sqlstate: str | None = None) -> None:
        super().__init__()
        self.sqlstate = sqlstate


@dataclass(frozen=True)
class CopyBlock:
    """Some rows, whose fields have been found and not been read."""

    data: Octets
    starts: FieldPlaces
    sizes: FieldPlaces
    readers: Sequence[CopyReader]

    def columns(self) -> list[Any]:
        """The columns as Arrow arrays."""
        places = zip(self.readers, self.starts, self.sizes, strict=True)
        return [read(CopyFields(self.data, starts, sizes)) for read, starts, sizes in places]


class CopyStream:
    """The rows of a table or query over a connection of psycopg, which can do nothing else meanwhile."""

    def __init__(self, link: Any, copied: str) -> None:
        self._link = link.pgconn
        self._expect(_COPY_OUT, self._link.exec_(f"COPY {copied} TO STDOUT (FORMAT BINARY)".encode()))
        self._rows = rows_of(self._link)

    def blocks(self, readers: Sequence[CopyReader], size: int) -> Iterator[CopyBlock]:
        """All rows, at most ``size`` at a time."""
        data, filled, start, ended = np.empty(_BYTES, np.uint8), 0, len(_SIGNATURE), False
        while not ended:
            filled, ended = self._filled(data, filled)
            begun = filled >= start or ended
            if start and begun and data[:start].tobytes() != _SIGNATURE:
                raise CopyError
            rows, at = (size, start) if begun else (0, 0)
            while rows == size:
                starts, sizes = np.empty((2, len(readers), size), np.int32)
                rows, at = split(data, at, filled, starts, sizes)
                if rows < 0:
                    raise CopyError
                if rows:
                    yield CopyBlock(data, starts[:, :rows], sizes[:, :rows], readers)
            rest = data[at:filled]
            data = np.empty(max(_BYTES, len(rest)) if at > start else 2 * len(data), np.uint8)
            data[: len(rest)] = rest
            filled, start = len(rest), 0 if begun else start
        if data[:filled].tobytes() != _LAST:
            raise CopyError

    def _filled(self, out: Octets, filled: int) -> tuple[int, bool]:
        """Where the rows in ``out`` end when it is full, and whether they are the last; waits for them."""
        why = WAIT
        while why == WAIT:
            filled, why = self._rows.fill(out, filled)
            if why == WAIT:
                select.select([self._link.socket], [], [])
                self._link.consume_input()
        if why != FULL:
            self._expect(_COMMAND_OK, self._link.get_result())
            self._link.get_result()  # None, after which it can be used again
        return filled, why != FULL

    def _expect(self, status: int, result: Any) -> None:
        """Refuse another answer."""
        if result is None or result.status != status:
            state = None if result is None else result.error_field(_SQLSTATE)
            raise CopyError(None if state is None else state.decode())
