"""Who has more rows than count: a table of the rows of each person.

A person is known by a 128-bit keyed hash (SipHash-2-4) of the value in the person column, under a key that is drawn for
each table and never stored, so nobody can prepare collisions and the hashes mean nothing afterwards.  Counting needs 20
bytes per slot, at most 4/5 full; what is kept of it are the people with too many rows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Words
from hushtable.compiled import njit
from hushtable.kernel.sources.rows import Octets, Positions
from hushtable.kernel.sources.text import Texts

Word = Any  # np.uint64, whose arithmetic wraps around
_FULLEST = 0.8
_GROWTH = 1.5
"""How full the table of people may be, and by how much it grows (chosen, not tuned).  Linear probing at 0.8 looks at 13
slots for a new person and 3 for a known one (Knuth); fuller is slower, emptier takes more of 20 bytes a slot.  Slower
growth copies the table more often; while it is copied old and new are both held."""
_SPARSE = 1.5
"""Slots for each of those who have too many rows: two thirds full, two looks for one who is there."""
_WORTH = 2
"""How many times smaller than that of everybody a table of those few must be: a larger one takes as long to look
into, and the time to make it."""
Slots = NDArray[np.uint32]
"""A slot is four words of a hash and a number, in that order: one look into memory.  A number of 0: it is free."""
_WIDTH, _NUMBER = 5, 4
_UNCROWDED = np.uint32(0xFFFFFFFF)
"""The number of those who have no more rows than count, in a table of everybody."""


@njit(cache=True, nogil=True)
def _rotate(x: Word, bits: int) -> Word:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


@njit(cache=True, nogil=True)
def _round(a: Word, b: Word, c: Word, d: Word) -> tuple[Word, Word, Word, Word]:
    a += b
    b = _rotate(b, 13) ^ a
    a = _rotate(a, 32)
    c += d
    d = _rotate(d, 16) ^ c
    a += d
    d = _rotate(d, 21) ^ a
    c += b
    b = _rotate(b, 17) ^ c
    c = _rotate(c, 32)
    return a, b, c, d


@njit(cache=True, nogil=True)
def _word(data: Octets, first: Word, size: int) -> Word:
    """Up to eight bytes as a little-endian word; an unsigned place needs no look at its sign."""
    word = np.uint64(0)
    for k in range(size):
        word |= np.uint64(data[first + np.uint64(k)]) << np.uint64(8 * k)
    return word


@njit(cache=True, nogil=True)
def siphash128(data: Octets, start: int, end: int, key0: Word, key1: Word) -> tuple[Word, Word]:
    """SipHash-2-4 with 128 bits of output, as its two little-endian words."""
    a = key0 ^ np.uint64(0x736F6D6570736575)
    b = key1 ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
    c = key0 ^ np.uint64(0x6C7967656E657261)
    d = key1 ^ np.uint64(0x7465646279746573)
    length = end - start
    first = np.uint64(start)
    for i in range(length // 8 + 1):
        whole = i < length // 8
        word = _word(data, first, 8) if whole else _word(data, first, length % 8)
        if not whole:
            word |= np.uint64(length & 0xFF) << np.uint64(56)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a, b, c, d = _round(a, b, c, d)
        a ^= word
        first += np.uint64(8)
    c ^= np.uint64(0xEE)
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    low = a ^ b ^ c ^ d
    b ^= np.uint64(0xDD)
    for _ in range(4):
        a, b, c, d = _round(a, b, c, d)
    return low, a ^ b ^ c ^ d


@njit(cache=True, nogil=True)
def hash_fields(data: Octets, starts: Positions, ends: Positions, key: Words, hashes: Words) -> None:
    """Hash of each field, into the two columns of ``hashes``."""
    for row in range(starts.size):
        low, high = siphash128(data, starts[row], ends[row], key[0], key[1])
        hashes[row, 0] = low
        hashes[row, 1] = high


@njit(cache=True, nogil=True)
def _slot_of(table: Slots, low: Word, high: Word) -> Word:
    """Where somebody is, or the free slot where they would be."""
    slots = np.uint64(table.shape[0])  # below 2^32, so that a product takes the place of a division
    slot = ((low >> np.uint64(32)) * slots) >> np.uint64(32)
    a, b = np.uint32(low), np.uint32(low >> np.uint64(32))
    c, d = np.uint32(high), np.uint32(high >> np.uint64(32))
    while table[slot, _NUMBER] > 0 and (
        table[slot, 0] != a or table[slot, 1] != b or table[slot, 2] != c or table[slot, 3] != d
    ):
        slot = slot + np.uint64(1) if slot + np.uint64(1) < slots else np.uint64(0)
    return slot


@njit(cache=True, nogil=True)
def _write(table: Slots, slot: Word, low: Word, high: Word) -> None:
    table[slot, 0] = np.uint32(low)
    table[slot, 1] = np.uint32(low >> np.uint64(32))
    table[slot, 2] = np.uint32(high)
    table[slot, 3] = np.uint32(high >> np.uint64(32))


@njit(cache=True, nogil=True)
def _count(hashes: Words, most: int, table: Slots) -> int:
    """Adds one to each row's person, up to ``most``; gives the number of people seen for the first time."""
    fresh = 0
    for row in range(hashes.shape[0]):
        low, high = hashes[row, 0], hashes[row, 1]
        slot = _slot_of(table, low, high)
        rows = table[slot, _NUMBER]
        if rows == 0:
            _write(table, slot, low, high)
            fresh += 1
        if rows < most:
            table[slot, _NUMBER] = rows + np.uint32(1)
    return fresh


