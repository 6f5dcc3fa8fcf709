"""The five fits against closed forms, Lawson-Hanson and a generic convex solver."""

from __future__ import annotations

from math import prod

import cvxpy as cp
import numpy as np
import pytest
from scipy.optimize import nnls

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.microdata import Measurement, Noise, fit, fitting
from hushtable.microdata.reweight import reweight

RNG = np.random.default_rng(20260101)
SMALL = [(4,), (3, 4), (2, 3, 2), (5, 2), (1, 4), (6, 6)]


def queries(shape, axes):
    cells = np.eye(prod(shape)).reshape(*shape, -1)
    return cells.sum(axis=tuple(k for k in range(len(shape)) if k not in axes)).reshape(-1, prod(shape))


def random_case(rng, shape, sets=None, law="laplace"):
    """A sparse table and noisy answers to the sum, the one-way marginals and the cells."""
    table = np.where(rng.random(shape) < 0.6, 0.0, rng.integers(0, 60, shape)).astype(float)
    sets = sets or [(), *((k,) for k in range(len(shape)) if len(shape) > 1), tuple(range(len(shape)))]
    made = []
    for axes in sets:
        true = queries(shape, axes) @ table.ravel()
        scale = float(rng.choice([3.0, 8.0, 20.0]))
        noise = Noise.laplace(scale) if law == "laplace" else Noise.gaussian(scale**2)
        draw = rng.laplace(0, scale, true.shape) if law == "laplace" else rng.normal(0, scale, true.shape)
        made.append(Measurement(axes, (true + draw).reshape([shape[a] for a in axes]), noise))
    return made


def stacked(measurements, shape, weights=None):
    """Rows and answers divided by their noise."""
    rows = [queries(shape, m.axes) if m.matrix is None else m.matrix for m in measurements]
    return rows, [m.answers.ravel() for m in measurements], [m.noise.std for m in measurements]


def by_lawson_hanson(rows, answers, weights):
    root = [np.sqrt(np.broadcast_to(w, len(a))) for w, a in zip(weights, answers, strict=True)]
    left = np.concatenate([r * q[:, None] for r, q in zip(rows, root, strict=True)])
    return nnls(left, np.concatenate([a * q for a, q in zip(answers, root, strict=True)]), maxiter=10000)[0]


def objective(rows, answers, weights, x):
    return sum(
        float((np.broadcast_to(w, len(a)) * (r @ x - a) ** 2).sum())
        for r, a, w in zip(rows, answers, weights, strict=True)
    )


@pytest.mark.parametrize("shape, expected", [((10, 10), (105.8, 10578.5)), ((9, 24), (110.6, 23887.9))])
def test_ordinary_least_squares_has_the_known_errors_in_two_dimensions(shape, expected):
    """The expected squared errors at epsilon 0.5, from the fit's linear map applied to unit answers."""
    sets, noise = [(), (0,), (1,), (0, 1)], Noise.laplace(8.0)
    sums = cells = 0.0
    for k, axes in enumerate(sets):
        n = prod(shape[a] for a in axes)
        for i in range(n):
            answers = [np.zeros([shape[a] for a in s]) for s in sets]
            answers[k].reshape(-1)[i] = 1.0
            x = fit(
                [Measurement(s, a, noise) for s, a in zip(sets, answers, strict=True)], shape, "ols"
            ).weights
            sums += noise.variance * x.sum() ** 2
            cells += noise.variance * (x**2).sum()
    assert (round(sums, 1), round(cells, 1)) == expected


@pytest.mark.parametrize(
    "noise, expected", [(Noise.laplace(2.0), (7.92, 792.1)), (Noise.gaussian(2.0), (1.98, 198.0))]
)
def test_ordinary_least_squares_has_the_known_errors_in_one_dimension(noise, expected):
    unit = np.eye(100)
    both = [
        fit([Measurement((), 0.0, noise), Measurement((0,), e, noise)], (100,), "ols").weights for e in unit
    ]
    both.append(
        fit([Measurement((), 1.0, noise), Measurement((0,), np.zeros(100), noise)], (100,), "ols").weights
    )
    sums = noise.variance * sum(x.sum() ** 2 for x in both)
    cells = noise.variance * sum((x**2).sum() for x in both)
    assert (round(sums, 2), round(cells, 1)) == expected


