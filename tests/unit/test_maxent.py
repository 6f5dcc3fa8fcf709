"""Maximum-entropy tables, nonnegative tables and bounds, against convex solvers, brute force and simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest

from hushtable.marginals import Incidence, Layout, centre, closure
from hushtable.measurement import Residuals
from hushtable.planning.allocation import LEVELS, Allocation, error_and_gain, tabulate_gains, water_fill
from hushtable.reconstruct import from_residuals
from hushtable.reconstruct import maxent_loops as loops
from hushtable.reconstruct.bounds import Bounder
from hushtable.reconstruct.dispersion import DISPERSIONS, dispersions
from hushtable.reconstruct.maxent import fit_maxent
from hushtable.reconstruct.maxent_tables import MaxentTables
from hushtable.reconstruct.one_way import to_simplex
from hushtable.reconstruct.zeros import Zeros
from simulation import dependent_counts

SIZES = (3, 4, 2, 5)


def table(rows: int, seed: int = 0, sizes: tuple[int, ...] = SIZES) -> np.ndarray:
    return dependent_counts(rows, seed, sizes)


def measured(
    counts: np.ndarray, precision: float, known: tuple[tuple[int, ...], ...], seed: int
) -> Residuals:
    """Centred residuals with isotropic noise of the given precision; 0 where not in ``known``."""
    generator = np.random.default_rng(seed)
    layout = Layout(counts.shape, known)
    values = np.empty(layout.cells)
    for s in known:
        other = tuple(k for k in range(counts.ndim) if k not in s)
        marginal = counts.sum(axis=other)
        noise = generator.standard_normal(marginal.shape) / np.sqrt(precision)
        layout.view(values, s)[...] = centre(marginal + noise)
    return Residuals(layout, values, np.full(len(known), precision))


def test_the_pair_fit_solves_its_convex_problem() -> None:
    generator = np.random.default_rng(3)
    prior = generator.uniform(0.5, 9.0, (3, 4))
    rows, columns = prior.sum(axis=1) * 1.2, prior.sum(axis=0) * 1.2
    y = prior + generator.normal(0, 4.0, prior.shape)
    found = np.empty_like(prior)
    loops.fit_pair(y, prior, 2.5, loops.Margins(rows, columns), found)
    loops.scale_to_margins(found, loops.Margins(rows, columns), 10)
    q = cp.Variable(prior.shape)
    cost = cp.sum_squares(q - y) / 2 + 2.5 * cp.sum(cp.kl_div(q, prior))
    problem = cp.Problem(cp.Minimize(cost), [cp.sum(q, axis=1) == rows, cp.sum(q, axis=0) == columns])
    problem.solve(solver=cp.CLARABEL)
    assert np.abs(found - q.value).max() < 1e-2 * prior.max()
    assert np.allclose(found.sum(axis=0), columns, rtol=1e-9)


@pytest.mark.parametrize("s", [1e-4, 0.3, 50.0, 1e5])
@pytest.mark.parametrize("start", [-5000.0, -3.0, 700.0])
def test_a_cell_is_solved_from_any_start(s: float, start: float) -> None:
    for rhs in (-1e4, -3.0, 0.0, 0.5, 40.0, 1e7):
        u = loops.solve_cell(rhs, s, start)
        assert np.exp(u) + s * u == pytest.approx(rhs, rel=1e-5, abs=1e-5 * (1.0 + s))


def test_proportional_fitting_gives_the_most_random_table_with_its_faces() -> None:
    counts = table(4000, sizes=(3, 4, 2)) + 1.0
    faces = [counts.sum(axis=k) for k in (2, 1, 0)]
    found = np.full(counts.shape, counts.mean())
    loops.scale_to_faces(found, *faces, 400)
    p = cp.Variable(counts.size)
    index = np.arange(counts.size).reshape(counts.shape)
    same = []
    for axis, face in zip((2, 1, 0), faces, strict=True):
        along = np.moveaxis(index, axis, -1).reshape(-1, counts.shape[axis])
        same += [cp.sum(p[row]) == value for row, value in zip(along, face.reshape(-1), strict=True)]
    cp.Problem(cp.Maximize(cp.sum(cp.entr(p / counts.sum()))), same).solve(solver=cp.CLARABEL)
    assert np.abs(found.reshape(-1) - p.value).max() < 1e-3 * counts.max()


def test_the_simplex_projection_is_the_nearest_point() -> None:
    generator = np.random.default_rng(0)
    for _ in range(20):
        y = generator.normal(2.0, 5.0, 7)
        x = cp.Variable(7, nonneg=True)
        cp.Problem(cp.Minimize(cp.sum_squares(x - y)), [cp.sum(x) == 10.0]).solve(solver=cp.CLARABEL)
        assert np.abs(to_simplex(y, 10.0) - x.value).max() < 1e-5


def test_dispersions_find_the_spread_that_made_the_residuals() -> None:
    generator = np.random.default_rng(5)
    means = generator.uniform(5.0, 500.0, 4000)
    found = []
    for phi in (0.5, 8.0, 100.0):
        residual = generator.normal(0.0, np.sqrt(phi * means + 9.0))
        out = np.empty(DISPERSIONS.size)
        loops.dispersion_likelihood(residual, means, 9.0, 1.0, DISPERSIONS, out)
        found.append(out)
    noise = np.full(3, 9.0 / means.mean())
    assert np.allclose(dispersions(np.array(found), noise), (0.5, 8.0, 100.0), rtol=0.35)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 2, 2), (3, 4), (2, 5, 3)])
def test_the_dispersion_of_centred_cells_is_that_of_the_cells(sizes: tuple[int, ...]) -> None:
    """Centring leaves a part prod (1 - 1/n) of the variance, and of the numbers that are free.

    Found without that, phi of tables with two categories would be four to eight times too small.
    """
    generator = np.random.default_rng(6)
    phi, noise, price = 20.0, 300.0, float(np.prod([1.0 - 1.0 / n for n in sizes]))
    means, whole = np.full(sizes, 200.0), np.zeros(DISPERSIONS.size)
    for _ in range(600):
        cells = generator.normal(0.0, np.sqrt(phi * means + noise))
        out = np.empty(DISPERSIONS.size)
        loops.dispersion_likelihood(
            centre(cells).reshape(-1), means.reshape(-1), noise, price, DISPERSIONS, out
        )
        whole += out
    assert 0.8 < dispersions(whole[None, :], np.array([noise / 200.0]))[0] / phi < 1.25


def test_tables_are_nonnegative_have_the_noisy_total_and_tend_to_the_truth() -> None:
    counts = table(5000)
    sets = closure(combinations(range(4), 3))
    errors = []
    for precision in (1e-3, 1.0, 1e4):
        residuals = measured(counts, precision, sets, seed=2)
        fitted = fit_maxent(residuals, sets)
        total = float(residuals.value(()))
        error = 0.0
        for s in combinations(range(4), 3):
            found = fitted.table(s)
            assert (found >= 0).all() and abs(found.sum() - total) < 1e-6 * total
            error += np.abs(found - counts.sum(axis=tuple(set(range(4)) - set(s)))).sum()
        errors.append(error / 5000 / 4)
    assert errors[0] < 1.0 and errors[1] < 0.02 and errors[2] < 0.002


def test_larger_tables_are_fitted_from_their_faces() -> None:
    counts = table(5000)
    sets = closure([(0, 1, 2, 3)])
    fitted = fit_maxent(measured(counts, 1e4, sets, seed=2), sets)
    found = fitted.table((0, 1, 2, 3))
    assert (found >= 0).all() and np.abs(found - counts).sum() / 5000 < 0.03


def test_a_chain_tells_something_of_a_pair_that_nobody_measured() -> None:
    generator = np.random.default_rng(1)
    first = generator.integers(0, 3, 20_000)
    middle = np.where(generator.random(20_000) < 0.9, first, generator.integers(0, 3, 20_000))
    last = np.where(generator.random(20_000) < 0.9, middle, generator.integers(0, 3, 20_000))
    counts = np.zeros((3, 3, 3))
    np.add.at(counts, (first, middle, last), 1)
    known = ((), (0,), (1,), (2,), (0, 1), (1, 2))
    sets = closure([(0, 1, 2)])
    fitted = fit_maxent(measured(counts, 1.0, known, seed=4), sets)
    truth = counts.sum(axis=1)
    assert np.abs(fitted.table((0, 2)) - truth).sum() < 0.1 * np.abs(fitted.products[(0, 2)] - truth).sum()


def test_water_filling_beats_every_exchange_of_budget() -> None:
    generator = np.random.default_rng(8)
    count = 12
    histograms = generator.integers(0, 9, (count, len(LEVELS))).astype(np.float64)
    histograms[:, :15] = histograms[:, 50:] = 0.0
    phi, price = generator.uniform(1.0, 40.0, count), generator.uniform(0.3, 1.0, count)
    weight, start = generator.uniform(0.5, 2.0, count), generator.uniform(0.0, 1e-3, count)
    smooth = np.ones(count, bool)
    logs = np.linspace(np.log(0.2) - 25, np.log(0.2), 112)
    gains = np.zeros((len(phi), len(logs)))
    tabulate_gains(histograms, phi, smooth, smooth, logs, LEVELS, gains)
    x = water_fill(gains, logs, start, price, weight, 0.05)
    assert (x >= start).all() and price @ (x - start) == pytest.approx(0.05)

    def total(at: np.ndarray) -> float:
        return sum(
            weight[k] * error_and_gain(histograms[k], phi[k], True, at[k], LEVELS)[0] for k in range(count)
        )

    best = total(x)
    for a, b in combinations(range(count), 2):
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[a] += sign * 1e-3 / price[a]
            moved[b] -= sign * 1e-3 / price[b]
            if (moved >= start).all():
                assert total(moved) > best * (1 - 1e-4)


def test_an_allocation_spends_its_budget_where_tables_are_unknown() -> None:
    sizes, sets = (6, 6, 6), closure(combinations(range(3), 2))
    layout = Layout(sizes, sets)
    plan = Allocation(layout, Incidence.between(tuple(combinations(range(3), 2)), layout), np.ones(3))
    plan.total = 1000.0
    for k, s in enumerate(sets):
        plan.describe(k, np.full(6 ** len(s), 1000.0 / 6 ** len(s)))
        if len(s) == 2:
            plan.disperse_all(np.array([k]), np.array([500.0 if s == (0, 1) else 1.0]))
    x = plan.spend(0.01)
    assert plan.price @ x / 2 == pytest.approx(0.01)
    pairs = {s: x[layout.index[s]] for s in combinations(range(3), 2)}
    assert pairs[(0, 1)] > 5 * max(pairs[(0, 2)], pairs[(1, 2)])


def test_bounds_hold_the_truth_as_often_as_they_say() -> None:
    """Cells of fully and of partly measured tables; 400 runs: below 92% coverage by chance less than once in 1e6."""
    counts = table(2000)
    known = tuple(s for s in closure(combinations(range(4), 3)) if len(s) <= 2)
    hits: dict[str, list[float]] = {"fully": [], "partly": []}
    layout = Layout(SIZES, known)
    for seed in range(60):
        generator = np.random.default_rng(seed)
        lifted = np.empty(layout.cells, np.int64)
        for s in known:
            marginal = counts.sum(axis=tuple(k for k in range(4) if k not in s))
            exact = np.rint(centre(marginal) * marginal.size)
            noise = generator.normal(0.0, 4.0 * marginal.size, marginal.shape)
            layout.view(lifted, s)[...] = np.rint(exact + noise)
        estimates = from_residuals(layout, lifted, [Fraction(1, 16)] * len(known))
        for s in ((0, 1), (1, 2, 3)):
            bounds = Bounder(estimates, (s,), 0.05).bounds(s)
            truth = counts.sum(axis=tuple(k for k in range(4) if k not in s)).reshape(-1)
            hits[bounds.measured].append(float(((bounds.lower <= truth) & (truth <= bounds.upper)).mean()))
    assert np.mean(hits["fully"]) == pytest.approx(0.95, abs=0.03)
    assert np.mean(hits["partly"]) > 0.95


def test_tables_are_numbers_where_cells_all_but_vanish() -> None:
    """Products of a dozen small shares are below what a number can hold, and counts divided by them are not one."""
    axes = (0, 1, 2, 3)
    known = measured(np.full((2,) * 4, 6.0), 1.0, closure([axes]), seed=0)
    ones = {axis: np.array([1e-103, 100.0]) for axis in axes}
    faces = {s: np.full((2, 2, 2), 12.5) for s in combinations(axes, 3)}
    products = {s: np.full((2, 2), 25.0) for s in combinations(axes, 2)}
    with np.errstate(all="raise", under="ignore"):
        table = MaxentTables(known, 100.0, ones, products, Zeros(), _faces=faces).spread([axes])
    assert np.isfinite(table).all()
