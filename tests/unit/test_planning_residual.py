"""Optimal variances: closed forms against convex solvers, certificates, and exact water filling."""

from __future__ import annotations

import json
import time
from itertools import combinations
from math import prod

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import WorkloadError
from hushtable.marginals import Workload, closure
from hushtable.planning import Problem, conditional_plan, minimax, minimax_variances, residual_plan, root_rows
from hushtable.planning.round_loops import round_precisions
from shared_data import data_file


def price(sizes, tau):
    return prod((sizes[i] - 1) / sizes[i] for i in tau)


def share(sizes, tau, gamma):
    """Variance that one unit of s2 at tau adds to a cell of gamma (aim-grem, Proposition 4.4)."""
    return price(sizes, tau) / prod(sizes[j] for j in gamma if j not in tau) ** 2


def cost(sizes, plan):
    return sum(price(sizes, tau) / (2 * s2) for tau, s2 in plan.items())


def cell_variance(sizes, plan, gamma):
    return sum(s2 * share(sizes, tau, gamma) for tau, s2 in plan.items() if set(tau) <= set(gamma))


def solver_optimum(sizes, workload, rho, weights, objective):
    """The same problem as an explicit convex programme."""
    residuals = [t for t in closure(workload) if all(sizes[i] > 1 for i in t)]
    s2 = cp.Variable(len(residuals), pos=True)
    scale = sum(price(sizes, t) for t in residuals) / (2 * rho)
    terms = []
    for gamma, weight in zip(workload, weights, strict=True):
        row = np.array([share(sizes, t, gamma) if set(t) <= set(gamma) else 0.0 for t in residuals])
        factor = weight * (prod(sizes[i] for i in gamma) if objective == "sum_variance" else 1.0)
        terms.append(factor * (row @ s2))
    value = cp.sum(cp.hstack(terms)) if objective == "sum_variance" else cp.max(cp.hstack(terms))
    prices = np.array([price(sizes, t) for t in residuals])
    problem = cp.Problem(cp.Minimize(value), [cp.sum(cp.multiply(prices, cp.inv_pos(s2))) <= 2 * rho * scale])
    problem.solve(solver=cp.CLARABEL)
    return problem.value * scale


def random_case(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 6))
    sizes = tuple(int(n) for n in rng.integers(1, 9, d))
    everything = [s for k in range(min(d, 3) + 1) for s in combinations(range(d), k)]
    picked = rng.choice(
        len(everything), size=int(rng.integers(1, min(9, len(everything) + 1))), replace=False
    )
    workload = [everything[k] for k in picked]
    weights = [float(w) for w in np.exp(rng.normal(size=len(workload)))]
    return sizes, workload, float(np.exp(rng.normal(scale=2))), weights


@pytest.mark.long
@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("objective", ["sum_variance", "max_variance"])
def test_plans_are_as_good_as_a_convex_solver_and_spend_exactly_rho(seed, objective):
    sizes, workload, rho, weights = random_case(seed)
    plan = residual_plan(sizes, workload, rho, objective=objective, weights=weights)
    assert cost(sizes, plan) == pytest.approx(rho, rel=1e-12)
    variances = [cell_variance(sizes, plan, g) for g in workload]
    if objective == "sum_variance":
        cells = [prod(sizes[i] for i in g) for g in workload]
        value = sum(w * n * v for w, n, v in zip(weights, cells, variances, strict=True))
    else:
        value = max(w * v for w, v in zip(weights, variances, strict=True))
    best = solver_optimum(sizes, workload, rho, weights, objective)
    assert value <= best * (1 + 1e-6)
    assert value >= best * (1 - 1e-4)


def test_the_closed_form_of_the_sum_objective():
    sizes, workload, rho, weights = (4, 3, 5), [(0, 1), (1, 2), (2,)], 0.3, [1.0, 2.0, 0.5]
    plan = residual_plan(sizes, workload, rho, weights=weights)
    above = {
        t: sum(
            w * prod(sizes[i] for i in g) * share(sizes, t, g)
            for g, w in zip(workload, weights, strict=True)
            if set(t) <= set(g)
        )
        for t in closure(workload)
    }
    total = sum(np.sqrt(price(sizes, t) * above[t]) for t in above)
    for t, weight in above.items():
        assert plan[t] == pytest.approx(np.sqrt(price(sizes, t) / weight) * total / (2 * rho), rel=1e-12)


def test_a_workload_brings_its_own_weights():
    workload = Workload([(0, 1), (2,)], weights=[1, 4])
    assert residual_plan((3, 4, 5), workload, 0.1) == residual_plan(
        (3, 4, 5), [(1, 0), (2,)], 0.1, weights=[1, 4]
    )
    with pytest.raises(WorkloadError):
        residual_plan((3, 4, 5), Workload([("age",)]), 0.1)


