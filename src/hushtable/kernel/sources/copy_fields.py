"""Fields of PostgreSQL's binary COPY: where they are, and what they hold; plain loops, compiled.

Each row is a number of fields, followed by the size and the bytes of each (size -1 for a null); a row of -1 fields ends
the stream.  Numbers are big-endian.  Nothing here knows attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.rows import Octets

_POINT, _MINUS, _ZERO = 46, 45, 48
_NEGATIVE = 0x4000
_STRANGE, _INFINITE, _BELOW_ALL = 0xC000, 0xD000, 0xF000
"""What stands where a numeric has its sign: below 0, NaN, infinity and its negative."""

FieldPlaces = NDArray[np.int32]


@njit(cache=True, nogil=True)
def _unsigned(data: Octets, at: Any, size: int) -> Any:
    """The number that some bytes are; ``at`` is unsigned, which needs no look at its sign."""
    word = np.uint64(0)
    for k in range(size):
        word = (word << np.uint64(8)) | np.uint64(data[at + np.uint64(k)])
    return word


@njit(cache=True, nogil=True)
def _short(data: Octets, at: int) -> Any:
    return np.int64(np.int16(_unsigned(data, np.uint64(at), 2)))


@njit(cache=True, nogil=True)
def split(data: Octets, start: int, end: int, starts: FieldPlaces, sizes: FieldPlaces) -> tuple[int, int]:
    """The rows between two places that are there as a whole, and the place after them; -1 rows for what is none.

    Fields go into a row of ``starts`` and ``sizes`` per column.
    """
    columns, most = starts.shape
    rows, at = 0, start
    while rows < most and at + 2 <= end:
        fields = _short(data, at)
        if fields != columns:
            return (rows, at) if fields == -1 else (-1, at)
        place = at + 2
        for column in range(columns):
            size: Any = np.int32(_unsigned(data, np.uint64(place), 4)) if place + 4 <= end else np.int32(end)
            if size < -1:
                return -1, at
            place += 4
            starts[np.uint64(column), np.uint64(rows)] = place
            sizes[np.uint64(column), np.uint64(rows)] = size
            place += max(size, 0)
        if place > end:
            break
        at = place
        rows += 1
    return rows, at


@njit(cache=True, nogil=True)
def _read_eight(data: Octets, starts: FieldPlaces, sizes: FieldPlaces, numbers: Ints) -> bool:
    """Whole numbers of eight bytes, 0 for nulls; False where one has another size."""
    wrong = False
    for row in range(starts.size):
        wrong |= sizes[row] != 8 and sizes[row] != -1
        numbers[row] = np.int64(_unsigned(data, np.uint64(starts[row]), 8)) if sizes[row] == 8 else 0
    return not wrong


@njit(cache=True, nogil=True)
def _read_whole(data: Octets, starts: FieldPlaces, sizes: FieldPlaces, width: int, numbers: Ints) -> bool:
    """The same of fewer bytes."""
    unused = 64 - 8 * width
    wrong = False
    for row in range(starts.size):
        wrong |= sizes[row] != width and sizes[row] != -1
        word = _unsigned(data, np.uint64(starts[row]), width) if sizes[row] == width else np.uint64(0)
        numbers[row] = np.int64(word << np.uint64(unused)) >> unused
    return not wrong


@njit(cache=True, nogil=True)
def _copy(data: Octets, starts: FieldPlaces, sizes: FieldPlaces, ends: Ints, out: Octets) -> None:
    """Fields one after another; ``ends`` has one more than there are fields."""
    at = ends[0] = 0
    for row in range(starts.size):
        for k in range(sizes[row]):
            out[at + k] = data[starts[row] + k]
        at += max(sizes[row], 0)
        ends[row + 1] = at


@njit(cache=True, nogil=True)
def _digit(data: Octets, start: int, place: int) -> int:
    """The decimal digit of a numeric at a power of ten; four of them are one of its own."""
    group = _short(data, start + 2) - place // 4
    if group < 0 or group >= _short(data, start):
        return 0
    number = _short(data, start + 8 + 2 * group)
    for _ in range(place % 4):
        number //= 10
    return number % 10


@njit(cache=True, nogil=True)
def _numeric_room(data: Octets, starts: FieldPlaces, sizes: FieldPlaces) -> int:
    """Bytes that suffice for all numerics as text; -1 where one is none."""
    room = 0
    for row in range(starts.size):
        if sizes[row] >= 0:
            if sizes[row] < 8 or sizes[row] != 8 + 2 * _short(data, starts[row]):
                return -1
            before = 4 * max(_short(data, starts[row] + 2) + 1, 1)
            room += max(before + _short(data, starts[row] + 6) + 2, 9)
    return room


@njit(cache=True, nogil=True)
def _write_numerics(data: Octets, starts: FieldPlaces, sizes: FieldPlaces, ends: Ints, out: Octets) -> None:
    """Numerics as the text that the server would write, one after another."""
    at = ends[0] = 0
    for row in range(starts.size):
        start = starts[row]
        if sizes[row] >= 0:
            sign = _short(data, start + 4) & 0xFFFF
            scale = _short(data, start + 6)
            if sign in (_NEGATIVE, _BELOW_ALL):
                out[at] = _MINUS
                at += 1
            if sign >= _STRANGE:
                names = b"NaNInfinity"
                for k in range(3, 11) if sign >= _INFINITE else range(3):
                    out[at] = names[k]
                    at += 1
            else:
                place = max(4 * _short(data, start + 2) + 3, 0)
                while place > 0 and _digit(data, start, place) == 0:
                    place -= 1
                while place >= -scale:
                    if place == -1:
                        out[at] = _POINT
                        at += 1
                    out[at] = _ZERO + _digit(data, start, place)
                    at += 1
                    place -= 1
        ends[row + 1] = at


@dataclass(frozen=True)
class CopyFields:
    """The fields of one column: ``data[starts[row]:][:sizes[row]]``, of size -1 for a null."""

    data: Octets
    starts: FieldPlaces
    sizes: FieldPlaces

    def array(self, arrow: Any, *values: NDArray[Any]) -> Any:
        """An Arrow array of these values, with nulls where fields are."""
        present = self.sizes >= 0
        nulls = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        return pa.Array.from_buffers(arrow, len(self.sizes), [nulls, *map(pa.py_buffer, values)])

    def whole(self, width: int) -> Ints:
        """Whole numbers of this many bytes, 0 for nulls."""
        numbers = np.empty(len(self.starts), np.int64)
        given = self.data, self.starts, self.sizes
        if not (_read_eight(*given, numbers) if width == 8 else _read_whole(*given, width, numbers)):
            raise ValueError("A field has not the size of its type.")
        return numbers

    def packed(self) -> tuple[Ints, Octets]:
        """All fields one after another, and the places between them."""
        ends = np.empty(len(self.starts) + 1, np.int64)
        out = np.empty(np.maximum(self.sizes, 0).sum(dtype=np.int64), np.uint8)
        _copy(self.data, self.starts, self.sizes, ends, out)
        return ends, out

    def decimals(self) -> tuple[Ints, Octets]:
        """Numerics as text."""
        room = _numeric_room(self.data, self.starts, self.sizes)
        if room < 0:
            raise ValueError("A field is no numeric.")
        ends, out = np.empty(len(self.starts) + 1, np.int64), np.empty(room, np.uint8)
        _write_numerics(self.data, self.starts, self.sizes, ends, out)
        return ends, out
