"""The service's own tables: people, sign-ins, jobs, releases and the record of who did what.

An SQLite file for one machine, PostgreSQL for several web processes and workers.  No confidential row and no exact
count is ever in them; amounts of privacy are the ledger's, and stay there.
"""

from __future__ import annotations

import contextlib
import hashlib
import queue
import secrets
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any

from hushtable.addresses import POSTGRES, scheme_of
from hushtable.errors import RefusedError, UsageError
from hushtable.service.service_tables import FORMAT, TABLES

if TYPE_CHECKING:
    import psycopg

CONNECTIONS = 8
"""Connections of one process: its threads wait for one.  Four web processes and two workers stay below the hundred that
a PostgreSQL server takes as it is installed."""
WAIT = 30.0
"""Seconds that a transaction may wait for others: several times what a busy disk takes, less than clients wait."""
ColumnValue = str | int | float | None
Record = Mapping[str, Any]


def new_id() -> str:
    """An id that nobody guesses, and that sorts by the time at which it was made."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def digest_of(secret: str) -> str:
    """The hash under which a random secret is kept."""
    return hashlib.sha256(secret.encode()).hexdigest()


class TableRows(ABC):
    """One transaction: questions with ``?`` for values."""

    locking = ""
    """What a SELECT ends with so that no other process takes the same row."""

    @abstractmethod
    def all(self, question: str, *values: ColumnValue) -> list[Record]:
        """Rows by column name."""

    @abstractmethod
    def run(self, statement: str, *values: ColumnValue) -> int:
        """How many rows it changed."""

    def one(self, question: str, *values: ColumnValue) -> Record | None:
        """The first row, if there is one."""
        return next(iter(self.all(question, *values)), None)

    def add(self, table: str, **values: ColumnValue) -> bool:
        """Write a row; False where one with the same key is there already."""
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        written = f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        return self.run(written, *values.values()) == 1


class Storage(ABC):
    """Transactions on the service's tables, shared by the threads of a process."""

    shared = False
    """Whether several workers may use it."""

    @abstractmethod
    def reading(self) -> contextlib.AbstractContextManager[TableRows]:
        """A transaction that only looks."""

    @abstractmethod
    def writing(self) -> contextlib.AbstractContextManager[TableRows]:
        """A transaction that is durable when its block ends, and undone if it fails."""

    @abstractmethod
    def close(self) -> None:
        """Hang up."""

    def prepare(self) -> None:
        """Make the tables where there are none; refuses those of another version."""
        with self.writing() as rows:
            for statement in TABLES:
                rows.run(statement)
            rows.add("setting", name="format", value=str(FORMAT))
            found = rows.one("SELECT value FROM setting WHERE name = 'format'")
        if found is None or found["value"] != str(FORMAT):
            raise RefusedError(
                "serve.database-format",
                "The service's database was written by another version of Hushtable.",
                "Run the version that wrote it, or restore a backup of this one.",
            )


def storage_at(address: str) -> Storage:
    """The tables of a path or of ``postgresql://HOST/DATABASE``."""
    return PostgresStorage(address) if scheme_of(address, ()) in POSTGRES else FileStorage(address)


def unreachable_database() -> RefusedError:
    """The refusal while the database does not answer; nothing that was acknowledged is lost."""
    return RefusedError(
        "serve.database", "The service's database does not answer.", "Try again; nothing was lost."
    )


class FileStorage(Storage):
    """An SQLite file with a write-ahead log; one transaction writes at a time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._free: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()
        self._room, self._turn = threading.BoundedSemaphore(CONNECTIONS), threading.Lock()

    def reading(self) -> contextlib.AbstractContextManager[TableRows]:
        return self._transaction("BEGIN")

    @contextlib.contextmanager
    def writing(self) -> Generator[TableRows]:
        with self._turn, self._transaction("BEGIN IMMEDIATE") as rows:
            yield rows

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[TableRows]:
        try:
            with self._room:
                connection = self._connection()
                try:
                    connection.execute(begin)
                    yield FileRows(connection)
                    connection.execute("COMMIT")
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
                finally:
                    self._free.put(connection)
        except sqlite3.Error:
            raise unreachable_database() from None

    def _connection(self) -> sqlite3.Connection:
        with contextlib.suppress(queue.Empty):
            return self._free.get_nowait()
        made = sqlite3.connect(self._path, timeout=WAIT, isolation_level=None, check_same_thread=False)
        made.row_factory = sqlite3.Row
        made.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
            "PRAGMA trusted_schema = OFF"
        )
        return made

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._free.get_nowait().close()


class FileRows(TableRows):
    """A transaction of SQLite."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, question: str, *values: ColumnValue) -> list[Record]:
        return [dict(row) for row in self._connection.execute(question, values)]

    def run(self, statement: str, *values: ColumnValue) -> int:
        return self._connection.execute(statement, values).rowcount


