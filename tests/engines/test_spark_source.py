"""Spark as a source, here and behind Spark Connect: the same integers as from Parquet, and clear refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_people import SECRET, people, schema, shuffled
from payloads import stored_payloads
from spark_sessions import Sparks

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.kernel.sources import open_counter
from hushtable.kernel.sources.engines import engine_counter, spark_settings
from hushtable.kernel.sources.engines.parcels import PARTIAL
from hushtable.kernel.sources.engines.spark import SparkFrame
from hushtable.marginals import Layout
from hushtable.watching import WatchJobs

ROWS = 600
QUOTED = "planted-Quixote"
"""A value that a query of the user's own makes and quotes: Spark's logs have it, our messages must not."""
PLACE = "planted-Xanadu"
READS = "org.apache.spark.sql.execution.datasources.FileScanRDD"
PLAIN = ht.Schema.from_dict({"attributes": {"age": {"type": "integer", "bounds": [0, 99], "width": 25}}})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table as a Parquet file."""
    path = tmp_path_factory.mktemp("people") / "people.parquet"
    pq.write_table(people(ROWS), path, row_group_size=100)
    return path


@pytest.fixture(scope="module")
def other_order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in several files, in another order."""
    folder = tmp_path_factory.mktemp("parts") / "people"
    folder.mkdir()
    rows = shuffled(people(ROWS), 3)
    for k in range(5):
        pq.write_table(rows.slice(k * 120, 120), folder / f"{k}.parquet")
    return folder


def all_pairs(declared: ht.Schema) -> Layout:
    size = len(declared.names)
    return Layout(declared.sizes, ((), *((a, b) for a in range(size) for b in range(a))))


@pytest.mark.parametrize("kind", ["local", "connect"])
def test_the_same_bits_give_the_same_payloads(
    kind: str,
    sparks: Sparks,
    table: Path,
    other_order: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = getattr(sparks, kind)
    for limit in (None, 2):
        declared = schema(limit)
        expected = stored_payloads(table, declared, tmp_path / f"{limit}.ledger", monkeypatch)
        frame = session.read.parquet(str(other_order))
        found = stored_payloads(frame, declared, tmp_path / f"{limit}.spark", monkeypatch)
        assert len(found) > 9 and found == expected


@pytest.mark.parametrize("kind", ["local", "connect"])
def test_a_job_leaves_the_settings_of_a_session_as_they_were(kind: str, sparks: Sparks, table: Path) -> None:
    session = getattr(sparks, kind)
    rows, size = (f"spark.sql.execution.arrow.max{what}PerBatch" for what in ("Records", "Bytes"))
    session.conf.set(rows, "1234")
    open_counter(session.read.parquet(str(table)), schema()).tabulate(all_pairs(schema()))
    assert session.conf.get(rows) == "1234" and session.conf.get(size, None) is None
    session.conf.unset(rows)


@pytest.mark.parametrize("kind", ["local", "connect"])
def test_jobs_at_once_in_a_session_leave_its_settings_as_they_were(
    kind: str, sparks: Sparks, tmp_path: Path
) -> None:
    """The quick one ends while the slow one runs, and another begins and ends after it; each opens the table itself."""
    session = getattr(sparks, kind)
    names = list(spark_settings._WANTED)
    session.conf.set(names[0], "1234")
    before = [session.conf.get(name, None) for name in names]
    gate = str(tmp_path / "gate")

    def waiting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time
        from pathlib import Path

        while not Path(gate).exists():
            time.sleep(0.05)
        yield from batches

    quick = session.range(8).selectExpr("cast(id as int) as age").coalesce(1)
    slow = quick.mapInArrow(waiting, quick.schema)
    found: list[list[int]] = []

    def count(frame: Any) -> None:
        found.append(open_counter(frame, PLAIN).tabulate(Layout(PLAIN.sizes, ((0,),))).tolist())

    first = Thread(target=count, args=(slow,))
    first.start()
    while session.conf.get(names[0]) == "1234":
        sleep(0.02)
    count(quick)
    assert session.conf.get(names[0]) != "1234"  # the slow job still needs them
    second = Thread(target=count, args=(slow,))
    second.start()
    (tmp_path / "gate").touch()
    first.join()
    second.join()
    assert found == [[8, 0, 0, 0]] * 3
    assert [session.conf.get(name, None) for name in names] == before
    assert session.conf.get(spark_settings._MARK, None) is None
    session.conf.unset(names[0])


def test_two_objects_for_one_session_share_what_its_settings_were(sparks: Sparks) -> None:
    from pyspark.sql import SparkSession

    other = SparkSession(sparks.local.sparkContext, sparks.local._jsparkSession)
    assert other is not sparks.local
    name = next(iter(spark_settings._WANTED))
    sparks.local.conf.set(name, "77")
    one, two = spark_settings.JobSettings(sparks.local.conf), spark_settings.JobSettings(other.conf)
    one.__enter__()
    two.__enter__()
    one.__exit__()
    assert sparks.local.conf.get(name) == spark_settings._WANTED[name]
    two.__exit__()
    assert sparks.local.conf.get(name) == "77"
    sparks.local.conf.unset(name)


@pytest.mark.parametrize("parts", [1, 3, 64])
def test_tables_do_not_depend_on_parts(parts: int, sparks: Sparks, table: Path) -> None:
    frame = sparks.local.read.parquet(str(table)).repartition(parts)
    for limit in (None, 1, 2):
        declared = schema(limit)
        layout = all_pairs(declared)
        expected = open_counter(table, declared).keyed("a").tabulate(layout)
        found = open_counter(frame, declared).keyed("a").tabulate(layout)
        assert found.tolist() == expected.tolist() and expected[0] > 100


@pytest.mark.parametrize("how", ["killed", "failed"])
@pytest.mark.parametrize("limit", [None, 2])
def test_a_worker_that_dies_is_replaced_and_its_rows_count_once(
    how: str, limit: int | None, sparks: Sparks, table: Path, tmp_path: Path
) -> None:
    """The first attempts at some parts die after half of their rows."""
    marks = str(tmp_path)

    def dying(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal
        from pathlib import Path

        from pyspark import TaskContext

        number = TaskContext.get().partitionId()
        mark = Path(marks) / f"{number}"
        first = number in (1, 3) and not mark.exists()
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if first:
                mark.touch()
                if how == "failed":
                    raise RuntimeError("on purpose")
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch.slice(batch.num_rows // 2)

    declared = schema(limit)
    layout = all_pairs(declared)
    frame = sparks.local.read.parquet(str(table)).repartition(4)
    counter = open_counter(frame.mapInArrow(dying, frame.schema), declared)
    expected = open_counter(table, declared).tabulate(layout)
    assert counter.tabulate(layout).tolist() == expected.tolist()
    assert list(tmp_path.iterdir())
    assert counter.staged().tabulate(layout).tolist() == expected.tolist()


def test_a_table_that_changes_is_refused(sparks: Sparks) -> None:
    def by_chance(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"age": list(os.urandom(len(batch)))})

    for session in (sparks.local, sparks.connect):
        counter = open_counter(session.range(1000).mapInArrow(by_chance, "age long"), PLAIN)
        counter.tabulate(all_pairs(PLAIN))
        with pytest.raises(HushtableError) as caught:
            counter.tabulate(all_pairs(PLAIN))
        assert caught.value.code == "source.changed"


def test_the_command_line_reads_tables_by_name(
    sparks: Sparks, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sparks.local.read.parquet(str(table)).createOrReplaceTempView("people")
    schema(2).save(tmp_path / "s.yaml")
    known = ["--schema", str(tmp_path / "s.yaml"), "--ledger", str(tmp_path / "l")]
    assert run(["ledger", "create", str(tmp_path / "l"), "--budget", "rho=20000"]) == 0
    spent = ["--order", "1", "--budget", "rho=10000", "--strategy", "identity", "--out"]
    assert run(["release", "spark:people", *known, *spent, str(tmp_path / "out")]) == 0
    counts = ht.Release.load(tmp_path / "out").table("sex")["estimate"].round().to_list()
    declared = schema(2)
    ledger = ht.Ledger.open(tmp_path / "l").id
    layout = Layout(declared.sizes, ((0,),))
    assert counts == open_counter(table, declared).keyed(ledger).tabulate(layout).tolist()
    assert run(["init", "spark:people", "--out", str(tmp_path / "draft.yaml")]) == 0
    assert "income:" in (tmp_path / "draft.yaml").read_text()
    capsys.readouterr()
    for absent in ("nowhere", "nowhere.people", "nowhere.at.all", "is.nowhere.at.all"):
        assert run(["release", f"spark:{absent}", *known, *spent, str(tmp_path / "more"), "--json"]) == 1
        assert json.loads(capsys.readouterr().out)["error"]["code"] == "source.no-table"
    assert run(["preflight", "spark:people", *known[:2], "--json"]) == 2
    refused = json.loads(capsys.readouterr().out)["error"]
    assert refused["code"] == "source.no-rows" and "Parquet file" in refused["fix"]


def test_columns_are_found_letter_for_letter(sparks: Sparks) -> None:
    """A point is no field of a struct, and a name in another case is another column."""
    for session in (sparks.local, sparks.connect):
        frame = session.range(5).selectExpr(
            "id + 90 as AGE", "struct(id + 50 as b) as a", "id as `a.b`", "id as age"
        )
        for name in ("a.b", "age"):
            declared = ht.Schema.from_dict(
                {"attributes": {name: {"type": "integer", "bounds": [0, 99], "width": 25}}}
            )
            counts = open_counter(frame, declared).tabulate(Layout(declared.sizes, ((0,),)))
            assert counts.tolist() == [5, 0, 0, 0]


def refusal(frame: Any, declared: ht.Schema = PLAIN) -> HushtableError:
    with pytest.raises(HushtableError) as caught:
        open_counter(frame, declared).tabulate(all_pairs(declared))
    assert SECRET not in str(caught.value) and QUOTED not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


def test_what_cannot_be_counted_is_refused_in_a_sentence(sparks: Sparks) -> None:
    for session in (sparks.local, sparks.connect):
        numbers = session.range(10)
        assert refusal(numbers).code == "source.unknown-column"
        assert refusal(numbers.selectExpr("array(id) as age")).code == "source.column-type"
        assert refusal(numbers.selectExpr("id as age", "id as age")).code == "source.duplicate-column"
        assert refusal(session.readStream.format("rate").load()).code == "source.endless"
        bad = numbers.selectExpr(f"cast(concat('{QUOTED}', id) as int) as age")  # raises in ANSI mode
        assert refusal(bad).code == "source.interrupted"
    who = ht.Schema.from_dict(
        {"attributes": {"age": {"type": "integer", "bounds": [0, 99]}}, "person": "who"}
    )
    loose = sparks.local.range(3).selectExpr("id as age", "cast('a' as string) collate UTF8_LCASE as who")
    assert refusal(loose, who).code == "source.column-type"
    assert (
        refusal(sparks.local.range(3).selectExpr("id as age", "0.5D as who"), who).code
        == "source.column-type"
    )


@pytest.mark.parametrize("kind", ["local", "connect"])
@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("memory", "source.no-memory"),
        ("killed", "source.worker-killed"),
        ("crashed", "source.worker-crashed"),
        ("other", "source.interrupted"),
    ],
)
def test_a_job_that_fails_is_told_in_a_sentence(kind: str, how: str, code: str, sparks: Sparks) -> None:
    """Memory that ends in a task, a worker that is killed or crashes whenever it begins, and anything else."""

    def bad(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import os
        import signal

        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "crashed":
            os.kill(os.getpid(), signal.SIGSEGV)
        raise MemoryError if how == "memory" else ValueError("on purpose")

    frame = getattr(sparks, kind).range(10).selectExpr("cast(id as int) as age").coalesce(1)
    error = refusal(frame.mapInArrow(bad, frame.schema))
    assert error.code == code and error.exit_code == 1 and "Nothing more was spent" in str(error.fix)


def test_memory_that_ends_in_our_own_task_is_told(sparks: Sparks) -> None:
    def hungry(batches: Iterator[pa.RecordBatch], place: Any) -> Iterator[pa.RecordBatch]:
        import numpy as np

        yield from [np.empty(1 << 50)]

    frame = SparkFrame(sparks.local.range(10)).mapped(hungry, PARTIAL)
    with pytest.raises(HushtableError) as caught:
        frame.collected("counting")
    assert caught.value.code == "source.no-memory"


def test_planted_values_are_in_no_log_no_event_and_on_no_page(sparks: Sparks, table: Path) -> None:
    """Jobs of every kind have run, some of which failed; all that Spark wrote down and shows of them is searched."""

    def failing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import sys

        print("said by a worker", file=sys.stderr, flush=True)
        yield from batches
        raise ValueError("on purpose")

    before = sparks.pages.now()
    for limit in (None, 1):
        declared = schema(limit)
        for session in (sparks.local, sparks.connect):
            rows = session.read.parquet(str(table))
            open_counter(rows, declared).tabulate(all_pairs(declared))
            assert refusal(rows.mapInArrow(failing, rows.schema), declared).code == "source.interrupted"
    written, shown = sparks.logs(), sparks.pages.read(before)
    assert b"MapInArrow" in written and b"Job 0 finished" in written and b"said by a worker" in written
    assert shown.count(b"MapInArrow") > 9 and b"on purpose" in shown
    for value in (SECRET, "é ☃", "e\u0301 ☃"):
        for found in (written, shown):
            assert value.encode() not in found and json.dumps(value)[1:-1].encode() not in found
    everything = sparks.pages.read()
    assert b"Spark Connect" in everything and b"Executors" in everything and b"sparkProperties" in everything
    assert SECRET.encode() not in everything


def test_values_of_partition_columns_are_in_one_line_of_the_log_alone(sparks: Sparks, tmp_path: Path) -> None:
    """Spark says which file it reads, and folders are named after values; docs/howto/spark.md turns this line off."""
    for k in (1, 2):
        folder = tmp_path / f"place={PLACE}{k}"
        folder.mkdir()
        pq.write_table(pa.table({"age": [k, 3]}), folder / "rows.parquet")
    declared = ht.Schema.from_dict(
        {"attributes": {"age": {"type": "integer", "bounds": [0, 99], "width": 25}}, "person": "place"}
    )
    for session in (sparks.local, sparks.connect):
        assert (
            open_counter(session.read.parquet(str(tmp_path)), declared).tabulate(all_pairs(declared))[0] == 2
        )
    lines = [line for line in sparks.logs().splitlines() if PLACE.encode() in line]
    assert PLACE.encode() not in sparks.pages.read()
    assert lines and all(b"INFO " + READS.encode() in line for line in lines)
    page = Path("docs/howto/spark.md").read_text(encoding="utf-8")
    assert f"name = {READS}\n" in page


def outside(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in environment and not k.startswith("PYSPARK")}
    return subprocess.run(
        [sys.executable, "-c", program], env=kept | environment, capture_output=True, text=True, timeout=300
    )


COMMAND = """
import sys
from hushtable.cli.app import run
sys.exit(run(["release", "spark:people", "--schema", {schema!r}, "--ledger", {ledger!r}, "--budget", "rho=1",
              "--order", "1", "--out", {out!r}]))
