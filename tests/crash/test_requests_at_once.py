"""One request in two processes at once: one of them works, the other waits or is told to; the result is one release."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from fresh import forkserver
from request_campaign import (
    WAYS,
    ask,
    check_consistent,
    open_session,
    prepare,
    run_together,
    work_and_die,
)

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import BudgetExhausted, HushtableError, LedgerError
from hushtable.ledger import failpoints
from threads import in_threads


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize("each", [2, pytest.param(40, marks=pytest.mark.slow)])
def test_two_processes_end_in_one_release(memory_path: Path, wait: bool, each: int) -> None:
    prepare(memory_path)
    jobs = [(way, f"{way}-{number}") for number in range(each) for way in WAYS]
    waited = 0
    for (way, request), said in zip(jobs, run_together(memory_path, jobs, wait), strict=True):
        results = [one for one in said if not one.startswith("ledger.")]
        refused = [one for one in said if one.startswith("ledger.")]
        assert results, (way, said)
        assert set(refused) <= ({"ledger.in-progress"} if not wait else set()), (way, said)
        assert len(set(results)) == 1, (way, said)
        waited += len(refused)
        again = check_consistent(memory_path, lambda session, w=way, r=request: ask(session, w, r, False))
        assert again == results[0], way
    session = open_session(memory_path)
    holdings = session.ledger.reservations()
    assert len(holdings) == len(jobs), "a request was reserved twice"
    assert all(charge.stored for holding in holdings for charge in holding.charges)
    assert all(h.state == "settled" or h.reservation.kind == "choose" for h in holdings)
    assert not list(Path(session.ledger.path + ".payloads").glob(".*.lock"))


POINTS = [
    ("residual-planner", "reserve.committed", 0),
    ("aim", "charge.committed", 1),
    ("aim", "store.committed", 1),
    ("auto", "store.temporary", 1),
    ("choose", "reserve.committed", 0),
    ("check", "reserve.committed", 0),
]


@pytest.mark.parametrize(("way", "point", "skip"), POINTS)
def test_the_lock_of_a_killed_process_is_free_and_who_waited_goes_on(
    memory_path: Path, way: str, point: str, skip: int
) -> None:
    prepare(memory_path)
    made = forkserver()
    here, there = made.Pipe()
    process = made.Process(target=work_and_die, args=(memory_path, way, f"{way}-1", point, skip, there))
    process.start()
    try:
        assert here.poll(60) and here.recv(), "the process ended before it was killed"
        session = open_session(memory_path)
        with pytest.raises(LedgerError) as refused:
            ask(session, way, f"{way}-1", False)
        assert refused.value.code == "ledger.in-progress"
        here.send(True)
        said = ask(session, way, f"{way}-1", True)
    finally:
        process.join(30)
    assert process.exitcode == -signal.SIGKILL
    assert check_consistent(memory_path, lambda again: ask(again, way, f"{way}-1", False)) == said
    assert len(open_session(memory_path).ledger.reservations()) == 1


@pytest.fixture
def alone(memory_path: Path) -> ht.Session:
    prepare(memory_path)
    return open_session(memory_path)


class Stop(BaseException):
    """An end of the process that leaves no time to tidy up."""


def crash_before_the_charge(session: ht.Session, way: str, request: str) -> None:
    """Ask, and end between setting the budget aside and charging it."""

    def crash(point: str) -> None:
        if point == "charge.locked":
            raise Stop

    failpoints.arm(crash)
    try:
        with pytest.raises(Stop):
            ask(session, way, request, False)
    finally:
        failpoints.arm(None)


@pytest.mark.parametrize("way", WAYS)
def test_a_crash_between_reserve_and_charge_does_not_block_its_own_retry(tmp_path: Path, way: str) -> None:
    """Also where the cost is above half of the budget: what the request has set aside is its own room."""
    prepare(tmp_path)
    (tmp_path / "a.ledger").unlink()
    ht.Ledger.create(tmp_path / "a.ledger", ht.ZCDP("0.006" if way == "check" else "0.11"))
    session = open_session(tmp_path)
    crash_before_the_charge(session, way, f"{way}-1")
    held = session.ledger.held()
    assert 2 * held.rho > session.ledger.limit().rho and session.ledger.spent().rho == 0
    again = open_session(tmp_path)
    ask(again, way, f"{way}-1", False)
    assert again.ledger.spent().rho > 0 and len(again.ledger.reservations()) == 1
    if way != "reuse":
        with pytest.raises(BudgetExhausted):
            ask(again, way, f"{way}-2", False)


def test_a_lock_dies_in_a_forked_child_and_lives_on_in_the_parent(alone: ht.Session) -> None:
    with alone.ledger.turn("r") as turn:
        child = os.fork()
        if child == 0:
            time.sleep(0.3)
            os._exit(1 if turn.held else 0)
        with pytest.raises(LedgerError), alone.ledger.turn("r"):
            pass
    with alone.ledger.turn("r"):
        pass
    assert os.waitpid(child, 0)[1] == 0


def test_threads_and_sessions_of_one_process_take_turns(alone: ht.Session) -> None:
    said: list[str] = []

    def one() -> None:
        try:
            said.append(ask(open_session(Path(alone.ledger.path).parent), "aim", "aim-1", True))
        except HushtableError as error:
            said.append(error.code)

    in_threads(4, one)
    assert len(said) == 4 and len(set(said)) == 1 and not said[0].startswith("ledger.")


def test_a_removed_lock_file_is_noticed_by_who_waited(alone: ht.Session) -> None:
    """Each holder removes the file it locked; a waiter that locked the removed file must not believe it."""
    inside = [0]
    most = [0]

    def turns() -> None:
        for _ in range(50):
            with alone.ledger.turn("r", wait=True):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(0.0005)
                inside[0] -= 1

    in_threads(4, turns)
    assert most[0] == 1


def test_a_child_that_was_forked_inside_a_request_cannot_charge(alone: ht.Session) -> None:
    """The parent's turn is not the child's."""
    with alone.ledger.turn("r") as turn:
        child = os.fork()
        if child == 0:
            try:
                turn.require()
            except LedgerError as error:
                os._exit(0 if error.code == "ledger.in-progress" else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        turn.require()


def test_a_request_that_nobody_will_finish_can_be_ended(
    memory_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(memory_path)
    session = open_session(memory_path)
    crash_before_the_charge(session, "residual-planner", "r-1")
    ledger = str(memory_path / "a.ledger")
    with session.ledger.turn("r-1"):
        assert run(["ledger", "end", ledger, "r-1"]) == 1 and "ledger.in-progress" in capsys.readouterr().err
    assert session.ledger.held().rho > 0
    assert run(["ledger", "end", ledger, "r-1"]) == 0
    assert session.ledger.held().rho == 0
    for _ in range(2):
        with pytest.raises(LedgerError) as empty:
            ask(session, "residual-planner", "r-1", False)
        assert empty.value.code == "ledger.nothing-stored"
    ask(session, "choose", "c-1", False)
    assert run(["ledger", "end", ledger, "c-1"]) == 1 and "ledger.is-choice" in capsys.readouterr().err
    assert (
        run(["ledger", "end", ledger, "nobody"]) == 1 and "ledger.unknown-request" in capsys.readouterr().err
    )
