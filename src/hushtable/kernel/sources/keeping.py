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
def _above(ranks: Words, a: int, b: int) -> bool:
    return ranks[a, 0] > ranks[b, 0] or (ranks[a, 0] == ranks[b, 0] and ranks[a, 1] > ranks[b, 1])


@njit(cache=True, nogil=True)
def _hold(
    people: Ints, ranks: Words, rows: Octets, limit: int, heaps: Ints, held: Words, kept: Octets
) -> None:
    """Takes in rows; ``heaps`` has for each person the places of what is held, the largest hash first."""
    for row in range(people.size):
        first = people[row] * limit
        place = heaps[first] if limit > 1 else first
        high, low = ranks[row, 0], ranks[row, 1]
        if high > held[place, 0] or (high == held[place, 0] and low >= held[place, 1]):
            continue
        held[place, 0] = high
        held[place, 1] = low
        for k in range(rows.shape[1]):
            kept[place, k] = rows[row, k]
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

    def ranks(self, names: Texts, words: Sequence[Words], below: Sequence[int]) -> Words:
        """The hashes of rows from the names of their people and a word for each attribute, which is below a bound."""
        ranks = np.empty((len(names), 2), np.uint64)
        rows = np.stack(_packed(words, below), axis=1)
        _rank(hashes_of(names, self._key), rows.reshape(-1).view(np.uint8), 8 * rows.shape[1], ranks)
        return ranks


def _packed(words: Sequence[Words], below: Sequence[int]) -> list[Words]:
    """The same in fewer words, which take less time to hash: as many to one as fit."""
    found: list[Words] = []
    room = 0
    for word, bound in zip(words, below, strict=True):
        if bound <= room:
            found[-1] = found[-1] * np.uint64(bound) + word
            room //= bound
        else:
            found.append(word)
            room = (1 << 64) // bound
    return found


class Held:
    """The k rows with the smallest hashes of each of some people, among those seen so far."""

    def __init__(self, people: int, limit: int, kinds: Sequence[np.dtype[Any]]) -> None:
        self._limit = limit
        self._row = np.dtype([(str(k), kind) for k, kind in enumerate(kinds)])
        self._heaps = np.arange(people * limit if limit > 1 else 0)
        self._ranks = np.full((people * limit, 2), _NOTHING)
        self._rows = np.empty((people * limit, self._row.itemsize), np.uint8)

    def add(self, people: Ints, ranks: Words, arrays: Sequence[NDArray[Any]]) -> None:
        """Take in rows of these people."""
        rows = np.empty(len(people), self._row)
        for name, array in zip(rows.dtype.names or (), arrays, strict=True):
            rows[name] = array
        flat = rows.view(np.uint8).reshape(len(people), -1)
        _hold(people, ranks, flat, self._limit, self._heaps, self._ranks, self._rows)

    def arrays(self) -> list[NDArray[Any]]:
        """All rows that are held, one array per column."""
        found = self._ranks[:, 0] != _NOTHING
        rows = self._rows.view(self._row)[:, 0]
        rows = rows if found.all() else rows[found]
        return [np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()]
