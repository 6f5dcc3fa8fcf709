"""Tables and views of a DuckDB file, read in one transaction that lasts as long as the table is in use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hushtable.addresses import DUCKDB, split_table
from hushtable.errors import SourceError, UsageError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources import files
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.database import file_of, package, quoted
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, Table, described
from hushtable.kernel.sources.staging import StagedTable
from hushtable.schema import Schema

_LOOSE = "VARCHAR with a collation"
_ALIKE = ("A", "a", "á")
"""Texts of which some are equal where letters' case or accents do not count."""
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
            names, types = list(found.schema.names), list(found.schema.types)
        return Header("The table", names, types, dict.fromkeys(self._loose(names, types), _LOOSE))

    def _loose(self, names: Sequence[str], types: Sequence[Any]) -> list[str]:
        """Columns of text whose collation calls different texts equal, seen by texts of our own: no row is read."""
        texts = [name for name, kind in zip(names, types, strict=True) if pa.types.is_string(kind)]
        if not texts or len(set(names)) < len(names):
            return []
        columns = ", ".join(quoted((name,)) for name in texts)
        told = ", ".join(f"count(DISTINCT {quoted((name,))})" for name in texts)
        rows = ", ".join("(" + ", ".join([f"'{word}'"] * len(texts)) + ")" for word in _ALIKE)
        empty = f"SELECT {columns} FROM {self._name} WHERE false"
        asked = f"SELECT {told} FROM ({empty} UNION ALL SELECT * FROM (VALUES {rows}))"
        (found,) = self._link.execute(asked).fetchall()
        return [name for name, count in zip(texts, found, strict=True) if count < len(_ALIKE)]

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
