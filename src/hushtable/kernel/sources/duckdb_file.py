"""Tables and views of a DuckDB file, read in one transaction that lasts as long as the table is in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hushtable.addresses import DUCKDB, split_table
from hushtable.errors import SourceError, UsageError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources import files
from hushtable.kernel.sources.database import file_of, package, quoted
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, Table, described
from hushtable.kernel.sources.staging import StagedTable
from hushtable.schema import Schema

_KIND = "SELECT table_type FROM information_schema.tables WHERE table_name = ? AND table_schema = ?"


class DuckTable:
    """A table or view of one file."""

    block = TYPED_ROWS
    shown = "the table"

    def __init__(self, url: str) -> None:
        place, name = split_table(url)
        self._file, *more = files.find(file_of(place))
        if more:
            raise UsageError(
                "source.several-files", "A database is one file.", "Write its path without a glob."
            )
        self._name = quoted(name)
        duckdb = package("duckdb", "duckdb")
        self._link: Any = None
        guard, found = files.Guard(self._file.shown), None
        with guard:
            self._link = duckdb.connect(str(self._file.path), read_only=True)
            self._link.execute("BEGIN TRANSACTION")
            found = self._link.execute(_KIND, [name[-1], name[0] if len(name) > 1 else "main"]).fetchall()
        guard.raise_failure()
        if not found:
            raise SourceError(
                "source.no-table",
                "The database has no table or view of this name.",
                "Give the name letter for letter, with its schema and a point before it if that is not main.",
            )
        self.pinned = found[0][0] == "BASE TABLE"
        self.headers = [described("The table", self._header)]

    def _header(self) -> Header:
        with self._stream("*", 1) as found:
            return Header("The table", list(found.schema.names), list(found.schema.types))

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of these columns."""
        with self._stream(", ".join(quoted((name,)) for name in columns), size) as stream:
            for batch in stream:
                yield ArrowBlock(batch.columns)

    def _stream(self, columns: str, size: int) -> Any:
        return self._link.sql(f"SELECT {columns} FROM {self._name}").to_arrow_reader(size)


class DuckOpener(TableOpener):
    """Tables and views by URL."""

    name = "duckdb"
    what = "duckdb:///FILE?table=NAME"
    schemes = DUCKDB

    def table(self, data: str, schema: Schema | None) -> Table:
        found = DuckTable(data)
        return found if found.pinned or schema is None else StagedTable(found, schema.columns)
