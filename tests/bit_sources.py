"""Bit sources with known words, for tests only: nothing that opens a ledger can fix its noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.privacy import BitSource
from hushtable.privacy.sampler import Segments


class FixedBits:
    """The given words first, then a seeded stream; remembers everything handed out in `given`."""

    def __init__(self, first: Sequence[int] = (), seed: int = 0) -> None:
        self._first = list(first)
        self._rest = np.random.Generator(np.random.Philox(seed))
        self.given: list[int] = []

    def words(self, n: int) -> NDArray[np.uint64]:
        head, self._first = self._first[:n], self._first[n:]
        rest = self._rest.integers(0, 2**64, size=n - len(head), dtype=np.uint64)
        words = np.concatenate((np.array(head, dtype=np.uint64), rest))
        self.given.extend(words.tolist())
        return words


class SeededBits:
    """A long reproducible stream, for wrong distributions that a test must reject in every run."""

    def __init__(self, seed: int) -> None:
        self._stream = np.random.Generator(np.random.Philox(seed))

    def words(self, n: int) -> NDArray[np.uint64]:
        return self._stream.integers(0, 2**64, size=n, dtype=np.uint64)


@dataclass(frozen=True)
class SeededSegments:
    """Noise that is ready to be drawn, and is drawn from given bits whatever the kernel draws from."""

    segments: Segments
    bits: BitSource

    def draw(self, bits: BitSource | None = None) -> NDArray[np.int64]:
        return self.segments.draw(self.bits)