def test_attributes_of_size_one_need_no_measurement_and_change_nothing():
    with_one = residual_plan((4, 1, 3), [(0, 1, 2)], 0.2)
    without = residual_plan((4, 3), [(0, 1)], 0.2)
    assert with_one == {(): without[()], (0,): without[(0,)], (2,): without[(1,)], (0, 2): without[(0, 1)]}


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_the_certificate_of_the_largest_variance_is_a_true_bound(seed):
    sizes, workload, rho, weights = random_case(100 + seed)
    problem = Problem.of(sizes, [tuple(sorted(g)) for g in workload], weights)
    plan = minimax_variances(problem, rho)
    assert 0 <= plan.gap + 1e-12 < 1e-7
    assert plan.bound <= solver_optimum(sizes, workload, rho, weights, "max_variance") * (1 + 1e-4)


def test_symmetric_workloads_reduce_to_orbits_and_give_the_same_plan(monkeypatch):
    sizes = (2, 2, 2, 3, 3, 5)
    workload = tuple(combinations(range(6), 3))
    problem = Problem.of(sizes, workload, [1.0] * len(workload))
    reduced = minimax_variances(problem, 0.1)
    monkeypatch.setattr(minimax, "_orbits", lambda problem: None)
    full = minimax_variances(problem, 0.1)
    assert reduced.largest == pytest.approx(full.largest, rel=1e-8)
    assert max(reduced.gap, full.gap) < 1e-8


def test_a_workload_that_breaks_the_symmetry_is_not_reduced():
    problem = Problem.of((2, 2, 2), ((0, 1), (1, 2)), [1.0, 1.0])
    assert minimax._orbits(problem) is None
    problem = Problem.of((2, 2), ((0,), (1,)), [1.0, 2.0])
    assert minimax._orbits(problem) is None


@pytest.mark.parametrize(
    ("sizes", "smaller"), [((2, 3, 4, 5, 6), "marginals"), ((2, 3, 4, 5, 6, 7, 8), "residuals")]
)
def test_either_linear_system_solves_to_a_proved_optimum(sizes, smaller):
    d = len(sizes)
    workload = (*combinations(range(d), 3), (0,), (3, 4))
    problem = Problem.of(sizes, workload, [1.0] * len(workload))
    shared = len(problem.residuals.sets) - len(list(combinations(range(d), 3)))
    assert (shared < len(workload)) == (smaller == "residuals")
    assert minimax_variances(problem, 0.1).gap < 1e-8


@pytest.mark.parametrize("seed", range(5))
def test_small_matrices_plan_as_sparse_ones_do(seed, monkeypatch):
    """The same program by arrays and by scipy's sparse matrices, which larger plans use."""
    sizes, workload, rho, weights = random_case(200 + seed)
    problem = Problem.of(sizes, [tuple(sorted(g)) for g in workload], weights)
    small = minimax_variances(problem, rho)
    monkeypatch.setattr(root_rows, "SMALL", 0)
    sparse = minimax_variances(problem, rho)
    assert max(small.gap, sparse.gap) < 1e-7
    assert small.largest == pytest.approx(sparse.largest, rel=1e-8)


def test_the_first_order_method_for_huge_workloads_is_near_and_knows_how_near(monkeypatch):
    sizes = (2, 3, 4, 5, 6, 7)
    workload = (*combinations(range(6), 3), (0,), (4, 5))
    problem = Problem.of(sizes, workload, [1.0] * len(workload))
    exact = minimax_variances(problem, 0.1)
    monkeypatch.setattr(minimax, "DENSE", 0)
    first_order = minimax_variances(problem, 0.1)
    assert first_order.gap < 1e-3
    assert first_order.bound <= exact.largest
    assert first_order.largest >= exact.bound


def test_all_three_way_marginals_of_adult_are_planned_in_seconds():
    sizes = tuple(json.loads(data_file("adult_full-domain.json").read_text()).values())
    workload = tuple(combinations(range(15), 3))
    started = time.perf_counter()
    plan = minimax_variances(Problem.of(sizes, workload, [1.0] * len(workload)), 0.01)
    assert plan.gap < 1e-8
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: residual_plan((2, 2), [], 0.1), "workload.empty"),
        (lambda: residual_plan((2, 2), [(0, 0)], 0.1), "workload.duplicate-attribute"),
        (lambda: residual_plan((2, 2), [(2,)], 0.1), "workload.unknown-attribute"),
        (lambda: residual_plan((2, 2), [(0, 1), (1, 0)], 0.1), "workload.duplicate-marginal"),
        (lambda: residual_plan((2, 0), [(0,)], 0.1), "workload.sizes"),
        (lambda: residual_plan((2, 2), [(0,)], 0.0), "planning.rho"),
        (lambda: residual_plan((2, 2), [(0,)], float("inf")), "planning.rho"),
        (lambda: residual_plan((2, 2), [(0,)], 0.1, objective="median"), "planning.objective"),
        (lambda: residual_plan((2, 2), [(0,)], 0.1, weights=[0.0]), "workload.weights"),
        (lambda: conditional_plan([1.0], [0.0], [0.0]), "planning.conditional"),
        (lambda: conditional_plan([-1.0], [1.0], [0.0]), "planning.conditional"),
        (lambda: conditional_plan([1.0], [1.0], [-1.0]), "planning.conditional"),
        (lambda: conditional_plan([1.0, 1.0], [1.0], [0.0]), "planning.conditional"),
        (lambda: conditional_plan([], [], []), "planning.conditional"),
    ],
)
def test_what_cannot_be_planned_has_a_code(call, code):
    with pytest.raises(WorkloadError) as caught:
        call()
    assert caught.value.code == code


