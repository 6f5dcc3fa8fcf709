"""When answers appear says nothing about rows: a distinguisher trained on times does no better than guessing."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from running import Visitor
from sites import Site, people

import hushtable as ht
from hushtable.service import Role

PEOPLE, AT_ONCE = 8, 64
"""Analysts of each table, and jobs that wait at the same time: the load under which times are taken."""
QUESTIONS = [f"COUNT WHERE age >= {low} AND sex = '{sex}'" for low in range(50) for sex in "FM"]


FEW = 60
"""Releases of each table, of which a slot holds two where a million rows are declared, and jobs where slots are off.
Of two alike tables the advantage is above 0.3 once in a thousand times: its standard error is at most 0.09."""
RELEASE = {"order": 2, "budget": "epsilon=0.001", "strategy": "identity"}
"""Tables are counted anew for every release, so that its work grows with rows; a check's hardly does."""


def check(upload: str, number: int) -> dict[str, Any]:
    """A question that no other number asks."""
    query = QUESTIONS[number % len(QUESTIONS)] + f" AND age <= {79 - number // len(QUESTIONS) % 20}"
    return {"query": query, "synthetic": {"upload": upload}, "tau": 40 + number, "budget": "epsilon=0.001"}


def seen_times(visitor: Visitor, place: str, body: dict[str, Any]) -> list[float]:
    """What a client can measure of one job: handing in, the answer's time, the last poll, the whole."""
    begun = time.time()
    handed = visitor.spend(place, body)
    while handed.status_code == 429:
        time.sleep(0.5)
        begun = time.time()
        handed = visitor.spend(place, body)
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
    """Of a trained distinguisher: its advantage on times that it has not seen, and a 95% upper bound of it.

    It is trained on each half and tested on the other, so that every time is tested once.
    """
    parts = [(one[k::2], two[k::2]) for k in (0, 1)]
    said = [[], []]
    for trained, tested in (parts, parts[::-1]):
        guess = distinguisher(*trained)
        for table in (0, 1):
            said[table].extend(guess(tested[table]))
    first, second = (np.asarray(side, float) for side in said)
    found = float(first.mean() - second.mean())
    error = math.sqrt(first.var() / len(first) + second.var() / len(second))
    return found, found + 1.645 * error


