"""Backups of a service on PostgreSQL: one moment of tables and ledger, put back whole or not at all."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from inside import Inside
from test_backup import RELEASE, P, config_of, releasing
from test_postgres_service import site_on

import hushtable as ht
from hushtable.errors import RefusedError
from hushtable.service import Role, Service, backup_copies, make_backup, restore_backup


@pytest.fixture
def inside(server: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Inside:
    name = f"b{abs(hash(request.node.name)) % 10**9}"
    site = site_on(server, tmp_path, name, slots=False)
    site.let_in("clara", Role.CURATOR)
    return Inside(site)


def lose(inside: Inside, server: Any, *, ledger: bool = True) -> None:
    """The database of the service is gone; or its own tables alone."""
    inside.service.storage.close()
    for schema in ("hush_service", "hushtable") if ledger else ("hush_service",):
        with server.connect(database=inside.site.database.rpartition("/")[2]) as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


def ledger_of(inside: Inside) -> ht.Ledger:
    return ht.Ledger.open(inside.site.ledger_of("people"))


def again(inside: Inside) -> Inside:
    inside.site.service = Service.open(config_of(inside))
    inside.site.let_in("clara", Role.CURATOR)
    return Inside(inside.site)


def test_a_backup_comes_back_with_people_releases_and_the_account(
    inside: Inside,
    server: Any,
    tmp_path: Path,
) -> None:
    release = inside.made("clara", f"{P}/releases", RELEASE)
    shown = inside.ask("clara", "GET", f"{P}/releases/{release}").content
    before, old = ledger_of(inside), inside.site.tokens["clara"]
    report = make_backup(config_of(inside), tmp_path / "backup")
    assert report.heads == {"people": before.head}
    assert ht.Ledger.open(tmp_path / "backup" / "people.ledger").verify(before.head).ok
    spent = before.spent()
    with pytest.raises(RefusedError) as caught:
        restore_backup(config_of(inside), tmp_path / "backup")
    assert caught.value.code == "restore.exists"
    lose(inside, server)
    restore_backup(config_of(inside), tmp_path / "backup", known=report.heads.values())
    found = again(inside)
    assert found.service.users.by_token(old) is None, "a token that was ended since would work again"
    assert found.ask("clara", "GET", f"{P}/releases/{release}").content == shown
    ledger = ledger_of(inside)
    assert ledger.spent() == spent and ledger.verify(report.heads["people"]).ok
    assert found.made("clara", f"{P}/releases", RELEASE) and ledger_of(inside).spent() != spent


def test_a_backup_that_is_older_than_a_known_head_comes_back_closed_or_not_at_all(
    inside: Inside,
    server: Any,
    tmp_path: Path,
) -> None:
    make_backup(config_of(inside), tmp_path / "backup")
    inside.made("clara", f"{P}/releases", RELEASE)
    head = ledger_of(inside).head
    lose(inside, server)
    with pytest.raises(RefusedError) as caught:
        restore_backup(config_of(inside), tmp_path / "backup", known=[head])
    assert caught.value.code == "restore.older"
    with pytest.raises(RefusedError) as caught:
        restore_backup(config_of(inside), tmp_path / "backup")
    assert caught.value.code == "restore.older" and "release" in caught.value.message
    restore_backup(config_of(inside), tmp_path / "backup", known=[head], closed=True)
    ledger = ledger_of(inside)
    assert ledger.remaining() == ht.privacy.Cost.ZERO and ledger.verify().ok


def test_a_ledger_that_is_there_and_goes_on_from_the_copy_stays_with_all_that_was_spent(
    inside: Inside,
    server: Any,
    tmp_path: Path,
) -> None:
    """Only the service's own tables were lost: what was spent since the backup stays spent."""
    make_backup(config_of(inside), tmp_path / "backup")
    ledger_of(inside).grant("amir", ht.PureDP(1))
    head = ledger_of(inside).head
    lose(inside, server, ledger=False)
    restore_backup(config_of(inside), tmp_path / "backup", known=[head])
    assert ledger_of(inside).head == head and again(inside).ask("clara", "GET", P).status_code == 200


