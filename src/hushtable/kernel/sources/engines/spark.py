"""DataFrames and tables of Spark, in this process or behind Spark Connect, through the DataFrame API alone.

Our tasks run in ``mapInArrow``.  Spark is asked to choose columns, to bring equal bucket numbers together, to keep
bytes for a while and to hand over integers; it casts, sorts, filters and aggregates nothing.  Moments come as what they
are in UTC, whatever the session's time zone is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from weakref import finalize

from hushtable.errors import SourceError, UsageError
from hushtable.kernel.counter import Counter, Header
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.engines.engine_counter import EngineCounter
from hushtable.kernel.sources.engines.engine_frame import Task
from hushtable.kernel.sources.engines.spark_calls import SparkCall
from hushtable.kernel.sources.engines.spark_executors import executors_of
from hushtable.kernel.sources.engines.spark_progress import shown_progress
from hushtable.kernel.sources.engines.spark_session import running_session
from hushtable.kernel.sources.engines.spark_settings import JobSettings
from hushtable.kernel.sources.look import LOOK, Look
from hushtable.kernel.sources.opener import Opener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock
from hushtable.kernel.sources.versioned import above, refuse_versioned_files, refuse_versions
from hushtable.schema import Schema

_TYPES: dict[str, Any] = {
    "string": pa.string(),
    "char": pa.string(),
    "varchar": pa.string(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
    "void": pa.null(),
}
"""Arrow types by Spark's names; decimals have their own, and all others are refused where they are read."""
_DDL = {pa.int32(): "int", pa.int64(): "bigint", pa.binary(): "binary"}


class SparkFrame:
    """A DataFrame."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._executors = executors_of(frame.sparkSession)

    @property
    def header(self) -> Header:
        """Names and types as Spark has them, before a row is read."""
        fields = self._fields()
        loose = {field.name: found for field in fields if (found := _loose(field.dataType)) is not None}
        names, types = [field.name for field in fields], [_arrow_type(field.dataType) for field in fields]
        return Header("The table", names, types, loose)

    @property
    def workers(self) -> int:
        """How many tasks a small job was cut into."""
        return self._executors.workers

    @property
    def places(self) -> int:
        """Partitions of a shuffle, before Spark joins small ones."""
        settings = self._frame.sparkSession.conf
        return _asked(lambda: int(settings.get("spark.sql.shuffle.partitions")))

    def chosen(self, columns: Sequence[str]) -> SparkFrame:
        """These columns, letter for letter, by their places: to Spark a point names a field, and case nothing."""
        names = [field.name for field in self._fields()]
        places = [f"c{names.index(name)}" for name in columns]
        numbered = [f"c{place}" for place in range(len(names))]
        return self._with(lambda: self._frame.toDF(*numbered).select(*places))

    def mapped(self, task: Task, columns: Any) -> SparkFrame:
        """The task in Python workers beside the rows."""
        wanted = ", ".join(f"{field.name} {_DDL[field.type]}" for field in columns)
        return self._with(lambda: self._frame.mapInArrow(_in_python(task), wanted))

    def gathered(self, column: str) -> SparkFrame:
        """By the hash of a number that is ours; Spark chooses how many parts, by their size."""
        return self._with(lambda: self._frame.repartition(column))

    def fewer(self, parts: int) -> SparkFrame:
        """Parts one after another in one task."""
        return self._with(lambda: self._frame.coalesce(parts))

    def held(self) -> SparkFrame:
        """In memory and on the disks of executors until nobody uses it."""
        found = self._with(lambda: self._frame.persist())
        finalize(found, _let_go, found._frame)
        return found

    def collected(self, step: str) -> Any:
        """All rows, as few as they are."""
        session = self._frame.sparkSession
        with (
            SparkCall("The job did not end") as asking,
            JobSettings(session.conf),
            shown_progress(session, step),
        ):
            return self._frame.toArrow()
        raise asking.refusal

    def head(self, rows: int) -> Any:
        """Some rows, for a curator's look."""
        return _asked(lambda: self._frame.limit(rows).toArrow())

    def _fields(self) -> list[Any]:
        return _asked(lambda: self._frame.schema.fields)

    def _with(self, make: Callable[[], Any]) -> SparkFrame:
        return _asked(lambda: SparkFrame(make()))


def _asked(ask: Callable[[], Any]) -> Any:
    """What Spark answers; a session may have ended at any time."""
    with SparkCall("The table cannot be read") as asking:
        return ask()
    raise asking.refusal


