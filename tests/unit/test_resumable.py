"""Work on a folder in Python: interrupted, repeated, found again, and paid for once."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import BundleError, LedgerError, RefusedError
from hushtable.ledger import failpoints
from hushtable.release import Again, Resumable, write_once

SCHEMA = {"attributes": {"sex": {"type": "categorical", "values": ["F", "M"]}, "member": {"type": "boolean"}}}


@pytest.fixture
def session(tmp_path: Path) -> ht.Session:
    rows = pl.DataFrame({"sex": ["F", "M"] * 40, "member": [True, True, False, False] * 20})
    return ht.Session.open(rows, schema=SCHEMA, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(1))


def planned(session: ht.Session) -> ht.Plan:
    return session.plan(ht.Workload([("sex", "member")]), budget=ht.ZCDP("0.1"))


def write(session: ht.Session, out: Path, again: Again, *, stop: bool = False) -> ht.Release:
    plan, work = planned(session), Resumable(out, "people", session.ledger.path)
    request = again.request(plan.asking(None, "people"), session.ledger, resumable=work)
    with work.under_way(request, session.ledger, again=again.again):
        release = session.run(plan, request=request)
        if stop:
            raise KeyboardInterrupt
        write_once(out, request, lambda: release.save(out))
    return release


def test_what_was_interrupted_goes_on_and_is_paid_for_once(session: ht.Session, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        write(session, out, Again(), stop=True)
    spent = session.ledger.spent()
    assert not out.exists() and Resumable(out, "people", session.ledger.path).request is not None
    with pytest.raises(BundleError) as refused:
        Resumable(out, "others", session.ledger.path)
    assert refused.value.code == "bundle.other-data"
    made = write(session, out, Again())
    assert session.ledger.spent() == spent == planned(session).cost
    assert ht.Release.load(out).table("sex").equals(made.table("sex"))
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".out")) == []


@contextmanager
def at_the_note(action: Callable[[], object]) -> Generator[None]:
    """Do something else once the note about the work is written, before it begins."""

    def hook(point: str) -> None:
        if point == "note.written":
            failpoints.arm(None)
            action()

    failpoints.arm(hook)
    try:
        yield
    finally:
        failpoints.arm(None)


def test_who_finds_the_folder_written_in_the_meantime_is_content(session: ht.Session, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with at_the_note(lambda: write(session, out, Again())):
        second = write(session, out, Again())
    assert ht.Release.load(out).table("sex").equals(second.table("sex"))
    assert session.ledger.spent() == planned(session).cost and not (tmp_path / ".out.request").exists()


def test_who_is_refused_while_another_works_leaves_the_note_of_that_one(
    session: ht.Session, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with ExitStack() as other:

        def take_the_request() -> None:
            begun = Resumable(out, "people", session.ledger.path).request
            assert begun is not None
            other.enter_context(session.ledger.turn(begun))

        with at_the_note(take_the_request), pytest.raises(LedgerError) as refused:
            write(session, out, Again())
    assert refused.value.code == "ledger.in-progress"
    assert Resumable(out, "people", session.ledger.path).request is not None


def test_the_same_elsewhere_is_refused_taken_or_paid_for(session: ht.Session, tmp_path: Path) -> None:
    first = write(session, tmp_path / "first", Again())
    spent, asked = session.ledger.spent(), list[str]()
    with pytest.raises(RefusedError) as refused:
        write(session, tmp_path / "second", Again())
    assert refused.value.code == "repeat.paid-before" and session.ledger.spent() == spent

    def ask(time: str) -> bool:
        asked.append(time)
        return True

    second = write(session, tmp_path / "second", Again(ask=ask))
    assert asked == [first.card.ledger.time] and session.ledger.spent() == spent
    assert second.table("sex").equals(first.table("sex"))
    write(session, tmp_path / "third", Again(again=True))
    assert session.ledger.spent() == spent + spent


@pytest.mark.parametrize("out", ["/", "//", "."])
def test_a_folder_that_cannot_be_the_place_is_refused_as_taken(session: ht.Session, out: str) -> None:
    with pytest.raises(BundleError) as refused:
        Resumable(out, "people", session.ledger.path)
    assert refused.value.code == "bundle.exists"


@pytest.mark.parametrize("must_exist", [False, True])
def test_a_complete_folder_is_said_to_be_complete(
    session: ht.Session, tmp_path: Path, must_exist: bool
) -> None:
    """Whoever was stopped after the note was gone has nothing left to do, and must not be told to pay elsewhere."""
    write(session, tmp_path / "out", Again())
    with pytest.raises(BundleError) as refused:
        Resumable(tmp_path / "out", "people", session.ledger.path, must_exist=must_exist)
    assert refused.value.code == "bundle.exists" and "holds a complete release" in refused.value.message