def distinguisher(one: np.ndarray, two: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The best of many thresholds: on each feature, on a linear mixture of all, and on distances from medians."""
    both = np.concatenate([one, two])
    middle, spread = np.median(both, axis=0), both.std(axis=0) + 1e-12

    def features(times: np.ndarray) -> np.ndarray:
        plain = (times - middle) / spread
        return np.column_stack([plain, np.abs(plain), plain @ mixture])

    scaled = [(side - middle) / spread for side in (one, two)]
    within = sum(np.cov(side.T) for side in scaled) + 1e-6 * np.eye(one.shape[1])
    mixture = np.linalg.solve(within, scaled[0].mean(axis=0) - scaled[1].mean(axis=0))
    first, second = features(one), features(two)
    tried = (
        (_gain(first[:, k], second[:, k], cut, sign), k, cut, sign)
        for k in range(first.shape[1])
        for cut in np.quantile(np.concatenate([first[:, k], second[:, k]]), np.linspace(0.05, 0.95, 19))
        for sign in (1, -1)
    )
    _, k, cut, sign = max(tried)
    return lambda times: sign * features(times)[:, k] > sign * cut


def _gain(one: np.ndarray, two: np.ndarray, cut: float, sign: int) -> float:
    return float(np.mean(sign * one > sign * cut) - np.mean(sign * two > sign * cut))


def test_the_distinguisher_finds_a_small_difference_and_none_where_there_is_none() -> None:
    """2,000 times each; a shift of a fifth of a deviation gives an advantage of 0.08.  False alarm 5% by design."""
    rng = np.random.default_rng(11)
    same = [rng.normal(size=(2000, 5)) for _ in range(2)]
    assert advantage(*same)[1] < 0.08
    shifted = same[1] + np.array([0.2, 0, 0, 0, 0])
    assert advantage(same[0], shifted)[0] > 0.04


def interleaved(tables: list[str], jobs: int) -> list[tuple[str, int]]:
    """Every job of all tables side by side, in an order by chance.

    At no time has one table had more than a job more than another.  Were they shuffled as a whole, their shares in a
    part of the campaign would differ by some hundredths, and whatever makes a machine slower as it goes on would tell.
    """
    rng = np.random.default_rng(3)
    return [(tables[k], number) for number in range(jobs) for k in rng.permutation(len(tables))]


def test_no_table_is_ahead_in_any_part_of_a_campaign() -> None:
    order = interleaved(["one", "two"], 2000)
    ahead = np.cumsum([1 if name == "one" else -1 for name, _ in order])
    assert set(ahead) == {-1, 0, 1} and len(set(order)) == 4000
    assert 900 < sum(name == "one" for name, _ in order[::2]) < 1100, "4.5 deviations of 2,000 fair coins"


def campaign(
    folder: Path, tables: dict[str, pl.DataFrame], jobs: int, largest: int, *, releases: bool, slots: bool
) -> tuple[dict[str, np.ndarray], object]:
    """Times of interleaved jobs on several tables, under the load of all of them.

    Where slots are off one job waits at a time: whoever wants to learn from times asks when nobody else does.
    """
    site = Site(
        folder,
        tables=tables,
        budget=ht.PureDP(10_000),
        settings={"slots": slots},
        dataset_settings=f"largest_rows = {largest}\n",
    )
    people_of = {name: [f"anna-{name}-{number}" for number in range(PEOPLE)] for name in tables}
    for name, who in people_of.items():
        for person in who:
            site.let_in(person, Role.ANALYST, name, grant="epsilon=900")
    with site.running() as running:
        asking = {
            name: [(site.visitor(running, person), site.upload(person, name)) for person in who]
            for name, who in people_of.items()
        }

        def ask(one: tuple[str, int]) -> tuple[str, list[float]]:
            name, number = one
            visitor, upload = asking[name][number % PEOPLE]
            if releases:
                return name, seen_times(visitor, f"/v1/datasets/{name}/releases", RELEASE)
            return name, seen_times(visitor, f"/v1/datasets/{name}/checks", check(upload, number))

        with ThreadPoolExecutor(AT_ONCE if slots else 1) as pool:
            rows = list(pool.map(ask, interleaved(list(tables), jobs)))
        overruns = site.service.jobs.overruns()
    return {name: np.array([times for at, times in rows if at == name]) for name in tables}, overruns


@pytest.mark.slow
@pytest.mark.parametrize("pair", ["neighbours", "sizes", "releases"])
def test_times_tell_nothing_with_slots_and_much_without(tmp_path: Path, pair: str) -> None:
    jobs = int(os.environ.get("HUSH_LATENCY_JOBS", "2000"))
    largest = 10_000 if pair == "neighbours" else int(os.environ.get("HUSH_LATENCY_ROWS", "1000000"))
    rows = people(5000 if pair == "neighbours" else largest)
    tables = {"one": rows, "two": rows.head(rows.height - 1) if pair == "neighbours" else people(1000)}
    releases = pair == "releases"
    for slots in (True, False):
        folder = tmp_path / str(slots)
        folder.mkdir()
        count = jobs if slots and not releases else min(jobs, FEW)
        times, overruns = campaign(folder, tables, count, largest, releases=releases, slots=slots)
        found, bound = advantage(times["one"], times["two"])
        told = f"{pair}, slots {slots}: {count} jobs each, advantage {found:.3f}, bound {bound:.3f}"
        print(f"{told}, {overruns}", flush=True)
        if releases:
            assert found < 0.3 if slots else found > 0.5
        elif slots:
            assert bound < 0.05
