"""Tables and views of PostgreSQL, read in one snapshot.

Opening begins a transaction that lasts as long as the table is in use.  It keeps the table from being changed (DROP,
ALTER, TRUNCATE), and then exports a snapshot: the other way round, a table that is emptied and filled in between would
be read as empty.  Every pass is a connection of its own that reads in that snapshot (REPEATABLE READ, READ ONLY), as a
binary COPY that becomes Arrow batches.  Rows are encoded here, by the same code as those of files: SQL only names
columns.  ``row_security`` is off, so that a policy which would hide rows raises.  Views and foreign tables, which may
give other rows each time, are read once; partitions and heirs that come later, which no snapshot keeps out, are
refused.

What a person column may be is decided by its type in the database, where equality may be looser than ours.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import finalize

from hushtable.addresses import POSTGRES, SECRETS, password_in_url, split_table
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

_KEEPER = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY"
"""Each statement sees what was committed before it; the snapshot is that of the statement which exports it."""
_READER = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_LETTERS = "utf8"
"""However text is stored, and whatever the environment asks for."""
_NO_LETTERS = "SQL_ASCII"
"""A database of bytes: the server would refuse to give those as text that are none, because of one row."""
_KEEP = ("SET LOCAL row_security = off", "SET LOCAL idle_in_transaction_session_timeout = 0")

_COLUMNS = """
WITH RECURSIVE base AS (
    SELECT a.attnum, a.attname, t.oid, t.typname, t.typtype, t.typbasetype, t.typnamespace,
           CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS typmod, a.attcollation
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT b.attnum, b.attname, t.oid, t.typname, t.typtype, t.typbasetype, t.typnamespace,
           CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE b.typmod END, b.attcollation
    FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd'
)
SELECT b.attname, b.typname, b.typtype = 'e', b.typmod, coalesce(c.collisdeterministic, true),
       b.typnamespace = 'pg_catalog'::regnamespace
FROM base b LEFT JOIN pg_collation c ON c.oid = b.attcollation WHERE b.typtype <> 'd' ORDER BY b.attnum
"""
_TABLE = "SELECT to_regclass(%s)::oid"
_KIND = """
WITH RECURSIVE below AS (
    SELECT oid, relkind FROM pg_class WHERE oid = %(table)s
    UNION SELECT c.oid, c.relkind FROM below b JOIN pg_inherits i ON i.inhparent = b.oid
                                              JOIN pg_class c ON c.oid = i.inhrelid
)
SELECT oid::bigint, relkind::text FROM below ORDER BY oid
"""
_GENERATED = "SELECT attname FROM pg_attribute WHERE attrelid = %(table)s AND attgenerated <> ''"


@dataclass(frozen=True)
class _Column:
    name: str
    kind: str
    enum: bool
    modifier: int
    deterministic: bool
    own: bool
    """Whether its type is the server's own, and not one of somebody who gave it the same name."""

    @property
    def type(self) -> CopyType:
        """How it is read; as a type that no attribute reads if it cannot be."""
        found = TEXT if self.enum else TYPES.get(self.kind) if self.own else None
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
        ask(_KEEPER)
        for setting in _KEEP:
            ask(setting)
        kinds = set(self._parts().values())
        if not kinds or not kinds <= set("rpmvf"):
            asking.refuse("source.no-table", "The database has no table or view of this name.", _NAMES)
        asking.reading = True
        ask(f"SELECT FROM {quoted(self._name)} LIMIT 0")  # refuses, and keeps the table from being changed
        self._read = self._parts()
        table = {"table": ask(_TABLE, (quoted(self._name),)).fetchone()[0]}
        columns = [_Column(*row) for row in ask(_COLUMNS, table).fetchall()]
        kinds = set(self._read.values())
        self.pinned = kinds <= set("rpm")
        generated = {name for (name,) in ask(_GENERATED, table).fetchall()}
        plain = kinds == {"r"} and len(self._read) == 1
        self._stored = {column.name for column in columns} - generated if plain else set[str]()
        (self._snapshot,) = ask("SELECT pg_export_snapshot()").fetchone()
        loose = {column.name: column.loose for column in columns if column.loose is not None}
        names, types = [column.name for column in columns], [column.type.arrow for column in columns]
        self.headers = [Header("The table", names, types, loose)]
        self._readers = {column.name: column.type.read for column in columns}
        for column in columns:
            if column.name == self._person and column.type.tell_apart is not None:
                self._readers[column.name] = column.type.tell_apart

    def _parts(self) -> dict[int, str]:
        """The table and all partitions and heirs that are read with it, as they are now: what kind each is."""
        ask = self._links[0].execute
        (table,) = ask(_TABLE, (quoted(self._name),)).fetchone()
        return dict(ask(_KIND, {"table": table}).fetchall())

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[CopyBlock]:
        """All rows of these columns, in whatever order the server gives them."""
        from hushtable.kernel.sources.copy_stream import CopyStream  # loads numba

        with _Asking("The table could not be read to its end") as asking, closing(self._reader()) as reader:
            link = next(reader)
            asking.reading = True
            stream = CopyStream(link, self._copied(columns))
            yield from stream.blocks([self._readers[name] for name in columns], size)
            next(reader)
            if self._parts() != self._read:  # a snapshot does not pin them
                asking.refuse("source.changed", "Parts of the table were added while it was in use.", _ANEW)
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
                link = package("psycopg", "postgres").connect(self._url, **_same_server(self._links[0]))
                for setting in (_READER, f"SET TRANSACTION SNAPSHOT '{self._snapshot}'", *_KEEP):
                    link.execute(setting)
                self._links[0].execute(
                    "SELECT"
                )  # a server that was started again may have given the name anew
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
_ANEW = "Nothing more was spent; type the command again."
_AGAIN = "Nothing more was spent; check the connection and the server's log, and type the command again."
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


def _same_server(link: Any) -> dict[str, Any]:
    """What leads to the server of a connection, of several hosts or under a name that several have; and its bytes."""
    info = link.info
    found = {"host": info.host, "hostaddr": info.hostaddr, "port": info.port, "client_encoding": _LETTERS}
    if info.parameter_status("server_encoding") == _NO_LETTERS:
        found["client_encoding"] = _NO_LETTERS
    return {name: value for name, value in found.items() if value}


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
    if any(map(found.get, SECRETS)):
        raise password_in_url()
    try:
        link = psycopg.connect(url, client_encoding=_LETTERS)
    except psycopg.Error as error:
        asked = error.pgconn is not None and (error.pgconn.needs_password or error.pgconn.used_password)
    if link is None and asked:
        fix = "Check database, user and password: PGPASSFILE, service=NAME or PGPASSWORD."
        raise SourceError("source.no-access", "The server does not let this user into this database.", fix)
    if link is None:
        fix = "Check host, port and database, and that the server runs and may be reached from here."
        raise SourceError("source.no-server", "No database of this name answers at this address.", fix)
    return link
