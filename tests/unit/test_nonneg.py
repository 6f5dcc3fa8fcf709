"""Nonnegative tables that agree: on small and mixed workloads, with impossible cells, and at the size of Adult."""

from __future__ import annotations

import json
from itertools import combinations, pairwise

import numpy as np
import pytest

from hushtable.marginals import AttributeSet, Layout, assemble, centre, closure
from hushtable.marginals.kernels import add_sums
from hushtable.measurement import Residuals
from hushtable.reconstruct.maxent import fit_maxent
from hushtable.reconstruct.nonneg import ConsistentTables, fit_nonneg
from hushtable.reconstruct.nonneg_loops import Shared, bring_together, multiply_repeated
from hushtable.reconstruct.zeros import Zeros
from shared_data import data_file
from simulation import dependent_counts

SIZES = (3, 4, 2, 5)

WORKLOADS = {
    "all of order 3": tuple(combinations(range(4), 3)),
    "all of order 2": tuple(combinations(range(4), 2)),
    "mixed orders": ((0, 1, 2), (2, 3), (0, 3)),
    "a chain": ((0, 1), (1, 2), (2, 3)),
    "nothing in common": ((0, 1), (2, 3)),
    "one whole table": ((0, 1, 2, 3),),
    "one-way tables": ((0,), (1,), (2,), (3,)),
}


def noisy(counts: np.ndarray, known: tuple[AttributeSet, ...], precision: float, seed: int) -> Residuals:
    """Centred residuals with normal noise."""
    generator = np.random.default_rng(seed)
    layout = Layout(counts.shape, known)
    values = np.empty(layout.cells)
    for s in known:
        marginal = counts.sum(axis=tuple(k for k in range(counts.ndim) if k not in s))
        layout.view(values, s)[...] = centre(marginal + generator.normal(0, precision**-0.5, marginal.shape))
    return Residuals(layout, values, np.full(len(known), precision))


def records(rows: int, seed: int) -> np.ndarray:
    return dependent_counts(rows, seed, SIZES)


def largest_difference(fitted: ConsistentTables) -> float:
    """Between any two tables, on everything they share."""
    tables = {s: fitted.layout.view(fitted.tables, s) for s in fitted.layout.sets}
    worst = 0.0
    for (s, ours), (t, theirs) in combinations(tables.items(), 2):
        common = set(s) & set(t)
        a = ours.sum(axis=tuple(k for k, axis in enumerate(s) if axis not in common))
        b = theirs.sum(axis=tuple(k for k, axis in enumerate(t) if axis not in common))
        worst = max(worst, float(np.abs(a - b).max()))
    return worst


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(WORKLOADS))
@pytest.mark.parametrize("precision", [1e-4, 0.02, 50.0])
def test_tables_are_nonnegative_and_agree_on_everything_they_share(name: str, precision: float) -> None:
    sets = closure(WORKLOADS[name])
    residuals = noisy(records(300, 0), sets, precision, 1)
    fitted = fit_nonneg(residuals, sets)
    total = fit_maxent(residuals, sets).total
    assert fitted.tables.min() >= 0.0
    assert largest_difference(fitted) < 1e-9 * total
    for s in sets:
        found = fitted.estimate_all(Layout(SIZES, (s,)))
        assert found.min() >= 0.0 and found.sum() == pytest.approx(total, rel=1e-9)


@pytest.mark.long
def test_precise_measurements_give_the_truth() -> None:
    counts = records(3000, 2)
    sets = closure(WORKLOADS["all of order 3"])
    fitted = fit_nonneg(noisy(counts, sets, 1e6, 3), sets)
    for s in WORKLOADS["all of order 3"]:
        truth = counts.sum(axis=tuple(k for k in range(4) if k not in s))
        assert np.abs(fitted.layout.view(fitted.tables, s) - truth).sum() < 0.005 * 3000


def test_impossible_cells_are_zero_and_the_others_agree() -> None:
    rules = [{0: (0,), 3: (1, 2)}, {0: (1,), 1: (3,), 2: (1,)}]
    sets = closure(WORKLOADS["all of order 3"])
    zeros = Zeros.by_rules(SIZES, rules, sets)
    counts = records(2000, 4)
    full = np.zeros(SIZES, bool)
    for rule in rules:
        full[np.ix_(*(rule.get(a, range(n)) for a, n in enumerate(SIZES)))] = True
    counts[full] = 0.0
    for known in (sets, tuple(s for s in sets if len(s) < 3)):
        fitted = fit_nonneg(noisy(counts, known, 0.05, 5), sets, zeros)
        assert fitted.tables.min() >= 0.0
        assert largest_difference(fitted) < 1e-6 * 2000
        for s in sets:
            found = fitted.estimate_all(Layout(SIZES, (s,))).reshape([SIZES[a] for a in s])
            assert (found[full.all(axis=tuple(k for k in range(4) if k not in s))] == 0.0).all()


def test_a_table_is_summed_to_some_of_its_axes_and_multiplied_by_such_sums() -> None:
    groups = np.empty((6, 3), np.int64)
    generator = np.random.default_rng(6)
    table = generator.random((2, 3, 4))
    for axes in [(), (0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)]:
        rest = tuple(k for k in range(3) if k not in axes)
        shape, mask = np.array([0, 2, 3, 4]), sum(1 << (axis + 1) for axis in axes)
        sums = np.zeros(int(np.prod([table.shape[a] for a in axes])))
        add_sums(table.reshape(-1), shape, mask, 1.0, sums, groups)
        assert np.allclose(sums, table.sum(axis=rest).reshape(-1))
        scaled = table.copy()
        multiply_repeated(scaled.reshape(-1), shape, mask, sums, groups)
        assert np.allclose(scaled, table * table.sum(axis=rest, keepdims=True))


