"""The stored bytes of one part of a choice: noisy integers, and a note that says what they are.

The first note describes the whole choice (options, schema, where the data are), so that a choice can be finished after
a restart from its ledger and its id alone.  Residuals are stored as ``Answers``, which other releases can reuse.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hushtable.arrays import Ints
from hushtable.errors import BundleError
from hushtable.measurement import Answers, MatrixPart, Part, ResidualPart

NOTE = b"hushtable-choice"


@dataclass(frozen=True, eq=False)
class Drawn:
    """One stored part: its note, the integers, and the part where the payload alone defines it."""

    note: dict[str, Any]
    values: Ints
    part: Part | None


def pack(part: Part | None, values: Ints, note: dict[str, Any]) -> bytes:
    """Serialise; the length depends on public sizes and the note only."""
    table = _table(part, values)
    metadata = {**(table.schema.metadata or {}), NOTE: json.dumps(note).encode()}
    table = table.replace_schema_metadata(metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack(payload: bytes) -> Drawn:
    """Read what :func:`pack` made; refuses anything else."""
    try:
        with pa.ipc.open_file(pa.BufferReader(payload)) as reader:
            table = reader.read_all()
        note: dict[str, Any] = json.loads((table.schema.metadata or {})[NOTE])
        if "parameter" in table.column_names:
            return _residuals(note, Answers.from_table(table))
        values = table["values"].combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
        if "row" not in table.column_names:
            return Drawn(note, values, None)
        rows = table["row"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        matrix = rows.astype(np.int64).reshape(len(values), -1)
        return Drawn(note, values, MatrixPart(tuple(note["sizes"]), matrix, int(note["scale"])))
    except (pa.ArrowException, KeyError, ValueError, TypeError, AttributeError):
        raise BundleError(
            "bundle.damaged",
            "A stored part of the choice cannot be read.",
            "Restore the payload from a backup.",
        ) from None


def pooled(drawn: list[Drawn]) -> Answers:
    """All residuals that were drawn as one ``Answers``; what was measured again occurs again."""
    answers = [as_answers(d.part, d.values) for d in drawn if isinstance(d.part, ResidualPart)]
    return pool(answers)


def pool(answers: list[Answers]) -> Answers:
    """Several ``Answers`` about residuals as one."""
    layout = type(answers[0].layout)(
        answers[0].layout.sizes, tuple(s for a in answers for s in a.layout.sets)
    )
    parameters = tuple(p for a in answers for p in a.parameters)
    return Answers("residual", "gaussian", layout, parameters, np.concatenate([a.values for a in answers]))


def as_answers(part: ResidualPart, values: Ints) -> Answers:
    """The noisy integers of a part with the noise they have."""
    return Answers("residual", "gaussian", part.layout, tuple(part.noise[0]), values)


def _table(part: Part | None, values: Ints) -> pa.Table:
    if isinstance(part, ResidualPart):
        return as_answers(part, values).to_table()
    columns: dict[str, Any] = {"values": pa.array(values)}
    if isinstance(part, MatrixPart):
        width = part.matrix.shape[1]
        columns["row"] = pa.FixedSizeListArray.from_arrays(pa.array(part.matrix.ravel()), width)
    return pa.table(columns)


def _residuals(note: dict[str, Any], answers: Answers) -> Drawn:
    lengths = answers.layout.lengths.tolist()
    pairs = zip(answers.layout.sets, lengths, answers.parameters, strict=True)
    precisions = {s: n**2 / variance for s, n, variance in pairs}
    return Drawn(note, answers.values, ResidualPart(answers.layout.sizes, precisions))
