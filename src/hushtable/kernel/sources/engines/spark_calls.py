"""Calls of Spark: what it raises may quote a row, and becomes a sentence of ours that does not."""

from __future__ import annotations

import re

from hushtable.errors import HushtableError, SourceError

_NO_TABLE = ("TABLE_OR_VIEW_NOT_FOUND", "PATH_NOT_FOUND", "PARSE_SYNTAX_ERROR", "SCHEMA_NOT_FOUND")
_AGAIN = "Nothing was spent; check that Spark runs, its memory and its logs, and type the command again."
_MEMORY = re.compile(
    r"source\.no-memory|OutOfMemory|^[\w.]*MemoryError|memory limits|Python worker exited unexpectedly",
    re.MULTILINE,
)
"""What tasks of ours, Java, Python (where a line of its report begins so) and the managers of clusters say when memory
ends; of a worker that somebody kills Spark says that it exited."""
_VERSIONS = "source.other-versions"
_JOB = "source.interrupted"


class SparkCall:
    """Takes what Spark raises for a refusal."""

    def __init__(self, failed: str, code: str = _JOB, fix: str = _AGAIN) -> None:
        self.refusal: HushtableError = SourceError(code, f"{failed}.", fix)

    def __enter__(self) -> SparkCall:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if kind is None or not issubclass(kind, Exception) or issubclass(kind, HushtableError):
            return False
        condition = getattr(error, "getCondition", lambda: None)()
        if condition in _NO_TABLE:
            self.refusal = _no_table()
        elif self.refusal.code == _JOB:
            self.refusal = _failure(str(error)) or self.refusal
        return True


def _no_table() -> SourceError:
    fix = "Give the name as Spark has it, with its catalog and schema, in the session that knows it."
    return SourceError("source.no-table", "Spark knows no table or view of this name.", fix)


def _failure(said: str) -> SourceError | None:
    """What a job failed of, where its text tells; of the text itself nothing is handed on."""
    if _VERSIONS in said:
        return SourceError(
            "source.other-versions",
            "Some executors have other versions of our packages than others.",
            "Nothing was spent; give all of them one environment.",
        )
    if _MEMORY.search(said):
        return SourceError(
            "source.no-memory",
            "An executor ran out of memory, or a worker of it was killed.",
            "Nothing was spent; raise spark.executor.memoryOverhead or spark.sql.shuffle.partitions, or ask for "
            "smaller tables.",
        )
    return None
