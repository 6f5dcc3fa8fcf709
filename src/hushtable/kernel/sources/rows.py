"""Splits a block of delimited text into rows and fields; plain loops, compiled.

A row is a line, and nothing in one line can change how another is read.  A row is malformed, and left out, when it

* has another number of fields than the header,
* has a quoted field that is not closed, or text after the closing quote,
* is not valid in the declared encoding, contains a NUL byte, or is longer than ``MAX_ROW`` bytes.

Carriage returns before a line break, or at the end of the file, belong to it, so that the last row reads as it would
anywhere else.  Empty lines are skipped.  A quote inside an unquoted field is an ordinary character.  Nothing here
raises on data and nothing knows attributes: the result is where each wanted field starts and ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import njit

MAX_ROW = 1 << 20
"""Bytes of a row, a limit of the documented dialect (docs/reference/schema.md).  It bounds what is kept of a row whose
end has not come; with less, long rows that are read today would be malformed."""
_NEWLINE = 10
_RETURN = 13

Octets = NDArray[np.uint8]
Positions = NDArray[np.int32] | NDArray[np.int64]


class Delimiters(NamedTuple):
    """The dialect as byte values; ``quote`` is -1 where there is none.

    ``marked`` says that byte order marks at the start of any row are no part of it.
    """

    delimiter: int
    quote: int
    escape: int
    utf8: bool
    marked: bool = False


@njit(cache=True, nogil=True)
def _escapable(c: int, marks: Delimiters) -> bool:
    return c == marks.quote or c == marks.escape


@njit(cache=True, nogil=True)
def valid_utf8(data: Octets, start: int, stop: int) -> bool:
    """Whether data[start:stop] is UTF-8: shortest forms only, no surrogates, at most U+10FFFF."""
    i = start
    while i < stop:
        c = data[i]
        if c < 0x80:
            i += 1
            continue
        low, high = 0x80, 0xBF
        if 0xC2 <= c <= 0xDF:
            more = 1
        elif 0xE0 <= c <= 0xEF:
            more = 2
            if c == 0xE0:
                low = 0xA0
            elif c == 0xED:
                high = 0x9F
        elif 0xF0 <= c <= 0xF4:
            more = 3
            if c == 0xF0:
                low = 0x90
            elif c == 0xF4:
                high = 0x8F
        else:
            return False
        if i + more >= stop:
            return False
        if data[i + 1] < low or data[i + 1] > high:
            return False
        for k in range(2, more + 1):
            if data[i + k] < 0x80 or data[i + k] > 0xBF:
                return False
        i += more + 1
    return True


@njit(cache=True, nogil=True)
def well_encoded(data: Octets, start: int, stop: int, utf8: bool) -> bool:
    """Whether a row can be text in the declared encoding."""
    seen = np.uint8(0)
    nul = False
    for i in range(start, stop):
        seen |= data[i]
        nul |= data[i] == 0
    return not nul and (bool(seen < 0x80) or not utf8 or valid_utf8(data, start, stop))


@njit(cache=True, nogil=True)
def _quoted_field(data: Octets, start: int, stop: int, marks: Delimiters) -> tuple[int, int]:
    """(end of the text, index after the closing quote) of the field after its opening quote; (-1, -1) if malformed.

    Escapes are removed in place, so the text is data[start:end].
    """
    i = start
    while i < stop and data[i] != marks.quote and data[i] != marks.escape:
        i += 1
    write = i
    while i < stop:
        c = data[i]
        if c == marks.escape and i + 1 < stop and _escapable(data[i + 1], marks):
            data[write] = data[i + 1]
            write += 1
            i += 2
            continue
        if c == marks.quote:
            if i + 1 == stop or data[i + 1] == marks.delimiter:
                return write, i + 1
            return -1, -1
        data[write] = c
        write += 1
        i += 1
    return -1, -1


@njit(cache=True, nogil=True)
def split_row(
    data: Octets,
    start: int,
    stop: int,
    marks: Delimiters,
    slots: Positions,
    starts: Positions,
    ends: Positions,
    row: int,
) -> int:
    """Writes the fields that have a slot; gives the number of fields, or -1 when the row is malformed."""
    field = 0
    i = start
    while True:
        if i < stop and data[i] == marks.quote:
            first = i + 1
            last, i = _quoted_field(data, first, stop, marks)
            if i < 0:
                return -1
        else:
            first = i
            while i < stop and data[i] != marks.delimiter:
                i += 1
            last = i
        if field < slots.size and slots[field] >= 0:
            starts[slots[field], row] = first
            ends[slots[field], row] = last
        field += 1
        if i >= stop:
            return field
        i += 1


@njit(cache=True, nogil=True)
def _after_marks(data: Octets, start: int, stop: int) -> int:
    while stop - start >= 3 and data[start] == 0xEF and data[start + 1] == 0xBB and data[start + 2] == 0xBF:
        start += 3
    return start


@njit(cache=True, nogil=True)
def _split_rows(
    data: Octets,
    breaks: Positions,
    marks: Delimiters,
    clean: bool,
    slots: Positions,
    starts: Positions,
    ends: Positions,
) -> int:
    rows = 0
    start = 0
    for k in range(breaks.size):
        last = breaks[k]
        while last > start and data[last - 1] == _RETURN:
            last -= 1
        if marks.marked:
            start = _after_marks(data, start, last)
        if (
            start < last <= start + MAX_ROW
            and (clean or well_encoded(data, start, last, marks.utf8))
            and split_row(data, start, last, marks, slots, starts, ends, rows) == slots.size
        ):
            rows += 1
        start = breaks[k] + 1
    return rows


def split_rows(data: Octets, marks: Delimiters, slots: Positions, wanted: int) -> tuple[Positions, Positions]:
    """Where each wanted field (a row of the results) of each well-formed row (a column of them) starts and ends.

    ``data`` holds whole rows, each with its line break.  ``slots[c]`` is the place of the c-th column of the header
    among the wanted ones, or -1.
    """
    breaks = np.flatnonzero(data == _NEWLINE)
    clean = data.size > 0 and bool(data.min() > 0) and bool(data.max() < 0x80)
    starts = np.empty((wanted, breaks.size), np.int32)
    ends = np.empty((wanted, breaks.size), np.int32)
    count = _split_rows(data, breaks, marks, clean, slots, starts, ends)
    return starts[:, :count], ends[:, :count]
