"""Cells of a table by the half octave of their expected count: what planning and fits know of a table's shape.

A count and the level of its bin differ by at most a quarter of an octave, 19%, and errors, which go with the root of a
count, by at most 9%.  A finer grid makes every histogram, and the work of every plan that reads it, longer.
"""

from __future__ import annotations

import math

import numpy as np

from hushtable.compiled import njit

BINS = 72
"""Levels from 2^-10 to 2^25.5; larger counts fall into the last bin."""

BIN_WIDTH = math.log(2) / 2
"""Of logarithms: a level stands for counts within 19% of it.  Finer bins predict errors more exactly and are slower to
allocate by."""

LEVELS = np.exp((np.arange(BINS) - 20) * BIN_WIDTH)
"""Expected counts that the bins stand for."""

SMALLEST = 2.0**-10
"""Cells that expect less are in no bin."""

_BIN_OF_ONE = 20.5  # bin 20, rounded


@njit(cache=True, nogil=True)
def bin_of(count: float) -> int:
    """The bin of an expected count."""
    return min(max(int(math.log(count) / BIN_WIDTH + _BIN_OF_ONE), 0), BINS - 1)
