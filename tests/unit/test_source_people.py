"""The cap on rows per person."""

from collections import Counter

import numpy as np
import pytest

from hushtable.kernel.sources import people
from hushtable.kernel.sources.people import People, siphash128

KEY = np.frombuffer(bytes(range(16)), np.uint64)

# SipHash-2-4-128 of the empty message and of 00, 00 01 under the key 00..0f, from the reference test vectors.
VECTORS = [
    "a3817f04ba25a8e66df67214c7550293",
    "da87c1d86b99af44347659119b22fc45",
    "8177228da4a45dc7fca38bdef60affe4",
]


@pytest.mark.parametrize("length", [0, 1, 2])
def test_hash_matches_the_reference_vectors(length):
    low, high = siphash128(np.arange(length, dtype=np.uint8), 0, length, KEY[0], KEY[1])
    assert np.array([low, high], np.uint64).tobytes().hex() == VECTORS[length]


def slow_siphash128(message: bytes, key: bytes) -> bytes:
    """From the definition, in Python integers."""
    mask = (1 << 64) - 1
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE

    def rotate(x, b):
        return ((x << b) | (x >> (64 - b))) & mask

    def sipround():
        v[0] = (v[0] + v[1]) & mask
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & mask
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & mask
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & mask
        v[1] = rotate(v[1], 17) ^ v[2]
        v[2] = rotate(v[2], 32)

    padded = message + bytes(7 - len(message) % 8) + bytes([len(message) & 255])
    for i in range(0, len(padded), 8):
        word = int.from_bytes(padded[i : i + 8], "little")
        v[3] ^= word
        sipround()
        sipround()
        v[0] ^= word
    out = b""
    for index, constant in ((2, 0xEE), (1, 0xDD)):
        v[index] ^= constant
        for _ in range(4):
            sipround()
        out += (v[0] ^ v[1] ^ v[2] ^ v[3]).to_bytes(8, "little")
    return out


def test_hash_matches_its_definition_for_all_short_lengths():
    for length in range(70):
        message = bytes(7 * i & 255 for i in range(length))
        low, high = siphash128(np.frombuffer(message or b"\0", np.uint8), 0, length, KEY[0], KEY[1])
        assert np.array([low, high], np.uint64).tobytes() == slow_siphash128(message, bytes(range(16)))


@pytest.mark.parametrize("limit", [1, 3])
def test_the_first_k_rows_of_each_person_are_kept_while_the_table_grows(limit):
    ids = np.random.default_rng(3).integers(0, 20_000, 60_000)
    table, seen = People(limit), Counter()
    for start in range(0, len(ids), 7_001):
        part = ids[start : start + 7_001]
        data = part.astype(np.int64).view(np.uint8)
        starts = np.arange(0, 8 * len(part), 8, dtype=np.int64)
        kept = table.keep(table.hashes(data, starts, starts + 8))
        for person, keep in zip(part.tolist(), kept.tolist(), strict=True):
            assert keep == (seen[person] < limit)
            seen[person] += 1


def test_two_passes_use_different_keys():
    data, starts, ends = np.zeros(1, np.uint8), np.zeros(1, np.int64), np.ones(1, np.int64)
    assert not np.array_equal(People(1).hashes(data, starts, ends), People(1).hashes(data, starts, ends))


def test_the_table_holds_a_person_in_fewer_than_forty_bytes():
    table = People(1)
    hashes = np.random.default_rng(1).integers(0, 1 << 63, (400_000, 2)).astype(np.uint64)
    for part in np.array_split(hashes, 40):
        table.keep(part)
    assert (table._table.nbytes + table._counts.nbytes) / len(hashes) < 40
    assert people._FULLEST < 1
