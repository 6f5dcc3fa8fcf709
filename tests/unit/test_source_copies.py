"""PostgreSQL's binary COPY, read from bytes that are made here from its description; no server."""

from __future__ import annotations

import math
import socket
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.kernel.sources import copy_stream
from hushtable.kernel.sources.copy_stream import CopyError, CopyStream
from hushtable.kernel.sources.copy_types import TYPES

HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
END = struct.pack(">h", -1)


def row(*fields: bytes | None) -> bytes:
    parts = [struct.pack(">i", -1) if f is None else struct.pack(">i", len(f)) + f for f in fields]
    return struct.pack(">h", len(fields)) + b"".join(parts)


def numeric(value: Decimal) -> bytes:
    """A number by the description of the format: digits of base 10,000 around the point."""
    if not value.is_finite():
        sign = 0xC000 if value.is_nan() else 0xF000 if value < 0 else 0xD000
        return struct.pack(">hhHh", 0, 0, sign, 0)
    scale = max(-int(value.as_tuple().exponent), 0)
    before, _, after = f"{value:f}".lstrip("-").partition(".")
    before = before.lstrip("0")
    before, after = "0" * (-len(before) % 4) + before, after + "0" * (-len(after) % 4)
    digits = [int((before + after)[k : k + 4]) for k in range(0, len(before + after), 4)]
    weight = len(before) // 4 - 1
    while digits and digits[0] == 0:
        digits, weight = digits[1:], weight - 1
    while digits and digits[-1] == 0:
        digits = digits[:-1]
    sign = 0x4000 if value < 0 else 0
    return struct.pack(f">hhHh{len(digits)}h", len(digits), weight if digits else 0, sign, scale, *digits)


@dataclass
class Result:
    status: int
    state: bytes | None = None

    def error_field(self, which: int) -> bytes | None:
        return self.state if which == ord("C") else None


class Connection:
    """What psycopg's lower level gives: messages of any size, now and then none yet, and an answer at the end."""

    def __init__(
        self, messages: Sequence[bytes], end: Result | None = None, begin: Result | None = None
    ) -> None:
        self._messages = list(messages)[::-1]
        self._results = [end or Result(1), None]
        self._begin = begin or Result(3)
        self._ready, self._other = socket.socketpair()
        self._other.send(b"x")
        self.socket = self._ready.fileno()
        self._waits = 0

    def exec_(self, statement: bytes) -> Result:
        assert statement == b"COPY people (who) TO STDOUT (FORMAT BINARY)"
        return self._begin

    def get_copy_data(self, later: int) -> tuple[int, Any]:
        assert later == 1
        self._waits += 1
        if self._waits % 5 == 1:
            return 0, b""
        if not self._messages:
            return -1, b""
        found = self._messages.pop()
        return len(found), memoryview(found)

    def consume_input(self) -> None: ...

    def get_result(self) -> Result | None:
        return self._results.pop(0)


def read(
    messages: Sequence[bytes], kinds: Sequence[str], size: int = 3, **answers: Any
) -> Iterator[list[Any]]:
    """The columns of each block."""
    stream = CopyStream(SimpleNamespace(pgconn=Connection(messages, **answers)), "people (who)")
    for block in stream.blocks([TYPES[kind].read for kind in kinds], size):
        arrays = block.columns()
        for array in arrays:
            array.validate(full=True)
        yield arrays


def column(kind: str, *fields: bytes | None) -> Any:
    (block,) = read([HEADER, *(row(f) for f in fields), END], [kind], 100)
    return block[0]


DAY = 86_400_000_000
VALUES = {
    "text": ("é ☃".encode(), "é ☃"),
    "varchar": (b"", ""),
    "bpchar": (b"x  ", "x  "),
    "name": (b"n", "n"),
    "bool": (b"\1", True),
    "int2": (struct.pack(">h", -2), -2),
    "int4": (struct.pack(">i", -(2**31)), -(2**31)),
    "int8": (struct.pack(">q", 2**63 - 1), 2**63 - 1),
    "float4": (struct.pack(">f", -0.5), -0.5),
    "float8": (struct.pack(">d", 0.1), 0.1),
    "numeric": (numeric(Decimal("-0.0700")), "-0.0700"),
    "date": (struct.pack(">i", -1), date(1999, 12, 31)),
    "timestamp": (struct.pack(">q", DAY + 1), datetime(2000, 1, 2, 0, 0, 0, 1)),
    "timestamptz": (struct.pack(">q", -1), datetime(1999, 12, 31, 23, 59, 59, 999_999, UTC)),
    "uuid": (bytes(range(16)), UUID(bytes=bytes(range(16)))),
    "bytea": (b"\0\xff", b"\0\xff"),
}


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_is_read_with_nulls(kind: str) -> None:
    field, value = VALUES[kind]
    found = column(kind, None, field, None, field)
    assert found.type == TYPES[kind].arrow and found.to_pylist() == [None, value, None, value]


