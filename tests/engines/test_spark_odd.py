"""What strangers bring to Spark: odd names, empty and failing tables, sessions that end, settings of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_sessions import Sparks

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.kernel import draft_schema
from hushtable.kernel.sources import open_counter
from hushtable.kernel.sources.engines.spark_calls import SparkCall
from hushtable.marginals import Layout

NUMBER = {"type": "integer", "bounds": [0, 9], "null": "category"}
PLAIN = ht.Schema.from_dict({"attributes": {"n": NUMBER}})
CAPPED = ht.Schema.from_dict({"attributes": {"n": NUMBER}, "person": "who"})
NAMES = [
    "a.b",
    "`x`",
    '"q"',
    "it's",
    " lead",
    "trail ",
    "é ☃",
    "bucket",
    "part",
    "c0",
    "number",
    "*",
    "new\nline\t",
]
ZONE = "spark.sql.session.timeZone"
FIELDS = "at timestamp, as_it_stands timestamp_ntz"
KINDS = pytest.mark.parametrize("kind", ["local", "connect"])


def counted(data: Any, declared: ht.Schema = PLAIN) -> list[int]:
    layout = Layout(declared.sizes, tuple((k,) for k in range(len(declared.sizes))))
    return open_counter(data, declared).keyed("a").tabulate(layout).tolist()


def refused(data: Any, declared: ht.Schema = PLAIN) -> str:
    with pytest.raises(HushtableError) as caught:
        counted(data, declared)
    assert caught.value.exit_code in (1, 2) and "planted" not in str(caught.value)
    return caught.value.code


@KINDS
def test_columns_may_have_any_name(kind: str, sparks: Sparks) -> None:
    numbers = [f"cast({k % 10} as bigint) as x{k}" for k in range(len(NAMES))]
    frame = getattr(sparks, kind).range(3).selectExpr(*numbers).toDF(*NAMES)
    fields = {f"field {k}": NUMBER | {"column": name} for k, name in enumerate(NAMES)}
    declared = ht.Schema.from_dict({"attributes": fields, "person": "`x`"})
    expected = [int(value == k % 10) for k in range(len(NAMES)) for value in range(11)]
    assert counted(frame, declared) == expected


@KINDS
def test_tables_without_rows_count_nothing(kind: str, sparks: Sparks) -> None:
    session = getattr(sparks, kind)
    without_parts = session.createDataFrame([], "n bigint, who string")
    all_left_out = session.range(20).selectExpr("id as n", "cast(id as string) as who").filter("n > 50")
    for frame in (without_parts, all_left_out):
        for declared in (PLAIN, CAPPED):
            assert counted(frame, declared) == [0] * 11


def test_many_small_parts_are_read_by_few_tasks(sparks: Sparks) -> None:
    context = sparks.local.sparkContext
    tracker = context.statusTracker()
    frame = sparks.local.range(0, 640, 1, 64).selectExpr("id % 10 as n", "cast(id % 200 as string) as who")
    for declared, rows in ((PLAIN, 64), (CAPPED, 20)):
        counter = open_counter(frame, declared)
        group = f"{rows} rows"
        context.setJobGroup(group, "tests")
        assert counter.tabulate(Layout(declared.sizes, ((0,),))).tolist() == [rows] * 10 + [0]
        context.setLocalProperty("spark.jobGroup.id", None)
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
        stages = [tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds]
        tasks = [stage.numTasks for stage in stages if stage is not None]
        assert tasks and max(tasks) <= 8


@KINDS
def test_tables_that_fail_when_they_are_read_spend_nothing(kind: str, sparks: Sparks, tmp_path: Path) -> None:
    session = getattr(sparks, kind)
    session.range(10).selectExpr("id as n").write.parquet(str(tmp_path / "gone"))
    gone = session.read.parquet(str(tmp_path / "gone"))
    assert gone.columns == ["n"]
    for file in (tmp_path / "gone").glob("part*"):
        file.unlink()
    raising = session.range(5).selectExpr("nvl(raise_error('planted-Quixote'), id) as n")
    for name, frame in (("gone", gone), ("raising", raising)):
        ledger = tmp_path / f"{name}.ledger"
        opened = ht.Session.open(frame, schema=PLAIN, ledger=ledger, budget=ht.ZCDP(1))
        with pytest.raises(HushtableError) as caught:
            opened.release(ht.Workload.all_marginals(PLAIN, order=1), budget=ht.ZCDP(0.5))
        assert caught.value.code == "source.interrupted" and "planted" not in str(caught.value)
        assert not ht.Ledger.open(ledger).reservations()


@KINDS
def test_files_that_cannot_be_read_are_said_to_be_so(kind: str, sparks: Sparks, tmp_path: Path) -> None:
    session = getattr(sparks, kind)
    for name, other in (("mixed", pa.table({"n": ["planted"]})), ("broken", None)):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"n": [1]}), tmp_path / name / "a.parquet")
        if other is None:
            (tmp_path / name / "b.parquet").write_bytes(b"PAR1 planted")
        else:
            pq.write_table(other, tmp_path / name / "b.parquet")
        assert refused(session.read.schema("n bigint").parquet(str(tmp_path / name))) == "source.unreadable"


@KINDS
def test_a_value_that_cannot_be_cast_is_printed_nowhere(
    kind: str, sparks: Sparks, capfd: pytest.CaptureFixture[str]
) -> None:
    session = getattr(sparks, kind)
    session.createDataFrame([("planted-Quixote",)], "word string").createOrReplaceTempView("words")
    for frame in (
        session.sql("select cast(word as int) as n from words"),
        session.table("words").select(session.table("words").word.cast("int").alias("n")),
    ):
        with pytest.raises(HushtableError) as caught:
            counted(frame)
        assert "planted" not in str(caught.value)
    told = capfd.readouterr()
    assert "planted" not in told.out + told.err


@KINDS
def test_types_that_cannot_be_read_are_refused_before_a_job(kind: str, sparks: Sparks) -> None:
    one = getattr(sparks, kind).range(1)
    for made in (
        "time'12:00:00'",
        "interval 1 day",
        "parse_json('1')",
        "to_binary('00', 'hex')",
        "array(1)",
        "map(1, 1)",
        "named_struct('n', 1)",
    ):
        assert refused(one.selectExpr(f"{made} as n")) == "source.column-type"
    assert refused(one.select()) == "source.unknown-column"


@KINDS
def test_a_draft_names_columns_that_cannot_be_read(kind: str, sparks: Sparks) -> None:
    odd = ["interval 1 day as d", "interval 2 month as m", "array(1) as l", "parse_json('1') as v"]
    frame = getattr(sparks, kind).range(3)
    drafted = draft_schema(frame.selectExpr("id % 2 = 0 as yes", *odd))
    assert "type: boolean" in drafted
    assert drafted.count("left out: this type of column cannot be an attribute") == len(odd)
    with pytest.raises(HushtableError) as caught:
        draft_schema(frame.selectExpr(*odd))
    assert caught.value.code == "source.nothing-to-draft"


@KINDS
def test_settings_of_a_session_change_no_count(kind: str, sparks: Sparks) -> None:
    session = getattr(sparks, kind)
    frame = session.range(20).selectExpr("id % 5 as n", "cast(id % 4 as string) as who")
    expected = [counted(frame), counted(frame, CAPPED)]
    odd = {
        "spark.sql.execution.arrow.useLargeVarTypes": "true",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": "5",
        "spark.sql.caseSensitive": "true",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.execution.arrow.compression.codec": "zstd",
    }
    before = {name: session.conf.get(name, None) for name in odd}
    try:
        for name, value in odd.items():
            session.conf.set(name, value)
        assert [counted(frame), counted(frame, CAPPED)] == expected
    finally:
        for name, value in before.items():
            session.conf.unset(name) if value is None else session.conf.set(name, value)


@KINDS
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_moments_count_in_utc_whatever_the_zone_of_the_session(
    zone: str, kind: str, sparks: Sparks, tmp_path: Path
) -> None:
    """Between 11 hours behind UTC and 14 before it; the hour that New York has twice is two persons."""
    said = [
        "1990-12-31T23:30",
        "1991-01-01T00:30",
        "1991-12-31T12:00",
        "1992-11-01T05:30",
        "1992-11-01T06:30",
    ]
    moments = [datetime.fromisoformat(text) for text in said]
    here = pa.array(moments, pa.timestamp("us"))
    pq.write_table(
        pa.table({"at": here.cast(pa.timestamp("us", "UTC")), "as_it_stands": here}), tmp_path / "t.parquet"
    )
    years = {"type": "date", "bounds": ["1990-01-01", "1993-12-31"], "width": "1 year"}
    declared = ht.Schema.from_dict(
        {"attributes": dict.fromkeys(("at", "as_it_stands"), years), "person": "at"}
    )
    session = getattr(sparks, kind)
    before = session.conf.get(ZONE)
    session.conf.set(ZONE, zone)
    try:
        frame = session.read.parquet(str(tmp_path / "t.parquet"))
        assert [name for _, name in frame.dtypes] == ["timestamp", "timestamp_ntz"]
        assert counted(frame, declared) == [1, 2, 2, 0] * 2
        made = session.createDataFrame([(moment.replace(tzinfo=UTC), moment) for moment in moments], FIELDS)
        assert counted(made, declared) == [1, 2, 2, 0] * 2
        assert session.conf.get(ZONE) == zone
    finally:
        session.conf.set(ZONE, before)
    assert counted(tmp_path / "t.parquet", declared) == [1, 2, 2, 0] * 2


def test_sessions_beside_each_other_count_their_own_tables(sparks: Sparks) -> None:
    """The same name in two sessions."""
    other = sparks.local.newSession()
    for session, size in ((sparks.local, 3), (other, 6)):
        session.range(size).selectExpr("id as n").createOrReplaceTempView("numbers")
    frames = [session.table("numbers") for session in (sparks.local, other, sparks.local)]
    counters = [open_counter(frame, PLAIN) for frame in frames]
    sizes = [int(counter.tabulate(Layout(PLAIN.sizes, ((),)))[0]) for counter in counters]
    assert sizes == [3, 6, 3]


def test_a_session_that_ends_is_told_in_a_sentence(sparks: Sparks, tmp_path: Path) -> None:
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(sparks.remote).create()
    frame = session.range(4).selectExpr("id as n")
    opened = ht.Session.open(frame, schema=PLAIN, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    session.stop()
    with pytest.raises(HushtableError) as caught:
        opened.release(ht.Workload.all_marginals(PLAIN, order=1), budget=ht.ZCDP(0.5))
    assert caught.value.code == "source.session-ended" and caught.value.__cause__ is None
    assert not ht.Ledger.open(tmp_path / "l").reservations()
    assert refused(frame) == "source.session-ended"


STOPPED = """
from pyspark.sql import SparkSession
builder = SparkSession.builder.master("local[1]").config("spark.driver.memory", "600m")
session = builder.config("spark.ui.enabled", "false").getOrCreate()
import hushtable as ht
from hushtable.kernel import draft_schema
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Layout
schema = ht.Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}})
counter = open_counter(session.range(4).selectExpr("id as n"), schema)
session.stop()
try:
    counter.tabulate(Layout(schema.sizes, ((0,),)))
