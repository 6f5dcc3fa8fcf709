"""The SQLite file under a ledger: one table of chained entries, opened anew for every transaction.

Every write is one ``BEGIN IMMEDIATE`` transaction with ``synchronous=FULL`` and a rollback journal that is truncated:
a commit is on the disk when it returns, and between transactions the one file is the whole ledger (a write-ahead log
would leave the latest entries in a second file, and a copy of the first alone would be an older, valid ledger).
What entries mean is not known here.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Generator, Sequence
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.ledger.entries import FORMAT, Entry, Row
from hushtable.ledger.failpoints import reach
from hushtable.ledger.payloads import unwritable
from hushtable.ledger.places import check_journals, foreign, sync_folder

APPLICATION = 0x48555348  # "HUSH", in the header of the file

_CREATE = """\
PRAGMA application_id = {application};
PRAGMA user_version = {format};
CREATE TABLE entry (number INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL);
"""
_READ_ON = "SELECT number, body, hash FROM entry WHERE number >= ? ORDER BY number"
_WRITE = "INSERT INTO entry (number, body, hash) VALUES (?, ?, ?)"


class SQLiteStore:
    """Transactions on one ledger file."""

    def __init__(self, path: Path, *, wait: float) -> None:
        self.path = path
        self._wait = wait

    @contextlib.contextmanager
    def reading(self) -> Generator[Transaction]:
        """A consistent view of the file."""
        with self._transaction("BEGIN") as transaction:
            yield transaction

    @contextlib.contextmanager
    def writing(self) -> Generator[Transaction]:
        """The only writer; commits, durably, when the block ends without an error."""
        with self._transaction("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[Transaction]:
        with (
            translated(self.path, wait=self._wait),
            contextlib.closing(_connect(self.path, self._wait)) as connection,
            _begun(connection, begin),
        ):
            yield Transaction(connection)


class Transaction:
    """What may be done to the table of entries: read on from a number, append."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def rows(self, *, start: int) -> list[Row]:
        """Number, text and hash of the entries from ``start`` on, in order."""
        return self._connection.execute(_READ_ON, (start,)).fetchall()

    def append(self, entry: Entry) -> None:
        self._connection.execute(_WRITE, (entry.number, entry.text, entry.hash))

    def faults(self) -> list[str]:
        """What SQLite's own check of the file complains about, without the file's content."""
        answer = self._connection.execute("PRAGMA integrity_check").fetchall()
        return [] if answer == [("ok",)] else ["SQLite's integrity check of the file fails."]


def create(path: Path, entries: Sequence[Entry]) -> None:
    """Write a new ledger; it appears under its name complete, or not at all, and replaces nothing."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _fill(temporary, entries)
        reach("create.written")
        os.link(temporary, path)
        reach("create.linked")
        sync_folder(path.parent)
    except FileExistsError:
        raise LedgerError(
            "ledger.exists",
            f"{path} exists already.",
            "Open it without a budget, or choose another file name.",
        ) from None
    except OSError:
        raise unwritable(path.parent) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def identify(path: Path) -> None:
    """Refuse a file that is not a ledger of this format, without locking or changing it.

    Another process may be writing at this moment, so a page that cannot be read yet proves nothing; every transaction
    checks the header again under its lock.
    """
    try:
        with contextlib.closing(_sqlite(path, "mode=ro&immutable=1", 0.0)) as connection:
            _check_header(path, connection)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            raise foreign(path) from None


@contextlib.contextmanager
def translated(path: Path, *, wait: float) -> Generator[None]:
    """Turn SQLite's errors into the ledger's own; their text may quote the file's content and is dropped."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _refusal(path, getattr(error, "sqlite_errorcode", None), wait) from None


def _refusal(path: Path, code: int | None, wait: float) -> LedgerError:
    primary = None if code is None else code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LedgerError(
            "ledger.locked",
            f"{path} has been in use by another process for {wait:g} seconds; nothing was written.",
            "Wait for the other process to finish, or end it, and try again with the same request id.",
        )
    if primary == sqlite3.SQLITE_NOTADB:
        return foreign(path)
    if primary == sqlite3.SQLITE_READONLY:
        return LedgerError(
            "ledger.read-only",
            f"{path} may only be read.",
            "Ask its owner for write permission, then try again.",
        )
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return unwritable(path)
    if primary in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return LedgerError(
            "ledger.unreadable", f"{path} cannot be opened.", "Check that it exists and may be read."
        )
    return LedgerError(
        "ledger.damaged",
        f"{path} cannot be read as a ledger.",
        "Restore the latest copy of the ledger and check it with `hush ledger verify L --head H`.",
    )


def _fill(path: Path, entries: Sequence[Entry]) -> None:
    with (
        translated(path, wait=0.0),
        contextlib.closing(_sqlite(path, "mode=rw", 0.0)) as connection,
        _begun(connection, "BEGIN IMMEDIATE"),
    ):
        for statement in _CREATE.format(application=APPLICATION, format=FORMAT).split(";")[:-1]:
            connection.execute(statement)
        for entry in entries:
            Transaction(connection).append(entry)


@contextlib.contextmanager
def _begun(connection: sqlite3.Connection, begin: str) -> Generator[None]:
    """A transaction that commits at the end of the block, and leaves nothing when it fails."""
    connection.execute(begin)
    try:
        yield
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def _connect(path: Path, wait: float) -> sqlite3.Connection:
    check_journals(path)
    connection = _sqlite(path, "mode=rw", wait)
    try:
        _check_header(path, connection)
        _check_objects(path, connection)
        connection.execute("PRAGMA journal_mode = TRUNCATE")
    except BaseException:
        connection.close()
        raise
    return connection


def _sqlite(path: Path, options: str, wait: float) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.as_uri()}?{options}", uri=True, timeout=wait, isolation_level=None, check_same_thread=False
    )
    try:
        connection.executescript(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA trusted_schema = OFF"
        )
    except BaseException:
        connection.close()
        raise
    return connection


def _check_header(path: Path, connection: sqlite3.Connection) -> None:
    application, version = connection.execute(
        "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if application != APPLICATION:
        raise foreign(path)
    if version != FORMAT:
        raise LedgerError(
            "ledger.format",
            f"{path} has another format than this version of Hushtable reads.",
            "Use the version that wrote it, or a newer one.",
        )


def _check_objects(path: Path, connection: sqlite3.Connection) -> None:
    if connection.execute("SELECT type, name FROM sqlite_schema").fetchall() != [("table", "entry")]:
        raise LedgerError(
            "ledger.damaged",
            f"{path} holds other tables, views or triggers than a ledger has.",
            "Restore the latest copy of the ledger and check it with `hush ledger verify L --head H`.",
        )
