"""Intervals of ranges, areas, sums, medians and whole numbers on levels, over whole runs of fresh noise.

What is linear in unbiased estimates must hold as often as it says; medians and whole numbers at least so often.  With
noise of four times the variance that is priced the same counts must be seen to fail.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.kernel import draw
from hushtable.marginals import summed_to
from hushtable.measurement import Answers, DiscreteNoise
from thresholds import Z

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, district], tree: {North: [a, b, c], South: [d], West: [e, f]}}
  age: {type: integer, bounds: [0, 11], levels: {group: 4, year: 1}}
  sex: {type: categorical, values: [F, M]}
"""
TABLES = [("district", "year"), ("region", "group", "sex"), ("year", "sex")]
STEP = 0.004
"""Whole numbers of a discrete law: intervals of counts hold a little more or less often than their level."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A release, and the true counts over the finest levels."""
    chance = np.random.default_rng(5)
    truth = chance.poisson(chance.gamma(1.0, 30.0, (6, 12, 2)))
    codes = np.repeat(np.indices(truth.shape).reshape(3, -1), truth.ravel(), axis=1)
    people = pl.DataFrame(
        {
            "place": np.array(list("abcdef"))[codes[0]].tolist(),
            "age": codes[1],
            "sex": np.array(["F", "M"])[codes[2]].tolist(),
        }
    )
    session = ht.Session.open(
        people, schema=ht.Schema.loads(SCHEMA), ledger=tmp_path_factory.mktemp("c") / "l", budget=ht.ZCDP(1)
    )
    return session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.02"), strategy="residual-planner"), truth


def held(frame: pl.DataFrame, truth: np.ndarray) -> float:
    lower, upper = (
        ("unbiased_lower", "unbiased_upper") if "unbiased_lower" in frame.columns else ("lower", "upper")
    )
    return float(((frame[lower].to_numpy() <= truth) & (truth <= frame[upper].to_numpy())).mean())


def published_held(release: ht.Release, truth: np.ndarray) -> float:
    published = release.whole_numbers().table("district", "year")
    inside = (published["published_lower"].to_numpy() <= truth.sum(axis=2).ravel()) & (
        truth.sum(axis=2).ravel() <= published["published_upper"].to_numpy()
    )
    return float(inside.mean())


def run_once(release: ht.Release, truth: np.ndarray, *, whole: bool) -> dict[str, float]:
    weights = pl.DataFrame(
        {"district": ["a", None], "region": [None, "West"], "weight": [2.0, -1.0], "name": "x"}
    )
    below = truth.sum(axis=(0,)).cumsum(axis=0)
    middle = (below >= below[-1] / 2).argmax(axis=0)
    median = release.quantile("age", 0.5, by=("sex",))
    places = truth.sum(axis=(1, 2))
    return {
        "range": held(release.range("age", 2, 6, by=("sex",)), truth[:, 2:7].sum(axis=(0, 1))),
        "area": held(release.area(["b", "d", "e"]), places[[1, 3, 4]].sum()),
        "sum": held(release.combine(weights), 2.0 * places[0] - places[4:].sum()),
        "median": float(
            ((median["lower"].to_numpy() <= middle + 1) & (middle <= median["upper"].to_numpy())).mean()
        ),
        "whole": published_held(release, truth) if whole else 1.0,
    }


def shares(
    made, runs: int, factor: Fraction = Fraction(1), *, whole: bool = True
) -> dict[str, tuple[float, float]]:
    release, truth = made
    part = release.answers.part
    axes, finest = part.layout.axes, part.layout.axes.finest
    counts = np.concatenate([np.ravel(summed_to(axes, truth, finest, s)) for s in part.sets])
    exact, noise = part.exact(counts.astype(np.int64)), part.noise
    drawn = DiscreteNoise(
        noise.law, [v * factor for v in noise.parameters], noise.lengths, places=noise.places
    )
    ready = draw.segments_of(drawn)
    found = [
        run_once(
            replace(release, answers=Answers(part, draw.noisy(exact, drawn, ready=ready))), truth, whole=whole
        )
        for _ in range(runs)
    ]
    return {
        name: (float(np.mean([f[name] for f in found])), float(np.std([f[name] for f in found]) / runs**0.5))
        for name in found[0]
    }


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(20, id="quick", marks=pytest.mark.long),
        pytest.param(2000, id="full", marks=pytest.mark.slow),
    ],
)
def test_what_is_made_of_levels_holds_as_often_as_it_says(made, runs):
    found = shares(made, runs)
    for name in ("range", "area", "sum"):
        mean, error = found[name]
        assert abs(mean - 0.95) < Z * max(error, (0.0475 / runs) ** 0.5 / 2) + STEP, (name, found)
    for name in ("median", "whole"):
        mean, error = found[name]
        assert mean > 0.95 - Z * error - STEP, (name, found)


@pytest.mark.long
def test_noise_that_is_larger_than_priced_is_seen(made):
    found = shares(made, 100, Fraction(4), whole=False)
    assert any(found[name][0] < 0.95 - Z * found[name][1] - STEP for name in ("range", "area", "sum"))