"""


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"JAVA_HOME": "/nowhere"}, "source.no-engine"),
        ({"SPARK_REMOTE": "sc://127.0.0.1:1/"}, "source.no-engine"),
    ],
)
def test_without_java_or_a_server_nothing_is_spent(
    environment: dict[str, str], code: str, tmp_path: Path
) -> None:
    schema().save(tmp_path / "s.yaml")
    ledger = tmp_path / "l"
    assert run(["ledger", "create", str(ledger), "--budget", "rho=2"]) == 0
    places = {"schema": str(tmp_path / "s.yaml"), "ledger": str(ledger), "out": str(tmp_path / "out")}
    done = outside(COMMAND.format(**places), **environment)
    assert done.returncode == 1 and code in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists() and not ht.Ledger.open(ledger).reservations()


def test_another_python_on_the_executors_is_refused_before_the_charge(tmp_path: Path) -> None:
    """A Python that lacks our packages, as a cluster has that nobody prepared."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    pl.DataFrame({"age": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    schema().save(tmp_path / "s.yaml")
    program = f"""
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "600m")
session = builder.config("spark.ui.enabled", "false").getOrCreate()
import hushtable as ht
try:
    ht.Session.open(session.read.parquet({str(tmp_path / "t.parquet")!r}), schema={str(tmp_path / "p.yaml")!r},
                    ledger={str(tmp_path / "l")!r}, budget=ht.ZCDP(1))
except ht.errors.HushtableError as error:
    print("refused:", error)
session.stop()
"""
    PLAIN.save(tmp_path / "p.yaml")
    done = outside(program, PYSPARK_PYTHON=str(bare / "bin" / "python"))
    assert "refused:" in done.stdout and "source.no-executors" in done.stdout, done.stderr[-2000:]
    assert not (tmp_path / "l").exists()


