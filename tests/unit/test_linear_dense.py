"""Linear Gaussian mechanisms with matrices: prices, answerability, refusals."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

from hushtable import linear
from hushtable.errors import WorkloadError
from hushtable.linear import LinearGaussian
from hushtable.linear.curve import gaussian_delta

ADD = [[1, 1], [1, 0], [0, 1]]


def exact_delta(cost: float, epsilon: float) -> float:
    """Lemma 2.4 with 60 digits."""
    with mpmath.workdps(60):
        mu, e = mpmath.sqrt(cost), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu))


def test_two_mechanisms_of_example_3_3_are_equivalent_and_cost_one_half():
    a = LinearGaussian(ADD, 2 * np.eye(3))
    b = LinearGaussian(np.eye(2), [[4 / 3, -2 / 3], [-2 / 3, 4 / 3]])
    assert a.rho == pytest.approx(0.5, rel=1e-15) and b.rho == pytest.approx(0.5, rel=1e-15)
    assert a.cost == pytest.approx(b.cost)
    assert linear.answerable(a, from_=b) and linear.answerable(b, from_=a) and linear.equivalent(a, b)


def test_less_noise_is_not_answerable_from_more():
    a = LinearGaussian(ADD, 2 * np.eye(3))
    assert not linear.answerable(LinearGaussian(ADD, 1.999 * np.eye(3)), from_=a)
    assert linear.answerable(LinearGaussian(ADD, 2.001 * np.eye(3)), from_=a)
    assert not linear.equivalent(LinearGaussian(ADD, 2.001 * np.eye(3)), a)


def test_a_query_outside_the_row_space_is_not_answerable_however_noisy():
    total = LinearGaussian([[1.0, 1.0]], [[1.0]])
    assert not linear.answerable(LinearGaussian([[1.0, 0.999]], [[1e12]]), from_=total)


def test_answerability_looks_at_every_direction_however_small_its_share_of_the_cost():
    a = LinearGaussian(np.eye(2), np.diag([1e-4, 1e6]))
    assert not linear.answerable(LinearGaussian([[0, 1]], [[0.99e6]]), from_=a)
    assert linear.answerable(LinearGaussian([[0, 1]], [[1.01e6]]), from_=a)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("cost", [1e-6, 0.01, 0.2, 1.0, 9.0, 400.0])
def test_delta_is_the_exact_curve(cost: float, epsilon: float):
    found = LinearGaussian([[1.0]], [[1 / cost]]).delta(epsilon)
    assert found == pytest.approx(exact_delta(cost, epsilon), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_delta_agrees_with_an_independent_library(epsilon: float):
    peer = GaussianPrivacyLoss(standard_deviation=1.5, sensitivity=1.0).get_delta_for_epsilon(epsilon)
    assert LinearGaussian([[1.0]], [[2.25]]).delta(epsilon) == pytest.approx(peer, rel=1e-9)


def test_personal_prices_are_those_of_each_record_type():
    m = LinearGaussian([[1, 0, 0], [1, 1, 0]], [[2.0, 0.5], [0.5, 1.0]])
    inverse = np.linalg.inv(m.covariance)
    for i in range(3):
        column = m.queries[:, i]
        cost = float(column @ inverse @ column)
        assert m.profile[i] == pytest.approx(cost)
        assert gaussian_delta(m.profile, 0.7)[i] == pytest.approx(exact_delta(cost, 0.7) if cost else 0.0)
    assert m.rho == m.profile.max() / 2 and m.mu == math.sqrt(m.profile.max())
    assert m.delta(0.7) == gaussian_delta(m.profile, 0.7).max()


def test_stacking_adds_the_costs():
    rng = np.random.default_rng(1)
    parts = [LinearGaussian(rng.normal(size=(m, 4)), random_covariance(rng, m)) for m in (1, 3, 6)]
    assert linear.stack(parts).cost == pytest.approx(sum(p.cost for p in parts))


def test_variances_may_be_given_instead_of_a_matrix():
    rows = np.random.default_rng(2).normal(size=(3, 5))
    full, short = LinearGaussian(rows, np.diag([1.0, 2.0, 4.0])), LinearGaussian(rows, [1, 2, 4])
    assert full.cost == pytest.approx(short.cost) and linear.equivalent(full, short)
    assert linear.stack([full, short]).cost == pytest.approx(2 * full.cost)


def test_a_mechanism_cannot_be_changed():
    m = LinearGaussian(ADD, 2 * np.eye(3))
    with pytest.raises(ValueError, match="read-only"):
        m.queries[0, 0] = 5
    with pytest.raises(AttributeError):
        m.covariance = np.eye(3)  # type: ignore[misc]


def test_scaling_sets_the_price():
    assert LinearGaussian(ADD, 2 * np.eye(3)).scaled(rho=0.125).rho == pytest.approx(0.125, rel=1e-14)


def test_query_variances_are_least_squares_and_infinite_when_not_answered():
    m = LinearGaussian(ADD, 2 * np.eye(3))
    assert linear.query_variances(m, [[1, 0], [1, 1]]) == pytest.approx([4 / 3, 4 / 3])
    assert linear.query_variances(LinearGaussian([[1, 1]], [3]), [[2, 2], [1, 0]]).tolist() == [
        pytest.approx(12),
        math.inf,
    ]


def test_estimates_solve_the_normal_equations():
    rng = np.random.default_rng(3)
    m = LinearGaussian(rng.normal(size=(6, 3)), random_covariance(rng, 6))
    output = rng.normal(size=6)
    inverse = np.linalg.inv(m.covariance)
    x = np.linalg.solve(m.queries.T @ inverse @ m.queries, m.queries.T @ inverse @ output)
    rows = rng.normal(size=(4, 3))
    assert linear.estimates(m, output, rows) == pytest.approx(rows @ x)


REFUSED: list[tuple[str, Any, Any]] = [
    ("linear.shape", [1, 2], [[1]]),
    ("linear.shape", [[1, 2], [1]], [1, 1]),
    ("linear.shape", [[1, 2]], [[1, 0], [0, 1]]),
    ("linear.shape", [[1, 2]], [1, 1]),
    ("linear.shape", np.zeros((0, 3)), np.zeros((0, 0))),
    ("linear.shape", [["a"]], [[1]]),
    ("linear.not-finite", [[1, math.nan]], [[1]]),
    ("linear.not-finite", [[1, 2]], [[math.inf]]),
    ("linear.covariance-not-symmetric", np.eye(2), [[2, 1], [0.9, 2]]),
    ("linear.covariance-not-positive", np.eye(2), [[1, 2], [2, 1]]),
    ("linear.covariance-not-positive", np.eye(2), [[1, 0], [0, 0]]),
    ("linear.covariance-not-positive", np.eye(2), [1, -1]),
    ("linear.covariance-singular", np.eye(2), [[1, 1], [1, 1]]),
    ("linear.covariance-singular", np.eye(3), np.array(ADD) @ np.array(ADD).T),
]


@pytest.mark.parametrize(("code", "queries", "covariance"), REFUSED)
def test_bad_matrices_are_refused_with_a_code(code: str, queries: Any, covariance: Any):
    with pytest.raises(WorkloadError) as refused:
        LinearGaussian(queries, covariance)
    assert refused.value.code == code and refused.value.fix


def test_a_covariance_with_very_different_variances_is_not_singular():
    assert LinearGaussian(np.eye(2), np.diag([1.0, 1e-18])).rho == pytest.approx(5e17)


@pytest.mark.parametrize("epsilon", [-0.1, math.nan, math.inf, "1"])
def test_epsilon_must_be_a_nonnegative_number(epsilon: Any):
    with pytest.raises(WorkloadError, match=r"linear\.epsilon"):
        LinearGaussian([[1.0]], [[1.0]]).delta(epsilon)


def test_mechanisms_over_different_vectors_are_refused():
    with pytest.raises(WorkloadError, match=r"linear\.cells"):
        linear.common([LinearGaussian([[1, 1]], [1]), LinearGaussian([[1, 1, 1]], [1])])


def random_covariance(rng: np.random.Generator, size: int) -> np.ndarray:
    root = rng.normal(size=(size, size + 2))
    return root @ root.T / size