@pytest.mark.parametrize("shape", SMALL)
def test_ordinary_least_squares_solves_the_normal_equations(shape):
    rng = np.random.default_rng(len(shape))
    for _ in range(10):
        given = random_case(rng, shape)
        rows, answers, stds = stacked(given, shape)
        left = np.concatenate([r / s for r, s in zip(rows, stds, strict=True)])
        want = np.linalg.lstsq(
            left, np.concatenate([a / s for a, s in zip(answers, stds, strict=True)]), rcond=None
        )[0]
        found = fit(given, shape, "ols")
        np.testing.assert_allclose(found.weights.ravel(), want, rtol=1e-9, atol=1e-8)
        assert found.certificate < 1e-12


@pytest.mark.parametrize("shape", SMALL)
def test_nonnegative_least_squares_agrees_with_lawson_hanson(shape):
    rng = np.random.default_rng(10 + len(shape))
    for _ in range(20):
        given = random_case(rng, shape)
        rows, answers, stds = stacked(given, shape)
        want = by_lawson_hanson(rows, answers, [1 / s**2 for s in stds])
        found = fit(given, shape, "nnls")
        np.testing.assert_allclose(found.weights.ravel(), want, rtol=1e-6, atol=1e-6)
        assert found.certificate < 1e-9


@pytest.mark.parametrize("shape", SMALL)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_reweighted_fitting_agrees_with_lawson_hanson(shape, law):
    rng = np.random.default_rng(20 + len(shape))
    for _ in range(10):
        given = random_case(rng, shape, law=law)
        rows, answers, _ = stacked(given, shape)
        every, want_answers, weights = [], [], []
        for r, a, m in zip(rows, answers, given, strict=True):
            split = reweight(m.answers, m.noise, 0.99)
            every += [r, r[split.low].sum(axis=0, keepdims=True)]
            want_answers += [a, np.array([a[split.low].sum()])]
            weights += [split.weights, split.sum_weight]
        want = by_lawson_hanson(every, want_answers, weights)
        found = fit(given, shape, "reweighted")
        np.testing.assert_allclose(found.weights.ravel(), want, rtol=1e-6, atol=1e-5)


def sequential_twin(given, shape):
    """Algorithm 1, each level by a generic solver."""
    rows, answers, stds = stacked(given, shape)
    fixed, values = [], []
    for r, a, s in zip(rows, answers, stds, strict=True):
        x = cp.Variable(prod(shape))
        limits = [x >= 0, *(q @ x == v for q, v in zip(fixed, values, strict=True))]
        problem = cp.Problem(cp.Minimize(cp.sum_squares((r @ x - a) / s)), limits)
        problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
        fixed.append(r)
        values.append(r @ x.value)
    return values


def max_twin(given, shape):
    """The smallest largest deviation and then least squares, both by a generic solver."""
    rows, answers, stds = stacked(given, shape)
    tight = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
    x, t = cp.Variable(prod(shape)), cp.Variable()
    gaps = [(r @ x - a) / s for r, a, s in zip(rows, answers, stds, strict=True)]
    cp.Problem(cp.Minimize(t), [x >= 0, *(cp.abs(g) <= t for g in gaps)]).solve(solver=cp.CLARABEL, **tight)
    reach = float(t.value)
    within = [cp.abs(g) <= reach * (1 + 1e-9) + 1e-9 for g in gaps]
    squares = sum(cp.sum_squares(g) for g in gaps)
    cp.Problem(cp.Minimize(squares), [x >= 0, *within]).solve(solver=cp.CLARABEL, **tight)
    return x.value, reach


def near_sequential_twin(found, given, shape):
    """Each level's answers are those of the twin."""
    rows, answers, _ = stacked(given, shape)
    scale = max(np.abs(a).max() for a in answers)
    for r, want in zip(rows, sequential_twin(given, shape), strict=True):
        np.testing.assert_allclose(r @ found.weights.ravel(), want, rtol=0, atol=1e-6 * scale)
    assert found.certificate < 1e-9
    assert found.weights.min() >= 0


