"""Deciding from released numbers: ratios, rules, posteriors and consistent datasets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bit_sources import SeededBits
from hushtable import linear
from hushtable.errors import WorkloadError
from hushtable.linear import LinearGaussian, signal_to_noise
from thresholds import FALSE_ALARM

RULE = {"share": 0.5, "ratio": 3.0}


def test_ratios_are_the_quantities_of_section_6_1():
    signal = signal_to_noise([10.0, 40.0], [4.0, 9.0], [25.0, 16.0])
    assert signal.point == pytest.approx([10 / 5, 40 / 4])
    assert signal.lower == pytest.approx([(10 - 6) / 5, (40 - 9) / 4])
    assert signal.upper == pytest.approx([(10 + 6) / 5, (40 + 9) / 4])
    assert signal.share(2.5) == 0.5 and signal.share(2.5, bound="upper") == 1.0


def test_rules_count_the_share_of_cells_above_the_ratio():
    signal = signal_to_noise([1.0, 20.0, 8.0, 2.0], 1.0, 4.0)
    assert signal.enough(share=0.5, ratio=4) and not signal.enough(share=0.75, ratio=4)
    assert not signal.enough(share=0.5, ratio=4, rule="three-sigma")
    assert signal.enough(share=0.25, ratio=4, rule="three-sigma")


def test_the_three_way_decision_is_cautious_on_both_sides():
    assert signal_to_noise(np.full(4, 100.0), 1.0, 4.0).decide(**RULE) == "enough"
    assert signal_to_noise(np.full(4, 1.0), 1.0, 4.0).decide(**RULE) == "too-weak"
    assert signal_to_noise(np.full(4, 6.0), 1.0, 4.0).decide(**RULE) == "undecided"


def test_a_ratio_on_the_edge_is_reached_whatever_the_rounding():
    """A count of 3 with standard deviation 1 has ratio 3, computed from 0.1 * 10 or not."""
    noise = sum([0.1] * 10)
    assert noise != 1.0
    for variance in (noise**2, 1.0, 2 - noise**2):
        assert signal_to_noise([3.0], 0.0, variance).enough(share=1.0, ratio=3.0)
    assert not signal_to_noise([3.0], 0.0, 1.0001).enough(share=1.0, ratio=3.0)


def test_nested_marginals_decided_from_the_common_part_alone():
    """A crowded table is fine enough for two-way tables, an almost empty one is not."""
    sizes = (3, 4)
    one, two = (linear.marginals(sizes, order=k, rho=1) for k in (1, 2))
    c = linear.common([one, two])
    for people, wanted in ((2000, "enough"), (5, "too-weak")):
        estimate = np.concatenate([np.full(n, people / n) for n in sizes])
        now = np.repeat([c.cell_variance((0,)), c.cell_variance((1,))], sizes)
        then = np.repeat([two.cell_variance((0,)), two.cell_variance((1,))], sizes)
        assert signal_to_noise(estimate, now, then).decide(share=0.5, ratio=10) == wanted


def test_the_posterior_is_that_of_the_joint_gaussian():
    rng = np.random.default_rng(1)
    c = LinearGaussian(rng.normal(size=(2, 4)), [[2.0, 0.3], [0.3, 1.0]])
    prior, mean, output = np.array([1.0, 2.0, 3.0, 4.0]), rng.normal(size=4), rng.normal(size=2)
    queries = rng.normal(size=(3, 4))
    found, variance = linear.posterior(c, output, queries, prior_variance=prior, prior_mean=mean)
    precision = np.diag(1 / prior) + c.queries.T @ np.linalg.inv(c.covariance) @ c.queries
    covariance = np.linalg.inv(precision)
    centre = covariance @ (mean / prior + c.queries.T @ np.linalg.solve(c.covariance, output))
    assert found == pytest.approx(queries @ centre)
    assert variance == pytest.approx(np.diag(queries @ covariance @ queries.T))


def test_a_weak_prior_gives_the_least_squares_variance():
    c = LinearGaussian([[1, 1], [1, 0]], [2.0, 3.0])
    _, variance = linear.posterior(c, [0, 0], np.eye(2), prior_variance=1e9)
    assert variance == pytest.approx(linear.query_variances(c, np.eye(2)), rel=1e-6)


def test_the_option_with_the_larger_reduction_teaches_more():
    assert linear.variance_reduction([10.0, 10.0], [1.0, 20.0]) == pytest.approx(0.45)
    assert linear.variance_reduction([0.0], [1.0]) == 0.0


def test_consistent_datasets_are_uniform_in_the_region():
    """x, y >= 0 with |x + y - 20| <= r: the sum has density proportional to s and x / s is uniform.

    Two Kolmogorov-Smirnov tests of 3,000 walks; walks that stop after one step are rejected.
    """
    c = LinearGaussian([[1.0, 1.0]], [[4.0]])
    radius = 2 * stats.chi2.ppf(0.95, 1) ** 0.5
    low, high = 20 - radius, 20 + radius
    points = linear.consistent_datasets(c, [20.0], 3000, SeededBits(2))
    total = points.sum(axis=1)
    assert (points >= 0).all() and total.min() > low and total.max() < high

    def sums(s: np.ndarray) -> np.ndarray:
        return (s**2 - low**2) / (high**2 - low**2)

    assert stats.kstest(total, sums).pvalue > FALSE_ALARM
    assert stats.kstest(points[:, 0] / total, "uniform").pvalue > FALSE_ALARM
    early = linear.consistent_datasets(c, [20.0], 3000, SeededBits(2), steps=1)
    assert stats.kstest(early[:, 0] / early.sum(axis=1), "uniform").pvalue < FALSE_ALARM


def test_consistent_datasets_answer_the_common_queries_within_the_ellipsoid():
    one, two = (linear.marginals((3, 3), order=k, rho="0.5").dense() for k in (1, 2))
    c = linear.common([one, two])
    x = np.arange(9.0) * 10
    points = linear.consistent_datasets(c, c.queries @ x, 200, SeededBits(3), confidence=0.9)
    gap = points @ c.queries.T - c.queries @ x
    distance = np.einsum("ij,jk,ik->i", gap, np.linalg.inv(c.covariance), gap)
    assert (points >= 0).all() and distance.max() <= stats.chi2.ppf(0.9, len(c.queries)) * (1 + 1e-9)
    spread = np.var(points @ one.queries.T, axis=0)
    cells = np.var(points @ two.queries.T, axis=0)
    assert linear.variance_reduction(cells, two.covariance) > 0
    assert spread.mean() < cells.mean(), "shared marginals are known better than single cells"


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("linear.rule", lambda: signal_to_noise([1.0], 1.0, 1.0).enough(share=1, ratio=1, rule="two-sigma")),  # type: ignore[arg-type]
        ("linear.signal", lambda: signal_to_noise([1.0], -1.0, 1.0)),
        ("linear.signal", lambda: signal_to_noise([1.0], 1.0, 0.0)),
        ("linear.signal", lambda: signal_to_noise([np.nan], 1.0, 1.0)),
        ("linear.unbounded", lambda: sample([[1.0, -1.0]], [0.0])),
        ("linear.unbounded", lambda: sample([[1.0, 0.0]], [5.0])),
        ("linear.inconsistent", lambda: sample([[1.0, 1.0]], [-50.0])),
        ("linear.output", lambda: sample([[1.0, 1.0]], [1.0, 2.0])),
    ],
)
def test_bad_requests_are_refused_with_a_code(code: str, call: Any):
    with pytest.raises(WorkloadError) as refused:
        call()
    assert refused.value.code == code


def sample(rows: list[list[float]], output: list[float]) -> np.ndarray:
    return linear.consistent_datasets(LinearGaussian(rows, np.ones(len(rows))), output, 2, SeededBits(4))
