"""A store of ledgers from a file of its own, known by registration alone, goes through session and command line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from foreign_stores import LEDGERS, known_store

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import LedgerError

PLACE = "memory:people"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with known_store():
        yield


def test_a_session_spends_from_it_and_finds_what_it_stored(
    small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    session = ht.Session.open(small_frame, schema=small_schema, ledger=PLACE, budget=ht.ZCDP(10))
    workload = ht.Workload.all_marginals(small_schema, order=1)
    first = session.release(workload, budget=ht.ZCDP(1), strategy="residual-planner", request="r")
    verdict = session.check("COUNT", small_frame, tau=20, budget=ht.ZCDP(1))
    choice = session.choose(
        [ht.linear.marginals(small_schema, order=k) for k in (1, 2)], budget=ht.ZCDP(1), request="c"
    )
    choice.finish(0)
    again = ht.Session.open(small_frame, schema=small_schema, ledger=PLACE)
    second = again.release(workload, budget=ht.ZCDP(1), strategy="residual-planner", request="r")
    assert first.table("sex").equals(second.table("sex"))
    repeated = again.check("COUNT", small_frame, tau=20, budget=ht.ZCDP(1))
    assert repeated.repeated and repeated.satisfied == verdict.satisfied
    account = ht.Ledger.open(PLACE)
    assert account.name == "people" and account.path == PLACE
    paid = [charge.number for spend in account.reservations() for charge in spend.charges]
    assert account.verify().ok and list(LEDGERS[PLACE].payloads) == paid
    assert [spend.reservation.kind for spend in account.reservations()] == ["release", "check", "choose"]


@pytest.mark.long
def test_the_command_line_takes_its_address(
    tmp_path: Path,
    small_schema: ht.Schema,
    small_frame: pl.DataFrame,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    small_schema.save(tmp_path / "s.yaml")
    small_frame.write_csv(tmp_path / "people.csv")
    known = ["--schema", "s.yaml", "--ledger", PLACE]
    assert run(["ledger", "create", PLACE, "--budget", "rho=3"]) == 0
    order = ["--order", "1", "--budget", "rho=1", "--strategy", "identity"]
    assert run(["release", "people.csv", *known, *order, "--out", "out"]) == 0
    question = ["--synthetic", "people.csv", "--query", "COUNT", "--tau", "20", "--budget", "rho=0.5"]
    assert run(["check", "people.csv", *known, *question]) == 0
    assert run(["choose", "people.csv", *known, "--orders", "1", "2", "--budget", "rho=1"]) == 0
    assert run(["ledger", "verify", PLACE]) == 0
    assert run(["report", "out", "--ledger", PLACE]) == 0
    capsys.readouterr()
    assert run(["ledger", "show", PLACE, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [spend["kind"] for spend in shown["spends"]] == ["release", "check", "choose"]
    assert not list(tmp_path.glob("memory*"))


def test_a_url_is_not_a_path_and_the_refusal_says_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LedgerError, match="a URL is not a path") as caught:
        ht.Ledger.create("nosuch://me:word@host/db", ht.ZCDP(1))
    assert caught.value.code == "ledger.unknown-scheme" and "word" not in str(caught.value)
    assert "a path" in caught.value.fix and "memory:NAME" in caught.value.fix
    assert run(["ledger", "show", "nosuch://me:word@host/db"]) == 1
    assert "word" not in capsys.readouterr().err and not list(tmp_path.iterdir())
    ht.Ledger.create("odd:name.ledger", ht.ZCDP(1))
    assert (tmp_path / "odd:name.ledger").is_file()


def test_a_store_whose_driver_is_missing_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for action in (
        ht.Ledger.open,
        ht.ledger.verify_ledger,
        lambda place: ht.Ledger.create(place, ht.ZCDP(1)),
    ):
        with pytest.raises(LedgerError, match="psycopg") as caught:
            action("postgresql://host/db?ledger=people")
        assert caught.value.code == "ledger.no-driver" and "hushtable[postgres]" in caught.value.fix


def test_damage_in_it_is_found_like_any_other(small_schema: ht.Schema, small_frame: pl.DataFrame) -> None:
    session = ht.Session.open(small_frame, schema=small_schema, ledger=PLACE, budget=ht.ZCDP(1))
    session.release(ht.Workload.all_marginals(small_schema, order=1), budget=ht.ZCDP(1), strategy="identity")
    kept = LEDGERS[PLACE]
    [(charge, content)] = kept.payloads.items()
    kept.payloads[charge] = content + b"!"
    assert not ht.ledger.verify_ledger(PLACE).ok
    kept.payloads = {charge: content, 99: b"paid for"}
    with pytest.raises(LedgerError) as caught:
        ht.Ledger.open(PLACE)
    assert caught.value.code == "ledger.older-than-payloads"
    kept.payloads = {charge: content}
    assert ht.ledger.verify_ledger(PLACE).ok
    kept.rows[3] = (*kept.rows[3][:2], "0" * 64)
    assert not ht.ledger.verify_ledger(PLACE).ok
