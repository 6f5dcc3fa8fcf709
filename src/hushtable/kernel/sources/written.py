"""Numbers and days as files of an office write them, by declared marks and patterns; plain loops, compiled.

Numbers are rewritten as ``parse`` reads them: groups of three digits lose their marks, the decimal mark becomes a
point, and what is not written as declared becomes text that is no number.  A field is read by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.kernel.sources.parse import NULL, OTHER, VALUE, States, day_number, is_time
from hushtable.kernel.sources.rows import Octets, Positions
from hushtable.schema.day_formats import (
    DAY,
    FULL,
    LITERAL,
    MONTH,
    MONTH_NAME,
    MONTH_NAMES,
    PIVOT,
    QUARTER,
    SHORT_YEAR,
    YEAR,
)

_ZERO, _NINE, _POINT, _PLUS, _MINUS = 48, 57, 46, 43, 45
_NOT = 33  # an exclamation mark, which no number begins with
_LETTERS = np.frombuffer(MONTH_NAMES.encode(), np.uint8).copy()


@njit(cache=True, nogil=True)
def _is_digit(c: Any) -> bool:
    return bool(_ZERO <= c <= _NINE)


@njit(cache=True, nogil=True)
def _starts_with(data: Octets, i: int, end: int, mark: Octets) -> bool:
    if mark.size == 0 or i + mark.size > end:
        return False
    same = True
    for k in range(mark.size):
        same &= data[i + k] == mark[k]
    return same


@njit(cache=True, nogil=True)
def _rewritten(
    data: Octets, i: int, end: int, decimal: int, thousands: Octets, out: Octets, place: int
) -> int:
    """Writes one number; gives the place behind it, or -1 when it is not written as declared."""
    if i < end and (data[i] == _PLUS or data[i] == _MINUS):
        out[place] = data[i]
        place += 1
        i += 1
    digits = 0
    grouped = False
    while i < end:
        if _is_digit(data[i]):
            out[place] = data[i]
            place += 1
            i += 1
            digits += 1
            continue
        if not _starts_with(data, i, end, thousands):
            break
        if digits == 0 or digits > 3 or (grouped and digits != 3):
            return -1
        grouped = True
        digits = 0
        i += thousands.size
    if grouped and digits != 3:
        return -1
    while i < end:
        c = data[i]
        if c == decimal:
            c = np.uint8(_POINT)
        elif c == _POINT:
            return -1
        out[place] = c
        place += 1
        i += 1
    return place


@njit(cache=True, nogil=True)
def rewrite_numbers(
    data: Octets,
    starts: Positions,
    ends: Positions,
    decimal: int,
    thousands: Octets,
    out: Octets,
    new_starts: Ints,
    new_ends: Ints,
) -> None:
    """Each field as ``parse`` reads numbers, in ``out``, which is as long as all fields together."""
    place = 0
    for row in range(starts.size):
        new_starts[row] = place
        behind = _rewritten(data, starts[row], ends[row], decimal, thousands, out, place)
        if behind < 0:
            out[place] = _NOT
            behind = place + 1
        new_ends[row] = behind
        place = behind


@njit(cache=True, nogil=True)
def _number(data: Octets, i: int, end: int, most: int, full: bool) -> tuple[Any, int]:
    """(number, index behind it) of at most, or of exactly, so many digits; -1 when there are none."""
    number = np.int64(0)
    count = 0
    while i < end and count < most and _is_digit(data[i]):
        number = number * 10 + (data[i] - _ZERO)
        i += 1
        count += 1
    if count == 0 or (full and count < most):
        return -1, i
    return number, i


@njit(cache=True, nogil=True)
def _month_named(data: Octets, i: int, end: int) -> int:
    if i + 3 > end:
        return -1
    for month in range(12):
        found = True
        for k in range(3):
            c = data[i + k]
            if 65 <= c <= 90:
                c += 32
            if c != _LETTERS[3 * month + k]:
                found = False
        if found:
            return month + 1
    return -1


@njit(cache=True, nogil=True)
def _day_of(data: Octets, i: int, end: int, steps: NDArray[np.int64]) -> tuple[bool, int]:
    """(whether it is a day, its number)."""
    year, month, day = -1, 1, 1
    for k in range(steps.shape[0]):
        kind = steps[k, 0] & (FULL - 1)
        full = steps[k, 0] >= FULL
        if kind == LITERAL:
            if i >= end or data[i] != steps[k, 1]:
                return False, 0
            i += 1
        elif kind == MONTH_NAME:
            month = _month_named(data, i, end)
            i += 3
            if month < 0:
                return False, 0
        else:
            most = 4 if kind == YEAR else 1 if kind == QUARTER else 2
            found, i = _number(data, i, end, most, full or kind in (YEAR, SHORT_YEAR))
            if found < 0:
                return False, 0
            if kind == YEAR:
                year = found
            elif kind == SHORT_YEAR:
                year = found + (1900 if found >= PIVOT else 2000)
            elif kind == MONTH:
                month = found
            elif kind == DAY:
                day = found
            else:
                if found < 1 or found > 4:
                    return False, 0
                month = 3 * found - 2
    if year < 1 or month < 1 or month > 12 or day < 1 or not is_time(data, i, end):
        return False, 0
    number = day_number(year, month, day)
    return number < day_number(year + month // 12, month % 12 + 1, 1), number


@njit(cache=True, nogil=True)
def read_days_by(
    data: Octets,
    starts: Positions,
    ends: Positions,
    steps: NDArray[np.int64],
    values: Ints,
    states: States,
) -> None:
    """Days written by a pattern, as day numbers; a time of day behind them is ignored."""
    for row in range(starts.size):
        values[row] = 0
        if starts[row] == ends[row]:
            states[row] = NULL
            continue
        found, number = _day_of(data, starts[row], ends[row], steps)
        states[row] = VALUE if found else OTHER
        if found:
            values[row] = number
