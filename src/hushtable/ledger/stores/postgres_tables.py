"""A ledger in PostgreSQL: rows of two tables, which any number of ledgers in one database share.

    postgresql://HOST/DATABASE?ledger=NAME

A role that may SELECT and INSERT suffices, and can change nothing that was written.  Writers are serialised by an
advisory lock that ends with their transaction; the primary key would refuse a second entry of a number even without it.
A payload is written in the transaction of its entry.  The turn of a request is an advisory lock of a session that stays
open meanwhile, so it ends with the connection.  Passwords come from PGPASSFILE, a service file or the environment.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit
from weakref import WeakSet

from hushtable.addresses import POSTGRES, SECRETS
from hushtable.errors import LedgerError, UsageError
from hushtable.ledger import names
from hushtable.ledger.entries import Entry, Row, spoilt
from hushtable.ledger.stores.store import (
    NO_CONTENTS,
    Address,
    Contents,
    LedgerStore,
    Payload,
    Transaction,
    Turn,
    exists_already,
    in_progress,
    locked,
    missing,
    nothing,
    older_than_payloads,
)

if TYPE_CHECKING:
    import psycopg

DEFAULT = "main"
"""The ledger of an address that names none."""
PART = 16 * 1024 * 1024
"""Bytes of a payload in one row: a value may have a gigabyte at most, and a server takes several times its size to read
it.  Smaller parts cost more rows, larger ones more memory of the server."""
LOOKS = 3
"""How often a pooler is looked at.  One would do if nobody else used it; each takes a few answers of the server."""
KEPT_LOCKERS = 16
"""Sessions that wait for the next lock: two for each of the few requests that a process works on at once.  To begin one
takes the server longer than the lock."""
PAUSE = 0.1
"""Seconds between two attempts to reach a server that went away."""

TABLES = """\
CREATE SCHEMA IF NOT EXISTS hushtable;
CREATE TABLE IF NOT EXISTS hushtable.entry (
    ledger text NOT NULL, number bigint NOT NULL, body text NOT NULL, hash text NOT NULL,
    PRIMARY KEY (ledger, number));
CREATE TABLE IF NOT EXISTS hushtable.payload (
    ledger text NOT NULL, charge bigint NOT NULL, part integer NOT NULL, content bytea NOT NULL,
    PRIMARY KEY (ledger, charge, part))"""
"""What the database's owner creates once; ``create`` does it where the role may."""

_TABLES = "SELECT to_regclass('hushtable.entry'), to_regclass('hushtable.payload')"
_BEGIN = """\
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = {wait};
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') <> 'remote_apply';
SELECT pg_advisory_xact_lock({key})"""
"""Each later statement sees what was committed before it, whatever isolation the server prefers; and a commit is on its
disk, and on that of a synchronous standby, before it is answered."""
_READ_ON = "SELECT number, body, hash FROM hushtable.entry WHERE ledger = %s AND number >= %s ORDER BY number"
_WRITE = "INSERT INTO hushtable.entry (ledger, number, body, hash) VALUES (%s, %s, %s, %s)"
_KEEP = "INSERT INTO hushtable.payload (ledger, charge, part, content) VALUES (%s, %s, %s, %b)"
_CONTENT = "SELECT content FROM hushtable.payload WHERE ledger = %s AND charge = %s ORDER BY part"
_PRESENT = "SELECT charge FROM hushtable.payload WHERE ledger = %s AND part = 0"
_PATIENT = """\
SET idle_session_timeout = 0; SET lock_timeout = 0; SET statement_timeout = 0;
SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"""
"""A session that may wait for hours; the server notices within a minute that the machine of its client is gone."""
_HELD = """\
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid = pg_backend_pid()
AND (classid::bigint << 32 | objid::bigint) = %s AND objsubid = 1"""
_SAME = "SET TRANSACTION SNAPSHOT '{}'"
_SOUND = """\
SELECT bool_and(relpersistence = 'p' AND EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary))
FROM pg_class c WHERE c.oid IN (to_regclass('hushtable.entry'), to_regclass('hushtable.payload'))"""


