"""Whole numbers and UUIDs as the text that a file would hold; plain loops, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.kernel.sources.rows import Octets
from hushtable.kernel.sources.text import Texts

_LONGEST, _UUID = 20, 36
"""Letters of the longest number of 64 bits, its sign included, and of a UUID."""
_ZERO, _MINUS, _A = 48, 45, 97
"""Letters as bytes."""


@njit(cache=True, nogil=True)
def _spell_numbers(numbers: Ints, out: Octets, starts: Ints) -> None:
    for row in range(numbers.size):
        number = numbers[row]
        left = np.uint64(number) if number >= 0 else np.uint64(0) - np.uint64(number)
        place = np.uint64((row + 1) * _LONGEST)
        while True:
            place -= np.uint64(1)
            tens = left // np.uint64(10)
            out[place] = np.uint8(_ZERO) + np.uint8(left - tens * np.uint64(10))
            left = tens
            if left == 0:
                break
        if number < 0:
            place -= np.uint64(1)
            out[place] = _MINUS
        starts[row] = place


@njit(cache=True, nogil=True)
def _spell_uuids(values: Octets, out: Octets) -> None:
    """Hexadecimal digits in groups of 8, 4, 4, 4 and 12, in small letters."""
    place = 0
    for i in range(values.size):
        byte = i % 16
        if byte == 4 or byte == 6 or byte == 8 or byte == 10:
            out[place] = _MINUS
            place += 1
        for shift in (4, 0):
            digit = (int(values[i]) >> shift) & 15
            out[place] = digit + (_ZERO if digit < 10 else _A - 10)
            place += 1


def whole_numbers(numbers: Ints) -> Texts:
    """Each number in decimal digits."""
    out, starts = np.empty(max(1, len(numbers)) * _LONGEST, np.uint8), np.empty(len(numbers), np.int64)
    _spell_numbers(numbers, out, starts)
    return Texts(out, starts, np.arange(1, len(numbers) + 1) * _LONGEST)


def uuids(values: NDArray[np.uint8]) -> Texts:
    """Each row of 16 bytes as a UUID is written."""
    out = np.empty(max(1, len(values)) * _UUID, np.uint8)
    _spell_uuids(np.ascontiguousarray(values).reshape(-1), out)
    starts = np.arange(len(values)) * _UUID
    return Texts(out, starts, starts + _UUID)