except ht.errors.HushtableError as error:
    print("refused:", error.code)
"""


def test_a_session_here_that_was_stopped_is_told_in_a_sentence() -> None:
    done = outside("-c", STOPPED, PYSPARK_PYTHON=sys.executable)
    assert "refused: source.session-ended" in done.stdout, done.stderr[-2000:]


HUNGRY = """
import shutil
from pathlib import Path
import pyspark
from pyspark.sql import SparkSession
settings = {"spark.driver.memory": "600m", "spark.executor.memory": "600m", "spark.task.maxFailures": "1",
            "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
builder = SparkSession.builder.master("local-cluster[1,1,600]")
for name, value in settings.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
home = Path(pyspark.__file__).parent / "work" / session.sparkContext.applicationId
import hushtable as ht
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Layout
schema = ht.Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}})
frame = session.range(2).selectExpr("length(repeat(cast(id as string), 2000000000)) as n").coalesce(1)
try:
    open_counter(frame, schema).tabulate(Layout(schema.sizes, ((0,),)))
except ht.errors.HushtableError as error:
    print("refused:", error.code)
session.stop()
shutil.rmtree(home, ignore_errors=True)
"""


def test_an_executor_whose_java_runs_out_of_memory_is_told_in_a_sentence() -> None:
    """An executor of its own, because one that shares a process with the driver takes the session along."""
    done = outside("-c", HUNGRY, PYSPARK_PYTHON=sys.executable)
    assert "refused: source.no-memory" in done.stdout, done.stderr[-2000:]
    assert "java.lang.OutOfMemoryError" in done.stderr


@pytest.mark.parametrize(
    "said",
    [
        "ExecutorLostFailure (executor 0 exited caused by one of the running tasks) Reason: "
        "Command exited with code 52",
        "Lost task 0.0 in stage 1.0 (TID 2) (192.0.2.2 executor 0): java.lang.OutOfMemoryError: Java heap space",
    ],
)
def test_both_ways_in_which_java_says_so_are_known(said: str) -> None:
    with SparkCall("The job did not end") as asking:
        raise RuntimeError(f"Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times: {said}")
    assert asking.refusal.code == "source.no-memory"


def outside(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A process that knows nothing of the sessions here."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_REMOTE")}
    return subprocess.run(
        [sys.executable, *arguments], env=kept | environment, capture_output=True, text=True, timeout=300
    )


TYPED = "import sys; from hushtable.cli.app import run; sys.exit(run(sys.argv[1:]))"


@pytest.mark.parametrize("where", ["started here", "behind Spark Connect"])
def test_a_command_by_itself_finds_its_session(where: str, sparks: Sparks, tmp_path: Path) -> None:
    """As somebody types it: no session runs in the process, and a folder of files is named."""
    pq.write_table(pa.table({"n": [1, 2, 2, 3, 3, 3]}), tmp_path / "t.parquet")
    PLAIN.save(tmp_path / "s.yaml")
    assert run(["ledger", "create", str(tmp_path / "l"), "--budget", "rho=20000"]) == 0
    remote = {"SPARK_REMOTE": sparks.remote} if where == "behind Spark Connect" else {}
    known = ["--schema", str(tmp_path / "s.yaml"), "--ledger", str(tmp_path / "l")]
    known += ["--out", str(tmp_path / "out")]
    more = ["--order", "1", "--budget", "rho=10000", "--strategy", "identity", "--json"]
    command = ["release", f"spark:parquet.`{tmp_path}/t.parquet`", *known, *more]
    done = outside("-c", TYPED, *command, **remote)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout)
    found = ht.Release.load(tmp_path / "out").table("n")["estimate"].round().to_list()
    assert found == [0, 1, 2, 3, *[0] * 7]


@pytest.mark.parametrize("inside", ["_delta_log/00000000000000000000.json", "metadata/v1.metadata.json"])
def test_files_of_tables_with_versions_are_refused_by_name(
    inside: str, sparks: Sparks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hold rows that were deleted."""
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "t.parquet")
    name = f"spark:parquet.`{tmp_path}`"
    assert counted(name) == [0, 1, 1, *[0] * 8]
    (tmp_path / "p=1").mkdir()
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "p=1" / "t.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "p=1", target_is_directory=True)
    (tmp_path / inside).parent.mkdir()
    (tmp_path / inside).write_text("{}")
    for below in ("", "/p=1", "/p=1/t.parquet", "/link", "/*"):
        assert refused(f"spark:parquet.`{tmp_path}{below}`") == "source.versioned-folder"
    assert refused(f"spark:PARQUET.`file:{tmp_path}/p=1`") == "source.versioned-folder"
    for kind in (
        "`parquet`.",
        " parquet . ",
        "parquet/* a. */./**/",
        "-- a\nparquet.",
        "`Parquet` -- `a`\n .",
    ):
        assert refused(f"spark:{kind}`{tmp_path}` ") == "source.versioned-folder"
    monkeypatch.chdir(tmp_path.parent)
    assert refused(f"spark:parquet.`{tmp_path.name}/p=1`") == "source.versioned-folder"
    assert refused("spark:parquet.nowhere") == "source.no-table"
    (tmp_path / "empty").mkdir()
    (tmp_path / inside).unlink()
    assert refused(f"spark:parquet.`{tmp_path / 'empty'}`") == "source.no-table"


