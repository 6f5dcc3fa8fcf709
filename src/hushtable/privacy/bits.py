"""Random bits for noise: AES-256 in counter mode, keyed by the operating system.

Each thread has a stream of its own and a forked child draws a new key, so no two callers ever see the same bits.  The
key lives inside the cipher object only: it is not an attribute, not printed and not pickled.  There is no way to seed
this source; known words for tests live in `tests/` and in `selftest.replays`, which opens no ledger.
"""

from __future__ import annotations

import os
import threading
from typing import Any, NoReturn, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from hushtable.arrays import Words

_BLOCK = 1 << 13
"""Words made at once to serve small requests."""


class BitSource(Protocol):
    """Anything that gives independent uniform 64-bit words."""

    def words(self, n: int) -> Words:
        """The next `n` words."""
        ...


class _Generation:
    """Counts forks, so that a source can tell that it was copied into a child."""

    def __init__(self) -> None:
        self.count = 0

    def advance(self) -> None:
        self.count += 1


_GENERATION = _Generation()
os.register_at_fork(after_in_child=_GENERATION.advance)


class _AesCounter:
    """One thread's cipher stream."""

    __slots__ = ("_block", "_cipher", "_owner", "_used")

    def __init__(self) -> None:
        self._owner = _owner()
        self._cipher = Cipher(algorithms.AES256(os.urandom(32)), modes.CTR(os.urandom(16))).encryptor()
        self._block = np.zeros(0, dtype=np.uint64)
        self._used = _BLOCK

    @property
    def copied(self) -> bool:
        """Whether this stream was made before a fork, in the parent."""
        return self._owner != _owner()

    def words(self, n: int) -> Words:
        """The next `n` words; none of them is given twice."""
        if n > _BLOCK // 4:
            return self._encrypt(n)
        if self._used + n > _BLOCK:
            self._block, self._used = self._encrypt(_BLOCK), 0
        taken = self._block[self._used : self._used + n]
        words = taken.copy()
        taken.fill(0)
        self._used += n
        return words

    def _encrypt(self, n: int) -> Words:
        words = np.zeros(n, dtype=np.uint64)
        octets = words.view(np.uint8).data
        self._cipher.update_into(octets, octets)
        return words

    def __repr__(self) -> str:
        return "<cipher stream>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A source of random bits cannot be copied or pickled.")


class _SystemBits:
    """The source that every caller shares: it hands out the calling thread's own stream."""

    __slots__ = ("_local",)

    def __init__(self) -> None:
        self._local = threading.local()

    def words(self, n: int) -> Words:
        """The next `n` words of this thread's stream."""
        stream: _AesCounter | None = getattr(self._local, "stream", None)
        if stream is None or stream.copied:
            stream = self._local.stream = _AesCounter()
        return stream.words(n)

    def __repr__(self) -> str:
        return "<system bits>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("A source of random bits cannot be copied or pickled.")


_SYSTEM = _SystemBits()


def system_bits() -> BitSource:
    """The source of every draw that is not a test; safe to share between threads and across forks."""
    return _SYSTEM


def _owner() -> tuple[int, int]:
    return os.getpid(), _GENERATION.count
