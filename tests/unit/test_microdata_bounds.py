"""The bounds of the uncertainty principle against the printed inequalities and a simulation."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest

from hushtable.errors import HushtableError
from hushtable.microdata import Measurement, Noise, fit, lower_bound, upper_bound


def pure_holds(d, epsilon, c, s, ks):
    """Theorem 3, first inequality, for every k."""
    return all(exp(2 * epsilon * (2 * c + k)) >= k * (d - 1) / (16 * c + 8 * s + 4 * k) for k in ks)


def approx_holds(d, epsilon, delta, c, s, ks):
    return all(
        (delta / epsilon + (4 * c + 2 * s + k) / (k * (d - 1))) * exp(4 * epsilon * c + 2 * k * epsilon)
        >= 0.25
        for k in ks
    )


@pytest.mark.parametrize("d, epsilon, sum_error", [(10**4, 0.5, 32.0), (10**7, 1.0, 8.0), (1000, 0.1, 800.0)])
def test_the_pure_bound_is_where_the_inequality_begins_to_hold(d, epsilon, sum_error):
    ks = np.geomspace(1e-4, 20, 4000) / epsilon
    c = lower_bound(d=d, epsilon=epsilon, sum_error=sum_error) ** 0.5
    assert pure_holds(d, epsilon, c * 1.0001 + 1e-9, sum_error**0.5, ks)
    assert c == 0 or not pure_holds(d, epsilon, c * 0.999, sum_error**0.5, ks)
    s = lower_bound(d=d, epsilon=epsilon, point_error=2 / epsilon**2) ** 0.5
    assert pure_holds(d, epsilon, 2**0.5 / epsilon, s * 1.0001 + 1e-9, ks)
    assert s == 0 or not pure_holds(d, epsilon, 2**0.5 / epsilon, s * 0.999, ks)


def test_the_approximate_bound_is_where_the_inequality_begins_to_hold():
    ks = np.geomspace(1e-4, 20, 4000)
    c = lower_bound(d=10**7, epsilon=1.0, delta=1e-6, sum_error=8.0) ** 0.5
    assert c > 0 and approx_holds(10**7, 1.0, 1e-6, c * 1.0001, 8**0.5, ks)
    assert not approx_holds(10**7, 1.0, 1e-6, c * 0.999, 8**0.5, ks)


def concentrated_excess(d, rho, c, s):
    """Equations 4 and 5 of the proof in nats, by how much they fail over a grid of alpha, beta and k."""
    alpha, beta, k = np.ix_(
        np.geomspace(1.42, 300, 90), np.geomspace(1.01, 300, 90), np.geomspace(1e-3, 20, 90) / rho**0.5
    )
    sure = 1 - 2 / alpha**2 - 1 / beta**2
    choices = np.log((2 * alpha * c + beta * s + k) / k)
    return (sure * log(d - 1) - choices - log(2) - rho * (2 * alpha * c + 2 * k) ** 2).max()


def concentrated_excess_of_whole_tables(d, rho, c, s):
    """The same where the count alpha C + k of the proof's tables is a whole number m."""
    alpha, beta, m = np.ix_(np.geomspace(1.42, 300, 400), np.geomspace(1.01, 300, 200), np.arange(1.0, 12.0))
    k = m - alpha * c
    choices = np.log((2 * alpha * c + beta * s + k) / np.where(k > 0, k, np.nan))
    found = (1 - 2 / alpha**2 - 1 / beta**2) * log(d - 1) - choices - log(2) - 4 * rho * m**2
    return np.nanmax(found)


@pytest.mark.parametrize(
    "excess, whole", [(concentrated_excess, False), (concentrated_excess_of_whole_tables, True)]
)
@pytest.mark.parametrize("d, rho, sum_error", [(10**6, 0.5, 2.0), (10**12, 0.05, 20.0), (10**9, 0.2, 500.0)])
def test_the_concentrated_bound_is_where_the_best_inequality_begins_to_hold(excess, whole, d, rho, sum_error):
    """The grid's constants are a little worse than the best, so its inequality begins to hold a little earlier."""
    c = lower_bound(d=d, rho=rho, sum_error=sum_error, whole=whole) ** 0.5
    assert excess(d, rho, 0.98 * c, sum_error**0.5) > 0 >= excess(d, rho, 1.0001 * c, sum_error**0.5)
    s = lower_bound(d=d, rho=rho, point_error=0.3 * c**2, whole=whole) ** 0.5
    assert excess(d, rho, 0.3**0.5 * c, 0.9 * s) > 0 >= excess(d, rho, 0.3**0.5 * c, 1.0001 * s)


def test_the_concentrated_bound_chooses_all_of_its_constants():
    """Worked out by hand from the proof; alpha = beta = 2 gives 0, 0.005 and 0.26."""
    found = [lower_bound(d=10**k, rho=0.5, sum_error=2.0) for k in (4, 6, 12)]
    assert found == pytest.approx([0.085, 0.259, 0.953], abs=1e-3)


@pytest.mark.parametrize("share, gamma", [(0.5, 0.84), (0.05, 0.94), (0.005, 0.98)])
def test_the_sum_of_accurate_counts_errs_by_nearly_the_number_of_counts(share, gamma):
    """D^2 grows as d^(2 gamma) with gamma as near to 1 as d is large: about 1 - sqrt(8 rho C^2 / log d)."""
    sums = [lower_bound(d=10**k, rho=0.5, point_error=2 * share) for k in (120, 140, 150)]
    slopes = np.diff(np.log10(sums)) / [20, 10]
    assert 2 * gamma < slopes[0] < slopes[1] < 2.0


