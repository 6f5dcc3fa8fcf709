"""A ledger in PostgreSQL: the contract of all ledgers, moves in and out, and what only a server can do wrong."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import polars as pl
import psycopg
import pytest

sys.path.append(str(Path(__file__).parents[1] / "contract"))
from ledger_homes import ONE, Home, code_of, reserve, rho, spend
from moving_ledgers import MovingContract, Places
from pooler import Pooler
from servers import PASSWORD, Server
from test_ledger_contract import LedgerContract

import hushtable as ht
from conftest import VERSIONS
from hushtable.cli.app import run
from hushtable.errors import LedgerError
from hushtable.ledger import Ledger, failpoints
from hushtable.ledger.stores import postgres_tables, store_at
from hushtable.privacy import ZCDP, Cost

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "ledger-in-postgresql.md"
TABLES, ROLE = re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
"""What the documentation tells the database's owner to type."""


@pytest.fixture(scope="module", params=sorted(VERSIONS, key=int) or ["none"])
def durable(request: pytest.FixtureRequest, start_server: Callable[..., Server]) -> Server:
    """A server that syncs, with the tables of ledgers, and a role that may read and append."""
    server = start_server(request.param, fsync="on")
    with server.connect() as link:
        link.execute(f"{TABLES} {ROLE} ALTER ROLE spender PASSWORD '{PASSWORD}'")
    return server


@pytest.fixture
def home(durable: Server, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    name = uuid.uuid4().hex
    return Home(durable.url(user="spender", ledger=name), durable.url(user="spender", ledger=f"{name}-2"))


class TestPostgresLedger(LedgerContract):
    """As a role that may do nothing but SELECT and INSERT."""


class TestFileToPostgres(MovingContract):
    @pytest.fixture
    def places(self, home: Home, tmp_path: Path) -> Places:
        return str(tmp_path / "old.ledger"), home.address


class TestPostgresToFile(MovingContract):
    @pytest.fixture
    def places(self, home: Home, tmp_path: Path) -> Places:
        return home.address, str(tmp_path / "new.ledger")


class TestPostgresToPostgres(MovingContract):
    @pytest.fixture
    def places(self, home: Home) -> Places:
        return home.address, home.other


# What the role may do, and what is written


def test_the_owner_of_a_database_makes_the_same_tables_by_creating_a_ledger(
    durable: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    name = f"d{uuid.uuid4().hex}"
    with durable.connect() as link:
        link.execute(f"CREATE DATABASE {name}")
    refused = durable.url(name, "spender", ledger="people")
    assert code_of(lambda: Ledger.open(refused)) == "ledger.missing"
    assert code_of(lambda: Ledger.create(refused, ZCDP(1))) == "ledger.not-allowed"
    ledger = Ledger.create(durable.url(name), ZCDP(1))
    assert ledger.name == "main" and ledger.verify().ok
    columns = """SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns
        WHERE table_schema = 'hushtable' ORDER BY table_name, ordinal_position"""
    with durable.connect() as first, durable.connect(name) as second:
        assert first.execute(columns).fetchall() == second.execute(columns).fetchall() != []


def test_whoever_waits_too_long_is_told_so(home: Home) -> None:
    ledger = home.create(ZCDP(1))
    hasty = Ledger.open(home.address, wait=0.2)
    with store_at(home.address).writing():
        assert code_of(lambda: spend(hasty, rho("0.1"))) == "ledger.locked"
        assert hasty.remaining() == rho("1")
    spend(hasty, rho("0.1"))
    assert ledger.spent() == rho("0.1")


def test_the_role_of_the_documentation_can_change_nothing(durable: Server, home: Home) -> None:
    spend(home.create(ZCDP(1)), rho("0.1"))
    for table in ("hushtable.entry", "hushtable.payload"):
        for statement in (f"UPDATE {table} SET ledger = 'x'", f"DELETE FROM {table}", f"TRUNCATE {table}"):
            with (
                durable.connect(user="spender") as link,
                pytest.raises(psycopg.errors.InsufficientPrivilege),
            ):
                link.execute(statement)
    assert home.open().verify().ok


def test_a_payload_of_many_parts_comes_back(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_tables, "PART", 1000)
    ledger, content = home.create(ZCDP(1)), os.urandom(12_345)
    charge = ledger.charge(reserve(ledger, rho("0.1")), rho("0.1"))
    ledger.store(charge, content)
    assert home.open().payload(charge.number) == content and ledger.verify().ok


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE hushtable.entry SET body = body || ' ' WHERE number = 3 AND ledger = %s",
        "UPDATE hushtable.entry SET hash = repeat('0', 64) WHERE number = 4 AND ledger = %s",
        "UPDATE hushtable.payload SET content = 'x' WHERE ledger = %s",
        "DELETE FROM hushtable.payload WHERE ledger = %s",
        "DELETE FROM hushtable.entry WHERE number = 4 AND ledger = %s",
        "DELETE FROM hushtable.entry WHERE number > 4 AND ledger = %s",
        "INSERT INTO hushtable.entry VALUES (%s, -1, 'x', 'y')",
    ],
)
def test_edits_by_the_owner_of_the_database_are_found(durable: Server, home: Home, edit: str) -> None:
    ledger = home.create(ZCDP(1))
    spend(ledger, rho("0.1"))
    head = ledger.head
    with durable.connect() as link:
        assert link.execute(edit, (store_at(home.address).label,)).rowcount
    assert not ht.ledger.verify_ledger(home.address, head=head).ok


