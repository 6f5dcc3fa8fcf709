"""Probabilities of "satisfied" against mechanisms written again from the paper and simulated.

Each comparison is a binomial test of 100,000 runs that raises a false alarm with probability below 2 ALARM; there are
about 130 of them, so the file raises one with probability below 1e-6.  The seed is fixed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from hushtable.deciders import (
    AGGREGATES,
    Facts,
    Interval,
    error_probability,
    probability_satisfied,
)
from hushtable.deciders.intervals import check_tau
from hushtable.deciders.tallies import tally
from hushtable.errors import QueryError

RUNS = 100_000
ALARM = 2e-9

Bools = NDArray[np.bool_]
Simulation = Callable[[np.random.Generator, float, float, float], Bools]


def noise(rng: np.random.Generator, scale: float, *more: int) -> NDArray[np.int64]:
    """Discrete Laplace as a difference of geometric draws: a construction of its own."""
    p = -math.expm1(-1 / scale)
    return rng.geometric(p, (RUNS, *more)) - rng.geometric(p, (RUNS, *more))


def agrees(hits: int, probability: float) -> bool:
    low, high = stats.binom.cdf(hits, RUNS, probability), stats.binom.sf(hits - 1, RUNS, probability)
    return min(low, high) >= ALARM


# ---------------------------------------------------------------- the mechanisms, from the paper

AGES = np.repeat([20, 25, 31, 37, 37, 37, 38, 40, 55, 60], 9)  # 90 values, even; 37 is frequent
PAYS = np.array([0, 1, 3, 4, 7, 7, 9, 12, 16, 17, 20, 31, 33, 40, 40] * 4)


def count_lm(rng, synthetic, tau, epsilon):
    return np.abs(60 + noise(rng, 1 / epsilon) - synthetic) < tau


def count_em(rng, synthetic, tau, epsilon):
    distance = abs(60 - synthetic)
    good = max(0.0, 1 - distance / (2 * tau))  # the score of "satisfied", Figure 3
    odds = math.exp(epsilon * tau * good), math.exp(epsilon * tau * (1 - good))
    return rng.random(RUNS) < odds[0] / sum(odds)


def count_naive(rng, synthetic, tau, epsilon):
    p = 1 / (1 + math.exp(-epsilon / 2))
    return rng.random(RUNS) < (p if abs(60 - synthetic) < tau else 1 - p)


def tulap(rng, epsilon):
    """Truncated-uniform-Laplace noise: a geometric difference plus a uniform number."""
    return noise(rng, 1 / epsilon) + rng.random(RUNS) - 0.5


def count_optimal(rng, synthetic, tau, epsilon):
    inside = [n for n in range(-500, 500) if abs(n - synthetic) < tau]
    margin = min(60 - inside[0], inside[-1] - 60) + 1
    return margin - 0.5 + tulap(rng, epsilon) > 0


def count_logistic(rng, synthetic, tau, epsilon):
    inside = [n for n in range(-500, 500) if abs(n - synthetic) < tau]
    margin = min(60 - inside[0], inside[-1] - 60) + 1
    return rng.logistic(size=RUNS) < epsilon * (margin - 0.5)


def sum_lm(rng, synthetic, tau, epsilon):
    return np.abs(PAYS.sum() + noise(rng, 40 / epsilon) - synthetic) < tau


def race(factor, centred):
    def run(rng, synthetic, tau, epsilon):
        best = np.zeros(RUNS)
        for j in range(1, 7):
            scale = factor * 2**j / epsilon
            shift = max(0.0, scale * math.log(7 / 0.05) - tau) if centred else scale * math.log(6 / 0.05)
            best = np.maximum(best, PAYS[2**j >= PAYS].sum() + noise(rng, scale) - shift)
        return np.abs(best - synthetic) < tau

    return run


def sum_svt(rng, synthetic, tau, epsilon):
    rows = len(PAYS) + noise(rng, 9 / epsilon)
    threshold = 0.95 * rows + noise(rng, 9 / epsilon)
    level = np.full(RUNS, 6)
    for j in range(6, 0, -1):
        level[(2**j >= PAYS).sum() + noise(rng, 9 / epsilon) >= threshold] = j
    steps = max(1, math.ceil(math.log2(512 * epsilon / 3)))
    rho = noise(rng, 2 ** min(6, steps) * 3 / epsilon) / 2 ** min(6, steps)
    above, inside = np.zeros(RUNS, bool), np.zeros(RUNS, bool)
    for j in range(1, 7):
        q, t = PAYS[2**j >= PAYS].sum(), 2**j
        used = j <= level
        above |= used & (q + noise(rng, t * 3 / epsilon) >= synthetic + tau + t * rho)
        inside |= used & (q + noise(rng, t * 3 / epsilon) >= synthetic - tau + 1 + t * rho)
    return ~above & inside


def sum_margin(rng, synthetic, tau, epsilon):
    margin = tau - abs(PAYS.sum() - synthetic)
    return margin + noise(rng, 40 / epsilon) > 0


def sum_logistic(rng, synthetic, tau, epsilon):
    margin = tau - abs(PAYS.sum() - synthetic)
    return rng.logistic(size=RUNS) < epsilon / 40 * (margin - 0.5)


def em(penalty, rate):
    def run(rng, synthetic, tau, epsilon):
        domain = np.arange(18, 81)
        weights = np.exp(np.array([-penalty(e) for e in domain]) * rate * epsilon)
        chosen = rng.choice(domain, RUNS, p=weights / weights.sum())
        return np.abs(chosen - synthetic) < tau

    return run


def rank_gap(e):
    return abs((e > AGES).sum() - len(AGES) / 2)


def tied_gap(e):
    """Rows to move until e is the lower median, in halves of a row."""
    below, up_to = (e > AGES).sum(), (e >= AGES).sum()
    return max(2 * below - len(AGES) + 1, len(AGES) - 2 * up_to, 0)


def histogram(rng, synthetic, tau, epsilon):
    half = np.ceil((len(AGES) + noise(rng, 2 / epsilon)) / 2)
    low = (synthetic - tau >= AGES).sum() + noise(rng, 2 / epsilon)
    high = (synthetic + tau <= AGES).sum() + noise(rng, 2 / epsilon)
    return (low < half) & (high < half)


def histogram_tight(rng, synthetic, tau, epsilon):
    low = 2 * (synthetic - tau >= AGES).sum() - len(AGES) + noise(rng, 2 / epsilon)
    high = 2 * (synthetic + tau <= AGES).sum() - len(AGES) + noise(rng, 2 / epsilon)
    return (low <= -1) & (high <= 0)


def median_gap(synthetic, tau):
    low, high = (synthetic - tau >= AGES).sum(), (synthetic + tau <= AGES).sum()
    return min(len(AGES) - 2 * low, len(AGES) - 2 * high + 1)


def median_margin(rng, synthetic, tau, epsilon):
    return median_gap(synthetic, tau) + noise(rng, 1 / epsilon) >= 1


def median_logistic(rng, synthetic, tau, epsilon):
    return rng.logistic(size=RUNS) < epsilon * (median_gap(synthetic, tau) - 0.5)


def average(run):
    def decide(rng, synthetic, tau, epsilon):
        low, high = synthetic - tau, synthetic + tau
        margin = 256 * min(AGES.sum() - low * len(AGES), high * len(AGES) - AGES.sum())
        reach = 256 * max(abs(v - end) for v in (18, 80) for end in (low, high))
        return run(rng, margin, reach / epsilon)

    return decide


AGE = {"values": AGES, "domain": range(18, 81)}
PAY = {"values": PAYS, "bound": 40}
COUNT = {"true": 60}
NEAR = (-40, -20, -10, 0, 7, 20, 41)
FAR = (-400, -200, -120, 0, 60, 200, 450)
YEARS = (-14, -6, -5, 0, 4, 5, 13)

CASES: dict[str, tuple[Simulation, dict, float, float, float, tuple[int, ...]]] = {
    "count-lm": (count_lm, COUNT, 60, 20, 0.08, NEAR),
    "count-em": (count_em, COUNT, 60, 20, 0.08, NEAR),
    "count-naive": (count_naive, COUNT, 60, 20, 0.8, NEAR),
    "count-optimal": (count_optimal, COUNT, 60, 20, 0.08, NEAR),
    "count-logistic": (count_logistic, COUNT, 60, 20, 0.08, NEAR),
    "sum-lm": (sum_lm, PAY, int(PAYS.sum()), 200, 0.3, FAR),
    "sum-r2t": (race(6, False), PAY, int(PAYS.sum()), 200, 3.0, FAR),
    "sum-svt": (sum_svt, PAY, int(PAYS.sum()), 200, 2.0, FAR),
    "sum-r2t-shared": (race(2 - 2**-5, False), PAY, int(PAYS.sum()), 200, 1.5, FAR),
    "sum-r2t-centred": (race(2 - 2**-5, True), PAY, int(PAYS.sum()), 200, 1.5, FAR),
    "sum-margin": (sum_margin, PAY, int(PAYS.sum()), 200, 0.3, FAR),
    "sum-logistic": (sum_logistic, PAY, int(PAYS.sum()), 200, 0.3, FAR),
    "median-em": (em(rank_gap, 0.5), AGE, 37, 5, 0.15, YEARS),
    "median-histogram": (histogram, AGE, 37, 5, 0.15, YEARS),
    "median-em-tight": (em(tied_gap, 0.5), AGE, 37, 5, 0.08, YEARS),
    "median-histogram-tight": (histogram_tight, AGE, 37, 5, 0.15, YEARS),
    "median-margin": (median_margin, AGE, 37, 5, 0.08, YEARS),
    "median-logistic": (median_logistic, AGE, 37, 5, 0.08, YEARS),
    "avg-margin": (
        average(lambda rng, margin, scale: margin + noise(rng, scale) >= 1),
        AGE,
        float(AGES.mean()),
        5,
        0.1,
        YEARS,
    ),
    "avg-logistic": (
        average(lambda rng, margin, scale: rng.logistic(size=RUNS) < (margin - 0.5) / scale),
        AGE,
        float(AGES.mean()),
        5,
        0.1,
        YEARS,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_simulated_verdicts_agree_with_the_probability(name: str) -> None:
    simulate, data, centre, tau, epsilon, offsets = CASES[name]
    rng = np.random.default_rng(20)
    for offset in offsets:
        expected = probability_satisfied(name, synthetic=centre + offset, tau=tau, epsilon=epsilon, **data)
        hits = int(simulate(rng, centre + offset, tau, epsilon).sum())
        assert agrees(hits, expected), (offset, expected, hits / RUNS)


@pytest.mark.parametrize("name", CASES)
def test_noise_ten_per_cent_too_small_is_noticed(name: str) -> None:
    simulate, data, centre, tau, epsilon, offsets = CASES[name]
    rng = np.random.default_rng(21)
    assert not all(
        agrees(
            int(simulate(rng, centre + offset, tau, epsilon / 0.9).sum()),
            probability_satisfied(name, synthetic=centre + offset, tau=tau, epsilon=epsilon, **data),
        )
        for offset in offsets
    )


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize("epsilon", [0.01, 0.25, 3])
@pytest.mark.parametrize("distance", [-900, -41, -40, -20, -1, 0, 13, 20, 39, 5_000_000])
def test_count_em_is_a_sigmoid_of_the_clipped_margin(epsilon: float, distance: int) -> None:
    x = epsilon * min(20, max(-20, 20 - abs(distance)))
    expected = 1 / (1 + math.exp(-x))
    found = probability_satisfied("count-em", true=1000 + distance, synthetic=1000, tau=20, epsilon=epsilon)
    assert found == pytest.approx(expected, rel=1e-13)


@pytest.mark.long
def test_huge_answers_do_not_overflow() -> None:
    # the paper's q12, where exp(7527) was infinite
    def p(name: str) -> float:
        return probability_satisfied(name, true=471_994, synthetic=470_483, tau="3.2%", epsilon=1)

    assert p("count-em") == p("count-lm") == p("count-optimal") == 1.0
    values = np.repeat(np.arange(100), 20_000)
    kept = probability_satisfied(
        "median-em", values=values, domain=range(100), synthetic=49, tau=3, epsilon=1
    )
    assert kept == pytest.approx(1.0)


@pytest.mark.parametrize("true", [40, 55, 61, 70, 79, 90])
def test_count_lm_approaches_the_continuous_equalities_of_proposition_4_2(true: int) -> None:
    # on a grid a thousand times finer the discrete noise is continuous to about 1e-4
    epsilon, low, high = 0.1, 60, 80
    error = error_probability(
        "sum-lm", values=[true * 1000], bound=10**6, synthetic=70_000, tau=10_000, epsilon=epsilon * 1000
    )
    if true <= low:
        expected = (math.exp(-(low - true) * epsilon) - math.exp(-(high - true) * epsilon)) / 2
    elif true >= high:
        expected = (math.exp(-(true - high) * epsilon) - math.exp(-(true - low) * epsilon)) / 2
    else:
        expected = (math.exp(-(true - low) * epsilon) + math.exp(-(high - true) * epsilon)) / 2
    assert error == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("synthetic", [25, 34, 37, 43, 60])
def test_median_em_error_is_proposition_c_1(synthetic: int) -> None:
    def weight(e: int) -> Fraction:
        rank = int((e > AGES).sum())
        return Fraction(math.exp(-0.3 * abs(rank - Fraction(len(AGES), 2)) / 2))

    weights = {e: weight(e) for e in range(18, 81)}
    inside = sum(w for e, w in weights.items() if abs(e - synthetic) < 5) / sum(weights.values())
    truth = abs(sorted(AGES)[44] - synthetic) < 5
    found = error_probability("median-em", synthetic=synthetic, tau=5, epsilon=0.3, **AGE)
    assert found == pytest.approx(float(1 - inside if truth else inside), rel=1e-12)


def test_a_frequent_median_scores_badly_as_published_and_well_with_ties() -> None:
    values = np.repeat(
        [36, 37, 38, 60], [4000, 3500, 500, 4000]
    )  # the lower median is 37; rank(38) is 1500 too high
    kwargs = {"values": values, "domain": range(17, 91), "synthetic": 33, "tau": 5, "epsilon": 0.1}
    assert error_probability("median-em", **kwargs) > 0.99
    assert error_probability("median-em-tight", **kwargs) < 0.01


def test_the_even_case_of_the_histogram_is_corrected() -> None:
    # n = 4, lower median 3 < r = 4 though half of the rows are at r: the truth is "satisfied"
    kwargs = {"values": [1, 3, 4, 9], "domain": range(11), "synthetic": 2, "tau": 2, "epsilon": 40}
    assert probability_satisfied("median-histogram", **kwargs) < 0.01
    for better in ("median-histogram-tight", "median-margin", "median-em-tight"):
        assert probability_satisfied(better, **kwargs) > 0.99


@pytest.mark.parametrize("quantile", ["0.1", "1/4", "1/2", "0.9"])
@pytest.mark.parametrize("size", [1, 2, 5, 8, 20, 21])
def test_quantile_deciders_tell_the_truth_without_noise(quantile: str, size: int) -> None:
    values = np.sort(np.random.default_rng(size).integers(0, 30, size))
    true = int(values[math.ceil(Fraction(quantile) * size) - 1])
    for synthetic in range(-4, 34):
        expected = abs(true - synthetic) < 4
        for name in ("median-margin", "median-histogram-tight", "median-em-tight", "median-logistic"):
            p = probability_satisfied(
                name,
                values=values,
                domain=range(30),
                synthetic=synthetic,
                tau=4,
                epsilon=4000,
                quantile=quantile,
            )
            assert (p > 0.99) == expected and (p < 0.01) != expected, (name, synthetic)


@pytest.mark.parametrize("size", [1, 7, 40])
def test_averages_without_noise_tell_the_truth(size: int) -> None:
    values = np.random.default_rng(size).integers(0, 30, size)
    for synthetic in np.arange(-4, 34, 0.75):
        expected = abs(values.mean() - synthetic) < 2.5
        p = probability_satisfied(
            "avg-margin", values=values, domain=(0, 29), synthetic=synthetic, tau=2.5, epsilon=1e6
        )
        assert (p > 0.5) == expected


def test_an_empty_selection_behaves_like_any_other() -> None:
    for name, (_, data, centre, tau, epsilon, _) in CASES.items():
        empty = {"true": 0} if "true" in data else data | {"values": []}
        p = probability_satisfied(name, synthetic=centre, tau=tau, epsilon=epsilon, **empty)
        assert 0 <= p <= 1


def test_domains_with_gaps_and_as_bounds() -> None:
    gaps = [0, 1, 2, 5, 9]
    kwargs = {"values": [0, 2, 2, 5, 9], "synthetic": 2, "tau": 2, "epsilon": 0.5}
    weights = {e: math.exp(-0.25 * abs(sum(v < e for v in kwargs["values"]) - 2.5)) for e in gaps}
    expected = (weights[1] + weights[2]) / sum(weights.values())
    assert probability_satisfied("median-em", domain=gaps, **kwargs) == pytest.approx(expected)
    assert probability_satisfied("median-em", domain=(0, 9), **kwargs) == probability_satisfied(
        "median-em", domain=np.arange(10), **kwargs
    )


# ---------------------------------------------------------------- tallies


def test_tally_equals_plain_masks() -> None:
    rng = np.random.default_rng(3)
    for edges in ((), (5,), (-3, 0, 7, 30), tuple(range(40)), range(40), range(-20, 60), range(0)):
        values = rng.integers(-10, 50, 1000)
        found = tally(values, edges)
        ends = [-np.inf, *edges, np.inf]
        masks = [(values > low) & (values <= high) for low, high in itertools.pairwise(ends)]
        assert found.counts.tolist() == [mask.sum() for mask in masks]
        assert found.sums.tolist() == [values[mask].sum() for mask in masks]
        assert found.rows == 1000 and found.total == values.sum()


def test_values_off_the_grid_are_refused() -> None:
    with pytest.raises(QueryError) as caught:
        probability_satisfied("sum-lm", values=[1.5], bound=3, synthetic=2, tau=1, epsilon=1)
    assert caught.value.code == "query.values-off-grid"


def test_a_tau_that_fits_no_synthetic_answer_is_refused_before_there_is_one() -> None:
    for good in ("5", "0.5", "5%", "-5%", 3, 0.5):
        check_tau(good)
    for bad, code in (
        ("0", "not-positive"),
        ("-5", "not-positive"),
        ("0%", "not-positive"),
        ("x%", "unreadable"),
    ):
        with pytest.raises(QueryError) as caught:
            check_tau(bad)
        assert caught.value.code == f"query.tau-{code}"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tau": 0}, "query.tau-not-positive"),
        ({"tau": "-5%"}, "query.tau-not-positive"),
        ({"tau": "5%", "synthetic": 0}, "query.tau-not-positive"),
        ({"tau": "5%", "synthetic": -40}, "query.tau-not-positive"),
        ({"tau": "five"}, "query.tau-unreadable"),
        ({"tau": float("nan")}, "query.tau-unreadable"),
        ({"tau": None}, "query.tau-unreadable"),
        ({"tau": 0.2, "synthetic": 10.5}, "query.tau-empty"),
        ({"tau": 1e308, "synthetic": 10}, "query.tau-too-large"),
        ({"synthetic": float("inf")}, "query.no-synthetic-answer"),
        ({"decider": "count-best"}, "query.unknown-decider"),
        ({"epsilon": 0}, "budget.not-positive"),
        ({"true": None}, "query.missing-argument"),
    ],
)
def test_bad_questions_are_refused_with_a_code(change: dict, code: str) -> None:
    good = {"decider": "count-lm", "true": 10, "synthetic": 10, "tau": 3, "epsilon": 1}
    with pytest.raises(Exception) as caught:
        probability_satisfied(**(good | change))
    assert getattr(caught.value, "code", None) == code


@pytest.mark.parametrize(
    ("name", "change", "code"),
    [
        ("median-margin", {"quantile": 1}, "query.bad-quantile"),
        ("median-em", {"domain": range(2**20 + 1)}, "query.too-many-candidates"),
        ("median-em", {"domain": []}, "query.no-bounds"),
    ],
)
def test_bad_medians_are_refused_with_a_code(name: str, change: dict, code: str) -> None:
    good = {"values": [1, 2, 3], "domain": range(10), "synthetic": 2, "tau": 2, "epsilon": 1}
    with pytest.raises(QueryError) as caught:
        probability_satisfied(name, **(good | change))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("aggregate", "centre", "tau", "domain", "code"),
    [
        ("median", 2, 50, range(10), "query.tau-covers-range"),
        ("avg", 2, 50, range(10), "query.tau-covers-range"),
        ("median", 40, 5, range(10), "query.out-of-range"),
        ("sum", -5, 5, range(10), "query.out-of-range"),
        ("sum", 3, 5, range(-9, 1), None),
        ("sum", -50, 5, range(-9, 10), None),
        ("count", 2, 50, None, None),
        ("median", 2, 4, range(10), None),
    ],
)
def test_questions_that_public_bounds_answer_are_refused(
    aggregate: str, centre: int, tau: int, domain: range | None, code: str | None
) -> None:
    facts = Facts(Interval(Fraction(centre), Fraction(tau)), domain or ())
    asked = AGGREGATES[aggregate.upper()]
    if code is None:
        asked.require_open(facts)
        return
    with pytest.raises(QueryError) as caught:
        asked.require_open(facts)
    assert caught.value.code == code


def test_percentages_are_exact_shares_of_the_synthetic_answer() -> None:
    share = probability_satisfied("count-em", true=1000, synthetic=1000, tau="3.2%", epsilon=0.1)
    assert share == probability_satisfied("count-em", true=1000, synthetic=1000, tau=32, epsilon=0.1)