class PostgresStore(LedgerStore):
    """Transactions on the rows of one ledger, over one connection that is kept between them."""

    schemes = POSTGRES
    what = "postgresql://HOST/DATABASE?ledger=NAME"

    _link: psycopg.Connection | None = None
    _process = 0
    _inside = False

    def __init__(self, address: Address, *, wait: float) -> None:
        self._settings, self.label, self.place = _parts(str(address))
        self._wait = wait
        self._alone = threading.RLock()
        self._lockers: list[tuple[int, psycopg.Connection]] = []

    def __del__(self) -> None:
        if self._process == os.getpid():
            self._hang_up()
        for process, link in getattr(self, "_lockers", ()):
            if process == os.getpid():
                link.close()

    def exists(self) -> bool:
        with self._alone, self._translated():
            return None not in self._ask(_TABLES)[0] and bool(self._ask(f"{_READ_ON} LIMIT 1", self.label, 0))

    def create(
        self, entries: Sequence[Entry], payloads: Contents = NO_CONTENTS, before: Callable[[], None] = nothing
    ) -> None:
        with self._alone, self._translated():
            if None in self._ask(_TABLES)[0]:
                with self._begun("tables"):
                    self._ask(TABLES)
                self._commit()
            with self.writing() as transaction:
                if transaction.rows(start=0):
                    raise exists_already(self.place)
                for charge, content in payloads.items():
                    transaction.keep(Payload(charge, content()), again=False)
                for entry in entries:
                    transaction.append(entry)
                before()

    def check(self) -> None:
        if not self.exists():
            raise missing(self.place)
        with self._alone, self._translated():
            if self._ask(_SOUND) != [(True,)]:
                raise spoilt(f"The tables of {self.place} are not logged, or have no primary key.")

    @contextlib.contextmanager
    def reading(self) -> Generator[Transaction]:
        with self._alone, self._translated():
            yield EntryRows(self._ask, self.label)

    @contextlib.contextmanager
    def moment(self, snapshot: str | None = None) -> Generator[Transaction]:
        """In one transaction, whose snapshot may be that of another one."""
        with self._alone, self._translated():
            try:
                self._ask("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                self._inside = True
                if snapshot is not None:
                    self._ask(_SAME.format(snapshot.replace("'", "")))
                yield EntryRows(self._ask, self.label)
                self._commit()
            except BaseException:
                self._roll_back()
                raise

    @contextlib.contextmanager
    def writing(self) -> Generator[EntryRows]:
        with self._alone, self._translated():
            rows = EntryRows(self._ask, self.label)
            with self._begun("writer", self.label):
                yield rows
            try:
                self._commit()
            except _psycopg().Error as error:
                if not _is_lost(error):
                    raise
                self._make_sure(rows)

    def _make_sure(self, rows: EntryRows) -> None:
        """After a commit whose answer was lost: look whether it is there, and write it again if it is not.

        The lock waits for the server to have ended the first attempt, so what is not there then never will be.
        """
        until = time.monotonic() + self._wait
        while rows.written and not self._is_sure(rows):
            if time.monotonic() > until:
                raise LedgerError(
                    "ledger.unsure",
                    f"The connection to {self.place} was lost while it was written to; nothing was drawn.",
                    "Ask again with the same request id: what was charged meanwhile is charged once.",
                )
            time.sleep(PAUSE)

    def _is_sure(self, rows: EntryRows) -> bool:
        """Whether the server could be asked, and has now written the rows."""
        first, last = rows.written[0], rows.written[-1]
        try:
            with self._begun("writer", self.label):
                found = self._ask(_READ_ON, self.label, first.number - 1)
                if (last.number, last.text, last.hash) not in found:
                    if (
                        not rows.repeatable
                        or [row[2] for row in found] != [first.previous][: first.number - 1]
                    ):
                        raise self._connection_lost()  # or somebody else has written that number
                    rows.repeat()
            self._commit()
            return True
        except (LedgerError, _psycopg().Error) as error:
            gone = error.code == "ledger.unreachable" if isinstance(error, LedgerError) else _is_lost(error)
            if not gone:
                raise
            return False

    @contextlib.contextmanager
    def turn(self, request: str, *, wait: bool) -> Generator[Turn]:
        with self._locked([_key("request", self.label, request)], wait) as held:
            yield Turn(held)

    @contextlib.contextmanager
    def turns(self, requests: Sequence[str], *, wait: bool) -> Generator[None]:
        """One session holds them all: a server has few."""
        with self._locked([_key("request", self.label, request) for request in requests], wait):
            yield

    @contextlib.contextmanager
    def _locked(self, keys: Sequence[int], wait: bool) -> Generator[Callable[[], bool]]:
        """Hold advisory locks in a session of their own; tells whether they are still held."""
        with self._translated():
            link, held = self._locker(), True
            try:
                for key in keys:
                    if wait:
                        link.execute(f"SELECT pg_advisory_lock({key})")
                    elif link.execute(f"SELECT pg_try_advisory_lock({key})").fetchall() != [(True,)]:
                        raise in_progress()
                yield lambda: held and all(_has_lock(link, key) for key in keys)
                held = False
                self._give_back(link)
            except BaseException:
                held = False
                link.close()
                raise

    def _locker(self) -> psycopg.Connection:
        """A session for a lock: one that has given back its last one, or a new one."""
        while self._lockers:
            process, link = self._lockers.pop()
            if process == os.getpid() and _answers(link):
                return link
        link = self._connect()
        self._refuse_pooler(link)
        link.execute(_PATIENT)
        return link

    def _give_back(self, link: psycopg.Connection) -> None:
        """End the locks of a session; it waits for the next one, or ends with them."""
        with contextlib.suppress(_psycopg().Error):
            if len(self._lockers) < KEPT_LOCKERS:
                link.execute("SELECT pg_advisory_unlock_all()")
                self._lockers.append((os.getpid(), link))
                return
        link.close()

    def prepare(self) -> None:
        with self._alone, self._translated():
            if self._ask("SELECT has_table_privilege('hushtable.payload', 'INSERT')") != [(True,)]:
                raise self._not_allowed()

    def present(self) -> list[int]:
        with self._alone, self._translated():
            return [charge for (charge,) in self._ask(_PRESENT, self.label)]

    def content(self, charge: int) -> bytes | None:
        with self._alone, self._translated():
            parts = self._ask(_CONTENT, self.label, charge)
        return b"".join(part for (part,) in parts) if parts else None

    # The connection

    def _ask(self, query: str, *given: object) -> list[Any]:
        """The rows of an answer; outside a transaction, over a new connection if the server has left the kept one."""
        if self._link is not None and self._process == os.getpid():
            try:
                return _rows(self._link.execute(query, given or None))
            except _psycopg().Error as error:
                if self._inside or not _is_lost(error):
                    raise
        self._link, self._process = self._connect(), os.getpid()
        return _rows(self._link.execute(query, given or None))

    @contextlib.contextmanager
    def _begun(self, *lock: str) -> Generator[None]:
        """A transaction under a lock; it is open after the block, and gone if that failed."""
        try:
            self._ask(_BEGIN.format(wait=max(1, round(1000 * self._wait)), key=_key(*lock)))
            self._inside = True
            yield
        except BaseException:
            self._roll_back()
            raise

    def _commit(self) -> None:
        try:
            if self._link is None or self._link.execute("COMMIT").statusmessage != "COMMIT":
                raise spoilt(f"{self.place} ended a transaction without writing it.")
            self._inside = False
        except BaseException:
            self._hang_up()
            raise

    def _roll_back(self) -> None:
        try:
            if self._link is not None:
                self._link.execute("ROLLBACK")
            self._inside = False
        except BaseException as error:
            self._hang_up()  # the server rolls back what it has no connection for
            if not isinstance(error, _psycopg().Error):
                raise

    def _hang_up(self) -> None:
        self._inside = False
        link, self._link = self._link, None
        if link is not None:
            with contextlib.suppress(Exception):
                link.close()

    def _connect(self) -> psycopg.Connection:
        settings: dict[str, Any] = {"application_name": "hushtable", "connect_timeout": "10"}
        settings |= self._settings | {"client_encoding": "utf8"}
        try:
            link = _psycopg().connect(**settings, autocommit=True, prepare_threshold=None)
        except _psycopg().Error:
            raise LedgerError(
                "ledger.unreachable",
                f"{self.place} cannot be reached, or refused the login.",
                "Check that the server runs, and the host, database, user and PGPASSFILE.",
            ) from None
        _LINKS.add(link)
        if link.execute("SHOW fsync").fetchall() != [("on",)]:
            link.close()
            raise LedgerError(
                "ledger.no-fsync",
                f"The server of {self.place} runs with fsync=off: a power failure would take back what was spent.",
                "Turn fsync on, or keep the ledger elsewhere.",
            )
        return link

    def _refuse_pooler(self, link: psycopg.Connection) -> None:
        """Refuse a pooler that shares sessions: a lock of one would be everybody's, and nobody's.

        A pooler gives the client a number of its own for the session.  Whether it shares is seen by asking again, and
        by a second client: it gets the first one's session while that is idle, or the first one gets another.  What
        others do at the same time may hide that once, so it is looked for a few times.
        """

        def session(of: psycopg.Connection) -> int:
            return of.execute("SELECT pg_backend_pid()").fetchall()[0][0]

        first = session(link)
        if first == link.info.backend_pid:
            return
        seen, others = [session(link)], list[int]()
        with contextlib.closing(self._connect()) as other:
            for _ in range(LOOKS):
                others.append(session(other))
                seen += [session(link), session(link)]
        if first in others or set(seen) != {first}:
            raise LedgerError(
                "ledger.pooler",
                f"Between here and {self.place} is a pooler that shares sessions, so no request can be locked.",
                "Connect to the server itself, or to a pooler in session mode.",
            )

    @contextlib.contextmanager
    def _translated(self) -> Generator[None]:
        """Turn errors of the database into the ledger's own; their text may quote a row and is dropped."""
        try:
            yield
        except _psycopg().Error as error:
            raise self._refusal(error) from None

    def _refusal(self, error: psycopg.Error) -> LedgerError:
        if _is_lost(error):
            return self._connection_lost()
        if error.sqlstate == "55P03":
            return locked(self.place, self._wait)
        if error.sqlstate == "42501":
            return self._not_allowed()
        if error.sqlstate in ("25006", "0A000"):  # of a standby, which cannot begin to write
            return LedgerError(
                "ledger.read-only", f"{self.place} may only be read.", "Give the primary server."
            )
        if error.sqlstate in ("42P01", "3F000"):
            return missing(self.place)
        return LedgerError(
            "ledger.database",
            f"The server of {self.place} refused a statement ({error.sqlstate}); nothing was written.",
            "Look the code up in PostgreSQL's list of SQLSTATEs, and check the server's disk and log.",
        )

    def _connection_lost(self) -> LedgerError:
        return LedgerError(
            "ledger.connection-lost",
            f"The connection to {self.place} was lost; nothing was written.",
            "Ask again with the same request id.",
        )

    def _not_allowed(self) -> LedgerError:
        return LedgerError(
            "ledger.not-allowed",
            f"The role may not read or write the tables of {self.place}.",
            "Ask the database's owner to GRANT USAGE ON SCHEMA hushtable and SELECT, INSERT on its tables.",
        )


class EntryRows(Transaction):
    """On the rows of one ledger; remembers what it wrote, in case the answer to its commit is lost."""

    def __init__(self, ask: Callable[..., list[Any]], ledger: str) -> None:
        self._ask, self._ledger = ask, ledger
        self._kept: list[Payload] = []
        self.repeatable = True
        self.written: list[Entry] = []

    def rows(self, *, start: int) -> list[Row]:
        return self._ask(_READ_ON, self._ledger, start)

    def append(self, entry: Entry, payload: Payload | None = None) -> None:
        if payload is not None:
            self.keep(payload)
        self._ask(_WRITE, self._ledger, entry.number, entry.text, entry.hash)
        self.written.append(entry)

    def keep(self, payload: Payload, *, again: bool = True) -> None:
        """Write the bytes of a charge, in parts; ``again``: remember them, to be able to repeat it."""
        if self._ask(f"{_PRESENT} AND charge = %s", self._ledger, payload.charge):
            raise older_than_payloads(payload.charge)
        self._write_parts(payload)
        self._kept += [payload] if again else []
        self.repeatable = self.repeatable and again

    def repeat(self) -> None:
        """Write the same in another transaction."""
        for payload in self._kept:
            self._write_parts(payload)
        for entry in self.written:
            self._ask(_WRITE, self._ledger, entry.number, entry.text, entry.hash)

    def _write_parts(self, payload: Payload) -> None:
        for part, start in enumerate(range(0, max(1, len(payload.content)), PART)):
            self._ask(_KEEP, self._ledger, payload.charge, part, payload.content[start : start + PART])


_LINKS: WeakSet[Any] = WeakSet()


def _let_go() -> None:
    """In a forked child: leave the sockets that were inherited, or a lock would outlive its holder."""
    for link in list(_LINKS):
        with contextlib.suppress(Exception), Path(os.devnull).open("r+b") as nowhere:
            os.dup2(nowhere.fileno(), link.fileno(), inheritable=False)


os.register_at_fork(after_in_child=_let_go)


def _psycopg() -> Any:
    """The driver, loaded when a ledger is in PostgreSQL."""
    try:
        import psycopg
    except ImportError:
        raise LedgerError(
            "ledger.no-driver",
            "Ledgers in PostgreSQL need psycopg, which is not installed.",
            "Type `pip install 'hushtable[postgres]'`.",
        ) from None
    return psycopg


def _is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, cut or ended by the server; then nobody knows what it was doing."""
    ended = (
        error.sqlstate is None or error.sqlstate[:2] == "08" or error.sqlstate in ("57P01", "57P02", "57P03")
    )
    return ended and isinstance(error, _psycopg().OperationalError | _psycopg().InterfaceError)


def _rows(cursor: psycopg.Cursor) -> list[Any]:
    return [] if cursor.description is None else cursor.fetchall()


def _answers(link: psycopg.Connection) -> bool:
    try:
        return bool(link.execute("SELECT 1").fetchall())
    except _psycopg().Error:
        link.close()
        return False


def _has_lock(link: psycopg.Connection, key: int) -> bool:
    try:
        return link.execute(_HELD, (key,)).fetchall() == [(1,)]
    except _psycopg().Error:
        return False


def _key(*words: str) -> int:
    """The number of an advisory lock: 64 bits that no other program of the database uses by chance."""
    text = "\0".join(("hushtable", *words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True)


def _parts(address: str) -> tuple[dict[str, Any], str, str]:
    """What the driver is given, the ledger's name, and the address without user and password."""
    try:
        url = urlsplit(address)
        words = parse_qsl(url.query, keep_blank_values=True)
        rest = urlencode([(key, value) for key, value in words if key != "ledger"], quote_via=quote)
        settings = _psycopg().conninfo.conninfo_to_dict(urlunsplit(url._replace(query=rest)))
    except (_psycopg().Error, ValueError):
        raise LedgerError(
            "ledger.bad-address",
            "The address of the ledger is not one that PostgreSQL understands.",
            f"Give it as {PostgresStore.what}.",
        ) from None
    name = names.check_dataset(dict(words).get("ledger", DEFAULT))
    if any(map(settings.get, SECRETS)):
        raise UsageError(
            "ledger.password-in-url",
            "The ledger's URL holds a password, which others on this machine may see.",
            "Leave it out; put it into a password file (PGPASSFILE), a service file (service=NAME) or PGPASSWORD.",
        )
    host, port = quote(settings.get("host", ""), safe=","), settings.get("port")
    known = {key: settings[key] for key in ("service",) if key in settings} | {"ledger": name}
    where = f"{host}:{port}" if port else host
    return settings, name, f"postgresql://{where}/{quote(settings.get('dbname', ''))}?{urlencode(known)}"