def test_a_session_and_the_command_line_spend_from_it(
    home: Home,
    tmp_path: Path,
    small_schema: ht.Schema,
    small_frame: pl.DataFrame,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = ht.Session.open(small_frame, schema=small_schema, ledger=home.address, budget=ht.ZCDP(10))
    workload = ht.Workload.all_marginals(small_schema, order=1)
    first = session.release(workload, budget=ht.ZCDP(1), strategy="auto", request="r")
    again = ht.Session.open(small_frame, schema=small_schema, ledger=home.address)
    assert (
        again.release(workload, budget=ht.ZCDP(1), strategy="auto", request="r")
        .table("sex")
        .equals(first.table("sex"))
    )
    monkeypatch.chdir(tmp_path)
    small_schema.save(tmp_path / "s.yaml")
    small_frame.write_csv(tmp_path / "people.csv")
    told = f"--schema s.yaml --ledger {home.address} --order 1 --budget rho=1 --strategy identity --out out"
    assert run(["release", "people.csv", *told.split()]) == 0
    assert run(["ledger", "verify", home.address]) == 0
    said = capsys.readouterr()
    kept = "".join(
        file.read_text(errors="replace")
        for file in tmp_path.rglob("*")
        if file.suffix in (".json", ".yaml", ".request")
    )
    assert PASSWORD not in said.out + said.err + kept + repr(again.ledger.export())
    with_password = home.address.replace("spender@", f"spender:{PASSWORD.replace(' ', '%20')}@")
    for refused in (with_password, f"{home.address}&password=horse"):
        assert run(["ledger", "show", refused]) == 2
        assert "PGPASSFILE" in (said := capsys.readouterr().err) and "horse" not in said
    monkeypatch.delenv("PGPASSWORD")
    assert run(["ledger", "show", home.address]) == 1
    assert "spender" not in again.ledger.path
    (tmp_path / "passwords").write_text(f"*:*:*:*:{PASSWORD}")
    (tmp_path / "passwords").chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "passwords"))
    assert run(["ledger", "show", home.address]) == 0


# Bad servers