def test_numbers_that_are_none_stay_so() -> None:
    found = column("float8", *(struct.pack(">d", x) for x in (math.nan, math.inf, -math.inf, -0.0)))
    assert [str(x) for x in found.to_pylist()] == ["nan", "inf", "-inf", "-0.0"]
    named = [numeric(Decimal(x)) for x in ("NaN", "Infinity", "-Infinity")]
    assert column("numeric", *named).to_pylist() == ["NaN", "Infinity", "-Infinity"]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-(10**40), 10**40), st.integers(0, 30)), max_size=30))
def test_decimals_are_written_as_they_are(given_values: list[tuple[int, int]]) -> None:
    values = [f"{Decimal(whole):f}e-{places}" for whole, places in [(12345678900005, 1), *given_values]]
    found = column("numeric", *(numeric(Decimal(value)) for value in values))
    assert found.to_pylist() == [f"{Decimal(value):f}" for value in values]


def test_moments_and_days_without_end_lie_beyond_all_others() -> None:
    ends = [2**63 - 1, -(2**63), 9_223_371_331_199_999_999, -211_813_488_000_000_000, 0]
    fields = [struct.pack(">q", x) for x in ends]
    found = column("timestamp", *fields).cast(pa.int64()).to_pylist()
    assert sorted(range(5), key=lambda k: found[k]) in ([1, 3, 4, 0, 2], [1, 3, 4, 2, 0])
    apart = TYPES["timestamp"].tell_apart
    assert apart is not None
    stream = CopyStream(
        SimpleNamespace(pgconn=Connection([HEADER, *(row(f) for f in fields), END])), "people (who)"
    )
    ((told,),) = (block.columns() for block in stream.blocks([apart], 100))
    assert len(set(told.cast(pa.int64()).to_pylist())) == 5
    days = column("date", *(struct.pack(">i", x) for x in (2**31 - 1, -(2**31), 2_145_031_948, -2_451_545)))
    numbers = days.cast(pa.int32()).to_pylist()
    assert numbers[0] > numbers[2] > numbers[3] > numbers[1]


def test_a_stream_is_read_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages need not be rows, and rows may be larger than what is fetched together."""
    chance = np.random.default_rng(3)
    texts = [None if n % 7 == 0 else "ab" * int(chance.integers(0, 60)) for n in range(200)]
    whole = (
        HEADER
        + b"".join(row(t if t is None else t.encode(), struct.pack(">q", n)) for n, t in enumerate(texts))
        + END
    )
    monkeypatch.setattr(copy_stream, "_BYTES", 64)
    for size in (1, 3, 1000):
        for longest in (1, 10, 500, len(whole)):
            cuts = np.cumsum(chance.integers(1, longest + 1, len(whole)))
            messages = [
                bytes(part) for part in np.split(np.frombuffer(whole, np.uint8), cuts[cuts < len(whole)])
            ]
            blocks = list(read(messages, ["text", "int8"], size))
            assert all(len(a) == len(b) <= size for a, b in blocks)
            assert [x for a, _ in blocks for x in a.to_pylist()] == texts
            assert [x for _, b in blocks for x in b.to_pylist()] == list(range(200))


def test_an_empty_table_has_no_blocks() -> None:
    assert list(read([HEADER + END], ["text"])) == []


GOOD = row(b"x")
BROKEN = {
    "nothing": [],
    "no header": [GOOD, END],
    "another version": [HEADER.replace(b"PGCOPY", b"PGCOPZ"), GOOD, END],
    "no end": [HEADER, GOOD],
    "half a row": [HEADER, GOOD[:-1]],
    "more after the end": [HEADER, END, GOOD],
    "another number of columns": [HEADER, row(b"x", b"y"), END],
    "a size below null": [HEADER, struct.pack(">hi", 1, -2), END],
    "a size beyond the end": [HEADER, struct.pack(">hi", 1, 2**31 - 1), END],
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_no_whole_copy_is_refused(case: str) -> None:
    with pytest.raises(CopyError):
        list(read(BROKEN[case], ["text"]))


@pytest.mark.parametrize("kind", ["bool", "int4", "int8", "numeric", "uuid", "timestamp"])
def test_a_field_of_another_size_is_refused(kind: str) -> None:
    with pytest.raises(ValueError):
        column(kind, b"12345")


@pytest.mark.parametrize("state", [b"57014", None])
def test_an_answer_that_is_not_the_end_is_refused_with_its_state(state: bytes | None) -> None:
    for answers in ({"end": Result(7, state)}, {"begin": Result(7, state)}):
        with pytest.raises(CopyError) as caught:
            list(read([HEADER, GOOD, END], ["text"], **answers))
        assert caught.value.sqlstate == (state and state.decode()) and str(caught.value) == ""