def test_a_full_step_takes_tables_to_the_mean_of_what_they_share() -> None:
    generator = np.random.default_rng(7)
    first, second = generator.random((2, 3)), generator.random((3, 4))
    first, second = first / first.sum(), second / second.sum()
    mean = (first.sum(axis=0) + second.sum(axis=1)) / 2.0
    flat, worst = np.concatenate([first.ravel(), second.ravel()]), np.zeros(1)
    layout = Layout((2, 3, 4), ((0, 1), (1, 2)))
    lists = Shared(np.array([0, 2]), np.array([0, 1]), np.array([0b10, 0b01]), np.array([3]))
    bring_together(0, 1, np.array([0]), lists, 1.0, 1.0, layout.tables(flat), worst)
    assert worst[0] == pytest.approx(np.abs(first.sum(axis=0) - second.sum(axis=1)).max())
    for s, axis in (((0, 1), 0), ((1, 2), 1)):
        assert np.allclose(layout.view(flat, s).sum(axis=axis), mean / mean.sum())


@pytest.mark.long
def test_tables_of_adult_agree_to_rounding() -> None:
    """455 tables of 2.6 million cells, every pair measured with a noise of 30 records a cell."""
    sizes = tuple(json.loads(data_file("adult-domain.json").read_text()).values())
    codes = np.loadtxt(data_file("adult.csv.gz"), np.int64, delimiter=",", skiprows=1)
    sets = closure(combinations(range(len(sizes)), 3))
    known = tuple(s for s in sets if len(s) < 3)
    generator, layout = np.random.default_rng(8), Layout(sizes, known)
    values = np.empty(layout.cells)
    for s in known:
        marginal = np.zeros([sizes[a] for a in s])
        np.add.at(marginal, tuple(codes[:, a] for a in s) or ..., 1.0 if s else len(codes))
        layout.view(values, s)[...] = centre(marginal + generator.normal(0.0, 30.0, marginal.shape))
    fitted = fit_nonneg(Residuals(layout, values, np.full(len(known), 1 / 900)), sets)
    assert fitted.tables.min() >= 0.0
    for pair in combinations(range(len(sizes)), 2):
        sums = [
            fitted.layout.view(fitted.tables, s).sum(axis=next(k for k, a in enumerate(s) if a not in pair))
            for s in fitted.layout.sets
            if set(pair) <= set(s)
        ]
        for one, other in pairwise(sums):
            assert np.abs(one - other).max() < 1e-9 * len(codes)


def most_likely(residuals: Residuals, tables: Layout) -> tuple[float, np.ndarray]:
    """Of all nonnegative tables that agree, the ones that the measurements make most likely (cvxpy).

    Tables are sums of centred residuals, so that they agree by construction; the objective is half the squared
    departure of every measured residual, in units of its noise.
    """
    import cvxpy as cp

    inside = Layout(tables.sizes, closure(tables.sets))
    flat = cp.Variable(inside.cells)
    terms, constraints = [], []
    for tau in inside.sets:
        k = inside.index[tau]
        part = flat[int(inside.offsets[k]) : int(inside.offsets[k + 1])]
        ones = [np.eye(n) - np.ones((n, n)) / n for n in inside.shape(tau)]
        centring = np.eye(1)
        for one in ones:
            centring = np.kron(centring, one)
        constraints.append(centring @ part == part)
        if residuals.known(tau):
            departure = part - residuals.value(tau).reshape(-1)
            terms.append(residuals.precision(tau) / 2 * cp.sum_squares(departure))
    units = np.eye(inside.cells)
    matrix = np.stack([assemble(inside, unit, tables) for unit in units], axis=1)
    problem = cp.Problem(cp.Minimize(cp.sum(terms)), [*constraints, matrix @ flat >= 0])
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), matrix @ flat.value


def half_squares(residuals: Residuals, tables: Layout, flat: np.ndarray) -> float:
    """The same objective at given tables that agree."""
    summed = 0.0
    for tau in residuals.layout.sets:
        above = next(s for s in tables.sets if set(tau) <= set(s))
        marginal = tables.view(flat, above).sum(axis=tuple(k for k, a in enumerate(above) if a not in tau))
        summed += residuals.precision(tau) / 2 * float(((centre(marginal) - residuals.value(tau)) ** 2).sum())
    return summed


@pytest.mark.long
def test_the_tables_are_not_the_most_likely_ones_and_lie_nearer_to_the_truth() -> None:
    """What ``nonneg`` is: less likely than the most likely tables, which follow the noise, and more than the truth.

    Ten cases with fixed seeds, so that nothing is left to chance.
    """
    sets = closure(WORKLOADS["all of order 2"])
    freedom = sum(np.prod([SIZES[a] - 1 for a in s]) for s in sets)
    errors, ratios, ours_by_freedom = [], [], []
    for seed in range(10):
        counts = records(300, seed)
        residuals = noisy(counts, sets, 0.01, 100 + seed)
        fitted = fit_nonneg(residuals, sets)
        tables = fitted.layout
        best, likely = most_likely(residuals, tables)
        ours = half_squares(residuals, tables, fitted.tables)
        assert ours >= best * (1 - 1e-6)
        assert likely.min() > -1e-4
        truth = np.concatenate(
            [counts.sum(axis=tuple(k for k in range(4) if k not in s)).reshape(-1) for s in tables.sets]
        )
        errors.append([np.abs(t - truth).sum() for t in (fitted.tables, likely)])
        ratios.append(ours / best)
        ours_by_freedom.append(ours / (freedom / 2))
    near, likely_error = np.mean(errors, axis=0)
    assert near < 0.9 * likely_error
    assert np.mean(ratios) > 1.1
    assert np.mean(ours_by_freedom) < 1.0  # half a unit for each measured number is what the truth has
