"""A ledger in an SQLite file: one table of entries, opened anew for every transaction, with a folder of payloads.

Every write is one ``BEGIN IMMEDIATE`` transaction with ``synchronous=FULL`` and a rollback journal that is truncated:
a commit is on the disk when it returns, and between transactions the one file is the whole ledger (a write-ahead log
would leave the latest entries in a second file, and a copy of the first alone would be an older, valid ledger).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.ledger.entries import FORMAT, Entry, Row, spoilt
from hushtable.ledger.failpoints import reach
from hushtable.ledger.stores.payload_files import PayloadFolder
from hushtable.ledger.stores.places import (
    check_file,
    check_journals,
    file_at,
    foreign,
    lstat,
    sync_folder,
    unreachable,
    unwritable,
)
from hushtable.ledger.stores.request_locks import turn_of
from hushtable.ledger.stores.store import (
    NO_CONTENTS,
    Address,
    Contents,
    LedgerStore,
    Payload,
    Transaction,
    Turn,
    exists_already,
    locked,
    nothing,
    older_than_payloads,
)

APPLICATION = 0x48555348  # "HUSH", in the header of the file

_CREATE = f"""\
BEGIN IMMEDIATE;
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {FORMAT};
CREATE TABLE entry (number INTEGER NOT NULL PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL)"""
_READ_ON = "SELECT number, body, hash FROM entry WHERE number >= ? ORDER BY number"
_WRITE = "INSERT INTO entry (number, body, hash) VALUES (?, ?, ?)"


class SQLiteStore(LedgerStore):
    """Transactions on one ledger file, and what lies beside it."""

    schemes = ("",)
    what = "a path"

    def __init__(self, address: Address, *, wait: float) -> None:
        self._path = file_at(address)
        self._wait = wait
        self._payloads = PayloadFolder(self._path.with_name(self._path.name + ".payloads"))
        self._ready: dict[int, Callable[[], None]] = {}
        self.place, self.label = str(self._path), self._path.stem

    def exists(self) -> bool:
        return lstat(self._path) is not None

    def create(
        self, entries: Sequence[Entry], payloads: Contents = NO_CONTENTS, before: Callable[[], None] = nothing
    ) -> None:
        """Written under a temporary name, then linked to its own."""
        if self.exists():
            raise exists_already(self.place)
        for charge in set(self._payloads.present()) - set(payloads):
            raise older_than_payloads(charge)
        for charge, content in payloads.items():
            with self._payloads.written(Payload(charge, content())) as keep:
                keep()
        if payloads:
            self._payloads.sync()
        temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}.tmp")
        try:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            with _opened(temporary, "mode=rw", 0.0) as connection, connection:
                for statement in _CREATE.split(";"):
                    connection.execute(statement)
                for entry in entries:
                    FileTransaction(connection, {}).append(entry)
            reach("create.written")
            before()
            os.link(temporary, self._path)
            reach("create.linked")
            sync_folder(self._path.parent)
        except FileExistsError:
            raise exists_already(self.place) from None
        except OSError:
            raise unwritable(self._path.parent) from None
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def check(self) -> None:
        """Locks nothing: others may be writing, so a page that cannot be read yet proves nothing.

        Every transaction checks the header again under its lock.
        """
        check_file(self._path)
        try:
            with _opened(self._path, "mode=ro&immutable=1", 0.0) as connection:
                _check_header(self._path, connection)
        except LedgerError as error:
            if error.code in ("ledger.foreign", "ledger.format"):
                raise

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[Transaction]:
        return self._transaction("BEGIN IMMEDIATE")

    @contextlib.contextmanager
    def ready(self, payload: Payload) -> Generator[None]:
        """Written and synced under a temporary name: it takes as long as a commit, and threads do it side by side."""
        with self._payloads.written(payload) as keep:
            self._ready[payload.charge] = keep
            try:
                yield
            finally:
                del self._ready[payload.charge]

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Generator[Transaction]:
        check_journals(self._path)
        with _opened(self._path, "mode=rw", self._wait) as connection:
            _check_header(self._path, connection)
            if connection.execute("SELECT type, name FROM sqlite_schema").fetchall() != [("table", "entry")]:
                raise spoilt(f"{self._path} holds other tables, views or triggers than a ledger has.")
            connection.execute("PRAGMA journal_mode = TRUNCATE")
            with connection:
                connection.execute(begin)
                transaction = FileTransaction(connection, self._ready)
                yield transaction
                if transaction.named:
                    self._payloads.sync()

    def turn(self, request: str, *, wait: bool) -> AbstractContextManager[Turn]:
        self._payloads.prepare()
        return turn_of(self._payloads.folder, request, wait=wait)

    def prepare(self) -> None:
        self._payloads.prepare()

    def present(self) -> list[int]:
        return self._payloads.present()

    def content(self, charge: int) -> bytes | None:
        return self._payloads.read(charge)


class FileTransaction(Transaction):
    """On the table of entries; a payload gets its final name before its entry is written.

    ``ready`` gives by charge what does that; all names are durable before the entries are.
    """

    def __init__(self, connection: sqlite3.Connection, ready: Mapping[int, Callable[[], None]]) -> None:
        self._connection, self._ready = connection, ready
        self.named = False

    def rows(self, *, start: int) -> list[Row]:
        return self._connection.execute(_READ_ON, (start,)).fetchall()

    def append(self, entry: Entry, payload: Payload | None = None) -> None:
        if payload is not None:
            self._ready[payload.charge]()
            self.named = True
        self._connection.execute(_WRITE, (entry.number, entry.text, entry.hash))

    def faults(self) -> list[str]:
        answer = self._connection.execute("PRAGMA integrity_check").fetchall()
        return [] if answer == [("ok",)] else ["SQLite's integrity check of the file fails."]


@contextlib.contextmanager
def _opened(path: Path, options: str, wait: float) -> Generator[sqlite3.Connection]:
    """A connection; errors of SQLite become the ledger's own, because their text may quote the file's content."""
    uri = f"{path.as_uri()}?{options}"
    try:
        with contextlib.closing(
            sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, check_same_thread=False)
        ) as connection:
            connection.executescript(
                "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA trusted_schema = OFF"
            )
            yield connection
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _refusal(path, getattr(error, "sqlite_errorcode", None), wait) from None


def _refusal(path: Path, code: int | None, wait: float) -> LedgerError:
    primary = None if code is None else code & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return locked(str(path), wait)
    if primary == sqlite3.SQLITE_NOTADB:
        return foreign(path)
    if primary == sqlite3.SQLITE_READONLY:
        return LedgerError("ledger.read-only", f"{path} may only be read.", "Ask its owner to let you write.")
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return unwritable(path)
    if primary in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH):
        return unreachable(path)
    return spoilt(f"{path} cannot be read as a ledger.")


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
