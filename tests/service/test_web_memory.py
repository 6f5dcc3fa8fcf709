"""The memory of a web process does not grow with the requests that it answers."""

from __future__ import annotations

import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from running import children_of
from sites import Site

import hushtable as ht
from hushtable.service import Role

REQUESTS = int(os.environ.get("HUSH_REQUESTS", "50000"))
ASKERS = 16
GROWTH = 16
"""Megabytes that may come and go: a garbage collector's slack, a fraction of a kilobyte for each of the requests."""


def resident(process: int) -> float:
    """Megabytes that a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def web_process(parent: int) -> int:
    return next(p for p in children_of(parent) if b"\0web\0" in Path(f"/proc/{p}/cmdline").read_bytes())


@pytest.mark.slow
def test_memory_stays_flat_over_many_requests(tmp_path: Path) -> None:
    budget = ht.ApproxDP(epsilon=500, delta="1e-9", pure=200)
    site = Site(tmp_path, budget=budget, settings={"slots": False})
    for number in range(ASKERS):
        site.let_in(f"asker-{number}", Role.CURATOR)
    with site.running() as running:
        visitors = [site.visitor(running, f"asker-{number}") for number in range(ASKERS)]
        body = {"order": 2, "budget": "rho=0.01", "strategy": "residual-planner"}
        made = visitors[0].done(visitors[0].spend("/v1/datasets/people/releases", body))
        assert made.status_code == 200, made.text
        release = visitors[0].http.get("/v1/datasets/people/releases").json()["items"][0]["id"]
        upload, web = site.upload("asker-0"), web_process(running.process.pid)

        def ask(number: int) -> int:
            rng, one = random.Random(number), visitors[number % ASKERS].http
            place = f"/v1/datasets/people/releases/{release}"
            tables = [["age"], ["sex", "town"], ["age", "town"]]
            check = {"query": f"COUNT WHERE age >= {rng.randrange(80)}", "synthetic": {"upload": upload}}
            ways = (
                lambda: one.get(f"{place}/table", params={"attribute": rng.choice(tables), "alpha": rng.random()}),
                lambda: one.get("/sign-in", headers={"accept-language": f"x{number}, de"}),
                lambda: one.get("/v1/datasets/people/remaining"),
                lambda: one.get("/v1/datasets/people/jobs", params={"cursor": f"{number:x}"}),
                lambda: one.get(f"/nothing/{number}"),
                lambda: visitors[0].http.post(
                    "/v1/datasets/people/checks/plan", json={**check, "tau": 5 + rng.random(), "budget": "epsilon=1"}
                ),
                lambda: one.get("/v1/me", headers={"authorization": f"Bearer hush_{number}"}),
                lambda: one.get("/v1/datasets/people/ledger"),
                lambda: one.post("/v1/datasets/people/plan", json={"order": number, "budget": "rho=1"}),
            )  # fmt: skip
            while True:
                answer = ways[number % len(ways)]()
                if answer.status_code != 429:
                    assert answer.status_code < 500, answer.text
                    return answer.status_code

        sizes: list[float] = []
        steps = max(1, REQUESTS // 10)
        with ThreadPoolExecutor(8) as pool:
            for start in range(0, REQUESTS, steps):
                list(pool.map(ask, range(start, start + steps)))
                sizes.append(resident(web))
    print(
        f"{REQUESTS} requests, megabytes of the web process after each tenth: {[round(one) for one in sizes]}"
    )
    assert max(sizes[5:]) - sizes[4] < GROWTH, sizes
