"""Real ``hush release`` processes that are killed, and the check of what they left behind.

A process is either a fresh interpreter, or a fork of a server that has imported the package and nothing else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hushtable as ht
from hushtable.cli.app import run
from hushtable.ledger import failpoints
from hushtable.measurement import lines_from_bytes

SCHEMA = {
    "attributes": {"age": {"type": "integer", "bounds": [0, 79], "width": 20}, "member": {"type": "boolean"}}
}
ROWS = "age,member\n" + "".join(f"{7 * k % 80},{'true' if k % 3 else 'false'}\n" for k in range(50))
STEPS = ("bind", "schema", "reserve", "charge", "store", "settle")
POINTS = [name for name in failpoints.NAMES if name.split(".")[0] in STEPS]
LOSING = {"charge.committed", "store.temporary", "store.renamed", "store.locked", "store.inserted"}
"""Where a kill comes after the charge and before the answers are stored."""


def command(folder: Path) -> list[str]:
    """The command line that is killed and repeated."""
    return [
        *("release", str(folder / "data.csv"), "--schema", str(folder / "schema.yaml")),
        *("--ledger", str(folder / "a.ledger"), "--order", "2", "--budget", "rho=0.1"),
        *("--strategy", "residual-planner", "--out", str(folder / "out"), "--no-report"),
    ]


def prepare(folder: Path) -> None:
    """Data, schema and a ledger with room for several releases."""
    folder.mkdir()
    (folder / "data.csv").write_text(ROWS)
    ht.Schema.from_dict(SCHEMA).save(folder / "schema.yaml")
    ht.Ledger.create(folder / "a.ledger", ht.ZCDP(1))


def release_until(arguments: list[str], point: str | None, ready: Any) -> None:
    """Run the command in this process; die at a failpoint if one is given."""

    def hook(reached: str) -> None:
        if reached == point:
            os.kill(os.getpid(), signal.SIGKILL)

    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
    failpoints.arm(hook)
    ready.send(True)
    sys.exit(run(arguments))


def die_at(context: Any, folder: Path, point: str | None, after: float | None = None) -> tuple[int, float]:
    """Start a release, kill it at a failpoint or after some seconds; its exit code and how long it lived."""
    return run_until(context, release_until, (command(folder), point), signal.SIGKILL, after)


def run_until(
    context: Any, work: Callable[..., None], given: tuple[Any, ...], number: int, after: float | None
) -> tuple[int, float]:
    """Work in a process until it ends, or a signal ends it after some seconds; exit code and how long it lived.

    ``work`` gets a pipe behind what is given, and says there when it begins.
    """
    here, there = context.Pipe()
    process = context.Process(target=work, args=(*given, there))
    process.start()
    assert here.poll(120) and here.recv()
    start = time.monotonic()
    if after is not None:
        process.join(after)
        if process.is_alive():
            os.kill(process.pid, number)
    process.join(300)
    return process.exitcode, time.monotonic() - start


def die_in_a_fresh_interpreter(folder: Path, after: float) -> int:
    """Start a release as a shell would, and kill it after some seconds."""
    process = subprocess.Popen(
        [sys.executable, "-c", "from hushtable.cli import main; main()", *command(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        return process.wait(after)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        return process.wait(60)


@dataclass(frozen=True)
class Left:
    """What a ledger and a folder hold."""

    charges: int
    payloads: tuple[bytes, ...]
    spent: Any
    released: np.ndarray | None


def left_in(folder: Path) -> Left:
    """What is there, after checking that nothing was released that was not charged and stored."""
    ledger = ht.Ledger.open(folder / "a.ledger")
    report = ledger.verify(ledger.head)
    assert report.ok, report.findings
    entries = [entry["entry"] for entry in ledger.export()]
    charges = [entry for entry in entries if entry["type"] == "charge"]
    stores = [entry["charge"] for entry in entries if entry["type"] == "store"]
    assert len(set(stores)) == len(stores) <= len(charges)
    files = list((folder / "a.ledger.payloads").glob("*.bin"))
    assert len(files) <= len(charges), "a payload without a charge"
    payloads = tuple(ledger.payload(number) for number in stores)
    assert ledger.spent() == sum((ht.privacy.Cost(**c["cost"]) for c in charges), ht.privacy.Cost.ZERO)
    assert ledger.spent() <= ledger.limit()
    released = ht.Release.load(folder / "out").answers.values if (folder / "out").exists() else None
    if released is not None:
        assert any(np.array_equal(released, lines_from_bytes(p)[0].values) for p in payloads), (
            "not what was stored"
        )
    return Left(len(charges), payloads, ledger.spent(), released)


def repeat(folder: Path, before: Left, capture: Any) -> str:
    """Type the same command again, and check that nothing paid for is lost or paid twice; says how it ended."""
    capture.readouterr()
    noted = any(folder.glob(".out.request*"))
    code = run(command(folder))
    printed = capture.readouterr()
    after = left_in(folder)
    if before.released is not None:
        # until the note of what was under way is gone, the command takes itself for unfinished
        assert code == 0 if noted else code == 1 and "[bundle.exists]" in printed.err
        assert after.spent == before.spent
        return "was complete"
    if before.charges > len(before.payloads):
        assert code == 1 and "[ledger.draw-lost]" in printed.err
        assert after.spent == before.spent and after.released is None
        assert run([*command(folder), "--request", "again"]) == 0
        assert left_in(folder).charges == 2
        return "draw lost"
    assert code == 0, printed.err
    assert after.charges == len(after.payloads) == 1
    if not before.payloads:
        return "spent when repeated"
    assert after.payloads == before.payloads, "a repeated command gave other bytes"
    return "resumed"
