"""Processes that work on one request at the same time, some of them killed, and the check of what they left behind."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fresh import forkserver

import hushtable as ht
from hushtable.errors import LedgerError
from hushtable.kernel import run
from hushtable.ledger import failpoints

SCHEMA = {
    "attributes": {
        "age": {"type": "integer", "bounds": [0, 79], "width": 20},
        "sex": {"type": "categorical", "values": ["F", "M"]},
        "member": {"type": "boolean"},
    }
}
ROWS = "age,sex,member\n" + "".join(
    f"{7 * k * k % 80},{'FM'[k * k % 3 % 2]},{'true' if k % 3 else 'false'}\n" for k in range(200)
)
WAYS = ("residual-planner", "identity", "reuse", "aim", "auto", "choose", "check")


def prepare(folder: Path) -> None:
    """Data, a synthetic file and a ledger."""
    (folder / "data.csv").write_text(ROWS)
    ht.Ledger.create(folder / "a.ledger", ht.ZCDP(100))


def open_session(folder: Path) -> ht.Session:
    return ht.Session.open(str(folder / "data.csv"), schema=SCHEMA, ledger=folder / "a.ledger")


def ask(session: ht.Session, way: str, request: str, wait: bool) -> str:
    """Ask for one thing, and describe what came back in a hash."""
    if way == "check":
        number = int(request.rpartition("-")[2])
        verdict = session.check(
            f"COUNT WHERE age >= {number % 79 + 1} AND member = {'true' if number % 2 else 'false'}",
            str(Path(session.ledger.path).with_name("data.csv")),
            tau=5 + number,
            budget=ht.PureDP("0.1"),
            wait=wait,
        )
        return repr((verdict.satisfied, verdict.price))
    if way == "choose":
        options = [ht.linear.marginals(session.schema, order=k) for k in (1, 2)]
        choice = session.choose(options, budget=ht.ZCDP("0.1"), request=request, wait=wait)
        values = choice.common.answers.values
    else:
        workload = ht.Workload.all_marginals(session.schema, order=2)
        strategy = "residual-planner" if way == "reuse" else way
        values = session.release(
            workload,
            budget=ht.ZCDP("0.1"),
            strategy=strategy,
            request=request,
            reuse=way == "reuse",
            wait=wait,
        ).answers.values
    return hashlib.sha256(values.tobytes()).hexdigest()


def work(folder: Path, jobs: list[tuple[str, str]], wait: bool, seed: int, gate: Any, answers: Any) -> None:
    """Ask for one thing after another, each together with the other process; report what came back, or the code."""
    run.GROUP_WORK = 5_000_000
    chance = random.Random(seed)
    session = open_session(folder)
    found: list[str] = []
    for way, request in jobs:
        gate.wait(timeout=120)
        time.sleep(chance.choice((0.0, chance.uniform(0.0, 0.05))))
        try:
            found.append(ask(session, way, request, wait))
        except LedgerError as error:
            found.append(error.code)
    answers.put(found)


def work_and_die(folder: Path, way: str, request: str, point: str, skip: int, ready: Any) -> None:
    """Begin, and be killed, when told to, at a step of the ledger, the time after ``skip``."""
    run.GROUP_WORK = 5_000_000
    session = open_session(folder)
    left = [skip]

    def hook(reached: str) -> None:
        if reached != point:
            return
        if left[0] == 0:
            ready.send(True)
            ready.recv()  # the other one was refused, and is about to wait
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1

    failpoints.arm(hook)
    try:
        ask(session, way, request, False)
    finally:
        ready.send(False)


def run_together(folder: Path, jobs: list[tuple[str, str]], wait: bool) -> list[tuple[str, str]]:
    """Two processes that ask for the same things at the same time; what each got."""
    made = forkserver()
    gate, answers = made.Barrier(2), made.Queue()
    processes = [made.Process(target=work, args=(folder, jobs, wait, seed, gate, answers)) for seed in (1, 2)]
    for process in processes:
        process.start()
    try:
        first, second = (answers.get(timeout=60 + 2 * len(jobs)) for _ in processes)
    finally:
        for process in processes:
            process.join(timeout=30)
            process.kill()
    return list(zip(first, second, strict=True))


def check_consistent(folder: Path, ask_again: Callable[[ht.Session], str]) -> str:
    """The ledger verifies, every charge has its payload, nothing is held; what reading again gives."""
    session = open_session(folder)
    report = session.ledger.verify(session.ledger.head)
    assert report.ok, report.findings
    head = session.ledger.head
    said = ask_again(session)
    assert session.ledger.head == head, "reading again wrote to the ledger"
    return said