@njit(cache=True, nogil=True)
def _copy(old: Slots, least: int, numbered: bool, table: Slots) -> None:
    """Puts those with at least this number into another table; ``numbered``: under numbers from 1, in their order."""
    number = np.uint32(0)
    for i in range(old.shape[0]):
        if old[i, _NUMBER] >= least:
            low = np.uint64(old[i, 0]) | np.uint64(old[i, 1]) << np.uint64(32)
            slot = _slot_of(table, low, np.uint64(old[i, 2]) | np.uint64(old[i, 3]) << np.uint64(32))
            for k in range(_NUMBER):
                table[slot, k] = old[i, k]
            number += np.uint32(1)
            table[slot, _NUMBER] = number if numbered else old[i, _NUMBER]


@njit(cache=True, nogil=True)
def _renumber(table: Slots, least: int) -> None:
    """In place: numbers from 1 for those with at least this one, and that nobody has for the others."""
    number = np.uint32(0)
    for i in range(table.shape[0]):
        if table[i, _NUMBER] >= least:
            number += np.uint32(1)
            table[i, _NUMBER] = number
        elif table[i, _NUMBER] > 0:
            table[i, _NUMBER] = _UNCROWDED


@njit(cache=True, nogil=True)
def _find(hashes: Words, table: Slots, found: NDArray[np.int64]) -> None:
    for row in range(hashes.shape[0]):
        number = table[_slot_of(table, hashes[row, 0], hashes[row, 1]), _NUMBER]
        found[row] = np.int64(number) - 1 if number != _UNCROWDED else -1


@dataclass(frozen=True)
class Crowded:
    """The people of one table who have more rows than count, numbered from 0."""

    key: Words
    table: Slots
    """With one more than the person's number."""
    size: int

    def find(self, keys: Texts) -> NDArray[np.int64]:
        """The number of each row's person, -1 for one with no more rows than count; safe in several threads."""
        return self.find_hashed(hashes_of(keys, self.key)) if self.size else np.full(len(keys), -1, np.int64)

    def find_hashed(self, hashes: Words) -> NDArray[np.int64]:
        """The same of people by their hashes."""
        found = np.full(len(hashes), -1, np.int64)
        if self.size:
            _find(hashes, self.table, found)
        return found


class People:
    """Counts the rows of each person, to find those with more than ``limit``."""

    def __init__(self, limit: int) -> None:
        self._most = limit + 1
        self._key = np.frombuffer(os.urandom(16), np.uint64).copy()
        self._table = np.zeros((1024, _WIDTH), np.uint32)
        self._people = 0

    def hashes(self, keys: Texts) -> Words:
        """Who each row belongs to; safe to call from several threads."""
        return hashes_of(keys, self._key)

    def add(self, hashes: Words) -> None:
        """Count these rows."""
        self._reserve(self._people + len(hashes))
        self._people += _count(hashes, self._most, self._table)

    def crowded(self) -> Crowded:
        """Those with too many rows; nobody can be counted afterwards."""
        size = int(np.count_nonzero(self._table[:, _NUMBER] == self._most))
        slots = int(_SPARSE * size) + 1
        table, self._table = self._table, np.zeros((0, _WIDTH), np.uint32)
        if _WORTH * slots > len(table):
            _renumber(table, self._most)
        else:
            everybody, table = table, np.zeros((slots, _WIDTH), np.uint32)
            _copy(everybody, self._most, True, table)
        return Crowded(self._key, table, size)

    def _reserve(self, people: int) -> None:
        if people <= _FULLEST * len(self._table):
            return
        slots = max(int(_GROWTH * len(self._table)), int(people / _FULLEST) + 1)
        table = np.zeros((slots, _WIDTH), np.uint32)
        _copy(self._table, 1, False, table)
        self._table = table


def hashes_of(keys: Texts, key: Words) -> Words:
    """The hash of each field as two words."""
    hashes = np.empty((len(keys), 2), np.uint64)
    hash_fields(keys.data, keys.starts, keys.ends, key, hashes)
    return hashes
