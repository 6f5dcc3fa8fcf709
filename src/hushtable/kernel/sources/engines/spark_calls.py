"""Calls of Spark: what it raises may quote a row, and becomes a sentence of ours that does not."""

from __future__ import annotations

import logging
import re
from importlib import import_module

from hushtable.errors import HushtableError, SourceError

_NO_TABLE = (
    "TABLE_OR_VIEW_NOT_FOUND",
    "PATH_NOT_FOUND",
    "UNABLE_TO_INFER_SCHEMA",
    "PARSE_SYNTAX_ERROR",
    "SCHEMA_NOT_FOUND",
    "CATALOG_NOT_FOUND",
    "REQUIRES_SINGLE_PART_NAMESPACE",
)
"""``UNABLE_TO_INFER_SCHEMA`` is said of a folder without files of the kind that was named; the last one is what the
session's own catalog says of ``a.b.c`` where there is no catalog ``a``."""
_AGAIN = "Nothing more was spent; check that Spark runs, its memory and its logs, and type the command again."
_MEMORY = re.compile(
    r"source\.no-memory|OutOfMemory|OOMKilled|^[\w.]*MemoryError|memory limits|exit(ed with)? code:? 52\b",
    re.MULTILINE,
)
"""What tasks of ours, Java, Python (where a line of its report begins so) and the managers of clusters say when memory
ends.  52 is what an executor exits with whose Java ran out of memory; the error itself may not come through."""
_CRASHED = re.compile(r"^.*Fatal Python error: ", re.MULTILINE)
"""What Python's own fault handler says of a worker before it ends, because our jobs turn it on."""
_GONE = re.compile(r"Python worker exited unexpectedly|exit(ed with)? code:? 137|ExecutorLostFailure")
"""What Spark says of a worker or an executor that is gone without a word: nobody can know why from here."""
_UNREADABLE = re.compile(
    r"source\.unreadable|FAILED_READ_FILE\.(?!FILE_NOT_EXIST)|CANNOT_READ_FILE_FOOTER|DIRECT_QUERY"
)
"""What tasks of ours, and Spark, say of a file that is broken or of other types; to Spark, one that is gone is another
matter."""
_ENDED = re.compile(
    r"NO_ACTIVE_SESSION|SESSION_(CLOSED|CHANGED|NOT_FOUND|OR_CONTEXT_NOT_EXISTS)|stopped SparkContext"
    r"|Connection refused|StatusCode.UNAVAILABLE"
)
"""What is said of a session that was stopped, timed out or lost its server."""
_VERSIONS = "source.other-versions"
_JOB = "source.interrupted"


class SparkCall:
    """Takes what Spark raises for a refusal."""

    def __init__(self, failed: str, code: str = _JOB, fix: str = _AGAIN) -> None:
        self.refusal: HushtableError = SourceError(code, f"{failed}.", fix)

    def __enter__(self) -> SparkCall:
        self._loggers = {logger: logger.disabled for logger in _loggers()}
        for logger in self._loggers:
            logger.disabled = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        for logger, was in self._loggers.items():
            logger.disabled = was
        if kind is None or not issubclass(kind, Exception) or issubclass(kind, HushtableError):
            return False
        condition = getattr(error, "getCondition", lambda: None)()
        if condition in _NO_TABLE:
            self.refusal = _no_table()
        elif self.refusal.code == _JOB:
            self.refusal = _failure(str(error)) or self.refusal
        return True


def _loggers() -> list[logging.Logger]:
    """Those to which PySpark writes what it raises, with the value of a row that could not be cast, and which print it.

    They must be of PySpark's own class; versions before 4 have none.
    """
    try:
        kind = import_module("pyspark.logger").PySparkLogger
    except ImportError:
        return []
    return [kind.getLogger(f"{part}QueryContextLogger") for part in ("SQL", "DataFrame")]


def _no_table() -> SourceError:
    fix = (
        "Give the name as Spark has it, with its catalog and schema, in the session that knows it; a folder of Delta "
        "or Iceberg is spark:delta:FOLDER or spark:iceberg:NAME, or needs a session with its connector."
    )
    return SourceError("source.no-table", "Spark knows no table or view of this name.", fix)


def _failure(said: str) -> SourceError | None:
    """What a job failed of, where its text tells; of the text itself nothing is handed on."""
    if _VERSIONS in said:
        return SourceError(
            "source.other-versions",
            "Some executors have other versions of our packages than others.",
            "Nothing more was spent; give all of them one environment.",
        )
    if _ENDED.search(said):
        return SourceError(
            "source.session-ended",
            "The session of Spark has ended, or its server does not answer.",
            "Nothing more was spent; open the table in a session that runs.",
        )
    if _MEMORY.search(said):
        return SourceError(
            "source.no-memory", "An executor ran out of memory.", f"Nothing more was spent; {_MORE}."
        )
    if _CRASHED.search(said):
        return SourceError(
            "source.worker-crashed",
            "A Python worker of an executor crashed in compiled code.",
            "Nothing more was spent; this is a fault of a package or of the machine, and not for want of memory. Type "
            "the command again; if it happens again, Spark's log has the line of code.",
        )
    if _UNREADABLE.search(said):
        return SourceError(
            "source.unreadable",
            "A file of the table cannot be read.",
            "Nothing more was spent; check that each file is complete, and that a column has one type in all of them.",
        )
    if _GONE.search(said):
        return SourceError(
            "source.worker-killed",
            "A Python worker or an executor was ended from outside; Spark does not say by whom.",
            "Nothing more was spent; it is mostly the system or the cluster's manager, when memory ends (their logs "
            f"tell: dmesg, the pod, the container). Then {_MORE}. If somebody stopped it, type the command again.",
        )
    return None


_MORE = "raise spark.executor.memoryOverhead or spark.sql.shuffle.partitions, or ask for smaller tables"