positive = st.floats(1e-3, 1e3)
residuals = st.lists(
    st.tuples(st.just(0.0) | positive, positive, st.just(0.0) | positive), min_size=1, max_size=8
)


@pytest.mark.long
@given(residuals)
@settings(max_examples=200, deadline=None)
def test_the_conditional_plan_meets_its_optimality_conditions(entries):
    v, p, a = (np.array(column) for column in zip(*entries, strict=True))
    x = conditional_plan(v, p, a)
    assert (x >= 0).all()
    assert (x[v == 0] == 0).all()
    if not (v > 0).any():
        return
    assert p @ x == pytest.approx(1.0, rel=1e-9)
    assert p @ x <= 1.0 + 1e-12
    level = v[v > 0] / p[v > 0] / np.maximum(x + a, 1e-300)[v > 0] ** 2
    used = x[v > 0] > 1e-12
    assert np.allclose(level[used], level[used][0], rtol=1e-6)
    assert (level[~used] <= level[used][0] * (1 + 1e-6)).all()


@pytest.mark.parametrize("seed", range(15))
def test_the_conditional_plan_is_no_worse_than_a_convex_solver(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    v, p = np.exp(rng.normal(size=m)), rng.uniform(0.2, 1, m)
    a = np.where(rng.random(m) < 0.4, 0.0, np.exp(rng.normal(size=m)))
    x = cp.Variable(m, nonneg=True)
    problem = cp.Problem(cp.Minimize(cp.sum(cp.multiply(v, cp.inv_pos(x + a)))), [p @ x <= 1])
    problem.solve(solver=cp.CLARABEL)
    plan = conditional_plan(v, p, a)
    assert (v / (plan + a)).sum() <= problem.value * (1 + 1e-7)
    assert (v / (plan + a)).sum() >= problem.value * (1 - 1e-4)


def test_ties_are_shared_and_exact_knowledge_gets_nothing():
    assert conditional_plan([1, 1], [1, 1], [2, 2]).tolist() == [0.5, 0.5]
    assert conditional_plan([1, 1], [0.5, 1], [np.inf, 0]).tolist() == [0.0, 1.0]
    assert conditional_plan([0, 0], [1, 1], [0, 0]).tolist() == [0.0, 0.0]
    assert conditional_plan([0, 4], [0, 1], [0, 0]).tolist() == [0.0, 1.0]


def test_without_prior_knowledge_the_conditional_plan_equals_an_iid_measurement():
    """One marginal, no prior: every residual gets the precision 1 / n_rest of independent noise."""
    sizes, gamma = (4, 3), (0, 1)
    below = closure([gamma])
    x = conditional_plan(
        [share(sizes, t, gamma) for t in below], [price(sizes, t) for t in below], [0.0] * len(below)
    )
    assert np.allclose(x, [1 / prod(sizes[j] for j in gamma if j not in t) for t in below])


@pytest.mark.parametrize("known", [1e15, 1e20, 1e300])
def test_a_budget_that_is_nothing_against_what_is_known_is_still_spent_where_it_helps_most(
    known: float,
) -> None:
    """The first bit of budget does most where v / (p a^2) is largest; rounding must not leave it unspent."""
    v, p, a = np.array([1.0, 9.0, 1.0]), np.array([1.0, 1.0, 0.5]), np.full(3, known)
    x = conditional_plan(v, p, a)
    assert np.argmax(v / p) == np.argmax(x) and float(p @ x) == pytest.approx(1, rel=0.2)


def test_members_that_are_all_too_small_to_measure_alone_are_all_measured() -> None:
    members = np.arange(8)
    error, price, known = np.ones(8), np.ones(8), np.zeros(8)
    chosen, precisions = round_precisions(members, error, price, known, 0.5, 0.3, True)
    assert chosen.tolist() == members.tolist() and precisions.sum() == pytest.approx(0.5)
