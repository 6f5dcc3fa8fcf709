"""Exact plans: they fit their budget, price what they measure, and predict their errors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import BudgetError, WorkloadError
from hushtable.marginals import Workload
from hushtable.measurement import MAX_ROWS, check_arithmetic, check_cell_noise
from hushtable.planning import (
    budget_for,
    check_memory,
    memory_need,
    plan_identity,
    plan_residuals,
    residual_plan,
)
from hushtable.planning.exact_plans import round_down
from hushtable.planning.quantiles import normal_spread
from hushtable.privacy import UNIT, ZCDP, PureDP, charge


@dataclass(frozen=True)
class Table:
    names: tuple[str, ...]
    sizes: tuple[int, ...]


def table(*sizes: int) -> Table:
    return Table(tuple(f"a{k}" for k in range(len(sizes))), sizes)


def all_of(order: int, *sizes: int):
    return Workload.all_marginals(table(*sizes), order=order).resolve(table(*sizes))


amounts = st.integers(1, 10**9).map(lambda k: Fraction(k, 10**8)) | st.floats(1e-9, 50).map(Fraction)


@given(amounts, st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_residual_plans_fit_their_budget_after_rounding_up_and_waste_nothing(rho, sizes, rows, order):
    workload = all_of(min(order, len(sizes)), *sizes)
    plan = plan_residuals(workload, rho=rho, rows=rows)
    spent = plan.price(rows).rho
    assert charge(Fraction(0), spent).rho <= ZCDP(rho).limit.rho
    assert spent >= Fraction(ZCDP(rho).limit.rho, UNIT) * (1 - Fraction(1, 2**38))


@given(amounts, st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_identity_plans_fit_their_budget_in_both_currencies(amount, sizes, rows):
    workload = all_of(1, *sizes)
    gaussian = plan_identity(workload, rho=amount, rows=rows).price(rows)
    assert gaussian.xi is None
    assert charge(Fraction(0), gaussian.rho).rho <= ZCDP(amount).limit.rho
    laplace = plan_identity(workload, epsilon=amount, rows=rows).price(rows)
    assert laplace.xi is not None
    assert charge(laplace.xi, Fraction(0)).xi <= PureDP(amount).limit.xi
    assert laplace.xi >= Fraction(PureDP(amount).limit.xi, UNIT) * (1 - Fraction(1, 2**38))


def test_precisions_are_dyadic_with_forty_bits_and_never_above_the_optimum():
    workload = all_of(2, 3, 4, 7)
    best = residual_plan(workload.sizes, workload, 0.1)
    plan = plan_residuals(workload, rho=Fraction(1, 10))
    for tau, precision in zip(plan.part.sets, plan.part.precisions, strict=True):
        assert precision.denominator & (precision.denominator - 1) == 0
        assert precision.numerator.bit_length() <= 40
        assert 1 - 2.0**-38 < float(precision) * best[tau] <= 1


@given(st.floats(1e-300, 1e300))
def test_rounding_down_keeps_forty_bits(value):
    exact = round_down(value)
    assert exact <= Fraction(value) < exact * (1 + Fraction(1, 2**38))


def test_a_plan_lists_one_mechanism_per_residual_and_sums_their_prices():
    plan = plan_residuals(all_of(2, 3, 4, 2), rho=Fraction(1, 2))
    mechanisms = plan.part.mechanisms
    assert [m.sizes for m in mechanisms] == [tuple(plan.part.sizes[i] for i in s) for s in plan.part.sets]
    assert plan.price(3).rho == sum((m.price(3).rho for m in mechanisms), Fraction(0))
    assert plan.price(3).rho == 9 * plan.price().rho


def test_attributes_of_size_one_are_not_measured_and_cost_nothing():
    plan = plan_residuals(all_of(2, 3, 1), rho=Fraction(1, 2))
    assert plan.part.sets == ((), (0,))
    assert np.isfinite(plan.errors().std).all()


def test_predicted_errors_are_those_of_the_formula():
    workload = Workload([(0, 1), (2,), ()], weights=[1, 5, 1]).resolve(table(3, 4, 5))
    plan = plan_residuals(workload, rho=Fraction(1, 100))
    s2 = {t: 1 / float(p) for t, p in zip(plan.part.sets, plan.part.precisions, strict=True)}
    errors = plan.errors(alpha=0.1)
    for k, gamma in enumerate(workload.sets):
        variance = sum(
            s2[t]
            * prod((workload.sizes[i] - 1) / workload.sizes[i] for i in t)
            / prod(workload.sizes[j] for j in gamma if j not in t) ** 2
            for size in range(len(gamma) + 1)
            for t in combinations(gamma, size)
        )
        cells = prod(workload.sizes[i] for i in gamma)
        assert errors.std[k] == pytest.approx(variance**0.5, rel=1e-12)
        assert errors.l1[k] == pytest.approx((2 / np.pi * variance) ** 0.5 * cells, rel=1e-12)
        if gamma:
            assert errors.half_width[k] == pytest.approx(normal_spread(0.1) * variance**0.5, rel=1e-12)
        else:  # the total is one raw integer
            assert errors.half_width[k] == int(errors.half_width[k])


def test_identity_noise_is_split_to_minimise_the_weighted_sum_of_variances():
    workload = Workload([(0,), (0, 1)], weights=[3, 1]).resolve(table(4, 5))
    plan = plan_identity(workload, rho=Fraction(1, 2))
    size = np.array([3 * 4.0, 20.0])
    shares = np.linspace(0.001, 0.999, 999)
    best = min((size / np.array([s, 1 - s])).sum() for s in shares)
    assert (size / np.array([float(p) for p in plan.part.precisions])).sum() <= best * (1 + 1e-9)
    plan = plan_identity(workload, epsilon=Fraction(1))
    best = min((size / np.array([s, 1 - s]) ** 2).sum() for s in shares)
    assert (size / np.array([float(p) for p in plan.part.precisions]) ** 2).sum() <= best * (1 + 1e-9)


@pytest.mark.parametrize("strategy", ["residual-planner", "identity", "laplace"])
@pytest.mark.parametrize("rows", [1, 3])
def test_the_budget_for_a_target_meets_it_and_a_smaller_one_does_not(strategy, rows):
    people = Table(("age", "sex", "income"), (5, 2, 7))
    workload = Workload([("age", "sex"), ("income",), ("age",)]).resolve(people)
    target = {("sex", "age"): 12.5, (2,): 30.0}
    pure = strategy == "laplace"
    name = "identity" if pure else strategy
    budget = budget_for(workload, target, alpha=0.05, strategy=name, rows=rows, pure=pure)

    def widths(amount):
        if strategy == "residual-planner":
            return plan_residuals(workload, rho=amount, rows=rows).errors(0.05).half_width
        if strategy == "identity":
            return plan_identity(workload, rho=amount, rows=rows).errors(0.05).half_width
        return plan_identity(workload, epsilon=amount, rows=rows).errors(0.05).half_width

    enough, short = widths(budget), widths(budget * Fraction(999, 1000))
    assert enough[0] <= 12.5
    assert enough[1] <= 30
    assert short[0] > 12.5 or short[1] > 30


def test_the_largest_variance_objective_needs_less_budget_when_targets_are_its_weights():
    """Weights 1 / target^2 make the minimax plan the cheapest one that meets every target."""
    sets = [(0, 1), (1, 2), (0,)]
    targets = dict(zip(sets, [5.0, 40.0, 3.0], strict=True))
    weighted = Workload(sets, weights=[Fraction(1, int(t * t)) for t in targets.values()]).resolve(
        table(3, 6, 4)
    )
    best = budget_for(weighted, targets, objective="max_variance")
    assert best < budget_for(weighted, targets, objective="sum_variance")


def test_targets_far_above_or_below_one_record_still_get_a_budget():
    workload = Workload([(), (0,), (1,)]).resolve(table(3, 4))
    for target in ({(): 1e9}, {(0,): 1e9}, {(): 0.01}, {(0,): 0.01}):
        rho = budget_for(workload, target)
        widths = dict(zip(workload.sets, plan_residuals(workload, rho=rho).errors().half_width, strict=True))
        assert all(widths[s] <= width for s, width in target.items())


def test_a_raw_total_is_judged_by_its_integer_steps():
    workload = Workload([()]).resolve(table(3))
    rho = budget_for(workload, {(): 2})
    assert plan_residuals(workload, rho=rho).errors().half_width[0] == 2
    assert plan_residuals(workload, rho=rho * Fraction(99, 100)).errors().half_width[0] == 3


@pytest.mark.parametrize(
    ("call", "kind", "code"),
    [
        (lambda w: plan_residuals(w, rho=Fraction(1, 10**13)), BudgetError, "budget.too-small"),
        (lambda w: plan_residuals(w, rho=Fraction(1), rows=0), BudgetError, "budget.rows"),
        (lambda w: plan_identity(w), BudgetError, "budget.currency"),
        (lambda w: plan_identity(w, rho=Fraction(1), epsilon=Fraction(1)), BudgetError, "budget.currency"),
        (lambda w: budget_for(w, {}), WorkloadError, "planning.target"),
        (lambda w: budget_for(w, {(1,): 3.0}), WorkloadError, "planning.target"),
        (lambda w: budget_for(w, {("a0",): -3.0}), WorkloadError, "planning.target"),
        (lambda w: budget_for(w, {(0,): 3.0}, strategy="aim"), WorkloadError, "planning.strategy"),
        (lambda w: plan_residuals(w, rho=Fraction(1)).errors(alpha=0.0), WorkloadError, "planning.alpha"),
    ],
)
def test_what_cannot_be_planned_has_a_code(call, kind, code):
    workload = Workload([(0,)]).resolve(table(3, 4))
    with pytest.raises(kind) as caught:
        call(workload)
    assert caught.value.code == code


def test_arithmetic_that_could_leave_62_bits_is_refused_from_sizes_alone():
    check_arithmetic((2**12, 2**13), [(0, 1)], [1.0])
    with pytest.raises(WorkloadError) as caught:
        check_arithmetic((2**13, 2**13), [(0,), (0, 1)], [1.0, 1.0], names=("zip", "day"))
    assert caught.value.code == "workload.overflow"
    assert "zip x day" in caught.value.message
    with pytest.raises(WorkloadError):
        check_arithmetic((2,), [(0,)], [Fraction(1, 2**120)])
    check_cell_noise([(0,)], [1e16])
    with pytest.raises(WorkloadError):
        check_cell_noise([(0,)], [1e17])


@pytest.mark.long
def test_plans_refuse_what_could_overflow_before_anything_is_measured():
    with pytest.raises(WorkloadError) as caught:
        plan_residuals(all_of(2, 2**13, 2**13), rho=Fraction(1))
    assert caught.value.code == "workload.overflow"
    many = all_of(3, *(2,) * 80)
    with pytest.raises(WorkloadError) as caught:
        plan_identity(many, epsilon=Fraction(1, 10**12))
    assert caught.value.code == "workload.overflow"


def test_the_overflow_bound_holds_for_the_worst_table():
    """All rows in one cell, and in all but one category: a lifted count stays within n_tau times the rows."""
    from hushtable.marginals import lift

    for shape in ((4, 3), (7,), (2, 2, 5)):
        for corner in np.ndindex(*shape):
            counts = np.zeros(shape, np.int64)
            counts[corner] = 1000
            assert np.abs(lift(counts)).max() <= prod(shape) * 1000
    assert MAX_ROWS * 2**25 < 2**62


def test_memory_is_estimated_from_sizes_and_refused_with_advice():
    workload = all_of(2, 10, 20, 30)
    need = memory_need(workload)
    pairs, below = 10 * 20 + 10 * 30 + 20 * 30, 10 * 20 + 10 * 30 + 20 * 30 + 10 + 20 + 30 + 1
    assert workload.cells == pairs and need == 8 * (pairs + below) + 16 * below + 8 * pairs + 40 * pairs
    check_memory(workload, memory=need)
    with pytest.raises(WorkloadError) as caught:
        check_memory(workload, memory=need - 1)
    assert caught.value.code == "workload.too-large"
    assert "--order" in caught.value.fix
