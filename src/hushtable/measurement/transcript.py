"""What an adaptive release asked and was told, line by line: what the ledger stores, and all that a reader needs.

A line is a request as it was asked (its kind, its sets, its exact noise), what it cost, and the integers of the reply.
A draw that was begun and thrown away leaves a line too, with its price alone.  Notes are free: they say what was proved
of whole tables on the way.  Lines of version 0.1 have no kinds, no prices of selections and no notes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.arrays import Floats, Ints
from hushtable.errors import BundleError
from hushtable.marginals import AttributeSet
from hushtable.measurement.answers import Answers
from hushtable.measurement.claim import Claim
from hushtable.measurement.parts import MarginalPart, ResidualPart
from hushtable.measurement.requests import Label, Measure, Reply, Request, Round, fingerprint

LOST, NOTE, DECIDE = "lost", "note", "decide"
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
_NO_INTS: Ints = np.empty(0, np.int64)
_NO_FLOATS: Floats = np.empty(0)


@dataclass(frozen=True, eq=False)
class Line:
    """One line; ``kind`` is that of the request, "lost", "note", or empty in a line of version 0.1."""

    kind: str
    price: Fraction
    sets: tuple[AttributeSet, ...] = ()
    parameters: tuple[Fraction, ...] = ()
    values: Ints = field(default_factory=lambda: _NO_INTS)
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    numbers: Floats = field(default_factory=lambda: _NO_FLOATS)

    @classmethod
    def of(cls, request: Request, values: Ints) -> Line:
        """The line of a request that was answered."""
        facts = {} if request.label is None else {"label": _written(request.label)}
        facts |= request.facts
        return cls(request.kind, request.rho, request.of(values), request.parameters, values, facts)

    @classmethod
    def lost(cls, request: Request) -> Line:
        """The line of a draw that was begun; what came of it, if anything, was thrown away."""
        return cls(LOST, request.rho)

    @classmethod
    def note(cls, claim: Claim) -> Line:
        """What was proved of whole tables."""
        tables = _NO_FLOATS if claim.tables is None else claim.tables
        facts = {"claim": "tables" if claim.tables is not None else "estimates"}
        return cls(NOTE, Fraction(0), claim.sets, facts=facts, numbers=np.concatenate([claim.limits, tables]))

    def reply_to(self, request: Request | None) -> Reply | None:
        """The stored reply to a request, with the request as it was asked then; None where it was another one."""
        if request is None:
            return None
        if not self.kind:
            same = self.facts["request"] == fingerprint(request)
            return Reply(request, self.values) if same else None
        if self.kind != request.kind:
            return None
        return request.stored(self.sets, self.parameters, self.values)

    @property
    def tells(self) -> bool:
        """Whether somebody can read something of it: a measurement, or verdicts."""
        return self.measures or self.kind == DECIDE

    @property
    def measures(self) -> bool:
        """Whether the line holds noisy integers of a part."""
        return self.kind == Measure.kind or (not self.kind and bool(self.sets))

    def answers(self, sizes: tuple[int, ...]) -> Answers | None:
        """What the line measured, if it did."""
        if not self.measures:
            return None
        if "marginals" not in self.facts:
            return Answers(ResidualPart(sizes, self.sets, self.parameters), self.values)
        law, bound = self.facts["marginals"]["noise"], self.facts["marginals"]["bound"]
        return Answers(MarginalPart(sizes, self.sets, law, self.parameters, bound), self.values)

    def round(self, limit: Fraction) -> Round | None:
        """What the history says of the line, if anything; ``limit`` is the whole budget."""
        if "label" not in self.facts:
            return None
        residuals = len(self.sets) if self.kind == Measure.kind else 0
        return _label(self.facts["label"]).round(residuals, self.price, limit)

    def claim(self) -> Claim | None:
        """What the line proves, if it is such a note."""
        if "claim" not in self.facts:
            return None
        limits, tables = np.split(self.numbers, [len(self.sets)])
        return Claim(self.sets, tables if self.facts["claim"] == "tables" else None, limits)


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
        _lists([line.numbers for line in lines], _NO_FLOATS),
    ]


def lines_to_bytes(lines: Sequence[Line], columns: list[Any] | None = None) -> bytes:
    """Serialise a group of lines (Arrow IPC, uncompressed); the length depends on the requests alone.

    ``columns`` are their own, where they were made before.
    """
    integers = _lists([line.values for line in lines], _NO_INTS)
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
        _arrays(table, "reply"),
        _arrays(table, "numbers"),
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


def _read_rounds(table: pa.Table) -> list[Line]:
    """Rounds of version 0.1: no kinds, prices and labels."""
    rows = zip(
        table["request"].to_pylist(),
        table["sets"].to_pylist(),
        table["precisions"].to_pylist(),
        _arrays(table, "reply"),
        strict=True,
    )
    return [
        Line(
            "",
            Fraction(0),
            tuple(tuple(s) for s in sets),
            tuple(Fraction(p) for p in precisions),
            np.array(reply, np.int64),
            {"request": request},
        )
        for request, sets, precisions, reply in rows
    ]


def _read_answers(table: pa.Table) -> list[Line]:
    """A batch of version 0.1."""
    answers = Answers.from_table(table)
    return [Line.of(Measure(answers.part), answers.values)]


READERS = {_FORMAT: _read, b"hushtable-rounds-1": _read_rounds, None: _read_answers}
"""How each format is read; answers of version 0.1 keep the name of theirs elsewhere."""


def _lists(arrays: Sequence[NDArray[Any]], empty: NDArray[Any]) -> pa.LargeListArray:
    offsets = np.cumsum([0, *(len(a) for a in arrays)])
    return pa.LargeListArray.from_arrays(pa.array(offsets), pa.array(np.concatenate([empty, *arrays])))


def _arrays(table: pa.Table, name: str) -> list[NDArray[Any]]:
    lists = table[name].combine_chunks()
    offsets, flat = lists.offsets.to_numpy(), lists.values.to_numpy(zero_copy_only=False)
    return [flat[a:b] for a, b in pairwise(offsets)]


def _written(label: Label) -> dict[str, Any]:
    return {
        "action": label.action,
        "chosen": None if label.chosen is None else list(label.chosen),
        "sigma": label.sigma,
        "epsilon": label.epsilon,
        "beside": str(label.beside),
    }


def _label(written: dict[str, Any]) -> Label:
    chosen = written["chosen"]
    return Label(
        str(written["action"]),
        None if chosen is None else tuple(chosen),
        float(written["sigma"]),
        float(written["epsilon"]),
        Fraction(written["beside"]),
    )
