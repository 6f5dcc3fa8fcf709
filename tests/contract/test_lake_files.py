"""Files of a lake table, read by tasks of an engine: rows of the table, whatever a file calls its columns."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_in_pieces import FAULTS, Engine, PieceFrame

import hushtable as ht
from hushtable.errors import SourceError
from hushtable.kernel.sources import Header, lake_files, open_counter
from hushtable.kernel.sources.engines import EngineCounter, LakeFrame
from hushtable.kernel.sources.lake_files import LakeColumn, LakeFiles, LakePart
from hushtable.marginals import Layout

SMALL = {"type": "integer", "bounds": [0, 9], "null": "category"}
DECLARED = ht.Schema.from_dict({"attributes": {"n": SMALL, "place": SMALL}, "person": "who"})
LAYOUT = Layout(DECLARED.sizes, ((), (0,), (1,), (0, 1)))


def written(path: Path, table: pa.Table, **more: Any) -> LakePart:
    pq.write_table(table, path, **more)
    return LakePart(str(path), path.stat().st_size, {})


def rows_of(files: LakeFiles) -> list[dict[str, Any]]:
    return [row for batch in pickle.loads(pickle.dumps(files)).batches(1000) for row in batch.to_pylist()]


def numbers(engine: Engine) -> Callable[[int], PieceFrame]:
    """The engine's own table of numbers, each in a part."""

    def made(size: int) -> PieceFrame:
        parts = [[pa.RecordBatch.from_pydict({"id": [k]})] for k in range(size)]
        return PieceFrame(engine, Header("numbers", ["id"], [pa.int64()]), lambda: parts)

    return made


@pytest.mark.parametrize("fault", ["none", *FAULTS])
def test_an_engine_that_reads_files_counts_what_is_in_them(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of several sizes in pieces by their row groups, with a column that the log alone knows."""
    monkeypatch.setattr(lake_files, "_PIECE", 600)
    chance, parts, whole = Random(5), [], []
    for k in range(4):
        size = chance.randrange(0, 60)
        rows = pa.table(
            {
                "who": [chance.randrange(9) for _ in range(size)],
                "n": [chance.randrange(12) for _ in range(size)],
            },
            schema=pa.schema([("who", pa.int64()), ("n", pa.int32())]),
        )
        place = None if k == 2 else k
        found = written(tmp_path / f"{k}.parquet", rows, row_group_size=7)
        parts.append(LakePart(found.path, found.size, {"place": pa.scalar(place, pa.int64())}))
        whole.append(rows.append_column("place", pa.array([place] * size, pa.int64())))
    columns = [
        LakeColumn("n", pa.int64()),
        LakeColumn("place", pa.int64(), in_files=False),
        LakeColumn("who", pa.int64()),
    ]
    files = LakeFiles.of(columns, parts)
    assert len(files.parts) > len(parts)
    engine = Engine(Random(2), FAULTS.get(fault, ()))
    header = Header("The table", [c.name for c in columns], [c.type for c in columns])
    counter = EngineCounter(LakeFrame(header, files, numbers(engine)), DECLARED).keyed("a")
    expected = open_counter(pa.concat_tables(whole), DECLARED).keyed("a").tabulate(LAYOUT).tolist()
    for counting in (counter, counter.staged()):
        try:
            assert counting.tabulate(LAYOUT).tolist() == expected
        except SourceError as error:  # an engine that loses rows is found out, as with rows of its own
            assert error.code == "source.two-versions" and fault in ("lost", "misled", "tried twice", "all")


def test_columns_are_found_by_number_where_they_have_one(tmp_path: Path) -> None:
    def numbered(**ids: int) -> pa.Schema:
        return pa.schema(
            [pa.field(name, pa.int64(), metadata={"PARQUET:field_id": str(k)}) for name, k in ids.items()]
        )

    swapped = pa.table({"b": [1], "a": [2], "c": [3]}, schema=numbered(b=1, a=2, c=9))
    parts = [
        written(tmp_path / "1.parquet", swapped),
        written(tmp_path / "2.parquet", pa.table({"x": [5]})),
    ]
    columns = [LakeColumn("a", pa.int64(), 1), LakeColumn("b", pa.int64(), 2)]
    found = sorted(rows_of(LakeFiles.of(columns, parts, {"x": 1})), key=str)
    assert found == [{"a": 1, "b": 2}, {"a": 5, "b": None}]
    unknown = [written(tmp_path / "3.parquet", pa.table({"x": [5], "b": [6]}))]
    with pytest.raises(SourceError) as refused:
        rows_of(LakeFiles.of(columns, unknown, {"x": 1}))
    assert refused.value.code == "source.unreadable", "whether it is column 2, nobody says"


@pytest.mark.parametrize(
    ("held", "kind", "value"),
    [
        (pa.int8(), pa.int64(), -7),
        (pa.float32(), pa.float64(), 0.5),
        (pa.decimal128(5, 2), pa.decimal128(18, 2), Decimal("1.25")),
        (pa.large_string(), pa.string(), "é"),
        (pa.dictionary(pa.int8(), pa.string()), pa.large_string(), "é"),
        (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC"), datetime(2020, 5, 5, 23, tzinfo=UTC)),
        (pa.timestamp("us"), pa.timestamp("us", "UTC"), datetime(2020, 5, 5, 23)),
        (pa.null(), pa.date32(), None),
    ],
)
def test_types_become_wider_and_values_stay(held: Any, kind: Any, value: Any, tmp_path: Path) -> None:
    part = written(tmp_path / "t.parquet", pa.table({"a": pa.array([value, None], held)}))
    found = [row["a"] for row in rows_of(LakeFiles.of([LakeColumn("a", kind)], [part]))]
    expected = value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
    assert found == [expected, None]


@pytest.mark.parametrize(
    ("held", "kind", "value"),
    [
        (pa.int64(), pa.int32(), 7),
        (pa.string(), pa.int64(), "7"),
        (pa.int64(), pa.float64(), 7),
        (pa.float64(), pa.float32(), 0.1),
        (pa.decimal128(5, 3), pa.decimal128(5, 2), Decimal("1.250")),
        (pa.timestamp("us", "UTC"), pa.timestamp("us"), datetime(2020, 5, 5, tzinfo=UTC)),
        (pa.int32(), pa.date32(), 7),
    ],
)
def test_types_that_would_change_a_value_are_refused(
    held: Any, kind: Any, value: Any, tmp_path: Path
) -> None:
    part = written(tmp_path / "planted.parquet", pa.table({"a": pa.array([value], held)}))
    with pytest.raises(SourceError) as caught:
        rows_of(LakeFiles.of([LakeColumn("a", kind)], [part]))
    assert caught.value.code == "source.unreadable" and "planted" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"", b"PAR1 planted PAR1"])
def test_files_that_are_gone_or_broken_are_refused(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(SourceError) as caught:
        rows_of(LakeFiles.of([LakeColumn("a", pa.int64())], [LakePart(str(tmp_path / "t.parquet"), 9, {})]))
    assert caught.value.code == "source.unreadable" and caught.value.__cause__ is None
