"""Which k rows of a person count: the k smallest by a keyed hash of the row, in whatever order rows come.

The hash of a row is made from its person and from all that any count or query can see of it, under a key that follows
from the ledger's id: rows with the same hash are equal rows, another person's rows play no part, and every pass, every
source and every later session with the same ledger keeps the same.  ``proofs/rows-per-person.md`` has the argument.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints, Words
from hushtable.compiled import njit
from hushtable.kernel.sources.people import hashes_of, siphash128
from hushtable.kernel.sources.rows import Octets
from hushtable.kernel.sources.text import Texts

_NOTHING = np.uint64(0xFFFFFFFFFFFFFFFF)
"""Both words of a place that holds no row; no row's hash begins with it."""


@njit(cache=True, nogil=True)
def _rank(people: Words, rows: Octets, width: int, ranks: Words) -> None:
    """SipHash of each row, ``width`` bytes, under its person's own key."""
    for row in range(people.shape[0]):
        start = row * width
        high, low = siphash128(rows, start, start + width, people[row, 0], people[row, 1])
        ranks[row, 0] = min(high, _NOTHING - np.uint64(1))
        ranks[row, 1] = low


@njit(cache=True, nogil=True)
def _above(held: Words, a: int, b: int) -> bool:
    return held[a, 0] > held[b, 0] or (held[a, 0] == held[b, 0] and held[a, 1] > held[b, 1])


@njit(cache=True, nogil=True)
def _hold(people: Ints, rows: Words, limit: int, heaps: Ints, held: Words) -> None:
    """Takes in rows, which begin with their hash; ``heaps`` has for each person the places of what is held, the largest
    hash first."""
    for row in range(people.size):
        first = people[row] * limit
        place = heaps[first] if limit > 1 else first
        high, low = rows[row, 0], rows[row, 1]
        if high > held[place, 0] or (high == held[place, 0] and low >= held[place, 1]):
            continue
        for k in range(rows.shape[1]):
            held[place, k] = rows[row, k]
        parent = 0
        while 2 * parent + 1 < limit:
            child = 2 * parent + 1
            if child + 1 < limit and _above(held, heaps[first + child + 1], heaps[first + child]):
                child += 1
            if not _above(held, heaps[first + child], place):
                break
            heaps[first + parent] = heaps[first + child]
            parent = child
        if limit > 1:
            heaps[first + parent] = place


class Ranking:
    """The hash by which rows of a person are kept, as one ledger has it."""

    def __init__(self, ledger: str) -> None:
        secret = hashlib.blake2b(ledger.encode(), digest_size=16, person=b"hush rows kept")
        self._key = np.frombuffer(secret.digest(), np.uint64)

    def ranks(self, names: Texts, words: Words) -> Words:
        """The hashes of rows from the names of their people and what can be seen of them, some words a row."""
        ranks = np.empty((len(names), 2), np.uint64)
        rows = np.ascontiguousarray(words).reshape(-1).view(np.uint8)
        _rank(hashes_of(names, self._key), rows, 8 * words.shape[1], ranks)
        return ranks


def packed(words: Sequence[NDArray[np.unsignedinteger[Any]]], below: Sequence[int]) -> Words:
    """Words, each below a bound, in fewer of them, which take less time to hash: as many to one as fit."""
    found: list[Words] = []
    room = 0
    for word, bound in zip(words, below, strict=True):
        if bound <= room:
            found[-1] *= np.uint64(bound)
            found[-1] += word
            room //= bound
        else:
            found.append(word.astype(np.uint64))
            room = (1 << 64) // bound
    return np.stack(found, axis=1)


class Held:
    """The k rows with the smallest hashes of each of some people, among those seen so far."""

    def __init__(self, people: int, limit: int, kinds: Sequence[np.dtype[Any]]) -> None:
        self._limit = limit
        row = [("high", np.uint64), ("low", np.uint64), *((str(k), kind) for k, kind in enumerate(kinds))]
        size = np.dtype(row).itemsize
        self._row = np.dtype([*row, ("unused", np.uint8, -size % 8)])
        self._heaps = np.arange(people * limit if limit > 1 else 0)
        self._held = np.full((people * limit, self._row.itemsize // 8), _NOTHING)

    def add(self, people: Ints, ranks: Words, arrays: Sequence[NDArray[Any]]) -> None:
        """Take in rows of these people."""
        rows = np.empty(len(people), self._row)
        for name, array in zip(self._names, (ranks[:, 0], ranks[:, 1], *arrays), strict=True):
            rows[name] = array
        _hold(people, rows.view(np.uint64).reshape(len(people), -1), self._limit, self._heaps, self._held)

    def arrays(self) -> list[NDArray[Any]]:
        """All rows that are held, one array per column."""
        found = self._held[:, 0] != _NOTHING
        rows = (self._held if found.all() else self._held[found]).view(self._row)[:, 0]
        return [np.ascontiguousarray(rows[name]) for name in self._names[2:]]

    @property
    def _names(self) -> tuple[str, ...]:
        return (self._row.names or ())[:-1]
