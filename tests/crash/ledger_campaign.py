"""Processes that spend from a ledger and may be killed at any moment, and the check of what they left behind.

A worker keeps two logs of its own, beside the ledger or in a folder: what it drew, before storing it, and what it
showed, after storing it.  They are written with one unbuffered append each, so a killed process leaves whole lines.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import signal
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushtable.errors import LedgerError
from hushtable.ledger import Ledger, Unit, failpoints
from hushtable.privacy import UNIT, ZCDP, Cost
from hushtable.selftest import accounts
from hushtable.selftest.accounts import GRAIN, grains

GROUPS = 3
RESERVED = GROUPS + 2


def budget_of(n: int) -> ZCDP:
    return ZCDP(Fraction(n * GRAIN, UNIT))


def new_ledger(path: str | Path, n: int) -> Ledger:
    return Ledger.create(path, budget_of(n), Unit(1))


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: a killed process loses nothing that it gave to the kernel."""
    memory = Path("/dev/shm")
    parent = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=parent, prefix="hushtable-") as folder:
        yield Path(folder)


# Many spenders


def spend_many(path: str | Path, attempts: int, spender: str | None, gate: Any, answers: Any) -> None:
    """Try to spend one grain ``attempts`` times; report how often it was allowed."""
    accounts.spend_many(path, attempts, gate, answers, spender)


def same_request(path: Path, request: str, gate: Any, answers: Any) -> None:
    """Reserve under a request id that every other process uses too, and try the first charge."""
    ledger = Ledger.open(path)
    gate.wait(timeout=120)
    reservation = ledger.reserve(cost=grains(2), kind="release", request=request, spender=None, detail={})
    try:
        ledger.store(ledger.charge(reservation, grains(1), ordinal=0), secrets.token_bytes(8))
        charged = True
    except LedgerError as error:
        charged = error.code != "ledger.charge-raced"
    answers.put((reservation.number, reservation.fresh, charged))


# Workers that die


def append(path: Path, line: dict[str, object]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, (json.dumps(line) + "\n").encode())
    os.close(descriptor)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def serve(ledger: Ledger, request: str, logs: Path | None = None) -> None:
    """Answer a request of several groups, adaptively: resume after the last stored one, never redraw."""
    folder = logs or Path(ledger.path).parent
    detail: dict[str, Any] = {"groups": GROUPS}
    reservation = ledger.reserve(
        cost=grains(RESERVED), kind="release", request=request, spender=None, detail=detail
    )
    found = ledger.find(request, kind="release", detail=detail)
    if found is None:
        raise RuntimeError("a reservation vanished")
    answers = [(c.number, p) for c, p in zip(found.charges, found.payloads, strict=True) if p is not None]
    for number, payload in answers:
        show(folder, number, payload)
    ordinal = len(found.charges)
    while found.state == "open" and len(answers) < GROUPS and ordinal < RESERVED:
        charge = ledger.charge(reservation, grains(1), ordinal=ordinal)
        payload = secrets.token_bytes(40)
        append(folder / "drawn.log", {"charge": charge.number, "payload": payload.hex()})
        ledger.store(charge, payload)
        show(folder, charge.number, payload)
        answers.append((charge.number, payload))
        ordinal += 1
    ledger.settle(reservation)


def show(folder: Path, charge: int, payload: bytes) -> None:
    append(folder / "shown.log", {"charge": charge, "payload": payload.hex()})


def die_at(path: Path, name: str, occurrence: int) -> None:
    """Run through everything a ledger does, and be killed at a failpoint."""
    reached = 0

    def hook(point: str) -> None:
        nonlocal reached
        reached += point == name
        if point == name and reached == occurrence:
            os.kill(os.getpid(), signal.SIGKILL)

    failpoints.arm(hook)
    whole_life(path)


def whole_life(path: Path) -> None:
    """Create a ledger if there is none, and bring it to one known end state, however often this is repeated."""
    ledger = Ledger.open(path) if path.exists() else Ledger.create(path, budget_of(20))
    ledger.bind_unit(Unit(1))
    if "ann" not in ledger.grants:
        ledger.grant("ann", budget_of(5))
    if ledger.budget != budget_of(30):
        ledger.raise_budget(budget_of(30))
    ledger.schema_version('{"max_rows_per_person": 1}')
    serve(ledger, "r")


def serve_until_killed(path: str | Path, stream: str, ready: Any, logs: Path | None = None) -> None:
    """Answer one request after the other; each is tried again until it is settled."""
    ledger = Ledger.open(path)
    ready.send(True)
    number = 0
    while True:
        found = ledger.find(f"{stream}{number}")
        if found is None or found.state == "open":
            serve(ledger, f"{stream}{number}", logs)
        number += 1


# What must hold afterwards


def check(path: str | Path, logs: Path | None = None) -> dict[str, int]:
    """Whatever happened: nothing shown that was not charged, one payload per charge, the same bytes every time."""
    folder = logs or Path(path).parent
    ledger = Ledger.open(path)
    report = ledger.verify(ledger.head)
    assert report.ok, report.findings
    charged: dict[int, Cost] = {}
    stored: dict[int, str] = {}
    for entry in ledger.export():
        body = entry["entry"]
        if body["type"] == "charge":
            charged[entry["number"]] = Cost(**body["cost"])
        if body["type"] == "store":
            assert body["charge"] in charged and body["charge"] not in stored
            stored[body["charge"]] = body["sha256"]
    drawn: dict[int, set[str]] = defaultdict(set)
    for line in lines(folder / "drawn.log"):
        assert line["charge"] in charged, "drawn before the charge was durable"
        assert line["charge"] not in drawn, "drawn twice for one charge"
        drawn[line["charge"]].add(line["payload"])
    released = Cost.ZERO
    shown: dict[int, str] = {}
    for line in lines(folder / "shown.log"):
        number, payload = line["charge"], line["payload"]
        assert payload in drawn[number]
        assert hashlib.sha256(bytes.fromhex(payload)).hexdigest() == stored[number]
        released = released if number in shown else released + charged[number]
        assert shown.setdefault(number, payload) == payload, "a retry showed other bytes"
    assert released <= ledger.spent() <= ledger.limit()
    assert ledger.spent() == sum(charged.values(), Cost.ZERO)
    return {"charged": len(charged), "stored": len(stored), "shown": len(shown), "drawn": len(drawn)}
