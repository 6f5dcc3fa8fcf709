"""Effectiveness thresholds, the epsilon that a tau needs, optimality of the COUNT test, and the choice of a decider."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from decider_profiles import claim, errors_at, gap_to_optimal, satisfied_at
from hushtable.deciders import (
    AVG,
    COUNT,
    DECIDERS,
    MEDIAN,
    SUM,
    Aggregate,
    Facts,
    Interval,
    Supposed,
    build,
    choose_decider,
    effectiveness_threshold,
    epsilon_needed,
    error_probability,
    probability_satisfied,
)
from hushtable.errors import BudgetError, QueryError

BY_DISTANCE = (
    "count-lm",
    "count-em",
    "count-optimal",
    "count-logistic",
    "sum-lm",
    "sum-margin",
    "sum-logistic",
)
RACES = ("sum-r2t", "sum-r2t-shared", "sum-r2t-centred")


# ---------------------------------------------------------------- the paper's figures, corrected


def test_example_5_3_needs_both_tails() -> None:
    found = effectiveness_threshold("sum-lm", epsilon=0.1, delta=0.05, bound=2_000_000)
    assert found == pytest.approx(5.991e7, rel=1e-3)
    assert found == pytest.approx(2e6 / 0.1 * math.log(20))


def test_example_5_6_has_21_levels() -> None:
    """The paper's formula is enough for every table; the smallest tau that is enough lies below it."""
    found = effectiveness_threshold("sum-r2t", epsilon=0.1, delta=0.05, bound=2_000_000, largest=9000)
    shift = 21 * 2**14 / 0.1 * math.log(21 / 0.05)
    assert shift < found < 4 * 21 * math.log(21 / 0.05) * 9000 / 0.1
    decider = build(
        "sum-r2t", within=Interval(Fraction(9), Fraction(2)), epsilon=0.1, domain=range(2_000_001)
    )
    assert len(decider.edges) == 21 and decider.edges[-1] == 2**21
    assert decider.noise[0] == 21 * 2 / Fraction("0.1")


def test_count_thresholds_have_em_below_lm() -> None:
    lm = effectiveness_threshold("count-lm", epsilon=0.1, delta=0.05)
    em = effectiveness_threshold("count-em", epsilon=0.1, delta=0.05)
    best = effectiveness_threshold("count-optimal", epsilon=0.1, delta=0.05)
    a = math.exp(-0.1)
    assert lm == next(k for k in range(100) if 2 * a**k / (1 + a) <= 0.05) == 31
    assert em == pytest.approx(10 * math.log(19))
    assert best == next(k for k in range(100) if a**k / (1 + a) <= 0.05) == 24


def test_at_the_printed_threshold_the_laplace_decider_errs_twice_as_often() -> None:
    # on a fine grid, where discrete noise is continuous
    bound, epsilon, delta = 10**6, 1.0, 0.05
    printed = round(bound / epsilon * math.log(1 / (2 * delta)))
    error = error_probability("sum-lm", values=[], bound=bound, synthetic=0, tau=printed, epsilon=epsilon)
    assert error == pytest.approx(2 * delta, rel=1e-4)


# ---------------------------------------------------------------- errors at the thresholds


