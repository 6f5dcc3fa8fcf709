"""Payloads that version 0.1 stored, read as lines: rounds, batches and parts of choices.

Rounds have no kinds, prices and labels.  Parts of a choice have a note beside their integers.
"""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.measurement.answers import Answers
from hushtable.measurement.line import NOTE, PART, Line
from hushtable.measurement.requests import Measure

ROUNDS = b"hushtable-rounds-1"
_CHOICE = b"hushtable-choice"


def read_rounds(table: pa.Table) -> list[Line]:
    """The rounds of a group."""
    rows = zip(
        table["request"].to_pylist(),
        table["sets"].to_pylist(),
        table["precisions"].to_pylist(),
        arrays(table, "reply"),
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


def read_table(table: pa.Table) -> list[Line]:
    """A batch, or a part of a choice."""
    note = cast("dict[bytes, bytes]", table.schema.metadata or {}).get(_CHOICE)
    facts: dict[str, Any] = {} if note is None else {"choice": json.loads(note)}
    if "parameter" in table.column_names:
        answers = Answers.from_table(table)
        line = Line.of(Measure(answers.part), answers.values)
        return [Line(line.kind, line.price, line.sets, line.parameters, line.values, line.facts | facts)]
    if note is None:
        raise ValueError(table.column_names)
    values = table["values"].combine_chunks().to_numpy(zero_copy_only=False).astype(np.int64)
    if "row" in table.column_names:
        rows = table["row"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        scale = {"scale": int(facts["choice"]["scale"])}
        return [Line(PART, Fraction(0), values=values, facts=facts | scale, numbers=rows.astype(np.float64))]
    return [Line(PART if len(values) else NOTE, Fraction(0), values=values, facts=facts)]


def arrays(table: pa.Table, name: str) -> list[NDArray[Any]]:
    lists = table[name].combine_chunks()
    offsets, flat = lists.offsets.to_numpy(), lists.values.to_numpy(zero_copy_only=False)
    return [flat[a:b] for a, b in pairwise(offsets)]
