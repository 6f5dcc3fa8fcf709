"""Variances and kurtoses of the discrete distributions against direct sums in high precision."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hushtable.privacy import (
    discrete_gaussian,
    discrete_gaussian_kurtosis,
    discrete_gaussian_variance,
    discrete_laplace_kurtosis,
    discrete_laplace_variance,
)
from thresholds import DRAWS, Z


def moments(exponents: list[mpmath.mpf]) -> tuple[mpmath.mpf, mpmath.mpf]:
    """(variance, excess kurtosis) of the symmetric law with P(+-k) ~ exp(-exponents[k])."""
    masses = [mpmath.exp(-e) * (2 if k else 1) for k, e in enumerate(exponents)]
    sums = [mpmath.fsum(m * k**p for k, m in enumerate(masses)) for p in (0, 2, 4)]
    return sums[1] / sums[0], sums[2] * sums[0] / sums[1] ** 2 - 3


@pytest.mark.parametrize(
    "variance", ["1e-3", "0.01", "0.05", "0.25", "1/3", "1", "1.7", "4", "9", "9.01", "100"]
)
def test_gaussian_moments_are_the_sums_of_their_series(variance: str) -> None:
    with mpmath.workdps(120):
        parameter = mpmath.mpf(Fraction(variance).numerator) / Fraction(variance).denominator
        reach = 80 + int(30 * mpmath.sqrt(parameter))
        true, excess = moments([k * k / (2 * parameter) for k in range(reach)])
        assert abs(discrete_gaussian_variance(variance) / true - 1) < 1e-14
        assert abs(discrete_gaussian_kurtosis(variance) - excess) <= 1e-14 * abs(excess) + 1e-50


@pytest.mark.parametrize("scale", ["0.02", "0.1", "0.5", "1", "7/3", "20"])
def test_laplace_moments_are_the_sums_of_their_series(scale: str) -> None:
    with mpmath.workdps(60):
        rate = mpmath.mpf(Fraction(scale).denominator) / Fraction(scale).numerator
        true, excess = moments([k * rate for k in range(int(150 / rate) + 5)])
        assert abs(discrete_laplace_variance(scale) / true - 1) < 1e-12
        assert abs(discrete_laplace_kurtosis(scale) / excess - 1) < 1e-12


def test_moments_far_out_are_the_limits() -> None:
    assert discrete_gaussian_variance("1e-9") == 0.0 and discrete_gaussian_kurtosis("1e-9") == np.inf
    assert discrete_laplace_variance("1e-9") == 0.0 and discrete_laplace_kurtosis("1e-9") == np.inf
    assert discrete_gaussian_variance(10**24) == 1e24 and discrete_gaussian_kurtosis(10**24) == 0.0
    assert discrete_laplace_variance(10**9) == pytest.approx(2e18, rel=1e-12)
    assert discrete_laplace_kurtosis(10**9) == pytest.approx(3, rel=1e-12)


def test_narrow_draws_have_the_discrete_variance_and_not_the_parameter() -> None:
    drawn = discrete_gaussian("0.25", DRAWS)
    spread = np.sqrt(np.var(drawn.astype(float) ** 2) / DRAWS)
    assert abs(np.mean(drawn**2) - discrete_gaussian_variance("0.25")) < Z * spread
    assert abs(np.mean(drawn**2) - 0.25) > Z * spread
