"""Reads fields of text as categories, whole numbers, numbers and days; plain loops, compiled.

A field is data[start:end].  Each reader fills a value and a state per field: VALUE, NULL (an empty field) or OTHER
(text that is not of the kind).  A field is read by itself: no other field and no statistic of the column matters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.kernel.sources.rows import Octets, Positions

VALUE, NULL, OTHER = 0, 1, 2
HUGE = 1 << 62  # stands for every whole number at or beyond it

States = NDArray[np.uint8]

_PRIME = np.uint64(0x9E3779B97F4A7C15)
_PLUS, _MINUS, _POINT, _COLON = 43, 45, 46, 58
_ZERO, _NINE = 48, 57


@njit(cache=True, nogil=True)
def _folded(c: Any, fold: bool) -> Any:
    return c + 32 if fold and 65 <= c <= 90 else c


@njit(cache=True, nogil=True)
def text_hash(data: Octets, start: int, end: int, fold: bool) -> Any:
    """Any hash will do: a match is confirmed byte by byte."""
    h = np.uint64(end - start)
    for i in range(start, end):
        h = (h ^ np.uint64(_folded(data[i], fold))) * _PRIME
        h ^= h >> np.uint64(29)
    return h


class Known(NamedTuple):
    """Known texts, and a hash table of entry numbers over them (see ``fill_table``)."""

    table: Positions
    data: Octets
    starts: Positions
    ends: Positions


@njit(cache=True, nogil=True)
def fill_table(table: Positions, data: Octets, starts: Positions, ends: Positions) -> None:
    """Open addressing; ``table`` (a power of two long, at most half full) holds entry numbers, -1 for free."""
    mask = np.uint64(table.size - 1)
    for entry in range(starts.size):
        slot = text_hash(data, starts[entry], ends[entry], False) & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = entry


@njit(cache=True, nogil=True)
def match_texts(
    data: Octets, starts: Positions, ends: Positions, fold: bool, known: Known, values: Ints, states: States
) -> None:
    """Entry number of each field among the known texts; ``fold`` ignores the case of ASCII letters."""
    table, texts, firsts, lasts = known
    mask = np.uint64(table.size - 1)
    for row in range(starts.size):
        start, end = starts[row], ends[row]
        values[row] = 0
        if start == end:
            states[row] = NULL
            continue
        states[row] = OTHER
        slot = text_hash(data, start, end, fold) & mask
        while table[slot] >= 0:
            entry = table[slot]
            first = firsts[entry]
            if lasts[entry] - first == end - start:
                k = 0
                while k < end - start and _folded(data[start + k], fold) == texts[first + k]:
                    k += 1
                if k == end - start:
                    values[row] = entry
                    states[row] = VALUE
                    break
            slot = (slot + np.uint64(1)) & mask


@njit(cache=True, nogil=True)
def read_integers(data: Octets, starts: Positions, ends: Positions, values: Ints, states: States) -> None:
    """Optional sign, digits, and possibly a point with nothing but zeros after it; saturates at HUGE."""
    for row in range(starts.size):
        i, end = starts[row], ends[row]
        values[row] = 0
        if i == end:
            states[row] = NULL
            continue
        states[row] = OTHER
        negative = data[i] == _MINUS
        if negative or data[i] == _PLUS:
            i += 1
        first = i
        number = np.int64(0)
        while i < end and _ZERO <= data[i] <= _NINE:
            number = min(number * 10 + (data[i] - _ZERO), HUGE) if number < HUGE // 10 else np.int64(HUGE)
            i += 1
        if i == first:
            continue
        if i < end and data[i] == _POINT:
            i += 1
            while i < end and data[i] == _ZERO:
                i += 1
        if i == end:
            values[row] = -number if negative else number
            states[row] = VALUE


@njit(cache=True, nogil=True)
def _digits(data: Octets, i: int, end: int) -> int:
    while i < end and _ZERO <= data[i] <= _NINE:
        i += 1
    return i


@njit(cache=True, nogil=True)
def _is_infinity(data: Octets, i: int, end: int) -> bool:
    name = b"infinity"
    if end - i != 3 and end - i != 8:
        return False
    k = 0
    while k < end - i and _folded(data[i + k], True) == name[k]:
        k += 1
    return k == end - i


@njit(cache=True, nogil=True)
def check_reals(
    data: Octets, starts: Positions, ends: Positions, values: NDArray[np.float64], states: States
) -> int:
    """Which fields are decimal numbers; fills in those that need no rounding and infinities.

    Gives the number of fields left for an exact reader: they have state VALUE and the value NaN.
    Grammar: optional sign, digits with an optional point (at least one digit), optional exponent; or inf, infinity.
    """
    left = 0
    for row in range(starts.size):
        start, end = starts[row], ends[row]
        values[row] = 0.0
        if start == end:
            states[row] = NULL
            continue
        states[row] = OTHER
        i = start
        negative = data[i] == _MINUS
        if negative or data[i] == _PLUS:
            i += 1
        if _is_infinity(data, i, end):
            values[row] = -np.inf if negative else np.inf
            states[row] = VALUE
            continue
        whole = _digits(data, i, end)
        count = whole - i
        stop = whole
        if whole < end and data[whole] == _POINT:
            stop = _digits(data, whole + 1, end)
            count += stop - whole - 1
        if count == 0:
            continue
        places = stop - whole - 1 if stop > whole else 0
        if stop < end and (data[stop] == 69 or data[stop] == 101):
            digits = stop + 1
            if digits < end and (data[digits] == _PLUS or data[digits] == _MINUS):
                digits += 1
            if digits == end or _digits(data, digits, end) != end:
                continue
            places = 99
        elif stop != end:
            continue
        states[row] = VALUE
        if count > 15 or places > 22:
            values[row] = np.nan
            left += 1
            continue
        number = 0.0  # below 10^15 and so exact; one division by an exact power of ten rounds correctly
        for k in range(i, stop):
            if data[k] != _POINT:
                number = number * 10.0 + (data[k] - _ZERO)
        number /= _POWERS[places]
        values[row] = -number if negative else number
    return left


_POWERS = np.array([float(10**k) for k in range(23)])


def gather(
    data: Octets, starts: Positions, ends: Positions, rows: NDArray[np.int64]
) -> tuple[Octets, NDArray[np.int64]]:
    """The chosen fields one after another, and the offsets between them."""
    starts = starts[rows]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(ends[rows] - starts, dtype=np.int64)])
    out = np.empty(offsets[-1], np.uint8)
    _copy_fields(data, starts, offsets, out)
    return out, offsets


@njit(cache=True, nogil=True)
def _copy_fields(data: Octets, starts: Positions, offsets: NDArray[np.int64], out: Octets) -> None:
    for k in range(starts.size):
        start = starts[k]
        for i in range(offsets[k + 1] - offsets[k]):
            out[offsets[k] + i] = data[start + i]


@njit(cache=True, nogil=True)
def _two(data: Octets, i: int) -> Any:
    """Two digits as a number; -1 when they are not digits."""
    a, b = data[i], data[i + 1]
    if a < _ZERO or a > _NINE or b < _ZERO or b > _NINE:
        return -1
    return (np.int64(a) - _ZERO) * 10 + (np.int64(b) - _ZERO)


@njit(cache=True, nogil=True)
def day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, by counting in years that start in March."""
    y = year - 1 if month <= 2 else year
    m = month + 9 if month <= 2 else month - 3
    return y * 365 + y // 4 - y // 100 + y // 400 + (m * 153 + 2) // 5 + day - 719469


