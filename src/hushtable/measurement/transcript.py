"""All lines of a paid request, and the one format in which they are stored: Arrow, uncompressed.

The length of a payload depends on the requests alone, never on what the replies say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import BundleError
from hushtable.marginals import ROWS
from hushtable.measurement.answers import Answers
from hushtable.measurement.claim import Claim
from hushtable.measurement.line import NO_FLOATS, NO_INTS, Line
from hushtable.measurement.requests import Round
from hushtable.measurement.version_0_1 import ROUNDS, arrays, read_rounds, read_table

_FORMAT = b"hushtable-lines-2"
_SETS = pa.list_(pa.list_(pa.int32()))
_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("price", pa.string()),
        ("sets", _SETS),
        ("parameters", pa.list_(pa.string())),
        ("facts", pa.string()),
        ("numbers", pa.large_list(pa.float64())),
        ("reply", pa.large_list(pa.int64())),
    ]
)


@dataclass(frozen=True, eq=False)
class Transcript:
    """All lines of a release, in the order of its charges."""

    lines: tuple[Line, ...]

    @classmethod
    def of(cls, payloads: Iterable[bytes | None]) -> Transcript:
        """What a ledger has stored; payloads that were lost are left out."""
        return cls(tuple(line for p in payloads if p is not None for line in lines_from_bytes(p)))

    def answers(self, sizes: tuple[int, ...]) -> Answers:
        """All that was measured as one ``Answers``; a residual that was measured again occurs again."""
        found = [a for a in (line.answers(sizes) for line in self.lines) if a is not None]
        return found[0] if len(found) == 1 else Answers.pooled(sizes, found)

    def quantities(self, sizes: tuple[int, ...]) -> dict[str, Answers]:
        """What was measured of other quantities than rows, by their names."""
        found = {of: a for line in self.lines for of, a in line.quantities(sizes).items()}
        return {of: answers for of, answers in found.items() if of != ROWS}

    def rounds(self, limit: Fraction) -> list[Round] | None:
        """The history; None where the lines have no labels."""
        rounds = [r for r in (line.round(limit) for line in self.lines) if r is not None]
        return rounds or None

    def claims(self) -> list[Claim]:
        """What was proved of whole tables."""
        return [claim for claim in (line.claim() for line in self.lines) if claim is not None]


def columns_of(lines: Sequence[Line]) -> list[Any]:
    """Lines as they are written, but for their integers: what can be made before there are any."""
    return [
        pa.array([line.kind for line in lines], pa.string()),
        pa.array([str(line.price) for line in lines], pa.string()),
        pa.array([[list(s) for s in line.sets] for line in lines], _SETS),
        pa.array([[str(p) for p in line.parameters] for line in lines], pa.list_(pa.string())),
        pa.array([json.dumps(line.facts) for line in lines], pa.string()),
        _lists([line.numbers for line in lines], NO_FLOATS),
    ]


def lines_to_bytes(lines: Sequence[Line], columns: list[Any] | None = None) -> bytes:
    """Serialise a group of lines (Arrow IPC, uncompressed); the length depends on the requests alone.

    ``columns`` are their own, where they were made before.
    """
    integers = _lists([line.values for line in lines], NO_INTS)
    table = pa.table(
        [*(columns_of(lines) if columns is None else columns), integers],
        schema=_SCHEMA.with_metadata({b"format": _FORMAT}),
    )
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def lines_from_bytes(payload: bytes) -> list[Line]:
    """Read what :func:`lines_to_bytes` or version 0.1 made; refuses anything else."""
    try:
        with pa.ipc.open_file(pa.BufferReader(payload)) as reader:
            table = reader.read_all()
        return READERS[cast("dict[bytes, bytes]", table.schema.metadata or {}).get(b"format")](table)
    except (pa.ArrowException, ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError):
        raise BundleError(
            "bundle.damaged", "The stored answers cannot be read.", "Restore the payload from a backup."
        ) from None


def _read(table: pa.Table) -> list[Line]:
    rows = zip(
        table["kind"].to_pylist(),
        table["price"].to_pylist(),
        table["sets"].to_pylist(),
        table["parameters"].to_pylist(),
        table["facts"].to_pylist(),
        arrays(table, "reply"),
        arrays(table, "numbers"),
        strict=True,
    )
    return [
        Line(
            kind,
            Fraction(price),
            tuple(tuple(s) for s in sets),
            tuple(Fraction(p) for p in parameters),
            np.array(reply, np.int64),
            json.loads(facts),
            np.array(numbers, np.float64),
        )
        for kind, price, sets, parameters, facts, reply, numbers in rows
    ]


READERS = {_FORMAT: _read, ROUNDS: read_rounds, None: read_table}
"""How each format is read; tables of version 0.1 keep the name of theirs elsewhere."""


def _lists(arrays: Sequence[NDArray[Any]], empty: NDArray[Any]) -> pa.LargeListArray:
    offsets = np.cumsum([0, *(len(a) for a in arrays)])
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate([empty, *arrays])))
