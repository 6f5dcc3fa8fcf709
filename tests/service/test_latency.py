"""When answers appear says nothing about rows: a distinguisher trained on times does no better than guessing."""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from running import Visitor
from sites import Site, people

import hushtable as ht
from hushtable.service import Role

QUESTIONS = [f"COUNT WHERE age >= {low} AND sex = '{sex}'" for low in range(80) for sex in "FM"]


def seen_times(visitor: Visitor, dataset: str, upload: str, number: int) -> list[float]:
    """What a client can measure of one job: handing in, the answer's time, the last poll, the size."""
    query = QUESTIONS[number % len(QUESTIONS)] + f" AND age <= {79 - number // len(QUESTIONS) % 20}"
    body = {"query": query, "synthetic": {"upload": upload}, "tau": 40 + number, "budget": "epsilon=0.001"}
    begun = time.time()
    handed = visitor.spend(f"/v1/datasets/{dataset}/checks", body)
    while handed.status_code == 429:
        time.sleep(0.5)
        begun = time.time()
        handed = visitor.spend(f"/v1/datasets/{dataset}/checks", body)
    answered, ready = time.time(), handed.json()["ready"]
    time.sleep(max(0.0, ready - time.time()))
    while True:
        asked = time.time()
        told = visitor.http.get(handed.headers["location"]).json()
        if told["state"] != "waiting":
            break
        time.sleep(0.05)
    done = time.time()
    return [answered - begun, done - begun - (ready - begun), done - asked, done - begun]


def advantage(one: np.ndarray, two: np.ndarray) -> tuple[float, float]:
    """Of a threshold on the best feature, trained on one half: its advantage on the other, and a 95% upper bound."""
    half = len(one) // 2
    best = max(
        (_gain(one[:half, k], two[:half, k], cut, sign), k, cut, sign)
        for k in range(one.shape[1])
        for cut in np.quantile(np.concatenate([one[:half, k], two[:half, k]]), np.linspace(0.05, 0.95, 19))
        for sign in (1, -1)
    )
    _, k, cut, sign = best
    tested = min(len(one) - half, len(two) - half)
    found = _gain(one[half : half + tested, k], two[half : half + tested, k], cut, sign)
    return found, found + 1.645 * math.sqrt(2 * 0.25 / tested)


def _gain(one: np.ndarray, two: np.ndarray, cut: float, sign: int) -> float:
    return float(np.mean(sign * one > sign * cut) - np.mean(sign * two > sign * cut))


def campaign(folder: Path, tables: dict[str, pl.DataFrame], jobs: int, largest: int, *, slots: bool):
    """Times of interleaved jobs on several tables, under the load of all of them."""
    site = Site(
        folder,
        tables=tables,
        budget=ht.PureDP(10_000),
        settings={"slots": slots},
        dataset_settings=f"largest_rows = {largest}\n",
    )
    for name in tables:
        site.let_in(f"anna-{name}", Role.ANALYST, name, grant="epsilon=9000")
    uploads = {name: site.upload(f"anna-{name}", name) for name in tables}
    with site.running() as running:
        visitors = {name: site.visitor(running, f"anna-{name}") for name in tables}
        order = [(name, number) for number in range(jobs) for name in tables]
        np.random.default_rng(3).shuffle(order)
        with ThreadPoolExecutor(8) as pool:
            found = pool.map(lambda one: (one[0], seen_times(visitors[one[0]], *_at(uploads, one))), order)
            rows = list(found)
        overruns = site.service.jobs.overruns()
    return {name: np.array([times for at, times in rows if at == name]) for name in tables}, overruns


def _at(uploads: dict[str, str], one: tuple[str, int]) -> tuple[str, str, int]:
    return one[0], uploads[one[0]], one[1]


@pytest.mark.slow
@pytest.mark.parametrize("pair", ["neighbours", "sizes"])
def test_times_tell_nothing_with_slots_and_much_without(tmp_path: Path, pair: str) -> None:
    jobs = int(os.environ.get("HUSH_LATENCY_JOBS", "2000"))
    largest = int(os.environ.get("HUSH_LATENCY_ROWS", "1000000"))
    rows = people(largest if pair == "sizes" else 5000)
    tables = {"one": rows, "two": people(1000) if pair == "sizes" else rows.head(rows.height - 1)}
    for slots in (True, False):
        folder = tmp_path / str(slots)
        folder.mkdir()
        count = jobs if slots else min(jobs, 200)
        times, overruns = campaign(folder, tables, count, largest, slots=slots)
        found, bound = advantage(times["one"], times["two"])
        print(
            f"{pair}, slots {slots}: {count} jobs each, advantage {found:.3f}, bound {bound:.3f}, {overruns}"
        )
        if slots:
            assert bound < 0.05 + 1.645 * math.sqrt(2 * 0.25 / (count - count // 2))
        elif pair == "sizes":
            assert found > 0.5
