"""Processes killed at every step of a spend: nothing is drawn twice, and nothing is shown that was not charged."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
from fresh import forkserver
from ledger_campaign import (
    GROUPS,
    budget_of,
    check,
    die_at,
    grains,
    new_ledger,
    quick_folder,
    serve_until_killed,
    whole_life,
)

from hushtable.ledger import Ledger, Unit, failpoints

ONCE = [name for name in failpoints.LEDGER if name.split(".")[0] not in {"charge", "store"}]
REPEATED = [name for name in failpoints.LEDGER if name.split(".")[0] in {"charge", "store"}]
POINTS = [(name, 1) for name in ONCE] + [(name, n) for name in REPEATED for n in (1, 2, 3)]


def run_to_death(path: Path, name: str, occurrence: int) -> None:
    process = forkserver().Process(target=die_at, args=(path, name, occurrence))
    process.start()
    process.join(timeout=60)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.parametrize(("name", "occurrence"), POINTS)
def test_a_kill_at_any_step_loses_at_most_one_draw(name: str, occurrence: int) -> None:
    with quick_folder() as folder:
        path = folder / "a.ledger"
        run_to_death(path, name, occurrence)
        if path.exists():
            check(path)
        whole_life(path)
        counts = check(path)
        ledger = Ledger.open(path)
        lost = counts["charged"] - counts["stored"]
        assert counts["stored"] == counts["shown"] == GROUPS
        in_doubt = {"charge.committed", "store.temporary", "store.renamed", "store.locked", "store.inserted"}
        assert lost == (name in in_doubt)
        assert ledger.spent() == grains(GROUPS + lost) and ledger.open_reservations() == ()
        assert (ledger.unit, ledger.budget, ledger.grants) == (Unit(1), budget_of(30), {"ann": budget_of(5)})


def test_a_request_killed_at_every_store_runs_out_of_its_reservation_and_not_of_more() -> None:
    with quick_folder() as folder:
        path = folder / "a.ledger"
        for _ in range(5):
            run_to_death(path, "store.renamed", 1)
        whole_life(path)
        counts = check(path)
        assert counts == {"charged": 5, "stored": 0, "shown": 0, "drawn": 5}
        assert Ledger.open(path).spent() == grains(5)


def kill_at_random(path: str | Path, kills: int, seed: int, logs: Path | None = None) -> dict[str, int]:
    """Two processes work on one ledger; one of them is killed after a random time and started again."""
    chance = random.Random(seed)
    context = forkserver()
    new_ledger(path, 10**6)
    workers: list[tuple[object, object]] = []

    def start(stream: str) -> tuple[object, object]:
        here, there = context.Pipe()
        process = context.Process(target=serve_until_killed, args=(path, stream, there, logs))
        process.start()
        return process, here

    workers = [start("a"), start("b")]
    try:
        for n in range(kills):
            victim = chance.randrange(2)
            process, here = workers[victim]
            assert here.poll(60) and here.recv()
            time.sleep(chance.uniform(0, 0.04))
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            assert process.exitcode == -signal.SIGKILL
            if n % 25 == 0:
                Ledger.open(path).verify()
            workers[victim] = start("ab"[victim])
    finally:
        for process, _ in workers:
            process.kill()
            process.join()
    return check(path, logs)


def test_random_kills_keep_every_promise() -> None:
    with quick_folder() as folder:
        counts = kill_at_random(folder / "a.ledger", kills=20, seed=1)
        assert counts["shown"] > 0


@pytest.mark.slow
def test_four_hundred_random_kills_keep_every_promise(tmp_path: Path) -> None:
    counts = kill_at_random(tmp_path / "a.ledger", kills=400, seed=2)
    assert counts["charged"] > counts["stored"] > 100, (
        "the kills were too gentle or too early to test anything"
    )
