"""Keeps at most k rows of each person.

A person is known by a 128-bit keyed hash (SipHash-2-4) of the text or number in the person column, under a key drawn
for each pass, so nobody can prepare collisions and the table means nothing afterwards.  A person's rows are kept or
left out by that person's earlier rows alone.  The table lives in memory only: 20 bytes per slot, at most 4/5 full.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Words
from hushtable.compiled import njit
from hushtable.kernel.sources.rows import Octets, Positions

Word = Any  # np.uint64, whose arithmetic wraps around
_FULLEST = 0.8
_GROWTH = 1.5
"""How full the table of people may be, and by how much it grows (chosen, not tuned).  Linear probing at 0.8 looks at 13
slots for a new person and 3 for a known one (Knuth); fuller is slower, emptier takes more of 20 bytes a slot.  Slower
growth copies the table more often; while it is copied old and new are both held."""


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
def siphash128(data: Octets, start: int, end: int, key0: Word, key1: Word) -> tuple[Word, Word]:
    """SipHash-2-4 with 128 bits of output, as its two little-endian words."""
    a = key0 ^ np.uint64(0x736F6D6570736575)
    b = key1 ^ np.uint64(0x646F72616E646F6D) ^ np.uint64(0xEE)
    c = key0 ^ np.uint64(0x6C7967656E657261)
    d = key1 ^ np.uint64(0x7465646279746573)
    length = end - start
    for i in range(0, length // 8 * 8 + 8, 8):
        word = np.uint64(0)
        for k in range(min(8, length - i)):
            word |= np.uint64(data[start + i + k]) << np.uint64(8 * k)
        if length - i < 8:
            word |= np.uint64(length & 0xFF) << np.uint64(56)
        d ^= word
        a, b, c, d = _round(a, b, c, d)
        a, b, c, d = _round(a, b, c, d)
        a ^= word
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
def _slot_of(table: Words, counts: NDArray[np.uint32], low: Word, high: Word) -> Word:
    slots = np.uint64(table.shape[0])
    slot = low % slots
    while counts[slot] > 0 and (table[slot, 0] != low or table[slot, 1] != high):
        slot = (slot + np.uint64(1)) % slots
    return slot


@njit(cache=True, nogil=True)
def _insert(
    hashes: Words, keep: NDArray[np.bool_], limit: int, table: Words, counts: NDArray[np.uint32]
) -> int:
    """Marks the rows to keep; gives the number of people seen for the first time."""
    fresh = 0
    for row in range(hashes.shape[0]):
        slot = _slot_of(table, counts, hashes[row, 0], hashes[row, 1])
        if counts[slot] == 0:
            table[slot, 0] = hashes[row, 0]
            table[slot, 1] = hashes[row, 1]
            fresh += 1
        keep[row] = counts[slot] < limit
        if keep[row]:
            counts[slot] += 1
    return fresh


@njit(cache=True, nogil=True)
def _move(old: Words, old_counts: NDArray[np.uint32], table: Words, counts: NDArray[np.uint32]) -> None:
    for i in range(old_counts.size):
        if old_counts[i] > 0:
            slot = _slot_of(table, counts, old[i, 0], old[i, 1])
            table[slot, 0] = old[i, 0]
            table[slot, 1] = old[i, 1]
            counts[slot] = old_counts[i]


class People:
    """The rows seen so far of each person, during one pass over the data."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._key = np.frombuffer(os.urandom(16), np.uint64).copy()
        self._table = np.zeros((1024, 2), np.uint64)
        self._counts = np.zeros(1024, np.uint32)
        self._people = 0

    def hashes(self, data: Octets, starts: Positions, ends: Positions) -> Words:
        """Who each row belongs to; safe to call from several threads."""
        hashes = np.empty((starts.size, 2), np.uint64)
        hash_fields(data, starts, ends, self._key, hashes)
        return hashes

    def keep(self, hashes: Words) -> NDArray[np.bool_]:
        """Which of these rows, in this order, are among the first k of their person."""
        self._reserve(self._people + len(hashes))
        keep = np.empty(len(hashes), np.bool_)
        self._people += _insert(hashes, keep, self._limit, self._table, self._counts)
        return keep

    def _reserve(self, people: int) -> None:
        if people <= _FULLEST * len(self._counts):
            return
        slots = max(int(_GROWTH * len(self._counts)), int(people / _FULLEST) + 1) | 1
        table, counts = np.zeros((slots, 2), np.uint64), np.zeros(slots, np.uint32)
        _move(self._table, self._counts, table, counts)
        self._table, self._counts = table, counts
