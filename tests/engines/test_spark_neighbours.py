"""Neighbour fuzzing over Spark: one person's rows, whatever they hold, change nobody else's codes or messages.

The tables of a campaign lie in Parquet files that Spark reads, and one job counts all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import chain
from math import ceil
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from many_tables import NUMBER, ManyTables
from spark_sessions import Sparks

from hushtable.deciders import columns_of, grid_values
from hushtable.errors import HushtableError
from hushtable.kernel.sources.engines import EngineCounter, engine_counter, tasks
from hushtable.kernel.sources.engines.engine_counter import _Prints
from hushtable.kernel.sources.engines.parcels import LAST, parcels_in
from hushtable.kernel.sources.engines.spark import SparkFrame
from hushtable.kernel.sources.records import record_frame
from hushtable.kernel.sources.source import RowView
from hushtable.marginals import Layout
from hushtable.schema import Schema
from hushtable.selftest.neighbours import SourceKind, TableRead, campaign
from hushtable.selftest.neighbours.layouts import MadeRow
from hushtable.selftest.neighbours.pairs import STEPS, _grid_queries
from hushtable.selftest.neighbours.typed_tables import TypedLayout, key_stores, stores
from hushtable.selftest.neighbours.worlds import World

PAIRS, MANY_PAIRS = 48, 2_000
MANY_STEPS = 2 * STEPS
"""Pairs to a job of many: a job takes seconds however few tables it counts."""
BUCKETS = 8
"""Of people who are at most 30: with the 512 of a large table, nearly all that a job moves says that a bucket is
empty."""
TYPES = {
    "string",
    "binary",
    "fixed_size_binary[16]",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float",
    "double",
    "bool",
    "date32[day]",
    "timestamp[us]",
    "timestamp[us, tz=UTC]",
    "decimal128(38, 0)",
    "decimal128(38, 4)",
    "decimal128(20, 2)",
    "list<item: double>",
}
"""What Spark reads from Parquet whatever is in it; text may hold any bytes.  Its reader fails on milliseconds that are
too many for microseconds (known-limits)."""


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_counter, "BUCKETS", BUCKETS)


class SparkLayout(TypedLayout):
    """Tables as Arrow has them, in two parts; only the types that Spark reads."""

    def __init__(self, world: World, chance: Random) -> None:
        every = chain(key_stores(valid=False), *(stores(column, valid=False) for column in world.columns))
        super().__init__(
            world, chance, parts=2, without=frozenset(str(store.type) for store in every) - TYPES
        )

    def data(self, rows: Sequence[MadeRow], folder: Path) -> list[pa.Table]:
        return self.tables(rows)


class Reader:
    """Reads the tables of a campaign in four jobs; those that a job fails for, each by itself."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self._spark, self._folder = spark, folder
        self.alone = self.written = 0

    def __call__(self, tables: Iterator[list[pa.Table]], schema: Schema) -> list[TableRead]:
        every = list(tables)
        try:
            return self._read(every, schema)
        except HushtableError:
            self.alone += len(every)
        return [self._read_alone(table, schema) for table in every]

    def _read_alone(self, table: list[pa.Table], schema: Schema) -> TableRead:
        try:
            return self._read([table], schema)[0]
        except HushtableError as error:
            return TableRead({}, (f"{error.code}: {error}",))

    def _read(self, tables: Sequence[list[pa.Table]], schema: Schema) -> list[TableRead]:
        frame = ManyTables(SparkFrame(self._spark.read.parquet(self._write(tables))))
        counter = EngineCounter(frame, schema)
        return [self._table(counter, frame.at(number), schema) for number in range(len(tables))]

    def _write(self, tables: Sequence[list[pa.Table]]) -> str:
        place = self._folder / f"{self.written}"
        place.mkdir()
        self.written += 1
        for part in range(len(tables[0])):
            numbered = [
                pieces[part].append_column(NUMBER, pa.array([number] * len(pieces[part]), pa.int32()))
                for number, pieces in enumerate(tables)
            ]
            pq.write_table(pa.concat_tables(numbered), place / f"{part}.parquet", row_group_size=7)
        return str(place)

    def _table(self, shared: EngineCounter, frame: ManyTables, schema: Schema) -> TableRead:
        """Rows that count, as codes, marks and values, from the parcels that they travel in; and a table of them."""
        counter = copy(shared)
        counter._frame = frame
        counter._prints = _Prints(shared._prints.keys)
        rows: dict[str, Counter[Any]] = {}
        for view in (RowView.CODES, RowView.MARKS):
            rows[view.value] = Counter()
            for arrays in kept(counter, view):
                stacked = np.stack([column.astype(np.int64) for column in arrays], axis=1)
                rows[view.value].update(map(tuple, stacked.tolist()))
        attributes = list(schema.attributes.values())
        empty = [np.empty(0, kind) for kind in counter._reader(_Wanted(RowView.VALUES)).kinds]
        values = record_frame(attributes, [empty, *kept(counter, RowView.VALUES)])
        rows["values"] = Counter(values.rows())
        for query in _grid_queries(schema):
            found = grid_values(query, values, columns_of(schema))
            rows[f"{query.column} on its grid"] = Counter(found.tolist())
        layout = Layout(schema.sizes, (tuple(range(min(2, len(attributes)))),))
        rows["counts"] = Counter(dict(enumerate(counter.tabulate(layout).tolist())))
        return TableRead(rows, weighed={"counts": 1 if schema.weight is None else schema.weight.per_row})


@dataclass(frozen=True)
class _Wanted:
    view: RowView


def kept(counter: EngineCounter, view: RowView) -> Iterator[Sequence[Any]]:
    """The rows that count, as the arrays that tasks add up."""
    reading = counter._reader(_Wanted(view))
    fresh = copy(counter)
    fresh._codes = None
    for batch in fresh._kept_codes(reading).collected("reading").to_batches():
        for parcel in parcels_in(batch):
            if parcel.number != LAST:
                yield tasks._RowBytes(reading.kinds).arrays([parcel.data])


def findings(spark: Any, seeds: range, folder: Path, steps: int = STEPS) -> int:
    """How many pairs were looked at; one that a person does not explain ends it."""
    kind, made, reader = SourceKind("spark", SparkLayout), 0, Reader(spark, folder)
    for seed in seeds:
        for found in campaign(kind, seed, folder, steps=steps, together=reader):
            assert found is None, str(found)
            made += 1
    assert reader.alone <= made // 4  # nearly all were counted many to a job
    return made


def test_one_person_changes_nothing_for_everybody_else(sparks: Sparks, tmp_path: Path) -> None:
    assert findings(sparks.local, range(PAIRS // STEPS), tmp_path) >= PAIRS


@pytest.mark.slow
def test_one_person_changes_nothing_in_many_tables(sparks: Sparks, tmp_path: Path) -> None:
    seeds = range(1000, 1000 + ceil(MANY_PAIRS / MANY_STEPS))
    assert findings(sparks.local, seeds, tmp_path, MANY_STEPS) >= MANY_PAIRS
