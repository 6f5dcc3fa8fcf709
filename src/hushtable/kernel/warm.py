"""Loads and compiles what runs after a charge, by drawing noise that meets no count and storing nothing.

Compiled loops are loaded, or compiled on a machine that has no cache of them, when they are first called; after a
charge that would be time in which a crash costs money.  The bits here are made up and used for nothing else.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from hashlib import shake_128

import numpy as np
from numpy.typing import NDArray

from hushtable.measurement import Line, lines_to_bytes
from hushtable.privacy import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian_segments,
    discrete_laplace_segments,
    exponential_mechanism,
)
from hushtable.privacy.sampler import key_streams


class _Made:
    """Words that look random enough for a loop to end; never used for noise that is added to anything."""

    def __init__(self) -> None:
        self._given = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next words."""
        self._given += 1
        return np.frombuffer(shake_128(b"warm %d" % self._given).digest(8 * n), np.uint64).copy()


def warm_gaussian() -> None:
    """Discrete Gaussian noise, and the bytes of lines."""
    key_streams()
    _warm_gaussian()


def warm_laplace() -> None:
    """Discrete Laplace noise, and the bytes of lines."""
    key_streams()
    _warm_laplace()


def warm_deciders() -> None:
    """The draws of verdicts."""
    key_streams()
    _warm_deciders()


def warm_rounds() -> None:
    """Noise and selections of rounds, and the bytes of their lines."""
    key_streams()
    _warm_rounds()


@cache
def _warm_gaussian() -> None:
    discrete_gaussian_segments([Fraction(3)], [8], bits=_Made())
    _warm_lines()


@cache
def _warm_laplace() -> None:
    discrete_laplace_segments([Fraction(3)], [8], bits=_Made())
    _warm_lines()


@cache
def _warm_deciders() -> None:
    discrete_laplace_segments([Fraction(3)], [1], bits=_Made())
    exponential_mechanism(np.arange(4), Fraction(1, 3), bits=_Made())
    bernoulli_exp(Fraction(1, 3), bits=_Made())
    bernoulli(Fraction(1, 3), bits=_Made())
    _warm_lines()


@cache
def _warm_rounds() -> None:
    discrete_gaussian_segments([Fraction(3)], [8], bits=_Made())
    exponential_mechanism(np.arange(4), Fraction(1, 3), bits=_Made())
    _warm_lines()


@cache
def _warm_lines() -> None:
    lines_to_bytes([Line("", Fraction(1))])