def tables_of(name: str, total: int, largest: int) -> list[list[int]]:
    """True tables with this sum: of one size each, up to the largest value, and mixed ones."""
    if name.startswith("sum-r2t"):
        sizes = [min(2**j, largest) for j in range(1, largest.bit_length() + 1)]
        even = [[size] * (total // size) + [1] * (total % size) for size in sizes]
        mixed = [2] * (total // 4) + [largest] * ((total - 2 * (total // 4)) // largest)
        return [*even, mixed + [1] * (total - sum(mixed))]
    mixed = [-largest] * 9 + [largest] * (total // largest + 9)
    return [[1] * total, mixed + [1] * (total - sum(mixed))]


def worst_of_tables(name: str, tau: float, epsilon: float, delta: float, bound: int, largest: int) -> float:
    """The largest error by ``probability_satisfied`` at distance 0 and at the nearest whole answers from 2 tau on."""
    far = math.ceil(2 * Fraction(repr(tau)))
    found = []
    for distance in (0, far, -far, far + 1, 2 * far):
        if name.startswith("count"):
            facts = [{"true": 40_000 - distance}]
        else:
            total = largest * max(
                64, math.ceil(4 * tau / largest) + math.ceil(bound * 20 / largest / epsilon)
            )
            facts = [{"values": rows, "bound": bound} for rows in tables_of(name, total, largest)]
        for supposed in facts:
            centre = 40_000 if name.startswith("count") else total + distance
            yes = probability_satisfied(
                name, **supposed, synthetic=centre, tau=tau, epsilon=epsilon, beta=delta
            )
            found.append(yes if distance else 1 - yes)
    return max(found)


THRESHOLDS = [
    (name, bound, largest)
    for name in BY_DISTANCE
    for bound, largest in ([(1, 1)] if name.startswith("count") else [(1, 1), (7, 7), (40, 40)])
] + [
    (name, *sizes) for name in RACES for sizes in ((2, 1), (6, 6), (40, 40), (200, 7), (1000, 16), (1000, 17))
]


@pytest.mark.long
@pytest.mark.parametrize("delta", [0.001, 0.05, 0.2])
@pytest.mark.parametrize("epsilon", [0.2, 1, 4])
@pytest.mark.parametrize(("name", "bound", "largest"), THRESHOLDS)
def test_the_threshold_is_effective_on_every_table_and_a_step_less_is_not(
    name: str, bound: int, largest: int, epsilon: float, delta: float
) -> None:
    tau = effectiveness_threshold(name, epsilon=epsilon, delta=delta, bound=bound, largest=largest)
    assert worst_of_tables(name, tau, epsilon, delta, bound, largest) <= delta * (1 + 1e-9)
    less = tau * (1 - 1e-9) if name == "count-em" else tau - 1
    if less > 0:
        assert worst_of_tables(name, less, epsilon, delta, bound, largest) > delta
    if name != "count-em":
        assert tau == int(tau) >= 1


def test_the_continuous_formula_would_be_caught() -> None:
    """tau 3 with 5% asked: discrete noise errs in 7.3% of the runs."""
    continuous = math.ceil(math.log(1 / 0.05))
    assert continuous == 3
    assert worst_of_tables("count-lm", continuous, 1, 0.05, 1, 1) == pytest.approx(0.0728, abs=1e-4)
    assert effectiveness_threshold("count-lm", epsilon=1, delta=0.05) == 4


# ---------------------------------------------------------------- backwards


@pytest.mark.long
@pytest.mark.parametrize("name", [*BY_DISTANCE, *RACES])
@pytest.mark.parametrize("tau", [1, 3, 4.5, 40])
@pytest.mark.parametrize("beta", [0.01, 0.2])
def test_the_epsilon_needed_decides_the_tau_and_hardly_less_does_not(
    name: str, tau: float, beta: float
) -> None:
    epsilon = epsilon_needed(name, tau=tau, beta=beta, bound=20, largest=9)
    bound, largest = (1, 1) if name.startswith("count") else (20, 9)
    assert worst_of_tables(name, tau, epsilon, beta, bound, largest) <= beta * (1 + 1e-9)
    assert worst_of_tables(name, tau, epsilon * (1 - 1e-6), beta, bound, largest) > beta
    assert effectiveness_threshold(name, epsilon=epsilon, delta=beta, bound=20, largest=9) <= math.ceil(tau)


@pytest.mark.parametrize(
    "name", ["sum-svt", "median-em", "median-histogram", "median-margin", "avg-margin", "count-naive"]
)
def test_deciders_without_a_threshold_say_so(name: str) -> None:
    with pytest.raises(QueryError) as caught:
        effectiveness_threshold(name, epsilon=1, delta=0.05, bound=9)
    assert caught.value.code == "query.no-threshold"


@pytest.mark.parametrize(
    ("change", "code"),
    [({"delta": 0}, "query.bad-probability"), ({"delta": 1}, "query.bad-probability")],
)
def test_bad_probabilities_are_refused(change: dict, code: str) -> None:
    with pytest.raises(QueryError) as caught:
        effectiveness_threshold(**({"decider": "count-lm", "epsilon": 1, "delta": 0.1} | change))
    assert caught.value.code == code


def test_sums_need_a_bound_and_no_epsilon_helps_an_empty_interval() -> None:
    with pytest.raises(QueryError, match="missing-argument"):
        effectiveness_threshold("sum-lm", epsilon=1, delta=0.1)
    for name in ("count-logistic", "count-lm", "count-em"):
        with pytest.raises(QueryError, match="tau-too-small"):
            epsilon_needed(name, tau=0, beta=0.1)


# ---------------------------------------------------------------- the optimal COUNT test


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2])
def test_no_private_test_beats_the_optimal_one(epsilon: float) -> None:
    """Linear programs over all functions of the count that are epsilon-DP, with the same false positives at +-tau."""
    tau, reach = 5, 30
    counts = np.arange(-reach, reach + 1)
    rows = []
    for i in range(len(counts) - 1):
        for a, b in ((i, i + 1), (i + 1, i)):
            positive = np.zeros(len(counts))
            positive[a], positive[b] = 1, -math.exp(epsilon)
            rows.append((positive, 0.0))
            rows.append((-positive, math.exp(epsilon) - 1))
    matrix, right = np.array([row for row, _ in rows]), np.array([bound for _, bound in rows])
    ours = np.array(
        [
            probability_satisfied("count-optimal", true=int(n) + 100, synthetic=100, tau=tau, epsilon=epsilon)
            for n in counts
        ]
    )
    level = ours[reach + tau]
    assert (matrix @ ours <= right + 1e-12).all()
    ends = [(0, level if abs(n) == tau else 1) for n in counts]
    for distance in (0, 2, 4):
        goal = np.zeros(len(counts))
        goal[reach + distance] = -1
        best = linprog(goal, A_ub=matrix, b_ub=right, bounds=ends)
        assert ours[reach + distance] == pytest.approx(-best.fun, abs=1e-8)
    for distance in (5, 8, 12):  # and the least false positives for the same power at +-(tau - 1)
        goal = np.zeros(len(counts))
        goal[reach + distance] = 1
        power = [(ours[reach + tau - 1] if abs(n) == tau - 1 else 0, 1) for n in counts]
        best = linprog(goal, A_ub=matrix, b_ub=right, bounds=power)
        assert ours[reach + distance] == pytest.approx(best.fun, abs=1e-8)
    assert max(level, 1 - ours[reach + tau - 1]) == pytest.approx(1 / (1 + math.exp(epsilon)))


@pytest.mark.parametrize("epsilon", [0.05, 0.25, 1])
@pytest.mark.parametrize("tau", [3, 20])
def test_the_optimal_test_never_errs_more_than_em_and_only_in_the_far_tail_more_than_lm(
    tau: int, epsilon: float
) -> None:
    distances = range(-3 * tau, 3 * tau + 1)
    assert min(gap_to_optimal("count-em", tau=tau, epsilon=epsilon, distances=distances)) >= -1e-15
    assert min(gap_to_optimal("count-logistic", tau=tau, epsilon=epsilon, distances=distances)) >= -1e-15
    far = math.exp(-epsilon * 2 * tau) / (1 + math.exp(-epsilon))
    lm = gap_to_optimal("count-lm", tau=tau, epsilon=epsilon, distances=distances)
    assert min(lm) >= -far - 1e-15
    assert max(lm) > 0


# ---------------------------------------------------------------- profiles


def test_profiles_move_the_synthetic_answer_and_not_the_data() -> None:
    supposed = Supposed.of([1, 2, 2, 7, 9], range(11))
    found = satisfied_at("median-margin", supposed, tau=2, epsilon=0.7, distances=(-3, 0, 4))
    expected = [
        probability_satisfied(
            "median-margin", values=[1, 2, 2, 7, 9], domain=range(11), synthetic=2 + d, tau=2, epsilon=0.7
        )
        for d in (-3, 0, 4)
    ]
    assert found == expected
    errors = errors_at("median-margin", supposed, tau=2, epsilon=0.7, distances=(-3, 0, 4))
    assert errors == [expected[0], 1 - expected[1], expected[2]]


def test_the_error_bound_is_the_larger_error_at_0_and_2_tau() -> None:
    found = claim("count-em", Supposed.count(100), tau=10, epsilon=0.3).error
    assert found == pytest.approx(1 / (1 + math.exp(3)))
    best = claim("count-optimal", Supposed.count(100), tau=10, epsilon=0.3).error
    assert best == pytest.approx(math.exp(-3) / (1 + math.exp(-0.3)))


@pytest.mark.parametrize("aggregate", [SUM, AVG, MEDIAN], ids=lambda one: one.name)
def test_an_empty_supposition_has_no_quantile_or_average(aggregate: Aggregate) -> None:
    supposed = Supposed.of([], range(11))
    if aggregate is SUM:
        assert supposed.answer(SUM) == 0
    else:
        with pytest.raises(QueryError, match="no-synthetic-answer"):
            supposed.answer(aggregate)


# ---------------------------------------------------------------- choosing


def facts(*ends: int) -> Facts:
    """Of an attribute with these bounds; the interval does not matter."""
    domain = range(ends[0], ends[1] + 1) if ends else range(0)
    return Facts(Interval(Fraction(0), Fraction(1)), domain)


def test_a_pure_price_gets_the_margin_and_a_zcdp_price_the_coin() -> None:
    assert choose_decider(COUNT, facts(), epsilon="0.25").name == "count-optimal"
    assert choose_decider(MEDIAN, facts(0, 90), epsilon=1).name == "median-margin"
    chosen = choose_decider(AVG, facts(0, 90), rho=0.02)
    assert chosen.name == "avg-logistic"
    assert float(chosen.epsilon) == pytest.approx(math.sqrt(8 * 0.02)) and chosen.epsilon**2 / 8 <= Fraction(
        "0.02"
    )


def test_the_race_is_chosen_only_on_a_supposed_largest_value() -> None:
    wide, signed = facts(0, 2_000_000), facts(-5, 2_000_000)
    assert choose_decider(SUM, wide, epsilon="0.1").name == "sum-margin"
    assert choose_decider(SUM, wide, epsilon="0.1", largest=9000).name == "sum-r2t-centred"
    assert choose_decider(SUM, wide, epsilon="0.1", largest=1_900_000).name == "sum-margin"
    assert choose_decider(SUM, signed, epsilon="0.1", largest=9000).name == "sum-margin"
    assert choose_decider(SUM, wide, rho="0.01", largest=9000).name == "sum-r2t-centred"
    assert choose_decider(COUNT, facts(), epsilon="0.1", largest=9000).name == "count-optimal"


def test_one_price_is_needed() -> None:
    for prices in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(BudgetError):
            choose_decider(COUNT, facts(), **prices)


@pytest.mark.parametrize("name", DECIDERS)
def test_the_epsilon_for_a_rho_fits_and_hardly_more_does_not(name: str) -> None:
    made = DECIDERS[name].priced(facts(0, 12), rho="0.03")
    assert made.rho <= Fraction("0.03")
    more = made.epsilon * (1 + Fraction(1, 10**9))
    assert DECIDERS[name].of(facts(0, 12), more).rho > Fraction("0.03")


@pytest.mark.parametrize("name", ["sum-r2t", "sum-svt", "sum-r2t-shared", "sum-r2t-centred"])
def test_negative_values_are_refused_where_the_decider_needs_none(name: str) -> None:
    with pytest.raises(QueryError) as caught:
        build(name, within=Interval(Fraction(3), Fraction(2)), epsilon=1, domain=range(-1, 9))
    assert caught.value.code == "query.negative-values"


def test_noise_that_would_not_fit_is_refused_before_anything_is_read() -> None:
    with pytest.raises(QueryError) as caught:
        build("sum-margin", within=Interval(Fraction(3), Fraction(2)), epsilon="1e-6", domain=range(10**12))
    assert caught.value.code == "query.noise-too-large"


@pytest.mark.long
@pytest.mark.parametrize("name", ["sum-svt", "median-histogram"])
def test_an_error_that_is_too_long_a_sum_is_refused_and_not_tried(name: str) -> None:
    supposed = Supposed.of([3, 4, 5, 8], range(13))
    with pytest.raises(QueryError) as caught:
        claim(name, supposed, tau=2, epsilon="1e-6")
    assert caught.value.code == "query.epsilon-too-small"
    assert 0 <= claim(name, supposed, tau=2, epsilon="0.001").error <= 1