def test_another_ledger_at_the_place_is_refused(inside: Inside, server: Any, tmp_path: Path) -> None:
    make_backup(config_of(inside), tmp_path / "backup")
    lose(inside, server)
    ht.Ledger.create(inside.site.ledger_of("people"), ht.PureDP(3))
    for closed in (False, True):
        with pytest.raises(RefusedError) as caught:
            restore_backup(config_of(inside), tmp_path / "backup", closed=closed)
        assert caught.value.code == "restore.exists"


@pytest.mark.parametrize("step", ["close_ledger", "write_copy", "put_tables", "_end_secrets"])
def test_a_restore_that_is_interrupted_leaves_nothing_to_spend_or_to_sign_in_with(
    inside: Inside,
    server: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    inside.made("clara", f"{P}/releases", RELEASE)
    make_backup(config_of(inside), tmp_path / "backup")
    lose(inside, server)
    done = getattr(backup_copies, step)
    for early in (True, False):

        def killed(*given: Any, before: bool = early, **more: Any) -> None:
            if not before:
                done(*given, **more)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(backup_copies, step, killed)
            with pytest.raises(KeyboardInterrupt):
                restore_backup(config_of(inside), tmp_path / "backup", closed=True)
        if ht.ledger.is_ledger_at(inside.site.ledger_of("people")):
            assert ledger_of(inside).remaining() == ht.privacy.Cost.ZERO
    if step != "put_tables":
        restore_backup(config_of(inside), tmp_path / "backup", closed=True)
    opened = Service.open(config_of(inside))
    assert opened.users.by_token(inside.site.tokens["clara"]) is None
    opened.storage.close()
    assert ledger_of(inside).remaining() == ht.privacy.Cost.ZERO and ledger_of(inside).verify().ok


def test_backups_that_are_taken_while_the_worker_works_are_of_one_moment(
    inside: Inside, tmp_path: Path
) -> None:
    """Whatever the copy's jobs say was charged is in the copy's ledger, to the entry, and nothing is torn."""
    copies = [tmp_path / f"backup-{number}" for number in range(4)]
    with releasing(inside):
        for copy in copies:
            make_backup(config_of(inside), copy)
    for copy in copies:
        ledger = ht.Ledger.open(copy / "people.ledger")
        assert ledger.verify().ok
        with closing(sqlite3.connect(copy / "service.db")) as tables:
            jobs = tables.execute("SELECT request, state, entries FROM job").fetchall()
            kept = {row[0] for row in tables.execute("SELECT id FROM kept_release")}
        entries = len(ledger.history())
        for request, state, seen in jobs:
            assert state != "done" or (seen <= entries and ledger.holding(request) is not None)
        charged = {one.reservation.request for one in ledger.reservations()}
        assert charged <= {request for request, _, _ in jobs}, (
            "no later moment in the ledger than in the tables"
        )
        assert kept <= {place.name for place in (copy / "folder" / "releases").iterdir()}


@pytest.mark.parametrize("early", [True, False], ids=["before the tables", "between tables and ledger"])
def test_what_is_spent_while_a_backup_is_taken_is_in_no_part_of_it(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    """A copy of tables and ledger by two snapshots would have the spend in one of them alone."""
    first = inside.made("clara", f"{P}/releases", RELEASE)
    head, fetched = ledger_of(inside).head, backup_copies.fetch_tables

    def spending(connection: Any, target: Path) -> None:
        if early:
            inside.made("clara", f"{P}/releases", RELEASE)
        fetched(connection, target)
        if not early:
            inside.made("clara", f"{P}/releases", RELEASE)

    monkeypatch.setattr(backup_copies, "fetch_tables", spending)
    report = make_backup(config_of(inside), tmp_path / "backup")
    assert report.heads == {"people": head} and ledger_of(inside).head != head
    with closing(sqlite3.connect(tmp_path / "backup" / "service.db")) as tables:
        assert tables.execute("SELECT id, state FROM job").fetchall() == [(first, "done")]
        assert tables.execute("SELECT id FROM kept_release").fetchall() == [(first,)]
