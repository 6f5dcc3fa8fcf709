"""DuckDB, locked down: it may read the files it was opened for, and nothing else.

After opening there is no access to any other file or to the network, no extension can be loaded, nothing is written or
spilled to disk, and none of these settings can be changed.  The one statement it runs selects named columns; names are
quoted and paths are bound, so no text of a user is ever read as SQL.
"""

# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from hushtable.errors import SourceError
from hushtable.kernel.sources.files import DataFile

MEMORY = "2GB"
_engine: Any = duckdb


def locked(paths: Sequence[Path]) -> Any:
    """A connection that can read ``paths`` and do nothing else outside its own memory."""
    connection = _engine.connect(":memory:", config={"threads": 1, "memory_limit": MEMORY})
    allowed = ", ".join(literal(str(path.absolute())) for path in paths)
    for setting in (
        "enable_progress_bar = false",
        "autoinstall_known_extensions = false",
        "autoload_known_extensions = false",
        "temp_directory = ''",
        f"allowed_paths = [{allowed}]",
        "enable_external_access = false",
        "lock_configuration = true",
    ):
        connection.execute(f"SET {setting}")
    return connection


def require_readable(file: DataFile) -> None:
    """Refuse a file name that the engine would read as a pattern."""
    if any(mark in str(file.path.absolute()) for mark in "*?["):
        raise SourceError(
            "source.bad-name",
            f"The path of {file.shown} has a *, ? or [ in it, which is read as a pattern.",
            "Rename the file or its folder.",
        )


def parquet_batches(path: Path, columns: Sequence[str], size: int) -> Iterator[Any]:
    """Record batches of the named columns of a Parquet file, at most ``size`` rows each, in file order."""
    wanted = ", ".join(identifier(name) for name in columns)
    with closing(locked([path])) as connection:
        query = f"SELECT {wanted} FROM read_parquet({literal(str(path.absolute()))})"
        yield from connection.sql(query).to_arrow_reader(size)


def identifier(name: str) -> str:
    """A column name as SQL reads it back, whatever it contains."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as SQL reads it back."""
    return "'" + text.replace("'", "''") + "'"
