"""Levels at worst-case neighbours, their intervals over whole runs, and two wrong mechanisms that must be noticed.

Blocks of three and of two categories: a row pays the same in both, by noise of different size.  One wrong mechanism
prices a level 10% too low (its noise is that much too small), one leaves the scaling by block out.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import numpy as np
import polars as pl
import pytest
from lower_bounds import always_exceeds, discrete_curve, gaussian_excess

from bit_sources import SeededBits, SeededSegments
from dense_levels import Dense
from hushtable.axes import Axes
from hushtable.kernel import draw, open_counter
from hushtable.kernel.draw import Confidential
from hushtable.marginals import Layout, ResolvedWorkload
from hushtable.measurement import Answers, DiscreteNoise, Measure, Purse, Reply, ResidualPart, parts
from hushtable.planning import State, plan_identity, plan_residuals
from hushtable.planning.level_rounds import level_policy
from hushtable.privacy import GaussianNoise
from hushtable.reconstruct import StateFits, from_answers
from hushtable.schema import Schema
from thresholds import AUDIT_BATCHES, Z

GROUPS = 40
RHO = Fraction(1, 2)
TREE = {"wide": ["a", "b", "c"], "narrow": ["d", "e"]}
LEAVES = {"in a block of three": ("a", [2, -1, -1, 0, 0]), "in a block of two": ("d", [0, 0, 0, 1, -1])}


def schema(groups: int) -> Schema:
    level = {"type": "categorical", "tree": TREE}
    return Schema.from_dict(
        {"attributes": {f"x{k}": {**level, "levels": [f"u{k}", f"v{k}"]} for k in range(groups)}}
    )


def batch(leaf: str, moved: list[int], runs: int) -> Callable[[], float]:
    """The finest residual of many attributes, each for RHO; what a person at ``leaf`` moves is looked at."""
    declared = schema(GROUPS)
    sets = tuple((axis,) for axis in declared.record_axes)
    part = ResidualPart(declared.sizes, sets, (2 * RHO * Fraction(3, 2),) * GROUPS)
    change = np.array(moved)
    variance = float((change**2).sum()) / (2 * float(RHO))  # what RHO pays for, from the definition of zCDP
    curve, shift = discrete_curve(moved, variance), float((change**2).sum())

    def answers(people: int) -> np.ndarray:
        frame = pl.DataFrame(
            {name: [leaf] * people for name in declared.attributes},
            schema=dict.fromkeys(declared.attributes, pl.String),
        )
        drawing = Confidential(open_counter(frame, declared)).measure(Measure(part))
        calls = [drawing() for _ in range(-(-runs // GROUPS))]
        return np.stack(calls).reshape(len(calls) * GROUPS, -1)[:runs] @ change

    def once() -> float:
        deviation, middle = (shift * variance) ** 0.5, np.floor(shift / 2) + 0.25
        return gaussian_excess(answers(0), answers(1), curve, middle=middle, deviation=deviation)

    return once


@pytest.mark.parametrize("where", LEAVES)
def test_a_residual_on_levels_hides_a_person_as_well_as_its_price_says(where):
    assert ResidualPart(schema(1).sizes, ((1,),), (3 * RHO,)).rho == RHO
    assert not always_exceeds(batch(*LEAVES[where], 10_000))


@pytest.mark.parametrize(
    ("runs", "batches"),
    [
        pytest.param(20_000, 1, id="quick"),
        pytest.param(20_000, AUDIT_BATCHES, id="full", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("where", LEAVES)
def test_ten_percent_too_little_noise_on_a_level_is_caught(where, runs, batches, monkeypatch):
    bits, gaussian = SeededBits(1), GaussianNoise.segments
    less = Fraction(81, 100)
    monkeypatch.setattr(
        GaussianNoise, "segments", lambda v, n: SeededSegments(gaussian([x * less for x in v], n), bits)
    )
    assert always_exceeds(batch(*LEAVES[where], runs), batches)


AXES = Axes((2, 5, 12, 2), (-1, 0, 1, -1), ([0, 2], [0, 4, 5], [0, 3, 5, 6, 8, 12], [0, 2]))
SETS = ((2, 3), (1,), (0, 3))


def unscaled(layout: Layout, mechanisms) -> DiscreteNoise:
    """The mutant: noise of the widest blocks in all of them."""
    noise = parts_level_noise(layout, mechanisms)
    owner = np.searchsorted(layout.offsets, noise.places, side="right") - 1
    starts = np.cumsum([0, *noise.lengths[:-1]])
    widest = [mechanisms[int(owner[k])].noise_variance for k in starts]
    return DiscreteNoise(GaussianNoise, widest, noise.lengths, places=noise.places)


def dearer(level: int, layout: Layout, mechanisms) -> DiscreteNoise:
    """The mutant: noise of one level as if a row cost 10% less there."""
    noise = parts_level_noise(layout, mechanisms)
    owner = np.searchsorted(layout.offsets, noise.places, side="right") - 1
    starts = np.cumsum([0, *noise.lengths[:-1]])
    less = [Fraction(9, 10) if level in layout.sets[int(owner[k])] else 1 for k in starts]
    return DiscreteNoise(
        GaussianNoise,
        [v * x for v, x in zip(noise.parameters, less, strict=True)],
        noise.lengths,
        places=noise.places,
    )


parts_level_noise = parts.level_noise


def plan(way=plan_residuals) -> ResidualPart:
    return way(ResolvedWorkload(SETS, (Fraction(1),) * 3, AXES), rho=Fraction(1, 200)).part


def row_costs(part: ResidualPart) -> list[Fraction]:
    """What each kind of row costs, from its column of all queries and the noise that is really drawn."""
    dense, noise = Dense(AXES), part.noise
    queries = np.concatenate([dense.residual(s) for s in part.sets])[noise.places]
    variances = [v for v, n in zip(noise.parameters, noise.lengths, strict=True) for _ in range(n)]
    return [sum(Fraction(int(q)) ** 2 / v for q, v in zip(c, variances, strict=True)) / 2 for c in queries.T]


@pytest.mark.parametrize("way", [plan_residuals, plan_identity])
def test_a_level_that_is_priced_too_low_shows_in_the_cost_of_a_row(way, monkeypatch):
    assert max(row_costs(plan(way))) == plan(way).rho
    for level in (0, 1, 2):
        monkeypatch.setattr(parts, "level_noise", partial(dearer, level))
        assert max(row_costs(plan(way))) > plan(way).rho


def coverage(runs: int, seed: int, way=plan_residuals) -> tuple[float, float]:
    """Share of cells on all levels whose 95% interval holds the truth, and its standard error over runs."""
    part, layout, chance = plan(way), Layout(AXES, (*SETS, (2,), (1, 3), ())), np.random.default_rng(seed)
    dense = Dense(AXES)
    counts = chance.integers(0, 500, 24)
    exact = np.concatenate([dense.residual(s) @ counts for s in part.sets])
    truth = np.concatenate([dense.marginal(s) @ counts for s in layout.sets])
    ready = draw.segments_of(part.noise)
    shares, reach = np.empty(runs), np.empty(0)
    for run in range(runs):
        estimates = from_answers(Answers(part, draw.noisy(exact, part.noise, ready=ready)))
        reach = estimates.model.half_widths_of(layout) if run == 0 else reach
        shares[run] = (np.abs(estimates.estimate_all(layout) - truth) <= reach).mean()
    return float(shares.mean()), float(shares.std() / runs**0.5)


@pytest.mark.parametrize(
    "runs", [pytest.param(400, id="quick"), pytest.param(2000, id="full", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("way", [plan_residuals, plan_identity])
def test_intervals_on_every_level_hold_as_often_as_they_say(runs, way):
    mean, error = coverage(runs, 3, way)
    assert abs(mean - 0.95) < Z * error + 0.003  # steps of whole numbers


def rounds(exact: Callable[[ResidualPart], np.ndarray], rho: Fraction) -> Answers:
    """What ``auto`` measures, in two batches of which the second depends on the first."""
    workload = ResolvedWorkload(SETS, (Fraction(1),) * 3, AXES)
    state, purse, found = State.empty(Layout(AXES, workload.closure)), Purse(rho), list[Answers]()
    policy = level_policy(workload, state, purse, StateFits().levels)
    request = next(policy)
    while True:
        assert isinstance(request, Measure)
        purse.pay(request.rho)
        found.append(Answers(request.part, draw.noisy(exact(request.part), request.part.noise)))
        try:
            request = policy.send(Reply(request, found[-1].values))
        except StopIteration:
            return Answers.pooled(AXES, found)


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(20, id="quick", marks=pytest.mark.long),
        pytest.param(2000, id="full", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("rho", [Fraction(1, 200), Fraction(1, 20_000)])
def test_intervals_of_two_batches_hold_as_often_as_they_say(runs, rho):
    """The pooled answers are normal to the first order: what the second batch asks depends on the first one's noise."""
    layout, dense = Layout(AXES, (*SETS, (2,), (1, 3), ())), Dense(AXES)
    counts = np.random.default_rng(3).integers(0, 500, 24)
    truth = np.concatenate([dense.marginal(s) @ counts for s in layout.sets])
    shares = np.empty(runs)
    for run in range(runs):
        estimates = from_answers(
            rounds(lambda part: np.concatenate([dense.residual(s) @ counts for s in part.sets]), rho)
        )
        reach = estimates.model.half_widths_of(layout)
        shares[run] = (np.abs(estimates.estimate_all(layout) - truth) <= reach).mean()
    mean, error = float(shares.mean()), float(shares.std() / runs**0.5)
    print(mean, error)
    assert abs(mean - 0.95) < Z * error + 0.003


@pytest.mark.parametrize("way", [plan_residuals, plan_identity])
def test_scaling_that_is_left_out_shows_in_the_intervals(way, monkeypatch):
    monkeypatch.setattr(parts, "level_noise", unscaled)
    mean, error = coverage(800, 3, way)
    assert abs(mean - 0.95) > Z * error + 0.003
