"""When answers appear says nothing about rows: a distinguisher trained on times does no better than guessing."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import polars as pl
import pytest
from running import Visitor
from sites import SCHEMA, Site, people

import hushtable as ht
from hushtable.service import Role

PEOPLE, AT_ONCE = 8, 64
"""Analysts of each table, and jobs that wait at the same time: the load under which times are taken."""
QUESTIONS = [f"COUNT WHERE age >= {low} AND sex = '{sex}'" for low in range(50) for sex in "FM"]


FEW = 60
"""Releases of each table, of which a slot holds two where a million rows are declared, and batches where slots are off.
Of two alike tables the advantage is above 0.3 once in a thousand times: its standard error is at most 0.09."""
RELEASE = {"order": 2, "budget": "epsilon=0.001", "strategy": "identity"}
"""Tables are counted anew for every release, so that its work grows with rows; a check's hardly does."""


BATCH = 3
"""Releases that are handed in together where slots are off: a worker looks for jobs every 50 milliseconds, and what it
takes for several adds up while that does not.  Whoever wants to know asks so often, and when nobody else does."""
OFTEN = 0.02
"""Seconds between two looks at a job of somebody who measures: the service answers one person 60 times a second."""
HEAVY = 200_000
"""Rows of the one person by whom neighbouring tables differ.  One of them counts, all are read: the worst that a
neighbour can be, where one row more or less takes no time that anybody could measure."""


def check(upload: str, number: int) -> dict[str, Any]:
    """A question that no other number asks."""
    query = QUESTIONS[number % len(QUESTIONS)] + f" AND age <= {79 - number // len(QUESTIONS) % 20}"
    return {"query": query, "synthetic": {"upload": upload}, "tau": 40 + number, "budget": "epsilon=0.001"}


def seen_times(visitor: Visitor, place: str, bodies: list[dict[str, Any]]) -> list[float]:
    """What a client can measure of jobs that are handed in together.

    Handing in, the answer's time beyond the announced one, the last poll, and the whole.
    """
    begun = time.time()
    handed = [_handed_in(visitor, place, body) for body in bodies]
    answered, ready = time.time(), max(one.json()["ready"] for one in handed)
    time.sleep(max(0.0, ready - time.time()))
    for one in handed:
        while True:
            asked = time.time()
            told = visitor.http.get(one.headers["location"]).json()
            if told["state"] != "waiting":
                break
            time.sleep(OFTEN)
    done = time.time()
    return [answered - begun, done - ready, done - asked, done - begun]


def _handed_in(visitor: Visitor, place: str, body: dict[str, Any]) -> httpx.Response:
    handed = visitor.spend(place, body)
    while handed.status_code == 429:
        time.sleep(0.5)
        handed = visitor.spend(place, body)
    assert handed.status_code == 202, handed.text
    return handed


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

    Where slots are off one batch waits at a time: whoever wants to learn from times asks when nobody else does.
    """
    site = Site(
        folder,
        tables=tables,
        budget=ht.PureDP(10_000),
        settings={"slots": slots},
        dataset_settings=f"largest_rows = {largest}\n",
        schema=SCHEMA + "person: id\nmax_rows_per_person: 1\n",
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
                return name, seen_times(
                    visitor, f"/v1/datasets/{name}/releases", [RELEASE] * (1 if slots else BATCH)
                )
            return name, seen_times(visitor, f"/v1/datasets/{name}/checks", [check(upload, number)])

        with ThreadPoolExecutor(AT_ONCE if slots else 1) as pool:
            rows = list(pool.map(ask, interleaved(list(tables), jobs)))
        overruns = site.service.jobs.overruns()
    return {name: np.array([times for at, times in rows if at == name]) for name in tables}, overruns


def numbered(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of as many people."""
    return rows.with_columns(id=pl.int_range(pl.len(), dtype=pl.Int64))


def pair_of(pair: str) -> tuple[dict[str, pl.DataFrame], int]:
    """Two tables, and the rows that both declare."""
    if pair == "neighbours":
        few = numbered(people(5000))
        heavy = people(HEAVY, seed=5).with_columns(id=pl.lit(few.height, dtype=pl.Int64))
        return {"one": few, "two": pl.concat([few, heavy])}, 250_000
    largest = int(os.environ.get("HUSH_LATENCY_ROWS", "1000000"))
    return {"one": numbered(people(1000)), "two": numbered(people(largest))}, largest


def measured(folder: Path, pair: str, jobs: int, *, releases: bool, slots: bool) -> tuple[float, float]:
    """The advantage of a distinguisher in a campaign of so many jobs or batches of each table, and its upper bound."""
    tables, largest = pair_of(pair)
    times, overruns = campaign(folder, tables, jobs, largest, releases=releases, slots=slots)
    found, bound = advantage(times["one"], times["two"])
    medians = [f"{np.median(times[name][:, -1]):.3f}" for name in ("one", "two")]
    kind = "releases" if releases else "checks"
    told = f"{pair}, slots {slots}: {jobs} x 2 {kind}, advantage {found:.3f}, bound {bound:.3f}"
    print(f"{told}, median s {medians}, overruns {overruns}", flush=True)
    return found, bound


PAIRS = pytest.mark.parametrize("pair", ["neighbours", "sizes"])


@pytest.mark.slow
@PAIRS
def test_times_of_checks_tell_nothing_with_slots(tmp_path: Path, pair: str) -> None:
    jobs = int(os.environ.get("HUSH_LATENCY_JOBS", "2000"))
    _, bound = measured(tmp_path, pair, jobs, releases=False, slots=True)
    assert bound < 0.05


@pytest.mark.slow
@PAIRS
def test_times_of_releases_tell_nothing_with_slots(tmp_path: Path, pair: str) -> None:
    found, _ = measured(tmp_path, pair, FEW, releases=True, slots=True)
    assert found < 0.3


@pytest.mark.slow
@PAIRS
def test_times_tell_much_without_slots(tmp_path: Path, pair: str) -> None:
    """So much that nobody would call it noise: even the lower end of what 60 batches show is above the bound."""
    found, bound = measured(tmp_path, pair, FEW, releases=True, slots=False)
    assert found - (bound - found) > 0.05 and found > 0.5
