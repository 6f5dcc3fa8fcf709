"""Uniform and normal numbers from a source of random bits that the caller passes in.

Used for post-processing only (noise that recreates a distribution, samples of possible datasets): nothing here is
added to a count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from hushtable.privacy import BitSource


def uniforms(bits: BitSource, count: int) -> NDArray[np.float64]:
    """``count`` numbers strictly between 0 and 1, on a grid of 2^-53."""
    return ((bits.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def normals(bits: BitSource, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Standard normal numbers of the given shape, by inversion."""
    count = int(np.prod(shape, dtype=np.int64))
    return np.asarray(ndtri(uniforms(bits, count))).reshape(shape)
