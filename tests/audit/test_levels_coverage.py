"""Intervals of counts on every level, ranges, areas, sums, shares, quantiles and whole numbers, over whole runs.

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
    """Of all whole numbers that are published, on every level."""
    whole = release.whole_numbers()
    layout = whole.made.layout
    axes = layout.axes
    told = np.concatenate([np.ravel(summed_to(axes, truth, axes.finest, s)) for s in layout.sets])
    return float(((whole.lower <= told) & (told <= whole.upper)).mean())


LEVELS = {
    ("region",): (0,),
    ("district",): (0,),
    ("group",): (1,),
    ("year",): (1,),
    ("district", "year"): (0, 1),
    ("region", "group", "sex"): (0, 1, 2),
}
"""Tables on every level, with the axes of the true counts that each has."""


def counts_held(release: ht.Release, truth: np.ndarray) -> dict[str, float]:
    """Tables of each level, by their unbiased intervals."""
    found: dict[str, float] = {}
    for names, kept in LEVELS.items():
        told = truth.sum(axis=tuple({0, 1, 2} - set(kept)))
        for k, name in enumerate(names):
            if name == "region":
                told = np.add.reduceat(told, [0, 3, 4], axis=k)
            if name == "group":
                told = np.add.reduceat(told, [0, 4, 8], axis=k)
        found[" x ".join(names)] = held(release.table(*names), told.ravel())
    return found


def quantiles_held(release: ht.Release, truth: np.ndarray) -> dict[str, float]:
    """Deciles and the median of years by sex: the bin in which the true one lies is inside the interval."""
    below, found = truth.sum(axis=0).cumsum(axis=0), {}
    for name, at in (("median", [0.5]), ("deciles", [k / 10 for k in range(1, 10)])):
        table = release.quantile("age", at, by=("sex",))
        bins = np.concatenate([(below >= q * below[-1]).argmax(axis=0) for q in at])
        inside = (table["lower"].to_numpy() <= bins) & (bins <= table["upper"].to_numpy())
        found[name] = float(inside.mean())
    return found


def run_once(release: ht.Release, truth: np.ndarray, *, whole: bool) -> dict[str, float]:
    weights = pl.DataFrame(
        {"district": ["a", None], "region": [None, "West"], "weight": [2.0, -1.0], "name": "x"}
    )
    places, years = truth.sum(axis=(1, 2)), truth.sum(axis=(0, 2))
    return {
        **counts_held(release, truth),
        **quantiles_held(release, truth),
        "range": held(release.range("age", 2, 6, by=("sex",)), truth[:, 2:7].sum(axis=(0, 1))),
        "range on both levels": held(release.range("age", 4, 9), years[4:10].sum()),
        "area": held(release.area(["b", "d", "e"]), places[[1, 3, 4]].sum()),
        "sum": held(release.combine(weights), 2.0 * places[0] - places[4:].sum()),
        "share": held(release.share("age", 0, 3), years[:4].sum() / years.sum()),
        "whole": published_held(release, truth) if whole else 1.0,
    }


EXACT = (*(" x ".join(names) for names in LEVELS), "range", "range on both levels", "area", "sum", "share")
AT_LEAST = ("median", "deciles", "whole")


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
    print(found)
    for name in EXACT:
        mean, error = found[name]
        assert abs(mean - 0.95) < Z * max(error, (0.0475 / runs) ** 0.5 / 2) + STEP, (name, found)
    for name in AT_LEAST:
        mean, error = found[name]
        assert mean > 0.95 - Z * error - STEP, (name, found)


@pytest.mark.long
def test_noise_that_is_larger_than_priced_is_seen(made):
    found = shares(made, 100, Fraction(4), whole=False)
    assert any(found[name][0] < 0.95 - Z * found[name][1] - STEP for name in EXACT)
