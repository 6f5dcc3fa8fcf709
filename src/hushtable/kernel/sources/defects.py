"""Why a row of a text file is left out, for the curator's own eyes; plain loops, compiled.

It asks the questions of ``rows`` in their order and keeps the answer, where a pass over the data keeps only rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import njit
from hushtable.kernel.sources.rows import MAX_ROW, Delimiters, Octets, Positions, split_row, well_encoded

GOOD, EMPTY, LONG, NUL, ENCODING, QUOTES, FEW, MANY = 0, 1, 2, 3, 4, 5, 6, 7
_NEWLINE, _RETURN = 10, 13

REASONS = {
    LONG: "longer than a row may be",
    NUL: "a NUL byte",
    ENCODING: "not text in the declared encoding",
    QUOTES: "a quote that is not closed, or text after it",
    FEW: "too few fields",
    MANY: "too many fields",
}
"""What is said of each."""


@njit(cache=True, nogil=True)
def _fault(
    data: Octets,
    start: int,
    last: int,
    marks: Delimiters,
    slots: Positions,
    starts: Positions,
    ends: Positions,
) -> int:
    if start >= last:
        return EMPTY
    if last > start + MAX_ROW:
        return LONG
    for i in range(start, last):
        if data[i] == 0:
            return NUL
    if not well_encoded(data, start, last, marks.utf8):
        return ENCODING
    fields = split_row(data, start, last, marks, slots, starts, ends, 0)
    if fields < 0:
        return QUOTES
    return GOOD if fields == slots.size else FEW if fields < slots.size else MANY


@njit(cache=True, nogil=True)
def _faults(data: Octets, marks: Delimiters, slots: Positions, wanted: int, faults: Positions) -> None:
    starts, ends = np.empty((wanted, 1), np.int32), np.empty((wanted, 1), np.int32)
    start = row = 0
    for end in range(data.size):
        if data[end] != _NEWLINE:
            continue
        last = end
        while last > start and data[last - 1] == _RETURN:
            last -= 1
        if marks.marked:
            while (
                last - start >= 3
                and data[start] == 0xEF
                and data[start + 1] == 0xBB
                and data[start + 2] == 0xBF
            ):
                start += 3
        faults[row] = _fault(data, start, last, marks, slots, starts, ends)
        start = end + 1
        row += 1


def faults_of(data: Octets, marks: Delimiters, slots: Positions, wanted: int) -> NDArray[np.int64]:
    """GOOD, EMPTY or what is wrong with each line of a block of whole rows; the block is left as it is."""
    faults = np.empty(int(np.count_nonzero(data == _NEWLINE)), np.int64)
    _faults(data.copy(), marks, slots, wanted, faults)
    return faults
