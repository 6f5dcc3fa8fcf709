"""Ledgers under fire: several processes spend from one limit at once, and a process is killed while it spends.

The processes are started fresh, as those of strangers would be; they share the file and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import secrets
from collections.abc import Sequence
from fractions import Fraction
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from hushtable.errors import BudgetExhausted
from hushtable.ledger import Ledger, Unit
from hushtable.privacy import UNIT, ZCDP, Cost
from hushtable.selftest.outcomes import require
from hushtable.watching import Progress

GRAIN = 333_333_333
"""An amount that no power of two or ten divides, so that a sum that rounds is noticed."""

PROCESSES = 4
ROOM = 60
ATTEMPTS = 25
"""Each of the processes tries this often; together that is more than there is room for."""

KILLS = 12
_PATIENCE = 60.0
"""Times that a spender is killed, and seconds after which a process that does not answer has failed.  More kills find
more and take longer."""


def check_race(progress: Progress) -> str:
    """Processes that all spend at once get exactly what the limit allows."""
    progress("racing for a budget", 0, 1)
    with TemporaryDirectory(prefix="hushtable-") as folder:
        path = Path(folder) / "race.ledger"
        ledger = _create(path, ROOM)
        context = _context()
        gate, answers = context.Barrier(PROCESSES), context.Queue()
        workers = [
            context.Process(target=spend_many, args=(path, ATTEMPTS, gate, answers)) for _ in range(PROCESSES)
        ]
        accepted = _answers(workers, answers)
        entries = [entry.type for entry in ledger.history()]
        require(accepted == ROOM, f"{accepted} spends were allowed where the limit has room for {ROOM}")
        require(ledger.spent() == grains(ROOM), "the ledger's sum is not what was spent")
        require(entries.count("charge") == ROOM == entries.count("store"), "entries are missing, or too many")
        require(ledger.verify(ledger.head).ok, "the ledger's chain does not verify after a race")
    tries = PROCESSES * ATTEMPTS
    return f"{PROCESSES} processes tried {tries} spends at once; exactly the {ROOM} that fit were charged"


def check_kills(progress: Progress) -> str:
    """A process that is killed at any moment leaves a ledger that verifies and draws nothing twice."""
    chance = Random(secrets.token_bytes(8))
    with TemporaryDirectory(prefix="hushtable-") as folder:
        path = Path(folder) / "kill.ledger"
        _create(path, 10**6)
        context, shown = _context(), 0
        for kill in range(KILLS):
            progress("killing a spender", kill, KILLS)
            here, there = context.Pipe()
            worker = context.Process(target=spend_on, args=(path, there))
            worker.start()
            try:
                require(here.poll(_PATIENCE) and bool(here.recv()), "a spender did not start")
                worker.join(chance.uniform(0.0, 0.1))
            finally:
                worker.kill()
                worker.join()
            shown = _check_books(path)
    return f"a spender was killed {KILLS} times; {shown:,} answers shown, each charged before and stored once"


def spend_many(path: Path, attempts: int, gate: Any, answers: Any, spender: str | None = None) -> None:
    """Try to spend one grain again and again; say how often it was allowed."""
    ledger, accepted = Ledger.open(path), 0
    gate.wait(timeout=_PATIENCE)
    for _ in range(attempts):
        try:
            reservation = ledger.reserve(
                cost=grains(1), kind="release", request=None, spender=spender, detail={}
            )
        except BudgetExhausted:
            continue
        ledger.store(ledger.charge(reservation, grains(1)), b"noisy")
        ledger.settle(reservation)
        accepted += 1
    answers.put(accepted)


def spend_on(path: Path, ready: Any) -> None:
    """Answer one request after the other until killed, the interrupted one first; say so after each."""
    ledger = Ledger.open(path)
    for number in count():
        found = ledger.find(f"r{number}")
        if found is None or found.state == "open":
            with ledger.turn(f"r{number}"):
                _answer(ledger, f"r{number}")
            ready.send(True)


def _answer(ledger: Ledger, request: str) -> None:
    folder, detail = Path(ledger.path).parent, {"part": "selftest"}
    reservation = ledger.reserve(
        cost=grains(KILLS + 1), kind="release", request=request, spender=None, detail=detail
    )
    found = ledger.find(request, kind="release", detail=detail)
    stored = [] if found is None else [p for p in found.payloads if p is not None]
    if not stored:
        charge = ledger.charge(reservation, grains(1), ordinal=0 if found is None else len(found.charges))
        stored = [secrets.token_bytes(24)]
        _append(folder / "drawn.log", charge.number, stored[0])
        ledger.store(charge, stored[0])
        _append(folder / "shown.log", charge.number, stored[0])
    ledger.settle(reservation)


def _check_books(path: Path) -> int:
    """Everything drawn was charged, everything shown was stored; the number of answers shown."""
    ledger = Ledger.open(path)
    require(ledger.verify(ledger.head).ok, "the ledger's chain does not verify after a kill")
    charged: set[int] = set()
    stored: dict[int, str] = {}
    for entry in ledger.export():
        body = entry["entry"]
        if body["type"] == "charge":
            charged.add(entry["number"])
        if body["type"] == "store":
            stored[body["charge"]] = body["sha256"]
    drawn = [line["charge"] for line in _lines(path.parent / "drawn.log")]
    require(set(drawn) <= charged, "something was drawn before its charge was durable")
    require(len(drawn) == len(set(drawn)), "something was drawn twice for one charge")
    shown = _lines(path.parent / "shown.log")
    for line in shown:
        digest = hashlib.sha256(bytes.fromhex(line["payload"])).hexdigest()
        require(stored.get(line["charge"]) == digest, "something was shown that is not stored")
    require(ledger.spent() == grains(len(charged)), "the ledger's sum is not what was charged")
    return len(shown)


def _answers(workers: Sequence[Any], answers: Any) -> int:
    for worker in workers:
        worker.start()
    try:
        return sum(answers.get(timeout=_PATIENCE) for _ in workers)
    finally:
        for worker in workers:
            worker.join(timeout=10)
            worker.kill()


def _context() -> Any:
    """Fresh processes that import the ledger once for all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


def _create(path: Path, grains: int) -> Ledger:
    return Ledger.create(path, ZCDP(Fraction(grains * GRAIN, UNIT)), Unit(1))


def grains(number: int) -> Cost:
    """So many times the amount that is spent at once."""
    return Cost(0, number * GRAIN)


def _append(path: Path, charge: int, payload: bytes) -> None:
    """One unbuffered write, which a kill cannot cut."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (json.dumps({"charge": charge, "payload": payload.hex()}) + "\n").encode())
    os.close(descriptor)


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
