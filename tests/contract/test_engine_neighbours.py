"""Neighbour fuzzing of what runs on an engine: one person's rows change nobody else's, wherever they come from.

What is compared are the rows that tasks hand on to be counted, codes, values and marks; the engine shuffles and
repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from engine_in_pieces import ORDER_ONLY, Engine, Pieces

from hushtable.errors import HushtableError
from hushtable.kernel.sources.engines import tasks
from hushtable.kernel.sources.engines.parcels import PARCEL, Arrivals, parcels_in
from hushtable.kernel.sources.engines.tasks import EncodeRows, KeepRows, LabelRows, PartReader
from hushtable.kernel.sources.engines.versions import own_versions
from hushtable.kernel.sources.row_tables import require_fit
from hushtable.kernel.sources.source import RowView
from hushtable.schema import Schema
from hushtable.selftest.neighbours import SourceKind, campaign
from hushtable.selftest.neighbours.layouts import MadeRow
from hushtable.selftest.neighbours.pairs import STEPS, TableRead
from hushtable.selftest.neighbours.typed_tables import PolarsLayout

PAIRS, MANY_PAIRS = 16, 2_000


class PiecesLayout(PolarsLayout):
    """A table of any Arrow types, in parts."""

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Pieces:
        (table,) = self.tables(rows)
        return Pieces(table, 3, Engine(Random(len(rows)), ORDER_ONLY))


def on_engine(data: Pieces, schema: Schema) -> TableRead:
    """Rows that count, as the tasks of a release and of a check hand them on, and what befell them."""
    rows: dict[str, Counter[Any]] = {}
    try:
        frame = data.frame()
        require_fit([frame.header], schema)
        for view in RowView:
            reader = PartReader(schema.to_yaml(), "", bytes(16), bytes(16), view, own_versions(), 4)
            chosen = frame.chosen(schema.columns)
            if schema.person is None:
                sent = chosen.mapped(EncodeRows(reader), PARCEL)
            else:
                sent = (
                    chosen.mapped(LabelRows(reader), PARCEL)
                    .gathered("bucket")
                    .mapped(KeepRows(reader), PARCEL)
                )
            rows[view.value] = counted(sent.collected(""), reader)
    except HushtableError as error:
        return TableRead(rows, (f"{error.code}: {error}",))
    return TableRead(rows)


def counted(parcels: Any, reader: PartReader) -> Counter[Any]:
    arrivals: dict[int, Arrivals] = {}
    found: Counter[Any] = Counter()
    for batch in parcels.to_batches():
        for parcel in parcels_in(batch):
            if arrivals.setdefault(parcel.bucket, Arrivals()).is_new(parcel):
                arrays = tasks._RowBytes(reader.kinds).arrays([parcel.data])
                shown = [
                    np.nan_to_num(array, nan=-1e99) if array.dtype.kind == "f" else array for array in arrays
                ]
                found.update(zip(*(array.tolist() for array in shown), strict=True))
    assert all(came.whole for came in arrivals.values())
    return found


def require_nothing_found(pairs: int, folder: Path) -> None:
    kind = SourceKind("engine", PiecesLayout)
    made = 0
    for seed in range(ceil(pairs / STEPS)):
        for found in campaign(kind, seed, folder, read=on_engine):
            assert found is None, str(found)
            made += 1
    assert made >= pairs


@pytest.mark.long
def test_one_person_changes_nothing_for_everybody_else(tmp_path: Path) -> None:
    require_nothing_found(PAIRS, tmp_path)


@pytest.mark.slow
def test_one_person_changes_nothing_in_many_tables(tmp_path: Path) -> None:
    require_nothing_found(MANY_PAIRS, tmp_path)


@pytest.mark.slow
def test_a_task_that_keeps_rows_by_their_order_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows of the table, whoever they are of: what a task must not do."""
    monkeypatch.setattr(tasks, "_kept_rows", lambda rows, names, limit: [rows[name][:3] for name in names])
    kind = SourceKind("engine", PiecesLayout)
    assert any(f for seed in range(6) for f in campaign(kind, seed, tmp_path, read=on_engine))
