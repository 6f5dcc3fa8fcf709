"""Releases killed at every step and at random moments: nothing is lost that was stored, nothing is paid for twice."""

from __future__ import annotations

import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fresh import forkserver
from release_campaign import LOSING, POINTS, die_at, die_in_a_fresh_interpreter, left_in, prepare, repeat

QUICK = ("reserve.committed", "charge.inserted", "charge.committed", "store.renamed", "store.committed")


@pytest.fixture
def context() -> Any:
    return forkserver()


@pytest.mark.parametrize(
    "point", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in POINTS]
)
def test_a_release_killed_at_a_step_is_resumed_by_repeating_it(
    point: str, memory_path: Path, context: Any, capfd: Any
) -> None:
    folder = memory_path / "one"
    prepare(folder)
    assert die_at(context, folder, point)[0] == -signal.SIGKILL
    before = left_in(folder)
    end = repeat(folder, before, capfd)
    step = point.split(".")[0]
    if point in LOSING:
        assert end == "draw lost"
    elif step in ("store", "settle"):
        assert end == "resumed"
    else:
        assert end == "spent when repeated"
        assert before.charges == 0


def killed_at_random(kills: int, place: Path, context: Any, capfd: Any, seed: int) -> Counter[str]:
    """Kill so many releases, each after a part of the time that a whole one takes."""
    chance = random.Random(seed)
    prepare(place / "whole")
    code, whole = die_at(context, place / "whole", None)
    assert code == 0
    ends: Counter[str] = Counter()
    killed = number = 0
    while killed < kills:
        folder = place / f"{number:04}"
        number += 1
        prepare(folder)
        code, lived = die_at(context, folder, None, after=chance.uniform(0.3, 1.0) * whole)
        killed += code == -signal.SIGKILL
        assert code in (0, -signal.SIGKILL)
        whole = lived if code == 0 else whole  # a machine that is less busy now would never be hit again
        ends[repeat(folder, left_in(folder), capfd)] += 1
    return ends


@pytest.mark.parametrize("kills", [2, pytest.param(280, marks=pytest.mark.slow)])
def test_releases_killed_at_random_moments(kills: int, memory_path: Path, context: Any, capfd: Any) -> None:
    ends = killed_at_random(kills, memory_path, context, capfd, seed=kills)
    assert sum(ends.values()) >= kills


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_fresh_interpreter_killed_at_a_random_moment(kills: int, memory_path: Path, capfd: Any) -> None:
    chance = random.Random(kills)
    for number in range(kills):
        folder = memory_path / f"{number:04}"
        prepare(folder)
        assert die_in_a_fresh_interpreter(folder, chance.uniform(1, 6)) in (0, -signal.SIGKILL)
        repeat(folder, left_in(folder), capfd)