class PostgresStorage(Storage):
    """Tables in the schema ``hush_service`` of a PostgreSQL database.

    Passwords come from PGPASSFILE, a service file or the environment, as for ledgers.
    """

    shared = True

    def __init__(self, address: str) -> None:
        self._address = address
        self._free: queue.SimpleQueue[psycopg.Connection] = queue.SimpleQueue()
        self._room = threading.BoundedSemaphore(CONNECTIONS)

    @contextlib.contextmanager
    def reading(self) -> Generator[TableRows]:
        """Each question by itself: a transaction of READ COMMITTED, which asks the server thrice, sees no more."""
        import psycopg

        with self._room:
            try:
                rows = PostgresReading(self._free.get_nowait(), self._connected)
            except queue.Empty:
                rows = PostgresReading(self._connected(), None)
            try:
                yield rows
            except psycopg.Error:
                rows.connection.close()
                raise unreachable_database() from None
            except BaseException:
                self._free.put(rows.connection)
                raise
            self._free.put(rows.connection)

    def writing(self) -> contextlib.AbstractContextManager[TableRows]:
        return self._transaction("BEGIN")

    def prepare(self) -> None:
        with self.writing() as rows:
            rows.all(
                "SELECT pg_advisory_xact_lock(725948221)"
            )  # two processes that start make the tables once
            rows.run("CREATE SCHEMA IF NOT EXISTS hush_service")
        super().prepare()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[TableRows]:
        import psycopg

        with self._room:
            try:
                connection = self._connection(begin)
            except psycopg.Error:
                raise unreachable_database() from None
            try:
                yield PostgresRows(connection)
                connection.execute("COMMIT")
            except psycopg.Error:
                connection.close()
                raise unreachable_database() from None
            except BaseException:
                with contextlib.suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
                    self._free.put(connection)
                raise
            self._free.put(connection)

    def _connection(self, begin: str) -> psycopg.Connection:
        """One that has begun; those that a restart of the server left behind are thrown away."""
        import psycopg

        while True:
            try:
                kept = self._free.get_nowait()
            except queue.Empty:
                break
            try:
                kept.execute(begin)
                return kept
            except psycopg.Error:
                kept.close()
        made = self._connected()
        made.execute(begin)
        return made

    def _connected(self) -> psycopg.Connection:
        import psycopg

        settings = psycopg.conninfo.conninfo_to_dict(self._address)
        settings |= {"autocommit": True, "connect_timeout": 5, "options": "-c search_path=hush_service"}
        try:
            return psycopg.connect(**settings)
        except psycopg.Error:
            raise unreachable_database() from None

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._free.get_nowait().close()


class PostgresRows(TableRows):
    """A transaction of PostgreSQL."""

    locking = "FOR UPDATE SKIP LOCKED"

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    def all(self, question: str, *values: ColumnValue) -> list[Record]:
        found = self._asked(question, values)
        names = [column.name for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]

    def run(self, statement: str, *values: ColumnValue) -> int:
        return self._asked(statement, values).rowcount

    def _asked(self, question: str, values: tuple[ColumnValue, ...]) -> psycopg.Cursor:
        """Ask; a text that PostgreSQL cannot hold is the fault of who sent it, and the database does answer."""
        import psycopg

        try:
            return self._connection.execute(question.replace("?", "%s"), values or None)
        except psycopg.DataError:
            raise UsageError(
                "request.text", "A text has a character that no name or id has.", "Leave it out."
            ) from None


class PostgresReading(PostgresRows):
    """Questions that change nothing: one whose connection a restart of the server broke is asked anew."""

    def __init__(
        self, connection: psycopg.Connection, again: Callable[[], psycopg.Connection] | None
    ) -> None:
        super().__init__(connection)
        self._again = again

    @property
    def connection(self) -> psycopg.Connection:
        """The one that is used now."""
        return self._connection

    def all(self, question: str, *values: ColumnValue) -> list[Record]:
        import psycopg

        try:
            return super().all(question, *values)
        except psycopg.OperationalError:
            if self._again is None:
                raise
            self._connection.close()
            self._connection, self._again = self._again(), None
            return super().all(question, *values)