def near_max_twin(found, given, shape):
    """The largest deviation is the twin's, and so is the table."""
    rows, answers, stds = stacked(given, shape)
    weights, (want, reach) = found.weights.ravel(), max_twin(given, shape)
    worst = max(np.abs((r @ weights - a) / s).max() for r, a, s in zip(rows, answers, stds, strict=True))
    assert worst == pytest.approx(reach, rel=1e-6, abs=1e-6)
    scale = max(np.abs(a).max() for a in answers)
    np.testing.assert_allclose(weights, want, rtol=0, atol=1e-6 * scale)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate", "ignore::RuntimeWarning:cvxpy")
@pytest.mark.parametrize("cases", [6, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 2), (5, 5)])
@pytest.mark.parametrize(
    ("method", "near_twin", "seed"),
    [("sequential", near_sequential_twin, 30), ("max", near_max_twin, 40)],
    ids=["sequential", "max"],
)
def test_fitting_agrees_with_a_generic_solver(shape, cases, method, near_twin, seed):
    rng = np.random.default_rng(seed + len(shape))
    for _ in range(cases):
        given = random_case(rng, shape)
        near_twin(fit(given, shape, method), given, shape)


def test_sequential_fitting_of_marginals_that_form_a_cycle_agrees_with_a_generic_solver():
    rng = np.random.default_rng(5)
    shape, sets = (2, 2, 3), [(0, 1), (1, 2), (0, 2)]
    for _ in range(5):
        given = random_case(rng, shape, sets)
        rows, _, _ = stacked(given, shape)
        found = fit(given, shape, "sequential").weights.ravel()
        for r, want in zip(rows, sequential_twin(given, shape), strict=True):
            np.testing.assert_allclose(r @ found, want, rtol=1e-4, atol=1e-3)


def test_a_query_matrix_gives_the_same_fit_as_the_marginals_it_spells_out():
    rng = np.random.default_rng(1)
    given = random_case(rng, (3, 4))
    spelt = [Measurement(None, m.answers.ravel(), m.noise, queries((3, 4), m.axes)) for m in given]
    for method in ("ols", "nnls", "max", "sequential", "reweighted"):
        np.testing.assert_allclose(
            fit(spelt, (3, 4), method).weights, fit(given, (3, 4), method).weights, rtol=1e-5, atol=1e-4
        )


def test_marginals_without_cells_are_fitted_as_well_as_any_table_can():
    rng = np.random.default_rng(2)
    for shape in [(3, 4), (2, 3, 2)]:
        given = random_case(rng, shape, [(), *((k,) for k in range(len(shape)))])
        rows, answers, stds = stacked(given, shape)
        weights = [1 / s**2 for s in stds]
        best = objective(rows, answers, weights, by_lawson_hanson(rows, answers, weights))
        found = fit(given, shape, "nnls")
        assert objective(rows, answers, weights, found.weights.ravel()) <= best * (1 + 1e-8) + 1e-8
        assert found.weights.min() >= 0


def test_impossible_cells_stay_empty():
    rng = np.random.default_rng(3)
    possible = rng.random((4, 5)) < 0.7
    for method in ("nnls", "max", "sequential", "reweighted"):
        found = fit(random_case(rng, (4, 5)), (4, 5), method, possible=possible).weights
        assert (found[~possible] == 0).all() and found.min() >= 0


def test_priorities_decide_which_answers_are_kept():
    noise = Noise.gaussian(1.0)
    given = [Measurement((), 10.0, noise), Measurement((0,), [8.0, 8.0], noise)]
    assert fit(given, (2,), "sequential").weights.sum() == pytest.approx(10.0)
    assert fit(given, (2,), "sequential", priorities=[[1], [0]]).weights.sum() == pytest.approx(16.0)
    assert fit(given, (2,), "sequential", priorities=[[0, 1]]).weights.sum() == pytest.approx(12.0)


def good():
    return [Measurement((0,), [1.0, 2.0], Noise.laplace(1.0))]


