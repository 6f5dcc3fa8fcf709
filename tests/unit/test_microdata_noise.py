"""Noise laws against SciPy and direct sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hushtable.microdata import Noise

LAWS = [
    (Noise.laplace(3.0), stats.laplace(scale=3.0)),
    (Noise.gaussian(7.0), stats.norm(scale=7.0**0.5)),
    (Noise.discrete_laplace(4.0), stats.dlaplace(0.25)),
]


@pytest.mark.parametrize("noise, twin", LAWS)
def test_variance_tail_and_quantiles_agree_with_scipy(noise, twin):
    points = np.array([-9.5, -3.0, -0.2, 0.0, 0.7, 4.0, 11.0])
    assert noise.variance == pytest.approx(twin.var(), rel=1e-9)
    np.testing.assert_allclose(noise.at_most(points), twin.cdf(points), rtol=1e-9)
    strictly = twin.cdf(points - 1e-9) if noise.whole else twin.cdf(points)
    np.testing.assert_allclose(noise.below(points), strictly, rtol=1e-9)
    for p in (0.1, 0.5, 0.9, 0.999):
        assert noise.quantile(p) == pytest.approx(twin.ppf(p), abs=1e-9)


@pytest.mark.parametrize(
    "noise", [Noise.discrete_gaussian(0.4), Noise.discrete_gaussian(30.0), Noise.truncated_geometric(0.5, 6)]
)
def test_discrete_laws_agree_with_direct_sums(noise):
    support = np.arange(-400, 401)
    if noise == Noise.discrete_gaussian(noise.parameter):
        weights = np.exp(-(support**2) / (2 * noise.parameter))
        weights /= weights.sum()
        values = support
    else:
        weights = np.exp(-0.5 * np.abs(support))
        weights /= weights.sum()
        values = np.clip(support, -6, 6)
    assert noise.variance == pytest.approx((weights * values**2).sum(), rel=1e-9)
    for point in (-7, -6, -1, 0, 1.5, 5, 6):
        assert noise.at_most(point) == pytest.approx(weights[values <= point].sum(), abs=1e-12)
        assert noise.below(point) == pytest.approx(weights[values < point].sum(), abs=1e-12)


def test_the_median_of_the_largest_draw_is_where_the_power_of_the_law_is_one_half():
    for noise in (Noise.laplace(8.0), Noise.gaussian(5.0)):
        for count in (1, 2, 50, 10_000):
            assert float(noise.at_most(noise.median_of_largest(count))) ** count == pytest.approx(
                0.5, rel=1e-6
            )
    for noise in (Noise.discrete_laplace(8.0), Noise.discrete_gaussian(64.0)):
        for count in (1, 7, 300):
            middle = noise.median_of_largest(count)
            assert float(noise.at_most(middle)) ** count >= 0.5 > float(noise.at_most(middle - 1)) ** count


def test_a_wide_discrete_gaussian_is_continuous_where_the_two_readings_meet():
    below, above = Noise.discrete_gaussian(0.999e8), Noise.discrete_gaussian(1.001e8)
    assert above.variance / below.variance == pytest.approx(1.001 / 0.999, rel=1e-9)
    assert float(above.at_most(20_000)) == pytest.approx(float(below.at_most(20_000)), abs=1e-3)
