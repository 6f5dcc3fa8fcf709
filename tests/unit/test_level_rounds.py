"""``auto`` on levels: two batches for one budget, the second where the first says that it gains most."""

from __future__ import annotations

from collections.abc import Callable, Generator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hushtable as ht
from hushtable.axes import Axes
from hushtable.marginals import Layout, ResolvedWorkload, summed_to
from hushtable.measurement import Answers, Measure, Purse, Reply, ResidualPart
from hushtable.planning import State, level_rounds
from hushtable.planning.batch import residual_part
from hushtable.planning.level_rounds import FIRST, level_policy
from hushtable.reconstruct import StateFits, fit_tables, from_answers

CROOKED = Axes(
    (3, 43, 83, 8, 2),
    (-1, 0, 1, -1, -1),
    ([0, 3], [0, 1, 41, 43], [0, *range(40, 81), 82, 83], [0, 8], [0, 2]),
)
"""One parent of forty leaves, forty parents of one leaf, and a pair: no row pays for both levels."""
EVEN = Axes((4, 24, 96, 8, 2), (-1, 0, 1, -1, -1), ([0, 4], range(0, 25, 6), range(0, 97, 4), [0, 8], [0, 2]))
SETS = ((2, 3), (1, 4), (0, 3, 4))
PEOPLE = 40_000


def workload(axes: Axes) -> ResolvedWorkload:
    return ResolvedWorkload(SETS, (Fraction(1),) * 3, axes)


def people(axes: Axes, seed: int, *, dependent: bool) -> np.ndarray:
    """Counts on the finest levels; leaves of very different size."""
    chance = np.random.default_rng(seed)
    leaves = axes[2]
    shares = chance.gamma(0.7, 1.0, leaves)[:, None, None] * np.ones((leaves, 8, 2))
    if dependent:
        shares = shares * chance.gamma(2.0, 1.0, (axes[0], 8, 1))[axes.codes_above(2, 0)]
    return chance.multinomial(PEOPLE, shares.ravel() / shares.sum()).reshape(shares.shape)


Asked = list[tuple[Measure, np.ndarray]]


def drawn(
    counts: np.ndarray, axes: Axes, chance: np.random.Generator
) -> Callable[[ResidualPart], np.ndarray]:
    def answer(part: ResidualPart) -> np.ndarray:
        told = [np.ravel(summed_to(axes, counts, axes.finest, s)) for s in part.sets]
        noise, values = part.noise, part.exact(np.concatenate(told).astype(np.int64))
        deviations = np.repeat(np.sqrt(np.array(noise.parameters, float)), noise.lengths)
        moved = np.rint(chance.normal(0.0, deviations)).astype(np.int64)
        values[slice(None) if noise.places is None else noise.places] += moved
        return values

    return answer


def measured(
    axes: Axes, counts: np.ndarray, rho: Fraction, chance: np.random.Generator
) -> tuple[State, Asked]:
    """A whole run, and what it asked."""
    state, purse, found = State.empty(Layout(axes, workload(axes).closure)), Purse(rho), Asked()
    policy: Generator[Any, Any, None] = level_policy(workload(axes), state, purse, StateFits().levels)
    answer, request = drawn(counts, axes, chance), next(policy)
    while True:
        purse.pay(request.rho)
        found.append((request, answer(request.part)))
        try:
            request = policy.send(Reply(*found[-1]))
        except StopIteration:
            return state, found


def error(tables: Any, axes: Axes, counts: np.ndarray) -> float:
    """Mean L1 over records."""
    told = [np.abs(tables.table(s) - summed_to(axes, counts, axes.finest, s)).sum() for s in SETS]
    return float(np.mean(told)) / PEOPLE


@pytest.mark.parametrize("axes", [CROOKED, EVEN], ids=["crooked", "even"])
@pytest.mark.parametrize("rho", [Fraction(1, 10_000), Fraction(1, 10), Fraction(20)])
def test_two_batches_spend_the_budget_the_first_by_the_residual_plan(axes, rho):
    _, (first, second) = measured(axes, people(axes, 1, dependent=True), rho, np.random.default_rng(1))
    planned = residual_part(workload(axes), rho * FIRST)
    assert first[0].part.sets == planned.sets and first[0].part.precisions == planned.precisions
    assert rho * (1 - Fraction(1, 10**6)) < first[0].rho + second[0].rho <= rho


