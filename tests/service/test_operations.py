"""What those who run a service rely on: public quantities on their own port, logs without values, a gentle end."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import httpx
from inside import Inside
from sites import Site

import hushtable as ht
from hushtable.service import Role

QUANTITY = re.compile(r'hush_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \d+')
"""A line of Prometheus's text format: a name, perhaps labels, and a whole number."""
KEPT = ("anna", "people", "Elm", "0.25", "Bearer")
"""Names, values, amounts and secrets, which neither quantities nor logs may hold."""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def test_quantities_logs_and_an_end_that_loses_nothing(tmp_path: Path) -> None:
    port = free_port()
    site = Site(tmp_path, settings={"metrics_port": port, "slots": False})
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    body = {
        "query": "COUNT WHERE town = 'Elm'",
        "synthetic": {"upload": site.upload("anna")},
        "tau": 40,
        "budget": "epsilon=0.25",
    }
    with site.running() as running:
        anna = site.visitor(running, "anna")
        assert anna.done(anna.spend("/v1/datasets/people/checks", body)).status_code == 200
        told = httpx.get(f"http://127.0.0.1:{port}/metrics", trust_env=False)
        assert httpx.get(f"{running.url}/metrics", trust_env=False).status_code == 404
        late = anna.spend("/v1/datasets/people/checks", {**body, "tau": 50}, "late")
        assert late.status_code == 202
    assert running.process.returncode == 0
    lines = [line for line in told.text.splitlines() if not line.startswith("#")]
    assert lines and all(QUANTITY.fullmatch(line) for line in lines), lines
    assert 'hush_jobs{state="done"} 1' in lines and "hush_workers 1" in lines
    logged = [json.loads(line) for line in running.log.read_text().splitlines() if line.startswith("{")]
    assert logged and {"time", "level", "from", "message"} == set(logged[0])
    for word in KEPT:
        assert word not in told.text and not any(word in one["message"] for one in logged), word
    with site.running() as again:
        answer = site.visitor(again, "anna").done(late)
    assert answer.status_code == 200
    assert ht.Ledger.open(site.ledger_of("people")).spent("anna").xi == 2 * ht.PureDP("0.25").limit.xi


def test_a_ledger_that_is_gone_or_was_replaced_is_refused_without_its_place(tmp_path: Path) -> None:
    site = Site(tmp_path, settings={"slots": False})
    site.let_in("anna", Role.ANALYST, grant="epsilon=1")
    inside, ledger = Inside(site), tmp_path / "people.ledger"
    assert inside.ask("anna", "GET", "/v1/datasets/people/remaining").status_code == 200
    kept = ledger.read_bytes()
    for state in ("gone", "foreign", "replaced"):
        ledger.unlink()
        if state == "foreign":
            ledger.write_bytes(b"no ledger at all")
        if state == "replaced":
            ht.Ledger.create(ledger, ht.PureDP(1))
        for place in ("/v1/datasets/people/remaining", "/datasets/people/budget", "/datasets/people/left"):
            answer = inside.ask("anna", "GET", place)
            assert answer.status_code in (409, 503) and "cannot be used at the moment" in answer.text, (
                answer.text
            )
            assert str(tmp_path) not in answer.text
        ledger.unlink(missing_ok=True)
        ledger.write_bytes(kept)