def test_one_sentence_for_each_server_that_cannot_be_used(
    durable: Server, home: Home, start_server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(address: str) -> tuple[str, str]:
        return code_of(lambda: Ledger.open(address)), code_of(lambda: Ledger.create(address, ZCDP(1)))

    nobody = home.address.replace(f":{durable.port}/", ":1/")
    assert refused(nobody) == ("ledger.unreachable",) * 2
    assert refused(home.address.replace("/postgres?", "/nosuch?")) == ("ledger.unreachable",) * 2
    assert refused("postgresql://host/db?nosuch=1") == ("ledger.bad-address",) * 2
    assert refused("postgresql://[host/db") == ("ledger.bad-address",) * 2
    assert refused("postgresql://me:a#b@host/db") == ("ledger.password-in-url",) * 2
    assert refused("postgresql://host/db?ledger=") == ("ledger.bad-name",) * 2
    careless = start_server(next(name for name, place in VERSIONS.items() if place == durable.programs))
    assert refused(careless.url(ledger="x")) == ("ledger.no-fsync",) * 2
    home.create(ZCDP(1))
    with durable.connect() as link:
        link.execute(
            "CREATE ROLE looker LOGIN PASSWORD 'correct horse'; CREATE ROLE reader LOGIN PASSWORD 'correct horse'"
        )
        link.execute(
            "GRANT USAGE ON SCHEMA hushtable TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA hushtable TO reader"
        )
    try:
        as_reader = Ledger.open(home.address.replace("spender", "reader"))
        assert as_reader.verify().ok
        assert code_of(lambda: reserve(as_reader, rho("0.1"))) == "ledger.not-allowed"
        assert code_of(lambda: Ledger.open(home.address.replace("spender", "looker"))) == "ledger.not-allowed"
        with durable.connect() as link:
            link.execute("ALTER ROLE spender SET default_transaction_read_only = on")
        spend(home.open(), rho("0.1"))  # a preference of the role alone is overruled
    finally:
        with durable.connect() as link:
            link.execute(
                "ALTER ROLE spender RESET ALL; DROP OWNED BY reader, looker; DROP ROLE reader, looker"
            )
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(LedgerError) as caught:
        Ledger.open(home.address)
    assert caught.value.code == "ledger.unreachable" and "wrong" not in str(caught.value)


def test_tables_that_would_not_survive_a_crash_are_refused(durable: Server, home: Home) -> None:
    home.create(ZCDP(1))
    with durable.connect() as link:
        link.execute("ALTER TABLE hushtable.payload SET UNLOGGED")
    try:
        assert code_of(home.open) == "ledger.damaged"
    finally:
        with durable.connect() as link:
            link.execute("ALTER TABLE hushtable.payload SET LOGGED")
    home.open()


def test_a_commit_is_synchronous_and_reads_what_came_before_whatever_the_server_prefers(
    durable: Server, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with durable.connect() as link:
        link.execute("ALTER ROLE spender SET synchronous_commit = off")
        link.execute("ALTER ROLE spender SET default_transaction_isolation = 'serializable'")
    try:
        first, second = home.create(ZCDP(1)), home.open()
        store = store_at(home.address)
        with store.writing():
            assert store._ask("SHOW synchronous_commit") == [("on",)]
            assert store._ask("SHOW transaction_isolation") == [("read committed",)]
        threads = [
            threading.Thread(target=lambda one=one: [spend(one, rho("0.02")) for _ in range(10)])
            for one in (first, second)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert first.spent() == rho("0.4") and first.verify().ok
    finally:
        with durable.connect() as link:
            link.execute("ALTER ROLE spender RESET ALL")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_the_environment_asks_for_no_other_encoding_of_entries(
    home: Home, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", encoding)
    ledger = home.create(ZCDP(1))
    ledger.grant("Zoë ☃", ZCDP("0.1"))
    monkeypatch.delenv("PGCLIENTENCODING")
    found = Ledger.open(home.address)
    assert list(found.grants) == ["Zoë ☃"] and found.verify().ok


def test_a_pooler_that_shares_sessions_is_refused_and_one_that_does_not_is_taken(
    durable: Server, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that gives every transaction another session, in turn."""
    ledger = home.create(ZCDP(1))
    for shared in (1, 2, 3, 4, 5, 7, 0):
        with Pooler(durable.port, shared=shared) as pooler:
            there = Ledger.open(
                home.address.replace(f":{durable.port}/", f":{pooler.port}/") + "&sslmode=disable"
            )
            if shared:
                for _ in range(shared):
                    assert code_of(lambda there=there: there.turn("r").__enter__()) == "ledger.pooler"
                    there.spent()
            else:
                with there.turn("r") as turn:
                    assert turn.held
                    assert code_of(lambda: ledger.turn("r").__enter__()) == "ledger.in-progress"
                spend(there, rho("0.1"))


def test_a_standby_can_be_read_and_not_spent_from(
    durable: Server, start_server: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    version = next(name for name, place in VERSIONS.items() if place == durable.programs)
    server = start_server(version, fsync="on", hot_standby="on")
    ledger = Ledger.create(server.url(ledger="people"), ZCDP(1), ONE)
    spend(ledger, rho("0.1"))
    server.stop()
    (server.data / "standby.signal").touch()
    server.start()
    try:
        again = Ledger.open(server.url(ledger="people"))
        assert again.verify().ok and again.spent() == rho("0.1")
        assert code_of(lambda: reserve(again, rho("0.1"))) == "ledger.read-only"
        assert code_of(lambda: Ledger.create(server.url(ledger="other"), ZCDP(1))) == "ledger.read-only"
    finally:
        server.stop(signal.SIGQUIT)
        (server.data / "standby.signal").unlink()
        server.start()


# Connections that are lost


def backends(server: Server) -> list[int]:
    with server.connect() as link:
        return [
            pid
            for (pid,) in link.execute(
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'hushtable'"
            )
        ]


def cut(server: Server) -> None:
    """End every session of a ledger."""
    with server.connect() as link:
        link.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hushtable'"
        )
    while backends(server):
        time.sleep(0.01)


def test_a_connection_lost_between_calls_is_made_again(durable: Server, home: Home) -> None:
    ledger = home.create(ZCDP(1))
    for _ in range(3):
        cut(durable)
        spend(ledger, rho("0.1"))
        cut(durable)
        assert ledger.verify().ok
    assert ledger.spent() == rho("0.3")


def test_a_server_that_goes_away_and_comes_back_is_used_again(durable: Server, home: Home) -> None:
    ledger = home.create(ZCDP(1))
    spend(ledger, rho("0.1"))
    durable.stop(signal.SIGQUIT)
    try:
        for _ in range(3):
            assert code_of(ledger.remaining) == "ledger.unreachable"
            assert code_of(lambda: spend(ledger, rho("0.1"))) == "ledger.unreachable"
            assert code_of(lambda: ledger.turn("r").__enter__()) == "ledger.unreachable"
    finally:
        durable.start()
    spend(ledger, rho("0.1"))
    assert ledger.spent() == rho("0.2") and ledger.verify().ok


@pytest.mark.parametrize(
    "point", ["reserve.locked", "reserve.inserted", "charge.inserted", "store.inserted", "settle.locked"]
)
def test_whatever_stops_a_write_leaves_the_ledger_usable(home: Home, point: str) -> None:
    ledger = home.create(ZCDP(1))

    def stop(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    failpoints.arm(stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            spend(ledger, rho("0.1"))
    finally:
        failpoints.arm(None)
    before = ledger.spent()
    assert ledger.verify().ok and before == (Cost.ZERO if point[0] in "rc" else rho("0.1"))
    spend(ledger, rho("0.1"))
    assert ledger.spent() == before + rho("0.1") and ledger.verify().ok


@pytest.mark.parametrize("step", ["reserve", "charge", "store", "settle"])
@pytest.mark.parametrize("moment", ["locked", "inserted"])
def test_a_connection_lost_inside_a_write_leaves_nothing(
    durable: Server, home: Home, step: str, moment: str
) -> None:
    ledger = home.create(ZCDP(1))
    came = []

    def hook(name: str) -> None:
        if name == f"{step}.{moment}" and not came:
            came.append(name)
            cut(durable)

    failpoints.arm(hook)
    try:
        if moment == "inserted":  # the commit finds the connection gone, and is made again
            spend(ledger, rho("0.1"))
        else:
            assert code_of(lambda: spend(ledger, rho("0.1"))) == "ledger.connection-lost"
    finally:
        failpoints.arm(None)
    assert came and ledger.verify().ok
    kinds = [entry.type for entry in ledger.history()]
    whole = ["create", "bind", "reserve", "charge", "store", "settle"]
    assert kinds == (whole if moment == "inserted" else whole[: whole.index(step)])


def test_a_commit_whose_answer_is_lost_is_found_and_not_repeated(
    durable: Server, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server commits, and the connection ends before it says so."""
    ledger = home.create(ZCDP(1))
    real, lost = postgres_tables.PostgresStore._commit, []

    def commit(store: postgres_tables.PostgresStore) -> None:
        real(store)
        if len(lost) < 4:
            lost.append(True)
            cut(durable)
            raise psycopg.OperationalError("the answer was lost")

    with monkeypatch.context() as patch:
        patch.setattr(postgres_tables.PostgresStore, "_commit", commit)
        spend(ledger, rho("0.1"))
    assert len(lost) == 4 and ledger.verify().ok
    kinds = [entry.type for entry in ledger.history()]
    assert kinds == ["create", "bind", "reserve", "charge", "store", "settle"]


def test_a_lost_commit_after_which_somebody_else_wrote_is_refused(
    durable: Server, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, other = home.create(ZCDP(1)), home.open()
    lost = []

    def commit(store: postgres_tables.PostgresStore) -> None:
        if not lost:
            lost.append(True)
            cut(durable)  # nothing was committed, and another writer is quicker
            other.grant("ann", ZCDP(1))
            raise psycopg.OperationalError("the connection was lost")
        real(store)

    real = postgres_tables.PostgresStore._commit
    monkeypatch.setattr(postgres_tables.PostgresStore, "_commit", commit)
    assert code_of(lambda: reserve(ledger, rho("0.1"), "r")) == "ledger.connection-lost"
    assert reserve(ledger, rho("0.1"), "r").fresh and ledger.verify().ok
    assert ledger.held() == rho("0.1")


def test_a_server_that_stays_away_leaves_the_caller_unsure(
    durable: Server, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.create(ZCDP(1))
    ledger = Ledger.open(home.address, wait=0.5)

    def commit(store: postgres_tables.PostgresStore) -> None:
        cut(durable)
        patch.setattr(store, "_settings", {"host": "127.0.0.1", "port": "1"})
        raise psycopg.OperationalError("the connection was lost")

    with monkeypatch.context() as patch:
        patch.setattr(postgres_tables.PostgresStore, "_commit", commit)
        assert code_of(lambda: reserve(ledger, rho("0.1"), "r")) == "ledger.unsure"
    assert reserve(ledger, rho("0.1"), "r").fresh and ledger.verify().ok


# Turns


def test_a_turn_ends_with_its_session_and_says_so(durable: Server, home: Home) -> None:
    ledger = home.create(ZCDP(1))
    with ledger.turn("r") as turn:
        turn.require()
        cut(durable)
        assert not turn.held
        assert code_of(turn.require) == "ledger.in-progress"
        with home.open().turn("r") as second:
            assert second.held


def hold(address: str, ready: str) -> None:
    with Ledger.open(address).turn("r"):
        child = os.fork()
        if child == 0:
            time.sleep(30)  # inherits the connection, and lets go of it
            os._exit(0)
        Path(ready).write_text(str(child))
        time.sleep(30)


def test_a_turn_dies_with_its_holder_even_if_a_child_of_it_lives(home: Home, tmp_path: Path) -> None:
    ledger, ready = home.create(ZCDP(1)), tmp_path / "ready"
    holder = multiprocessing.get_context("fork").Process(target=hold, args=(home.address, str(ready)))
    holder.start()
    while not ready.exists() or not ready.read_text():
        time.sleep(0.01)
    try:
        assert code_of(lambda: ledger.turn("r").__enter__()) == "ledger.in-progress"
        os.kill(holder.pid or 0, signal.SIGKILL)
        holder.join()
        start = time.monotonic()
        with ledger.turn("r", wait=True) as turn:
            assert turn.held and time.monotonic() - start < 5
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(ready.read_text()), signal.SIGKILL)


def test_a_forked_child_uses_a_connection_of_its_own(home: Home) -> None:
    ledger = home.create(ZCDP(1))
    spend(ledger, rho("0.1"))
    with ledger.turn("r") as turn:
        child = os.fork()
        if child == 0:
            status = 1
            with contextlib.suppress(BaseException):
                spend(ledger, rho("0.1"))
                status = int(turn.held)
            os._exit(status)
        assert os.waitpid(child, 0)[1] == 0
        assert turn.held
        spend(ledger, rho("0.1"))
    assert ledger.spent() == rho("0.3") and ledger.verify().ok
