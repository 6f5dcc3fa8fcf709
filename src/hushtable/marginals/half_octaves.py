"""Cells of a table by the half octave of their expected count: what planning and fits know of a table's shape.

Half octaves are fine enough that errors computed from them are within a few percent of those of single cells; a finer
grid makes every histogram, and what is computed from it, longer.
"""

from __future__ import annotations

import math

import numpy as np

from hushtable.compiled import njit

BINS = 72
"""From 2^-10 to 2^26: cells beyond count as the last bin."""

BIN_WIDTH = math.log(2) / 2

LEVELS = np.exp((np.arange(BINS) - 20) * BIN_WIDTH)
"""Expected counts that the bins stand for."""

SMALLEST = 2.0**-10
"""Cells that expect less are left out: all of them together add nothing to an error."""

_BIN_OF_ONE = 20.5


@njit(cache=True, nogil=True, inline="always")
def bin_of(count: float) -> int:
    """The bin of an expected count."""
    return min(max(int(math.log(count) / BIN_WIDTH + _BIN_OF_ONE), 0), BINS - 1)
