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

import numpy as np

from hushtable.arrays import Words
from hushtable.measurement import Line, lines_to_bytes
from hushtable.privacy import (
    BitSource,
    CountNoise,
    bernoulli,
    bernoulli_exp,
    exponential_mechanism,
    get_ready,
)

Drawn = Callable[[BitSource], object]
"""What the requests of a run draw, tried once: noise of a law, candidates, or coins."""


@cache
def noise_of(law: type[CountNoise]) -> Drawn:
    """A few integers of a law."""
    return lambda bits: law.segments([Fraction(3)], [8]).draw(bits)


def candidates(bits: BitSource) -> object:
    """One of a few."""
    return exponential_mechanism(np.arange(4), Fraction(1, 3), bits=bits)


def coins(bits: BitSource) -> object:
    """One of each kind."""
    return bernoulli_exp(Fraction(1, 3), bits=bits), bernoulli(Fraction(1, 3), bits=bits)


def _lines(_: BitSource) -> object:
    return lines_to_bytes([Line("", Fraction(1))])


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
    for first in (get_ready, _lines, *drawn):
        _once(first)


@cache
def _once(first: Drawn) -> None:
    first(_Made())


# a child has no second thread yet, and no keys of its own
os.register_at_fork(after_in_child=_once.cache_clear)