def _in_python(task: Task) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a Python worker runs: it has no globals, so that it travels with its code; errors say nothing of rows."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        from hushtable.kernel.sources.engines.engine_frame import Place
        from hushtable.kernel.sources.engines.failures import told

        context = TaskContext.get()
        if context is None:
            raise RuntimeError("hushtable: no task")
        with told():
            yield from task(batches, Place(context.partitionId(), context.taskAttemptId()))

    return run


class SparkOpener(Opener):
    """DataFrames, and tables by name in the session that is running, or one that is started."""

    name = "spark"
    what = "a Spark DataFrame or spark:TABLE"
    schemes = ("spark",)

    def takes(self, data: object) -> bool:
        kind = type(data)
        home = kind.__module__
        return kind.__name__ == "DataFrame" and home.startswith("pyspark.sql.")

    def open(self, data: Any, schema: Schema) -> Counter:
        return EngineCounter(_frame(data), schema)

    def look(self, data: Any, header: bool | None) -> Look:
        return Look.at(_FirstRows(_frame(data)))


class _FirstRows:
    """The rows of a frame that a curator looks at, of those columns alone that can be read."""

    shown = "the table"
    block = TYPED_ROWS

    def __init__(self, frame: SparkFrame) -> None:
        self._frame = frame
        self.headers = [frame.header]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """As many as are looked at."""
        for batch in self._frame.chosen(columns).head(LOOK).to_batches(max_chunksize=size):
            yield ArrowBlock(batch.columns)


def _frame(data: Any) -> SparkFrame:
    frame = _table(data) if isinstance(data, str) else data
    if _asked(lambda: frame.isStreaming):
        fix = "Write it to a table, and open that."
        raise SourceError("source.endless", "A stream of rows has no end to count to.", fix)
    return SparkFrame(frame)


def _table(url: str) -> Any:
    name = url.partition(":")[2].removeprefix("//")
    if not name:
        raise UsageError("source.no-table-named", "The table has no name.", "Write spark:TABLE.")
    session = running_session()
    with SparkCall("The table cannot be opened") as asking:
        _refuse_versions(session, name)
        return _resolved(session.table(name))
    raise asking.refusal


def _refuse_versions(session: Any, name: str) -> None:
    """Raises where files that are named, or that are all of a table in a catalog, are of a table with versions."""
    place = _place(session, name)
    if place is None:
        return
    path = place.removeprefix("file:")
    if path.startswith("/") or ":" not in path:  # where a server is elsewhere, nothing is there
        refuse_versioned_files([Path(path)])

    def holds(folder: str, ending: str) -> bool:
        try:
            return bool(session.read.text(f"{folder}/*{ending}").columns)
        except Exception:  # there are no such files
            return False

    refuse_versions(above(place), holds)


def _place(session: Any, name: str) -> str | None:
    """Where the files of a table are, if it is nothing but files."""
    named = _NAMED_FILES.fullmatch(name)
    if named is not None and named["quoted"]:
        return named["quoted"].replace("``", "`")
    try:
        rows = session.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    except Exception:  # there is no such table, or it is of a catalog that tells nothing
        return None if named is None else named["plain"]
    told = {row[0]: row[1] for row in rows}
    return told.get("Location") if str(told.get("Provider")).lower() in _FILES else None


def _resolved(frame: Any) -> Any:
    """A frame whose table is known to be there: Connect looks when it is asked for columns."""
    _ = frame.columns
    return frame


_FILES = ("parquet", "orc")
"""Kinds of tables that are files and no more; Delta and Iceberg write these."""
_GAP = r"(?:\s|/\*.*?\*/|--[^\n]*(?:\n|$))*"
_NAMED_FILES = re.compile(
    rf"{_GAP}(?P<tick>`?)(?:{'|'.join(_FILES)})(?P=tick){_GAP}\.{_GAP}(?:`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>\w+)){_GAP}",
    re.IGNORECASE | re.DOTALL,
)
"""A folder of files as Spark's parser takes it: with quotes, blanks and comments wherever these may be."""


def _arrow_type(kind: Any) -> Any:
    name = kind.typeName()
    if name.startswith("decimal"):
        return pa.decimal128(kind.precision, kind.scale)
    found = _TYPES.get(name.partition("(")[0].partition(" ")[0])
    return pa.opaque(pa.struct([]), name, "Spark") if found is None else found


def _loose(kind: Any) -> str | None:
    """What to call a type in which values that differ here may be equal there."""
    collation = getattr(kind, "collation", None)
    return None if collation in (None, "UTF8_BINARY") else "text with a collation"


def _let_go(frame: Any) -> None:
    try:
        frame.unpersist()
    except Exception:  # the session has ended, and with it what it kept
        return
