"""kill -9 of web processes, workers and the database under load: nothing is paid twice, nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from loads import ask_all, statuses
from running import children_of, wait_for
from sites import Site
from test_load import assert_sound, crowd, let_crowd_in

import hushtable as ht

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "engines"))


MOST_ROUNDS = 8
"""How often everybody may ask all their questions until all kills are done: grants are for so many."""


def killing(
    parent: int,
    stop: threading.Event,
    wanted: int,
    also: Callable[[], None] | None,
    pause: float,
    share: float = 0.2,
) -> list[str]:
    """Kill a child of a process, or with this share do something worse, again and again."""
    rng, done = random.Random(7), []
    while not stop.is_set() and len(done) < wanted:
        if stop.wait(rng.uniform(0.3, 1.7) * pause):
            break
        if also is not None and rng.random() < share:
            also()
            done.append("server")
            continue
        children = children_of(parent)
        if children:
            victim = rng.choice(children)
            try:
                command = Path(f"/proc/{victim}/cmdline").read_bytes()
                if not command:
                    continue  # it is dead already
                os.kill(victim, signal.SIGKILL)
            except OSError:
                continue
            done.append("worker" if b"\0worker\0" in command else "web")
    return done


def storm(
    site: Site,
    analysts: int,
    each: int,
    kills: int,
    pause: float,
    patience: float,
    also=None,
    share: float = 0.2,
) -> None:
    """Everybody asks, and goes on until so many processes died; then nothing is missing and nothing was paid twice."""
    let_crowd_in(site, analysts, MOST_ROUNDS * each)
    killed: list[str] = []
    with site.running() as running:
        asking = crowd(site, running, analysts, each)
        stop = threading.Event()
        killer = threading.Thread(
            target=lambda: killed.extend(killing(running.process.pid, stop, kills, also, pause, share)),
            daemon=True,
        )
        killer.start()
        seconds, rounds = 0.0, 0
        try:
            while not rounds or killer.is_alive():
                assert rounds < MOST_ROUNDS, f"{kills} kills take longer than {rounds} rounds of questions"
                seconds += ask_all(asking, each, patience, first=rounds * analysts * each)
                rounds += 1
        finally:
            stop.set()
            killer.join(60)
    by_kind = {kind: killed.count(kind) for kind in set(killed)}
    print(f"{len(killed)} kills ({by_kind}) in {rounds} rounds of {seconds:.0f} s: {dict(statuses(asking))}")
    assert len(killed) == kills
    assert_sound(site, asking, rounds * each, MOST_ROUNDS * each)
    jobs = site.service.jobs.counts()
    assert {each.state for each in jobs} <= {"done", "refused"}, jobs


@pytest.mark.long
def test_killed_processes_lose_nothing_and_pay_nothing_twice(tmp_path: Path) -> None:
    storm(Site(tmp_path), analysts=4, each=12, kills=4, pause=3.0, patience=90)


MANY = {
    "analysts": int(os.environ.get("HUSH_ANALYSTS", "200")),
    "each": int(os.environ.get("HUSH_EACH", "50")),
    "patience": 600,
}
KILLS = int(os.environ.get("HUSH_KILLS", "150"))


@pytest.mark.slow
def test_a_storm_of_kills_on_sqlite(tmp_path: Path) -> None:
    storm(Site(tmp_path), **MANY, kills=KILLS, pause=2.5)


@contextmanager
def on_postgresql(folder: Path, **settings: int) -> Generator[tuple[Site, Any]]:
    """A site on a server of its own, and that server."""
    from servers import Server, installed

    found = installed()
    if not found:
        pytest.skip("no PostgreSQL is installed")
    server = Server(next(iter(found.values())), settings={"fsync": "on", "max_connections": "200"})
    before = dict(os.environ)
    os.environ.update(server.environment)
    try:
        url = server.url()
        yield Site(folder, database=url, ledger=url + "?ledger={name}", settings=settings), server
    finally:
        server.remove()
        os.environ.clear()
        os.environ.update(before)


def crash(server: Any) -> None:
    """Kill a server, and start it again."""
    server.stop(signal.SIGKILL)
    time.sleep(1.0)
    server.start()


@pytest.mark.slow
def test_a_storm_of_kills_on_postgresql(tmp_path: Path) -> None:
    with on_postgresql(tmp_path, processes=4, workers=2) as (site, server):
        storm(site, **MANY, kills=KILLS, pause=2.5, also=lambda: crash(server))


@pytest.mark.long
def test_kills_of_the_server_too_lose_nothing_and_pay_nothing_twice(tmp_path: Path) -> None:
    with on_postgresql(tmp_path, processes=2, workers=2) as (site, server):
        crash(server)
        storm(
            site, analysts=4, each=12, kills=6, pause=2.0, patience=90, also=lambda: crash(server), share=0.5
        )


def test_a_charge_whose_answer_was_lost_is_refused_with_its_charge_explained(tmp_path: Path) -> None:
    """The worker dies between the charge and its payload: the job ends, is not paid again, and says so."""
    from inside import Inside

    from hushtable.service import Role

    site = Site(tmp_path, settings={"slots": False})
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside = Inside(site)
    body = {
        "query": "COUNT",
        "synthetic": {"upload": site.upload("anna")},
        "tau": 40,
        "budget": "epsilon=0.1",
    }
    handed = inside.spend("anna", "/v1/datasets/people/checks", body, "lost")
    ledger = ht.Ledger.open(site.ledger_of("people"))
    program = f"""
import os
from hushtable.ledger import failpoints
from hushtable.service import ServeConfig, Service
from hushtable.service.worker import Worker
service = Service.open(ServeConfig.load({str(tmp_path / "hush.toml")!r}))
worker = Worker(service, {{"people": {str(tmp_path / "data" / "people.csv")!r}}})
failpoints.arm(lambda name: os._exit(9) if name == "charge.committed" else None)
worker.do(service.jobs.take(worker.id)[0])
"""
    died = subprocess.run([sys.executable, "-c", program], check=False, timeout=120)
    assert died.returncode == 9
    assert ledger.spent("anna").xi == ht.PureDP("0.1").limit.xi
    site.service.jobs.forget_workers()
    inside.work()
    told = inside.ask("anna", "GET", handed.headers["location"] + "/result")
    assert told.json()["code"] == "ledger.draw-lost" and "stay spent" in told.json()["title"]
    assert ledger.spent("anna").xi == ht.PureDP("0.1").limit.xi
    again = inside.spend("anna", "/v1/datasets/people/checks", body, "lost")
    assert again.content == told.content


@pytest.mark.long
def test_a_service_outlives_a_database_that_is_away_while_its_children_start(tmp_path: Path) -> None:
    """All are killed while there is no server: who is started again waits for it, and nobody has to mend anything."""
    with on_postgresql(tmp_path) as (site, server), site.running() as running:
        server.stop(signal.SIGKILL)
        for child in children_of(running.process.pid):
            os.kill(child, signal.SIGKILL)
        time.sleep(8.0)
        assert running.process.poll() is None
        server.start()
        wait_for(lambda: httpx.get(f"{running.url}/readyz").status_code == 200)
