"""Assigns codes to values: bins, "(null)", "(other)", or DROP; plain loops, compiled.

A value x of an attribute with starts s_0 < ... < s_n has the code i of the bin s_i <= x < s_i+1, and the upper
bound belongs to the last bin; what lies outside follows the declared rule.  One pass, each row by itself.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hushtable.arrays import Codes
from hushtable.compiled import njit
from hushtable.kernel.sources.parse import NULL, VALUE, States

DROP = -1

Numbers = NDArray[Any]


@njit(cache=True, nogil=True)
def assign_bins(
    values: Numbers,
    states: States,
    edges: Numbers,
    high: float,
    clip: bool,
    null_code: int,
    other_code: int,
    codes: Codes,
) -> None:
    """Bin of each number: the last edge that is not above it.

    ``high`` is the upper bound, which belongs to the last bin; ``null_code`` and ``other_code`` are DROP where the
    schema has no such category.  ``clip`` moves numbers to the nearer bound; it cannot move what is not a number.
    """
    low = edges[0]
    last = edges.size - 2
    for row in range(values.size):
        if states[row] != VALUE:
            codes[row] = null_code if states[row] == NULL else other_code
            continue
        value = values[row]
        if value < low:
            codes[row] = 0 if clip else other_code
        elif value > high:
            codes[row] = last if clip else other_code
        else:
            first, beyond = 0, last + 1
            while beyond - first > 1:
                middle = (first + beyond) // 2
                if edges[middle] <= value:
                    first = middle
                else:
                    beyond = middle
            codes[row] = first


@njit(cache=True, nogil=True)
def assign_entries(
    values: Numbers, states: States, entries: Codes, null_code: int, other_code: int, codes: Codes
) -> None:
    """Code of each known entry: ``entries[value]``."""
    for row in range(values.size):
        if states[row] == VALUE:
            codes[row] = entries[values[row]]
        else:
            codes[row] = null_code if states[row] == NULL else other_code
