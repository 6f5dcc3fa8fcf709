"""A weight for every record, with which the records add up to official figures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from hushtable.arrays import Codes, Floats
from hushtable.reconstruct import CLOSE, ROUNDS
from hushtable.release.level_records import on_axes
from hushtable.schema import RECORD_WEIGHT, KnownTable, Schema
from hushtable.texts import counted

_NOTE = (
    "Weighted by `{name}`, the records add up to the official figures; unweighted, to the released tables."
)
_EMPTY = "No record is in {cells} of these figures, which the weighted records cannot meet."


def with_record_weights(
    schema: Schema, codes: Codes, frame: pl.DataFrame
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Records with their weights, and what a reader must know of them; as they are where there are no benchmarks."""
    if not schema.benchmarks or RECORD_WEIGHT in schema.names:
        return frame, ()
    weights, empty = record_weights(schema, codes, schema.benchmarks)
    notes = [_NOTE.format(name=RECORD_WEIGHT)]
    if empty:
        notes.append(_EMPTY.format(cells=counted(empty, "cell")))
    return frame.with_columns(pl.Series(RECORD_WEIGHT, weights)), tuple(notes)


def record_weights(schema: Schema, codes: Codes, tables: Sequence[KnownTable]) -> tuple[Floats, int]:
    """Weights by raking, all tables met in turn, and how many of their cells hold no record."""
    every, weights, empty = on_axes(schema, codes), np.ones(len(codes)), 0
    places: list[tuple[np.ndarray, Floats]] = []
    for table in tables:
        columns = tuple(every[:, axis] for axis in table.axes)
        at = np.ravel_multi_index(columns, table.shape) if columns else np.zeros(len(codes), np.int64)
        places.append((at, np.array(table.figures, np.float64)))
        empty += int((np.bincount(at, minlength=len(table.figures)) == 0).sum())
    for _ in range(ROUNDS if len(places) > 1 else 1):
        apart = 0.0
        for at, figures in places:
            sums = np.bincount(at, weights, len(figures))
            factors = np.where(sums > 0.0, figures / np.where(sums > 0.0, sums, 1.0), 1.0)
            apart = max(apart, float(np.abs(factors - 1.0).max(initial=0.0)))
            weights = weights * factors[at]
        if apart < CLOSE:
            break
    return weights, empty