@njit(cache=True, nogil=True)
def is_time(data: Octets, i: int, end: int) -> bool:
    """Nothing, or a time of day after a T or a space: HH:MM, :SS, .digits, then Z or an offset +HH:MM."""
    if i == end:
        return True
    if (data[i] != 84 and data[i] != 32) or end - i < 6:
        return False
    hour, minute = _two(data, i + 1), _two(data, i + 4)
    if hour < 0 or hour > 23 or data[i + 3] != _COLON or minute < 0 or minute > 59:
        return False
    i += 6
    if end - i >= 3 and data[i] == _COLON:
        second = _two(data, i + 1)
        if second < 0 or second > 60:
            return False
        i += 3
        if i < end and data[i] == _POINT:
            i = _digits(data, i + 1, end)
    if i == end or (data[i] == 90 and i + 1 == end):
        return True
    if end - i != 6 or (data[i] != _PLUS and data[i] != _MINUS) or data[i + 3] != _COLON:
        return False
    return _two(data, i + 1) >= 0 and _two(data, i + 4) >= 0


@njit(cache=True, nogil=True)
def read_days(data: Octets, starts: Positions, ends: Positions, values: Ints, states: States) -> None:
    """YYYY-MM-DD as a day number, possibly with a time of day, which is ignored."""
    for row in range(starts.size):
        i, end = starts[row], ends[row]
        values[row] = 0
        if i == end:
            states[row] = NULL
            continue
        states[row] = OTHER
        if end - i < 10 or data[i + 4] != _MINUS or data[i + 7] != _MINUS or not is_time(data, i + 10, end):
            continue
        century, rest, month, day = _two(data, i), _two(data, i + 2), _two(data, i + 5), _two(data, i + 8)
        if century < 0 or rest < 0 or month < 1 or month > 12 or day < 1:
            continue
        year = century * 100 + rest
        number = day_number(year, month, day)
        next_month = day_number(year + month // 12, month % 12 + 1, 1)
        if year >= 1 and number < next_month:
            values[row] = number
            states[row] = VALUE
