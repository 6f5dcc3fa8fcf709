"""Prices: each against the divergence of the mechanism itself, computed from its probabilities."""

from __future__ import annotations

import time
from fractions import Fraction
from itertools import combinations, cycle
from math import prod

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from hushtable.errors import BudgetError
from hushtable.privacy import GaussianNoise, LaplaceNoise, Price, ResidualNoise, Selection, total_price
from hushtable.privacy.mechanism import pure_rho


def divergence(log_p: np.ndarray, log_q: np.ndarray, alpha: float) -> float:
    """Renyi divergence of two distributions on the same atoms, from the logarithms of their probabilities."""
    return float(logsumexp(alpha * log_p + (1 - alpha) * log_q) / (alpha - 1))


def discrete(log_weights: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities proportional to exp(log_weights)."""
    return log_weights - logsumexp(log_weights)


ALPHAS = [1.0001, 1.5, 2, 3, 8, 20]


def column(sizes: tuple[int, ...]) -> np.ndarray:
    """What one row adds to kron(n_i I - 1 1') mu: its first column."""
    vector = np.ones(1)
    for n in sizes:
        vector = np.kron(vector, n * np.eye(n)[:, 0] - 1)
    return vector


@pytest.mark.parametrize("sizes", [(), (2,), (5,), (2, 3), (4, 3, 2)])
def test_residual_noise_costs_the_divergence_of_the_integers_released(sizes: tuple[int, ...]) -> None:
    noise = ResidualNoise(sizes, Fraction(3, 7))
    moved = column(sizes)
    assert noise.noise_variance == Fraction(7, 3) * prod(sizes) ** 2
    price = noise.price()
    assert price.xi is None
    assert price.rho == Fraction(int((moved**2).sum())) / (2 * noise.noise_variance)
    x, variance = np.arange(-400, 401), float(noise.noise_variance)
    p = discrete(-(x**2) / (2 * variance))
    for alpha in ALPHAS:
        total = sum(divergence(p, discrete(-((x - d) ** 2) / (2 * variance)), alpha) for d in moved)
        assert total <= alpha * float(price.rho) * (1 + 1e-9)
        assert total >= alpha * float(price.rho) * (1 - 1e-3)


def test_a_one_category_residual_says_nothing_and_costs_nothing() -> None:
    assert ResidualNoise((1, 4), Fraction(2)).price().rho == 0


@pytest.mark.parametrize("variance", ["0.05", "0.5", "1", "30"])
def test_gaussian_noise_costs_the_divergence_of_one_cell(variance: str) -> None:
    parameter, x = Fraction(variance), np.arange(-150, 151)
    price = GaussianNoise(parameter).price()
    assert price == Price(None, 1 / (2 * parameter))
    assert GaussianNoise(parameter).price(rows=3).rho == 9 * price.rho
    p, q = (discrete(-((x - d) ** 2) / (2 * float(parameter))) for d in (0, 1))
    for alpha in ALPHAS:
        assert divergence(p, q, alpha) <= alpha * float(price.rho) * (1 + 1e-9)


@pytest.mark.parametrize("scale", ["0.3", "0.5", "1", "2.5", "10"])
def test_laplace_noise_costs_the_largest_divergence_over_alpha_and_hardly_more(scale: str) -> None:
    price = LaplaceNoise(Fraction(scale)).price()
    xi, x = 1 / Fraction(scale), np.arange(-400, 401)
    assert price.xi == xi
    p, q = (discrete(-np.abs(x - d) * float(xi)) for d in (0, 1))
    assert np.abs(p - q).max() <= float(xi) * (1 + 1e-9)
    worst = max(divergence(p, q, alpha) / alpha for alpha in ALPHAS)
    assert worst <= float(price.rho)
    if xi <= 2:
        assert worst >= 0.98 * float(price.rho)
    assert LaplaceNoise(Fraction(scale)).price(rows=4).xi == 4 * xi


@pytest.mark.parametrize("xi", ["1e-6", "0.1", "1", "2", "4.6", "4.7", "10", "1e6"])
def test_the_rational_price_of_a_pure_mechanism_lies_just_above_the_true_one(xi: str) -> None:
    epsilon = Fraction(xi)
    rho = Fraction(*pure_rho((epsilon.numerator, epsilon.denominator)))
    with mpmath.workdps(50):
        exact = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        true = exact * mpmath.tanh(exact / 2)
        assert true <= mpmath.mpf(rho.numerator) / rho.denominator <= true * 1.03
    assert rho <= epsilon and rho <= epsilon**2 / 2


@pytest.mark.long
def test_randomised_response_is_the_worst_pure_mechanism() -> None:
    """epsilon tanh(epsilon/2) bounds D_alpha / alpha of random pairs with ratios up to exp(epsilon)."""
    rng = np.random.default_rng(7)
    for epsilon in (0.3, 1.0, 3.0):
        bound = epsilon * np.tanh(epsilon / 2)
        response = discrete(np.array([0.0, epsilon]))
        assert divergence(response, response[::-1], 1.0001) == pytest.approx(bound, rel=1e-3)
        for _ in range(200):
            p = np.log(rng.dirichlet(np.ones(5)))
            q = discrete(p + rng.uniform(-epsilon / 2, epsilon / 2, 5))
            assert np.abs(p - q).max() <= epsilon
            assert all(divergence(p, q, alpha) / alpha <= bound for alpha in ALPHAS)


@pytest.mark.long
def test_selection_costs_at_least_the_divergence_of_the_exponential_mechanism() -> None:
    """Scores of sensitivity 1 move by -1, 0 or 1 each: all 3^4 neighbours of random scores."""
    rng = np.random.default_rng(8)
    moves = np.stack(np.meshgrid(*[[-1, 0, 1]] * 4), axis=-1).reshape(-1, 4)
    for epsilon in ("0.2", "1", "3"):
        price, worst = Selection(Fraction(epsilon)).price(), 0.0
        assert price.xi == Fraction(epsilon) and price.rho == Fraction(epsilon) ** 2 / 8
        for _ in range(4):
            scores = rng.integers(-3, 4, 4)
            p = discrete(float(price.xi) / 2 * scores)
            for move in moves:
                q = discrete(float(price.xi) / 2 * (scores + move))
                worst = max(worst, *(divergence(p, q, alpha) / alpha for alpha in ALPHAS))
        assert 0.5 * float(price.rho) < worst <= float(price.rho)
        assert Selection(Fraction(epsilon)).price(rows=2) == Price(2 * price.xi, 4 * price.rho)


def test_subtracting_after_noise_on_the_marginal_costs_more_than_the_residual_price() -> None:
    """Why the integers kron(n I - 11') mu get the noise: centring noisy counts of a two-cell marginal of variance 0.05
    instead leaves a divergence of 1.86 times the residual's price."""
    variance, x = 0.05, np.arange(-40, 41)
    cell = discrete(-(x**2) / (2 * variance))
    padded = np.concatenate((np.full(40, -np.inf), cell, np.full(40, -np.inf)))
    difference = np.array([logsumexp(cell + padded[k : k + 81]) for k in range(20, 61)])
    p, q = difference[1:], difference[:-1]
    residual = float(ResidualNoise((2,), 1 / Fraction("0.05")).price().rho)
    worst = max(divergence(p, q, a) / a for a in np.linspace(1.001, 6, 200))
    assert worst / residual == pytest.approx(1.86, abs=0.02)


def test_totals_are_exact_sums() -> None:
    mechanisms = [
        ResidualNoise((3, 4), Fraction(5, 7)),
        GaussianNoise(Fraction(11, 3)),
        Selection(Fraction(1, 9)),
        ResidualNoise((), Fraction(1, 1000)),
    ]
    by_hand = sum((m.price(2).rho for m in mechanisms), Fraction(0))
    assert total_price(mechanisms, rows=2) == Price(None, by_hand)
    pure = [LaplaceNoise(Fraction(k, 7)) for k in range(1, 9)] + [Selection(Fraction(1, 3))]
    assert total_price(pure) == sum((m.price() for m in pure), Price(Fraction(0), Fraction(0)))
    primes = [p for p in range(2, 4000) if all(p % k for k in range(2, int(p**0.5) + 1))]
    unlike = [GaussianNoise(Fraction(p, 3)) for p in primes]
    assert total_price(unlike).rho == sum((Fraction(3, 2 * p) for p in primes), Fraction(0))
    assert total_price([]) == Price(Fraction(0), Fraction(0))


@pytest.mark.long
def test_fifty_thousand_prices_add_up_exactly_in_a_moment() -> None:
    rng = np.random.default_rng(9)
    sizes = rng.integers(2, 100, size=15).tolist()
    tops, shifts = rng.integers(1, 2**53, size=50_000).tolist(), rng.integers(20, 60, size=50_000).tolist()
    sets = cycle(combinations(sizes, 3))
    noises = [ResidualNoise(next(sets), Fraction(t, 2**s)) for t, s in zip(tops, shifts, strict=True)]
    start = time.perf_counter()
    total = total_price(noises)
    assert time.perf_counter() - start < 3.0
    assert float(total.rho) == pytest.approx(sum(float(noise.price().rho) for noise in noises), rel=1e-12)


@pytest.mark.parametrize("kind", [GaussianNoise, LaplaceNoise, Selection, lambda v: ResidualNoise((2,), v)])
def test_parameters_must_be_positive(kind: object) -> None:
    for bad in (Fraction(0), Fraction(-1)):
        with pytest.raises(BudgetError, match=r"noise\.not-positive"):
            kind(bad)  # type: ignore[operator]


def test_a_gaussian_price_is_refused_by_a_pure_ledger() -> None:
    with pytest.raises(BudgetError, match=r"budget\.not-pure"):
        GaussianNoise(Fraction(1)).price().in_currency("pure")
    assert Selection(Fraction(1)).price().in_currency("approx", prefer="pure") == (1, 0, 0)
