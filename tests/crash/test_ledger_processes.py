"""Many processes on one ledger: the budget is met exactly, and one request reserves once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fresh import forkserver
from ledger_campaign import (
    budget_of,
    grains,
    new_ledger,
    quick_folder,
    same_request,
    serve_until_killed,
    spend_many,
)

from hushtable.ledger import Ledger
from hushtable.privacy.budget import Cost

PROCESSES = 8


def run(target: Any, arguments: list[tuple[Any, ...]], *, wait: float) -> list[Any]:
    """Start one process per argument list, let them go together, and collect one answer of each."""
    context = forkserver()
    gate, answers = context.Barrier(len(arguments)), context.Queue()
    processes = [context.Process(target=target, args=(*a, gate, answers)) for a in arguments]
    for process in processes:
        process.start()
    try:
        return [answers.get(timeout=wait) for _ in processes]
    finally:
        for process in processes:
            process.join(timeout=10)
            process.kill()


def meet_exactly(path: str | Path, *, attempts: int, room: int, spender: str | None = None) -> None:
    ledger = new_ledger(path, room if spender is None else 10 * room)
    if spender is not None:
        ledger.grant(spender, budget_of(room))
    each = attempts // PROCESSES
    accepted = run(spend_many, [(path, each, spender)] * PROCESSES, wait=60 + attempts / 10)
    assert sum(accepted) == room
    assert ledger.spent() == grains(room)
    assert ledger.remaining(spender) == Cost.ZERO and ledger.open_reservations() == ()
    kinds = [entry.type for entry in ledger.history()]
    assert [kinds.count(k) for k in ("reserve", "charge", "store", "settle")] == [room] * 4
    assert ledger.verify(ledger.head).ok


def test_eight_processes_spend_exactly_600_of_1000() -> None:
    with quick_folder() as folder:
        meet_exactly(folder / "a.ledger", attempts=1000, room=600)


def test_a_grant_is_met_exactly_by_eight_processes() -> None:
    with quick_folder() as folder:
        meet_exactly(folder / "a.ledger", attempts=160, room=60, spender="ann")


@pytest.mark.slow
@pytest.mark.parametrize("repetition", range(3))
def test_eight_processes_spend_exactly_6000_of_10000_on_disk(tmp_path: Path, repetition: int) -> None:
    meet_exactly(tmp_path / "a.ledger", attempts=10_000, room=6_000)


def test_one_request_of_eight_processes_reserves_once_and_charges_once() -> None:
    with quick_folder() as folder:
        ledger = new_ledger(folder / "a.ledger", 100)
        for n in range(10):
            results = run(same_request, [(folder / "a.ledger", f"r{n}")] * PROCESSES, wait=60)
            assert len({number for number, _, _ in results}) == 1
            assert sum(fresh for _, fresh, _ in results) == 1
            assert sum(charged for _, _, charged in results) == 1
        assert ledger.spent() == grains(10) and ledger.held() == grains(10)
        assert len(ledger.reservations()) == 10 and ledger.verify().ok


def test_opening_never_fails_while_another_process_writes() -> None:
    with quick_folder() as folder:
        path = folder / "a.ledger"
        new_ledger(path, 10**6)
        context = forkserver()
        here, there = context.Pipe()
        writer = context.Process(target=serve_until_killed, args=(path, "w", there))
        writer.start()
        try:
            assert here.poll(60) and here.recv()
            counts = [len(Ledger.open(path).history()) for _ in range(100)]
        finally:
            writer.kill()
            writer.join()
        assert counts == sorted(counts) and counts[-1] > counts[0]