def test_what_is_left_goes_on_as_before_where_too_little_is_to_be_gained(monkeypatch):
    """Both batches together are then the one of the residual planner."""
    monkeypatch.setattr(level_rounds, "LEAST_GAIN", 0.9)
    rho = Fraction(1, 10)
    _, (first, second) = measured(EVEN, people(EVEN, 1, dependent=True), rho, np.random.default_rng(1))
    more = np.array([float(p) for p in second[0].part.precisions])
    planned = np.array([float(p) for p in residual_part(workload(EVEN), rho).precisions])
    assert second[0].part.sets == first[0].part.sets
    np.testing.assert_allclose(more / planned, float(1 - FIRST), rtol=1e-4)


def test_what_is_left_goes_where_tables_depend():
    """The residual of leaves by the third attribute is empty: it gets less of the rest than its share of the plan."""
    counts, rho = people(EVEN, 1, dependent=False), Fraction(1, 50)
    _, (first, second) = measured(EVEN, counts, rho, np.random.default_rng(1))
    begun, more = (
        dict(zip(r.part.sets, map(float, r.part.precisions), strict=True)) for r, _ in (first, second)
    )
    assert more.get((2, 3), 0.0) / begun[2, 3] < 0.8 * more[2,] / begun[2,]


def test_ranges_are_measured_in_the_batch_that_was_planned_for_them():
    declared = ht.Schema.from_dict(
        {"attributes": {"x": {"type": "integer", "bounds": [0, 15], "levels": "auto"}}}
    )
    resolved, rho = ht.Workload([("x=ranges",)]).resolve(declared), Fraction(1, 10)
    state, purse = State.empty(Layout(resolved.sizes, resolved.closure)), Purse(rho)
    request = next(level_policy(resolved, state, purse, StateFits().levels))
    assert isinstance(request, Measure)
    assert request.part.precisions == residual_part(resolved, rho).precisions


def test_what_began_as_one_batch_ends_with_it():
    """A release of an earlier version whose only batch was stored is resumed: nothing is left, nothing is asked."""
    rho, counts = Fraction(1, 10), people(EVEN, 2, dependent=True)
    state, purse = State.empty(Layout(EVEN, workload(EVEN).closure)), Purse(rho)
    policy = level_policy(workload(EVEN), state, purse, StateFits().levels)
    next(policy)
    stored = Measure(residual_part(workload(EVEN), rho))
    purse.pay(stored.rho)
    with pytest.raises(StopIteration):
        policy.send(Reply(stored, drawn(counts, EVEN, np.random.default_rng(3))(stored.part)))


@pytest.mark.long
@pytest.mark.parametrize("dependent", [True, False])
@pytest.mark.parametrize("axes", [CROOKED, EVEN], ids=["crooked", "even"])
@pytest.mark.parametrize("rho", [Fraction(1, 5000), Fraction(1, 100), Fraction(1)])
def test_two_batches_are_no_worse_than_the_residual_planner_read_in_the_same_way(axes, rho, dependent):
    """Mean L1 of twelve runs each, from fixed seeds; worse would be by more than three standard errors of the mean."""
    counts, chance = people(axes, 4, dependent=dependent), np.random.default_rng(7)
    part, answer = residual_part(workload(axes), rho), drawn(counts, axes, chance)
    two, one = np.empty(12), np.empty(12)
    for k in range(12):
        state, _ = measured(axes, counts, rho, chance)
        two[k] = error(fit_tables("maxent", state, workload(axes).closure), axes, counts)
        batch = from_answers(Answers(part, answer(part)))
        one[k] = error(fit_tables("maxent", batch, workload(axes).closure), axes, counts)
    spread = np.sqrt((two.var(ddof=1) + one.var(ddof=1)) / 12)
    assert two.mean() < one.mean() + 3 * spread, (two.mean(), one.mean(), spread)
    if rho < Fraction(1, 1000):
        assert two.mean() < 0.95 * one.mean()


def test_cells_without_neighbours_do_not_tell_how_far_tables_depart():
    """Leaves and ages are independent, hence phi is 1; a leaf alone in its block has no contrast, whatever phi is."""
    counts, rho = people(CROOKED, 5, dependent=False), Fraction(2)
    part = residual_part(workload(CROOKED), rho)
    noisy = drawn(counts, CROOKED, np.random.default_rng(2))(part)
    fitted: Any = fit_tables("maxent", from_answers(Answers(part, noisy)), workload(CROOKED).closure)
    assert 0.6 < fitted.dispersion[2, 3] < 1.6
