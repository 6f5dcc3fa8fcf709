"""Backups of a service: taken while it works, put back whole, and refused where they are older than what is known."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from inside import Inside
from sites import Site

import hushtable as ht
from hushtable.errors import RefusedError
from hushtable.service import Role, ServeConfig, Service, backup_copies, make_backup, restore_backup

P = "/v1/datasets/people"
RELEASE = {"order": 1, "budget": "epsilon=0.1", "strategy": "identity"}


@pytest.fixture
def inside(tmp_path: Path) -> Inside:
    site = Site(tmp_path, settings={"slots": False})
    site.let_in("clara", Role.CURATOR)
    return Inside(site)


def config_of(inside: Inside) -> ServeConfig:
    return ServeConfig.load(inside.site.folder / "hush.toml")


def lose(inside: Inside) -> None:
    """The disk of the service is gone."""
    folder = inside.site.folder
    inside.service.storage.close()
    for file in folder.glob("service.db*"):
        file.unlink()
    (folder / "people.ledger").unlink()
    shutil.rmtree(folder / "people.ledger.payloads")
    shutil.rmtree(folder / "state")


def test_a_backup_comes_back_with_people_releases_and_the_account(inside: Inside, tmp_path: Path) -> None:
    release = inside.made("clara", f"{P}/releases", RELEASE)
    shown = inside.ask("clara", "GET", f"{P}/releases/{release}").content
    spent = ht.Ledger.open(tmp_path / "people.ledger").spent()
    report = make_backup(config_of(inside), tmp_path / "backup")
    assert report.heads == {"people": ht.Ledger.open(tmp_path / "people.ledger").head}
    lose(inside)
    restore_backup(config_of(inside), tmp_path / "backup", known=report.heads.values())
    again = Inside.__new__(Inside)
    inside.site.service = Service.open(config_of(inside))
    again.__init__(inside.site)
    assert again.ask("clara", "GET", P).status_code == 401, "a token that was ended since would work again"
    inside.site.let_in("clara", Role.CURATOR)
    assert again.ask("clara", "GET", f"{P}/releases/{release}").content == shown
    ledger = ht.Ledger.open(tmp_path / "people.ledger")
    assert ledger.spent() == spent and ledger.verify(report.heads["people"]).ok


def test_a_backup_that_is_older_than_a_known_head_comes_back_closed_or_not_at_all(
    inside: Inside, tmp_path: Path
) -> None:
    make_backup(config_of(inside), tmp_path / "backup")
    release = inside.made("clara", f"{P}/releases", RELEASE)
    head = ht.Ledger.open(tmp_path / "people.ledger").head
    bundle = tmp_path / "bundle"
    shutil.copytree(inside.service.shelf.place(release), bundle)
    lose(inside)
    for known in (head, str(bundle)):
        with pytest.raises(RefusedError) as caught:
            restore_backup(config_of(inside), tmp_path / "backup", known=[known])
        assert caught.value.code == "restore.older"
    restore_backup(config_of(inside), tmp_path / "backup", known=[head], closed=True)
    ledger = ht.Ledger.open(tmp_path / "people.ledger")
    assert ledger.remaining() == ht.privacy.Cost.ZERO and ledger.verify().ok


@pytest.mark.parametrize("step", ["close_ledger", "_copy_ledger", "_put_database", "_end_secrets"])
def test_a_restore_that_is_interrupted_leaves_nothing_to_spend_or_to_sign_in_with(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Killed before or after any of its steps: a ledger is there closed or not at all, and once more it comes back."""
    inside.made("clara", f"{P}/releases", RELEASE)
    make_backup(config_of(inside), tmp_path / "backup")
    lose(inside)
    done = getattr(backup_copies, step)
    for before in (True, False):

        def killed(*given: Any, early: bool = before, **more: Any) -> None:
            if not early:
                done(*given, **more)
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(backup_copies, step, killed)
            with pytest.raises(KeyboardInterrupt):
                restore_backup(config_of(inside), tmp_path / "backup", closed=True)
        if (tmp_path / "service.db").exists():
            opened = Service.open(config_of(inside))
            assert opened.users.by_token(inside.site.tokens["clara"]) is None
            opened.storage.close()
            for file in tmp_path.glob("service.db*"):
                file.unlink()
        if (tmp_path / "people.ledger").exists():
            assert ht.Ledger.open(tmp_path / "people.ledger").remaining() == ht.privacy.Cost.ZERO
            (tmp_path / "people.ledger").unlink()
    restore_backup(config_of(inside), tmp_path / "backup", closed=True)
    ledger = ht.Ledger.open(tmp_path / "people.ledger")
    assert ledger.remaining() == ht.privacy.Cost.ZERO and ledger.verify().ok
    assert not list(tmp_path.glob("*.restoring*"))