def test_a_table_of_the_catalog_that_is_files_of_a_table_with_versions_is_refused(
    sparks: Sparks, tmp_path: Path
) -> None:
    (tmp_path / "p=1").mkdir()
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "p=1" / "t.parquet")
    sparks.local.sql(f"create table its_files using parquet location '{tmp_path}/p=1'")
    try:
        sparks.local.sql("select * from its_files").createOrReplaceTempView("seen")
        assert counted("spark:its_files") == counted("spark:seen") == [0, 1, 1, *[0] * 8]
        (tmp_path / "_delta_log").mkdir()
        (tmp_path / "_delta_log" / "00000000000000000000.json").write_text("{}")
        assert refused("spark:its_files") == "source.versioned-folder"
    finally:
        sparks.local.sql("drop table its_files")


def test_folders_of_partitions_are_the_same_through_spark(sparks: Sparks, tmp_path: Path) -> None:
    rows = "id as n", "case when id % 3 = 0 then null else id % 3 end as p", "cast(id % 4 as string) as who"
    frame = sparks.local.range(10).selectExpr(*rows)
    frame.write.partitionBy("p").parquet(str(tmp_path / "t"))
    for person in ({}, {"person": "who"}):
        declared = ht.Schema.from_dict({"attributes": {"n": NUMBER, "p": NUMBER}, **person})
        expected = counted(f"parquet:{tmp_path / 't'}?partitions=p", declared)
        assert counted(sparks.local.read.parquet(str(tmp_path / "t")), declared) == expected
        assert counted(frame, declared) == expected
