"""Tables and views of PostgreSQL, read in one snapshot.

Opening begins a transaction (REPEATABLE READ, READ ONLY) that lasts as long as the table is in use and exports its
snapshot; every pass is a connection of its own that reads in that snapshot, as a binary COPY that becomes Arrow
batches.  Rows are encoded here, by the same code as those of files: SQL only names columns.  ``row_security`` is off,
so that a policy which would hide rows raises.  Views and foreign tables, which may give other rows each time, are read
once.

What a person column may be is decided by its type in the database, where equality may be looser than ours.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import finalize

from hushtable.addresses import POSTGRES, password_in_url, split_table
from hushtable.errors import SourceError, UsageError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.copy_types import TEXT, TYPES, CopyType, unread_type
from hushtable.kernel.sources.database import package, quoted
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, Table
from hushtable.kernel.sources.staging import StagedTable
from hushtable.schema import Schema

if TYPE_CHECKING:
    from hushtable.kernel.sources.copy_stream import CopyBlock

_BEGIN = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_KEEP = ("SET LOCAL row_security = off", "SET LOCAL idle_in_transaction_session_timeout = 0")

_COLUMNS = """
WITH RECURSIVE base AS (
    SELECT a.attnum, a.attname, t.oid, t.typname, t.typtype, t.typbasetype,
           CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS typmod, a.attcollation
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT b.attnum, b.attname, t.oid, t.typname, t.typtype, t.typbasetype,
           CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE b.typmod END, b.attcollation
    FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
)
SELECT b.attname, b.typname, b.typtype = 'e', b.typmod, coalesce(c.collisdeterministic, true)
FROM base b LEFT JOIN pg_collation c ON c.oid = b.attcollation WHERE b.typtype <> 'd' ORDER BY b.attnum
"""
_KIND = """
WITH RECURSIVE below AS (
    SELECT oid, relkind FROM pg_class WHERE oid = %(table)s
    UNION SELECT c.oid, c.relkind FROM below b JOIN pg_inherits i ON i.inhparent = b.oid
                                              JOIN pg_class c ON c.oid = i.inhrelid
)
SELECT array_agg(relkind::text) FROM below
"""
_GENERATED = "SELECT attname FROM pg_attribute WHERE attrelid = %(table)s AND attgenerated <> ''"


@dataclass(frozen=True)
class _Column:
    name: str
    kind: str
    enum: bool
    modifier: int
    deterministic: bool

    @property
    def type(self) -> CopyType:
        """How it is read; as a type that no attribute reads if it cannot be."""
        found = TEXT if self.enum else TYPES.get(self.kind)
        return unread_type(self.kind) if found is None else found

    @property
    def loose(self) -> str | None:
        """What to call a type in which values that differ here may be equal there."""
        if not self.deterministic:
            return f"{self.kind} with a nondeterministic collation"
        if self.kind == "numeric" and self.modifier < 0:
            return "numeric without a scale"
        return {"bpchar": "char(n)", "float4": "real", "float8": "double precision"}.get(self.kind)


class PostgresTable:
    """A table or view, in the snapshot of the moment at which it was opened."""

    block = TYPED_ROWS
    shown = "the table"

    def __init__(self, url: str, person: str | None = None) -> None:
        self._url, self._name = split_table(url)
        self._person = person
        self._links = [_connected(self._url)]
        finalize(self, _close, self._links)
        with _Asking("The table cannot be looked at") as asking:
            self._look(asking)
        asking.raise_failure()

    def _look(self, asking: _Asking) -> None:
        ask = self._links[0].execute
        ask(_BEGIN)
        for setting in _KEEP:
            ask(setting)
        (table,) = ask("SELECT to_regclass(%s)::oid", (quoted(self._name),)).fetchone()
        relations: list[str] = ask(_KIND, {"table": table}).fetchone()[0] or []
        kinds = set(relations)
        if not kinds or not kinds <= set("rpmvf"):
            asking.refuse("source.no-table", "The database has no table or view of this name.", _NAMES)
        columns = [_Column(*row) for row in ask(_COLUMNS, {"table": table}).fetchall()]
        self.pinned = kinds <= set("rpm")
        generated = {name for (name,) in ask(_GENERATED, {"table": table}).fetchall()}
        self._stored = {column.name for column in columns} - generated if relations == ["r"] else set[str]()
        asking.reading = True
        ask(f"SELECT FROM {quoted(self._name)} LIMIT 0")  # refuses, and keeps the table from being changed
        (self._snapshot,) = ask("SELECT pg_export_snapshot()").fetchone()
        loose = {column.name: column.loose for column in columns if column.loose is not None}
        names, types = [column.name for column in columns], [column.type.arrow for column in columns]
        self.headers = [Header("The table", names, types, loose)]
        self._readers = {column.name: column.type.read for column in columns}
        for column in columns:
            if column.name == self._person and column.type.tell_apart is not None:
                self._readers[column.name] = column.type.tell_apart

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[CopyBlock]:
        """All rows of these columns, in whatever order the server gives them."""
        from hushtable.kernel.sources.copy_stream import CopyStream  # loads numba

        with _Asking("The table could not be read to its end") as asking, closing(self._reader()) as reader:
            link = next(reader)
            asking.reading = True
            stream = CopyStream(link, self._copied(columns))
            yield from stream.blocks([self._readers[name] for name in columns], size)
            next(reader)
        asking.raise_failure()

    def _copied(self, columns: Sequence[str]) -> str:
        """What to copy, in SQL: columns that the table itself stores without a query, in a tenth less time."""
        chosen, table = ", ".join(quoted((name,)) for name in columns), quoted(self._name)
        return (
            f"{table} ({chosen})" if self._stored.issuperset(columns) else f"(SELECT {chosen} FROM {table})"
        )

    def _reader(self) -> Generator[Any]:
        """A connection in the snapshot, and again when a pass has ended: it is kept then, and closed otherwise."""
        link = self._links.pop() if len(self._links) > 1 else None
        try:
            if link is None:
                link = package("psycopg", "postgres").connect(self._url, client_encoding="utf8")
                for setting in (_BEGIN, f"SET TRANSACTION SNAPSHOT '{self._snapshot}'", *_KEEP):
                    link.execute(setting)
            yield link
            self._links.append(link)
            link = None
            yield None
        finally:
            _close([] if link is None else [link])


class PostgresOpener(TableOpener):
    """Tables and views by URL."""

    name = "postgresql"
    what = "postgresql://HOST/DATABASE?table=NAME"
    schemes = POSTGRES

    def table(self, data: str, schema: Schema | None) -> Table:
        found = PostgresTable(data, None if schema is None else schema.person)
        return found if found.pinned or schema is None else StagedTable(found, schema.columns)


_NAMES = (
    "Give the name letter for letter, with its schema and a point before it if it is not on the search path."
)
_AGAIN = "Nothing was spent; check the connection and the server's log, and type the command again."
_ACCESS = (
    "Let its owner grant SELECT to your role; with row policies, read as a role that they do not apply to."
)


class _Asking:
    """Takes what a driver raises, whose message may quote a row or a credential, for a refusal that does not."""

    def __init__(self, failed: str) -> None:
        self._failed = failed
        self._refusal: SourceError | None = None
        self.reading = False

    def refuse(self, code: str, message: str, fix: str) -> NoReturn:
        raise SourceError(code, message, fix)

    def __enter__(self) -> _Asking:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        if kind is None or not issubclass(kind, Exception) or issubclass(kind, SourceError | UsageError):
            return False
        state = str(getattr(error, "sqlstate", None) or "")
        if state == "42501":
            text = (
                "Your role may not read the whole table: it lacks a right, or a row policy would hide rows."
            )
            self._refusal = SourceError("source.not-allowed", text, _ACCESS)
        elif self.reading:
            self._refusal = SourceError("source.interrupted", f"{self._failed}.", _AGAIN)
        else:
            self._refusal = SourceError("source.database", f"{self._failed}.", _AGAIN)
        return True

    def raise_failure(self) -> None:
        """Raises if anything was taken."""
        if self._refusal is not None:
            raise self._refusal


def _close(links: Sequence[Any]) -> None:
    for link in links:
        with suppress(Exception):
            link.close()


def _connected(url: str) -> Any:
    """The connection that keeps the snapshot."""
    psycopg = package("psycopg", "postgres")
    found, link, asked = None, None, False
    with suppress(Exception):
        found = psycopg.conninfo.conninfo_to_dict(url)
    if found is None:
        raise UsageError(
            "source.bad-url", "The URL of the database cannot be read.", f"Write {PostgresOpener.what}."
        )
    if found.get("password") or found.get("sslpassword"):
        raise password_in_url()
    try:
        link = psycopg.connect(url)
    except psycopg.Error as error:
        asked = error.pgconn is not None and (error.pgconn.needs_password or error.pgconn.used_password)
    if link is None and asked:
        fix = "Check database, user and password: PGPASSFILE, service=NAME or PGPASSWORD."
        raise SourceError("source.no-access", "The server does not let this user into this database.", fix)
    if link is None:
        fix = "Check host, port and database, and that the server runs and may be reached from here."
        raise SourceError("source.no-server", "No database of this name answers at this address.", fix)
    return link
