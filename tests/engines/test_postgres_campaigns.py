"""Many processes spend from a ledger in PostgreSQL, and clients and servers are killed: every promise is kept."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "crash"))
from fresh import forkserver
from ledger_campaign import check, grains, new_ledger, serve
from servers import PASSWORD, Server
from test_ledger_kills import kill_at_random
from test_ledger_processes import PROCESSES, meet_exactly, run

from conftest import VERSIONS
from hushtable.errors import LedgerError
from hushtable.ledger import Ledger


@pytest.fixture(scope="module", params=sorted(VERSIONS, key=int) or ["none"])
def durable(request: pytest.FixtureRequest, start_server: Callable[..., Server]) -> Server:
    return start_server(request.param, fsync="on", log_statement="none")


@pytest.fixture
def address(durable: Server, tmp_path: Path) -> str:
    """It names its password file, because processes may have been started before this environment was set."""
    file = tmp_path / "passwords"
    file.write_text(f"*:*:*:*:{PASSWORD}")
    file.chmod(0o600)
    return durable.url(passfile=str(file), ledger=uuid.uuid4().hex)


def test_eight_processes_spend_exactly_what_there_is(address: str) -> None:
    meet_exactly(address, attempts=160, room=100)


@pytest.mark.slow
def test_eight_processes_spend_exactly_10000(address: str) -> None:
    meet_exactly(address, attempts=10_400, room=10_000)


def test_clients_that_are_killed_keep_every_promise(address: str, tmp_path: Path) -> None:
    assert kill_at_random(address, kills=10, seed=1, logs=tmp_path)["shown"] > 0


@pytest.mark.slow
def test_a_thousand_kills_of_clients(address: str, tmp_path: Path) -> None:
    """In forty ledgers: one process goes on while the other opens a ledger, which takes longer as it grows."""
    charged = stored = 0
    for seed in range(40):
        logs = tmp_path / str(seed)
        logs.mkdir()
        counts = kill_at_random(f"{address}{seed}", kills=25, seed=seed, logs=logs)
        print(f"ledger {seed}: {counts}", flush=True)
        charged, stored = charged + counts["charged"], stored + counts["stored"]
    assert charged > stored > 100, "the kills were too gentle or too early to test anything"


# Appends in time


def timed(address: str, spends: int, gate: Any, answers: Any) -> None:
    """Seconds of every append."""
    ledger, taken = Ledger.open(address), list[float]()

    def clocked(call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        made = call()
        taken.append(time.perf_counter() - start)
        return made

    gate.wait(timeout=120)
    for _ in range(spends):
        reservation = clocked(lambda: ledger.reserve(cost=grains(1), kind="release", detail={}))
        charge = clocked(lambda: ledger.charge(reservation, grains(1)))  # noqa: B023
        clocked(lambda: ledger.store(charge, b"noisy" * 200))  # noqa: B023
        clocked(lambda: ledger.settle(reservation))  # noqa: B023
    answers.put(taken)


@pytest.mark.slow
def test_an_append_of_eight_writers_takes_less_than_a_tenth_of_a_second(address: str) -> None:
    new_ledger(address, 10**6)
    taken = sorted(second for part in run(timed, [(address, 40)] * PROCESSES, wait=300) for second in part)
    late = taken[int(0.95 * len(taken))]
    print(f"median {1000 * taken[len(taken) // 2]:.1f} ms, p95 {1000 * late:.1f} ms, of {len(taken)} appends")
    assert late < 0.1


# Servers that are killed


def serve_through(address: str, stream: str, logs: Path, until: int) -> None:
    """Answer requests while the server comes and goes."""
    number = 0
    while number < until:
        try:
            ledger = Ledger.open(address, wait=20)
            while number < until:
                found = ledger.find(f"{stream}{number}")
                if found is None or found.state == "open":
                    serve(ledger, f"{stream}{number}", logs)
                number += 1
        except LedgerError as error:
            if error.code not in (
                "ledger.unreachable",
                "ledger.connection-lost",
                "ledger.unsure",
                "ledger.too-late",
            ):
                raise
            time.sleep(0.05)


def kill_all(server: Server) -> None:
    """Every process of the server at once, as a crash of its machine does."""
    for number in [server.pid, *children(server.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)
    server.stop(signal.SIGKILL)


def children(process: int) -> list[int]:
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found.append(int(folder.name))
    return found


def kill_servers(server: Server, address: str, kills: int, logs: Path) -> dict[str, int]:
    new_ledger(address, 10**6)
    context = forkserver()
    workers = [
        context.Process(target=serve_through, args=(address, stream, logs, 10**6)) for stream in "abcd"
    ]
    for worker in workers:
        worker.start()
    try:
        for _ in range(kills):
            shown = size(logs / "shown.log")
            until = time.monotonic() + 60
            while size(logs / "shown.log") < shown + 2000:  # some work between two kills
                assert time.monotonic() < until and all(worker.is_alive() for worker in workers)
                time.sleep(0.01)
            kill_all(server)
            server.start()
    finally:
        for worker in workers:
            worker.kill()
            worker.join()
    return check(address, logs)


def size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def test_a_server_that_is_killed_loses_nothing_that_it_acknowledged(
    durable: Server, address: str, tmp_path: Path
) -> None:
    assert kill_servers(durable, address, kills=2, logs=tmp_path)["shown"] > 20


@pytest.mark.slow
def test_twenty_kills_of_the_server(durable: Server, address: str, tmp_path: Path) -> None:
    assert kill_servers(durable, address, kills=20, logs=tmp_path)["shown"] > 200
