"""Which rows of a person count, slowly and from the definition: a twin of ``kernel.sources.kept_rows``."""

from __future__ import annotations

import hashlib
import struct
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import date
from functools import reduce
from typing import Any, TypeVar

from hushtable.schema import Binned, Real, Schema

MASK = (1 << 64) - 1
R = TypeVar("R")


def siphash128(message: bytes, key: bytes) -> bytes:
    """SipHash-2-4 with 128 bits, from its definition."""
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    v[1] ^= 0xEE

    def rotate(x: int, b: int) -> int:
        return ((x << b) | (x >> (64 - b))) & MASK

    def sipround() -> None:
        v[0] = (v[0] + v[1]) & MASK
        v[1] = rotate(v[1], 13) ^ v[0]
        v[0] = rotate(v[0], 32)
        v[2] = (v[2] + v[3]) & MASK
        v[3] = rotate(v[3], 16) ^ v[2]
        v[0] = (v[0] + v[3]) & MASK
        v[3] = rotate(v[3], 21) ^ v[0]
        v[2] = (v[2] + v[1]) & MASK
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


def rank(name: bytes, schema: Schema, codes: Sequence[int], values: Sequence[Any], ledger: str) -> bytes:
    """The hash of a row, in an order in which bytes compare as the hashes do."""
    words: list[int] = []
    room = 0
    for attribute, code, value in zip(schema.attributes.values(), codes, values, strict=True):
        word, below = code, attribute.size
        if isinstance(attribute, Real):
            low, high = attribute.bounds
            number = 0.0 if code >= attribute.regular else min(max(float(value), low), high) or 0.0
            word, below = int.from_bytes(struct.pack("<d", number), "little"), 1 << 64
            if code >= attribute.regular:
                word = 0x7FF8000000000000 + code - attribute.regular
        elif isinstance(attribute, Binned):
            low, high = (_number(end) for end in attribute.bounds)
            below = high - low + 3
            strange = code >= attribute.regular
            word = (
                high - low + 1 + code - attribute.regular
                if strange
                else min(max(_number(value), low), high) - low
            )
        if below <= room:
            words[-1], room = words[-1] * below + word, room // below
        else:
            words.append(word)
            room = (1 << 64) // below
    return _in_order(name, words, ledger)


def mark_rank(name: bytes, marks: Sequence[int], ledger: str) -> bytes:
    """The hash of what befell a row, the same way: marks below 5, of which 27 make a word."""
    words = [
        reduce(lambda word, mark: 5 * word + mark, marks[k : k + 27], 0) for k in range(0, len(marks), 27)
    ]
    return _in_order(name, words, ledger)


def _in_order(name: bytes, words: Sequence[int], ledger: str) -> bytes:
    key = hashlib.blake2b(ledger.encode(), digest_size=16, person=b"hush rows kept").digest()
    found = siphash128(struct.pack(f"<{len(words)}Q", *words), siphash128(name, key))
    return found[7::-1] + found[:7:-1]


def _number(value: Any) -> int:
    return value.toordinal() - date(1970, 1, 1).toordinal() if isinstance(value, date) else int(value)


def smallest(rows: Iterable[tuple[Hashable, bytes, R]], limit: int) -> list[R]:
    """Of (person, rank, row) those that count."""
    people: dict[Hashable, list[tuple[bytes, R]]] = defaultdict(list)
    for person, rank, row in rows:
        people[person].append((rank, row))
    return [row for found in people.values() for _, row in sorted(found, key=lambda pair: pair[0])[:limit]]