def test_a_backup_beside_newer_payloads_is_refused(inside: Inside, tmp_path: Path) -> None:
    make_backup(config_of(inside), tmp_path / "backup")
    inside.made("clara", f"{P}/releases", RELEASE)
    kept = tmp_path / "people.ledger.payloads"
    shutil.copytree(kept, tmp_path / "kept")
    lose(inside)
    shutil.copytree(tmp_path / "kept", kept)
    with pytest.raises(RefusedError) as caught:
        restore_backup(config_of(inside), tmp_path / "backup")
    assert caught.value.code == "restore.older"


def test_closed_a_ledger_can_be_read_and_raised_beside_newer_payloads_which_are_put_aside(
    inside: Inside, tmp_path: Path
) -> None:
    inside.made("clara", f"{P}/releases", RELEASE)
    make_backup(config_of(inside), tmp_path / "backup")
    for _ in range(3):
        inside.made("clara", f"{P}/releases", RELEASE)
    kept = tmp_path / "people.ledger.payloads"
    shutil.copytree(kept, tmp_path / "kept")
    lose(inside)
    shutil.copytree(tmp_path / "kept", kept)
    restore_backup(config_of(inside), tmp_path / "backup", closed=True)
    ledger = ht.Ledger.open(tmp_path / "people.ledger")
    assert ledger.remaining() == ht.privacy.Cost.ZERO and ledger.verify().ok
    ledger.raise_budget(ht.PureDP(2000))
    aside = tmp_path / "people.ledger.newer-payloads"
    assert {file.name for file in [*kept.iterdir(), *aside.iterdir()]} >= {
        file.name for file in (tmp_path / "kept").iterdir()
    }
    session = ht.Session.open(
        tmp_path / "data" / "people.csv", schema=tmp_path / "schema.yaml", ledger=ledger.path
    )
    workload = ht.Workload.all_marginals(session.schema, order=1)
    for _ in range(4):
        session.release(workload, budget=ht.PureDP("0.1"), strategy="identity")
    assert ht.Ledger.open(tmp_path / "people.ledger").verify().ok
    lose(inside)
    with pytest.raises(RefusedError) as caught:
        restore_backup(config_of(inside), tmp_path / "backup")
    assert caught.value.code == "restore.older", "what was put aside is still known to be newer"


def test_a_backup_beside_a_newer_release_is_refused_and_answers_of_a_choice_tell_too(
    inside: Inside, tmp_path: Path
) -> None:
    make_backup(config_of(inside), tmp_path / "backup")
    release = inside.made("clara", f"{P}/releases", RELEASE)
    kept = tmp_path / "state" / "releases" / release
    shutil.copytree(kept, tmp_path / "kept")
    lose(inside)
    shutil.copytree(tmp_path / "kept", kept)
    with pytest.raises(RefusedError) as caught:
        restore_backup(config_of(inside), tmp_path / "backup")
    assert caught.value.code == "restore.older" and "release" in caught.value.message
    numbers = np.ones(2)
    answers = ht.release.QueryRelease(
        pl.DataFrame({"sex": ["F", "M"]}), numbers, numbers, ht.Release.load(kept).card
    )
    answers.save(tmp_path / "answers")
    shutil.rmtree(kept)
    with pytest.raises(RefusedError) as caught:
        restore_backup(config_of(inside), tmp_path / "backup", known=[str(tmp_path / "answers")])
    assert caught.value.code == "restore.older" and "known head" in caught.value.message


@contextmanager
def releasing(inside: Inside) -> Iterator[None]:
    """While somebody releases tables, one after the other."""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            inside.made("clara", f"{P}/releases", RELEASE)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_backups_that_are_taken_while_the_worker_works_can_all_be_restored(
    inside: Inside, tmp_path: Path
) -> None:
    copies = [tmp_path / f"backup-{number}" for number in range(4)]
    with releasing(inside):
        for copy in copies:
            make_backup(config_of(inside), copy)
    for copy in copies:
        assert ht.Ledger.open(copy / "people.ledger").verify().ok
