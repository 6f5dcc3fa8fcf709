"""Loads and compiles what runs after a charge, by drawing noise that meets no count and storing nothing.

Compiled loops are loaded, or compiled on a machine that has no cache of them, when they are first called; after a
charge that would be time in which a crash costs money.  The bits here are made up and used for nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from hashlib import shake_128
from typing import Literal

import numpy as np

from hushtable.arrays import Words
from hushtable.measurement import Line, lines_to_bytes
from hushtable.privacy import (
    BitSource,
    bernoulli,
    bernoulli_exp,
    exponential_mechanism,
    gaussian_segments,
    get_ready,
    laplace_segments,
)

Drawn = Literal["gaussian", "laplace", "selection", "coin"]
"""What the requests of a run draw: noise of a law, candidates, or coins."""

_FIRST: dict[str, Callable[[BitSource], object]] = {
    "gaussian": lambda bits: gaussian_segments([Fraction(3)], [8]).draw(bits),
    "laplace": lambda bits: laplace_segments([Fraction(3)], [8]).draw(bits),
    "selection": lambda bits: exponential_mechanism(np.arange(4), Fraction(1, 3), bits=bits),
    "coin": lambda bits: (bernoulli_exp(Fraction(1, 3), bits=bits), bernoulli(Fraction(1, 3), bits=bits)),
    "threads": get_ready,
    "lines": lambda _: lines_to_bytes([Line("", Fraction(1))]),
}


class _Made:
    """Words that look random enough for a loop to end; never used for noise that is added to anything."""

    def __init__(self) -> None:
        self._given = 0

    def words(self, n: int) -> Words:
        """The next words."""
        self._given += 1
        return np.frombuffer(shake_128(b"warm %d" % self._given).digest(8 * n), np.uint64).copy()


def warm(drawn: Iterable[Drawn]) -> None:
    """Make ready to draw these, and to write their lines."""
    for name in ("threads", "lines", *drawn):
        _once(name)


@cache
def _once(name: str) -> None:
    _FIRST[name](_Made())


# a child has no second thread yet, and no keys of its own
os.register_at_fork(after_in_child=_once.cache_clear)
