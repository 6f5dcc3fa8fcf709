"""Many analysts at once: never over a grant, every question answered or refused, and the ledger verifies."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from loads import Analyst, ask_all, statuses
from running import Running, Visitor
from sites import Site

import hushtable as ht
from hushtable.service import Role

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "engines"))

PRICE = "0.01"


def crowd(site: Site, running: Running, analysts: int, paid: int) -> list[Analyst]:
    """Analysts, each with a grant for so many questions and a little more."""
    made = []
    for number in range(analysts):
        name = f"analyst-{number}"
        made.append(
            Analyst(
                running, site.visitor(running, name), "people", site.upload(name), name, f"epsilon={PRICE}"
            )
        )
    return made


def let_crowd_in(site: Site, analysts: int, paid: int) -> None:
    ledger = ht.Ledger.open(site.ledger_of("people"))
    for number in range(analysts):
        site.let_in(f"analyst-{number}", Role.ANALYST)
        ledger.grant(f"analyst-{number}", ht.PureDP(f"{paid * 0.01 + 0.005:.3f}"))


def assert_sound(site: Site, analysts: list[Analyst], each: int, paid: int) -> None:
    """What must hold afterwards: the grants, the answers and the ledger."""
    ledger = ht.Ledger.open(site.ledger_of("people"))
    assert ledger.verify().ok
    for one in analysts:
        assert len(one.answers) == each and not one.places
        good = [json.loads(content) for status, content in one.answers.values() if status == 200]
        bad = [json.loads(content)["code"] for status, content in one.answers.values() if status != 200]
        lost = bad.count("ledger.draw-lost")
        assert len(good) + lost == min(each, paid), (len(good), bad)
        known = {"budget.exhausted", "ledger.grant-exhausted", "ledger.exhausted", "ledger.draw-lost"}
        assert set(bad) <= known, set(bad)
        spent, limit = ledger.spent(one.name), ledger.limit(one.name)
        assert spent <= limit
        assert spent.xi == (len(good) + lost) * ht.PureDP(PRICE).limit.xi
        assert ledger.held(one.name) == ht.privacy.Cost.ZERO


def run(site: Site, analysts: int, each: int, paid: int, patience: float, **environment: str) -> None:
    let_crowd_in(site, analysts, paid)
    with site.running(**environment) as running:
        asking = crowd(site, running, analysts, paid)
        seconds = ask_all(asking, each, patience)
    waits = sorted(wait for one in asking for wait in one.latencies)
    p50, p95 = waits[len(waits) // 2], waits[int(len(waits) * 0.95)]
    print(f"{analysts} x {each}: {seconds:.1f} s, {analysts * each / seconds:.1f}/s, ", end="")
    print(f"submission p50 {p50 * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms; {dict(statuses(asking))}")
    assert_sound(site, asking, each, paid)


MANY = {"analysts": int(os.environ.get("HUSH_ANALYSTS", "200")), "each": 50, "paid": 40, "patience": 900}


@pytest.mark.slow
def test_two_hundred_analysts_at_once_on_sqlite(tmp_path: Path) -> None:
    run(Site(tmp_path), **MANY)


def test_analysts_at_once_stay_within_their_grants_on_sqlite(tmp_path: Path) -> None:
    run(Site(tmp_path), analysts=8, each=6, paid=4, patience=60)


def test_nobody_waits_for_a_service_that_has_ended(tmp_path: Path) -> None:
    with socket.socket() as taken, subprocess.Popen([sys.executable, "-c", ""], text=True) as process:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        process.wait()
        gone = Running(f"http://127.0.0.1:{taken.getsockname()[1]}", process, "", tmp_path / "log")
        analyst = Analyst(gone, Visitor(gone.url), "people", "none", "analyst-0", f"epsilon={PRICE}")
        with pytest.raises(AssertionError, match="the service has ended"):
            ask_all([analyst], each=1, patience=60)