@pytest.mark.parametrize("budget", [{"epsilon": 40.0}, {"epsilon": 40.0, "delta": 1e-30}, {"rho": 40.0}])
def test_whole_tables_are_bounded_by_what_discrete_noise_really_has(budget):
    """Counts with discrete Laplace or Gaussian noise, negative ones set to 0: errors of Theorem 4, items 1 and 2."""
    d, ratio = 10_000, exp(-40)
    variance = 2 * ratio / (1 - ratio) ** 2  # of the discrete Laplace law; the Gaussian one is smaller
    assert lower_bound(d=d, **budget, sum_error=d**2 * variance, whole=True) <= variance
    assert lower_bound(d=d, **budget, point_error=variance, whole=True) <= d**2 * variance
    assert lower_bound(d=d, **budget, sum_error=d**2 * variance) > variance  # counts of half a person


def test_the_bounds_grow_as_the_theorem_says():
    pure = [lower_bound(d=10**k, epsilon=1.0, sum_error=8.0) ** 0.5 for k in (20, 40, 60)]
    assert (pure[2] - pure[1]) / (pure[1] - pure[0]) == pytest.approx(1.0, rel=0.05)
    square = [lower_bound(d=10**k, rho=0.5, sum_error=2.0) for k in (40, 80, 120)]
    assert 0.8 < (square[2] - square[1]) / (square[1] - square[0]) < 1.25
    sums = [lower_bound(d=10**k, epsilon=1.0, point_error=2.0) ** 0.5 for k in (8, 10)]
    assert sums[1] / sums[0] == pytest.approx(100.0, rel=0.01)
    capped = [lower_bound(d=10**k, epsilon=1.0, delta=1e-6, sum_error=8.0) for k in (12, 30)]
    assert capped[1] == pytest.approx(capped[0], rel=0.05)


@pytest.mark.long
@pytest.mark.parametrize("budget", [{"epsilon": 0.5}, {"epsilon": 0.5, "delta": 1e-9}, {"rho": 0.1}])
def test_what_can_be_promised_lies_above_what_must_be_paid(budget):
    for d in (2, 100, 10**6):
        sums = np.geomspace(10, 1e8, 12).tolist()
        least = np.array([lower_bound(d=d, **budget, sum_error=e) for e in sums])
        promised = np.array([upper_bound(d=d, **budget, sum_error=e) for e in sums])
        assert (promised >= least).all()
        assert (np.diff(promised) <= 0).all() and (np.diff(least) <= 0).all()


def test_the_mechanisms_of_the_theorem_are_on_the_upper_curve():
    assert upper_bound(d=100, epsilon=0.5, sum_error=2 * 100**2 / 0.25) == pytest.approx(2 / 0.25)
    assert upper_bound(d=100, rho=0.1, point_error=5.0) == pytest.approx(100**2 / 0.2)
    ln = log(100)
    equal_split = 32 + 4 * 4 * 4 * (ln + 1) + 4 * 16 * (ln**2 + 2 * ln + 2)
    assert upper_bound(d=100, epsilon=0.5, sum_error=32.0) <= equal_split * (1 + 1e-9)
    assert upper_bound(d=100, epsilon=0.5, sum_error=1.0) == float("inf")


@pytest.mark.long
def test_the_principle_bites_on_the_hard_table():
    """The sum-accurate mechanism: the sum has the noise of its answer, the one count an error far above its noise.

    Raw answers have squared error 8 / epsilon^2.  The hard count is log(d) = 9 and almost always lost: its error is at
    least 30 in 200 runs with a chance of failure below 1e-12 (it would need half of the runs to find it).
    """
    d, epsilon, runs = 10_000, 1.0, 200
    table, rng, noise = np.zeros(d), np.random.default_rng(7), Noise.laplace(2.0)
    table[0] = round(log(d) / epsilon)  # Remark 2 of the paper
    count, total = [], []
    for _ in range(runs):
        answers = [
            Measurement((), table.sum() + rng.laplace(0, 2.0), noise),
            Measurement((0,), table + rng.laplace(0, 2.0, d), noise),
        ]
        made = fit(answers, (d,), "sequential").weights
        count.append((made[0] - table[0]) ** 2)
        total.append((made.sum() - table.sum()) ** 2)
    assert np.mean(count) > 30 > 8 / epsilon**2
    assert np.mean(total) < 16
    assert np.mean(count) > lower_bound(d=d, epsilon=epsilon, sum_error=float(np.mean(total)))


@pytest.mark.parametrize(
    "given",
    [
        {"d": 0, "epsilon": 1.0, "sum_error": 1.0},
        {"d": 10, "sum_error": 1.0},
        {"d": 10, "epsilon": 1.0, "rho": 1.0, "sum_error": 1.0},
        {"d": 10, "epsilon": float("inf"), "sum_error": 1.0},
        {"d": 10, "epsilon": 1.0},
        {"d": 10, "epsilon": 1.0, "sum_error": -1.0},
    ],
)
def test_bounds_refuse_what_they_cannot_read(given):
    for bound in (lower_bound, upper_bound):
        with pytest.raises(HushtableError):
            bound(**given)
