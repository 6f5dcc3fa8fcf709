"""Public random numbers for post-processing: reproducible from a seed, and no part of any privacy guarantee.

Rounding and generating records need chance, but nothing confidential: the seed may be known to everyone.  Noise that
protects people is drawn elsewhere, by ``hushtable.privacy`` alone.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.compiled import njit

STATE = NDArray[np.uint64]


def seeded(*parts: object) -> STATE:
    """A stream's state, from anything that has a text."""
    digest = hashlib.sha256("|".join(str(part) for part in parts).encode()).digest()
    return np.array([int.from_bytes(digest[:8], "little")], np.uint64)


@njit(cache=True, nogil=True)
def uniform(state: STATE) -> float:
    """A float in [0, 1): a counter of the golden ratio, mixed twice by multiplication and shift (splitmix)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@njit(cache=True, nogil=True)
def uniforms(state: STATE, count: int) -> Floats:
    """Many at once."""
    out = np.empty(count)
    for i in range(count):
        out[i] = uniform(state)
    return out
