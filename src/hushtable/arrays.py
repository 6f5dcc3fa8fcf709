"""The arrays that everything here is made of, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
"""Exact counts, lifted counts and noise: whole numbers of 64 bits."""
Codes = NDArray[np.int32]
"""Positions of cells or attributes where 31 bits are enough, at half the memory."""
Words = NDArray[np.uint64]


def is_whole(number: object) -> bool:
    """A whole number as a caller may give it, of Python or numpy; true and false are none."""
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