@pytest.mark.parametrize(
    "code, make",
    [
        ("microdata.shape", lambda: fit(good(), (3,), "nnls")),
        ("microdata.shape", lambda: Measurement((0,), [[1.0]], Noise.laplace(1.0))),
        ("microdata.shape", lambda: Measurement(None, [1.0], Noise.laplace(1.0))),
        ("microdata.shape", lambda: Measurement((1, 0), [[1.0]], Noise.laplace(1.0))),
        ("microdata.shape", lambda: fit([Measurement((4,), [1.0, 2.0], Noise.laplace(1.0))], (2,), "nnls")),
        ("microdata.not-finite", lambda: Measurement((0,), [1.0, np.nan], Noise.laplace(1.0))),
        ("microdata.noise", lambda: Noise.laplace(float("inf"))),
        ("microdata.noise", lambda: Noise.gaussian(None)),
        ("microdata.noise", lambda: Noise.gaussian(-1.0)),
        ("microdata.noise", lambda: Measurement((0,), [1.0], None)),
        ("microdata.noise", lambda: Noise.truncated_geometric(1.0, 0)),
        ("microdata.priorities", lambda: fit(good(), (2,), "sequential", priorities=[[0], [0]])),
        ("microdata.priorities", lambda: fit(good(), (2,), "sequential", priorities=[])),
        ("microdata.method", lambda: fit(good(), (2,), "best")),
        ("microdata.empty", lambda: fit([], (2,), "nnls")),
        ("microdata.confidence", lambda: fit(good(), (2,), "reweighted", confidence=1.0)),
        (
            "microdata.too-large",
            lambda: fit([Measurement((), 1.0, Noise.laplace(1.0))], (10**4, 10**4), "nnls"),
        ),
        (
            "microdata.not-disjoint",
            lambda: fit(
                [Measurement(None, [1.0, 1.0], Noise.laplace(1.0), np.ones((2, 2)))], (2,), "reweighted"
            ),
        ),
    ],
)
def test_bad_input_is_refused_with_a_code(code, make):
    with pytest.raises(HushtableError) as caught:
        make()
    assert caught.value.code == code and caught.value.fix


def test_balanced_fitting_keeps_the_least_squares_total_and_is_optimal():
    """Twin: a generic solver with the total as an equation."""
    rng = np.random.default_rng(50)
    for shape in [(12,), (4, 5)]:
        given = random_case(rng, shape)
        rows, answers, _ = stacked(given, shape)
        total = max(0.0, float(fit(given, shape, "ols").weights.sum()))
        x = cp.Variable(prod(shape))
        cost = 0
        for r, a, m in list(zip(rows, answers, given, strict=True))[1:]:
            low = reweight(m.answers, m.noise, 0.99).low
            certain = 1 / m.noise.variance
            weight = np.where(low, certain / 1.5, certain)
            cost += cp.sum_squares(cp.multiply(np.sqrt(weight), r @ x - a))
            if low.any():
                cost += 2 * certain / low.sum() * cp.square(r[low].sum(axis=0) @ x - a[low].sum())
        problem = cp.Problem(cp.Minimize(cost), [x >= 0, cp.sum(x) == total])
        problem.solve(solver=cp.CLARABEL)
        found = fit(given, shape, "balanced")
        assert found.weights.sum() == pytest.approx(total, abs=1e-6) and found.weights.min() >= 0
        np.testing.assert_allclose(found.weights.ravel(), x.value, atol=2e-3)
        assert found.certificate < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("quarter", range(4))
def test_a_hundred_thousand_fits_all_succeed(quarter):
    rng = np.random.default_rng([11, quarter])
    for k in range(25_000):
        given = random_case(rng, SMALL[k % len(SMALL)])
        method = ("nnls", "sequential", "reweighted")[k % 3] if k % 50 else "max"
        assert fit(given, SMALL[k % len(SMALL)], method).certificate < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("method", ["nnls", "sequential", "reweighted"])
def test_a_million_cells_are_fitted_with_their_marginals(method):
    rng = np.random.default_rng(12)
    shape = (1000, 1000)
    table = np.where(rng.random(shape) < 0.9, 0.0, rng.integers(0, 100, shape)).astype(float)
    noise = Noise.laplace(8.0)
    answers = [((), table.sum()), ((0,), table.sum(1)), ((1,), table.sum(0)), ((0, 1), table)]
    given = [Measurement(axes, a + rng.laplace(0, 8.0, np.shape(a)), noise) for axes, a in answers]
    assert fit(given, shape, method).certificate < 1e-6


def test_every_way_of_fitting_that_is_offered_is_there() -> None:
    assert list(fitting._WAYS) == list(ht.microdata.METHODS)
