"""What is stored does not depend on how Spark divides rows, on workers that die, on weights or totals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_people import people, schema, shuffled, weighed
from payloads import stored_payloads
from row_sums import SQL, counted, summed_by
from spark_sessions import Sparks

from hushtable.kernel.sources.engines import engine_counter

ROWS = 600
PARTS = {"local": 64, "connect": 9}
DEATHS = {1: "killed", 3: "failed", 5: "killed"}
"""What happens to the first attempts at some of the parts."""


@pytest.fixture(autouse=True)
def few_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every part tells every bucket what it has sent, in each of a dozen jobs."""
    monkeypatch.setattr(engine_counter, "BUCKETS", 32)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(people(ROWS), path)
    return path


@pytest.fixture(scope="module")
def other_order(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same rows in several files, in another order."""
    folder = tmp_path_factory.mktemp("parts") / "people"
    folder.mkdir()
    rows = shuffled(people(ROWS), 5)
    for k in range(5):
        pq.write_table(rows.slice(k * 120, 120), folder / f"{k}.parquet")
    return str(folder)


@pytest.mark.parametrize("limit", [None, 2])
@pytest.mark.parametrize("kind", ["local", "connect"])
def test_payloads_of_many_parts_some_of_which_die_are_those_of_one_file(
    kind: str,
    limit: int | None,
    sparks: Sparks,
    table: Path,
    other_order: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    deaths, place = DEATHS, str(marks)

    def dying(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal
        from pathlib import Path

        from pyspark import TaskContext

        part = TaskContext.get().partitionId()
        mark = Path(place) / f"{part}"
        how = deaths.get(part) if not mark.exists() else None
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if how is not None:
                mark.touch()
                if how == "failed":
                    raise RuntimeError("on purpose")
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch.slice(batch.num_rows // 2)

    session = getattr(sparks, kind)
    rows = session.read.parquet(other_order).repartition(PARTS[kind], "age", "sex", "seen")
    declared = schema(limit)
    found = stored_payloads(rows.mapInArrow(dying, rows.schema), declared, tmp_path / "spark", monkeypatch)
    assert found == stored_payloads(table, declared, tmp_path / "parquet", monkeypatch)
    assert {path.name for path in marks.iterdir()} >= {"1"}


@pytest.mark.parametrize("kind", ["local", "connect"])
def test_payloads_of_rows_that_are_weighed_and_summed_are_those_of_one_file(
    kind: str, sparks: Sparks, table: Path, other_order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = getattr(sparks, kind).read.parquet(other_order)
    for limit in (None, 2):
        expected = stored_payloads(table, weighed(limit), tmp_path / f"{limit}.parquet", monkeypatch)
        found = stored_payloads(frame, weighed(limit), tmp_path / f"{limit}.spark", monkeypatch)
        assert len(found) > 3 and found == expected


@pytest.mark.parametrize("kind", ["local", "connect"])
def test_weights_totals_and_replicates_are_what_spark_computes(
    kind: str, sparks: Sparks, other_order: str
) -> None:
    session = getattr(sparks, kind)
    frame = session.read.parquet(other_order)
    frame.createOrReplaceTempView("row_sums_people")
    asked = SQL.format(table="row_sums_people", nan="(income IS NULL OR isnan(income))")
    expected = summed_by(session.sql(asked).collect())
    assert min(expected[0]) > 1000 and any(expected[2])
    assert counted(frame) == expected