SENT = """
from pyspark.sql import SparkSession
builder = SparkSession.builder.config("spark.driver.memory", "600m").config("spark.ui.enabled", "false")
session = (builder.remote("local[1]") if {kind!r} == "connect" else builder.master("local[1]")).getOrCreate()
import hushtable as ht
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Layout
schema = ht.Schema.load({schema!r})
found = open_counter(session.read.parquet({table!r}), schema).keyed("a").tabulate(Layout(schema.sizes, ((0, 1), (2,))))
print("counted:", found.tolist())
session.stop()
"""


@pytest.mark.parametrize("kind", ["local", "connect"])
def test_our_code_is_sent_to_executors_that_lack_it(kind: str, table: Path, tmp_path: Path) -> None:
    """Executors with all of the packages that we use, and without ours."""
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    declared = schema(2)
    declared.save(tmp_path / "s.yaml")
    program = SENT.format(kind=kind, schema=str(tmp_path / "s.yaml"), table=str(table))
    packages = str(Path(pa.__file__).parents[1])
    done = outside(program, PYSPARK_PYTHON=str(bare / "bin" / "python"), PYTHONPATH=packages)
    layout = Layout(declared.sizes, ((0, 1), (2,)))
    expected = open_counter(table, declared).keyed("a").tabulate(layout).tolist()
    assert f"counted: {expected}" in done.stdout, done.stderr[-2000:]


@pytest.mark.parametrize("kind", ["local", "connect"])
def test_somebody_who_watches_is_told_how_far_a_job_is(
    kind: str, sparks: Sparks, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import time

        for batch in batches:
            time.sleep(2)
            yield batch

    monkeypatch.setattr(engine_counter, "PASS_CELLS", 4)
    told: list[tuple[str, int, int]] = []
    frame = getattr(sparks, kind).range(40).selectExpr("cast(id as int) as age").coalesce(2)
    with WatchJobs(lambda *step: told.append(step)):
        open_counter(frame.mapInArrow(slow, frame.schema), PLAIN).tabulate(Layout(PLAIN.sizes, ((), (0,))))
    steps = list(dict.fromkeys(step for step, _, _ in told))
    assert steps == ["counting, pass 1 of 2", "counting, pass 2 of 2"]
    assert any(total > 1 for _, _, total in told) and all(done <= total for _, done, total in told)
