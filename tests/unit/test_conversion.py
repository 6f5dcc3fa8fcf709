"""zCDP to (epsilon, delta) and back: tight, and rounded against the spender."""

from __future__ import annotations

import math
from itertools import pairwise

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import BudgetError
from hushtable.privacy import epsilon_from, rho_from

RHOS = [1e-12, 1e-6, 1e-3, 0.0149, 0.125, 0.5, 3.0, 100.0, 1e4, 1e6]
DELTAS = [1e-300, 1e-100, 1e-18, 1e-9, 1e-6, 1e-3, 0.1, 0.5, 0.99]


def true_epsilon(rho: float, delta: float) -> mpmath.mpf:
    """The infimum over alpha, by golden section on the published formula solved for epsilon, in 60 digits."""
    with mpmath.workdps(60):
        rho, size = mpmath.mpf(rho), -mpmath.log(mpmath.mpf(repr(delta)))

        def epsilon(t: mpmath.mpf) -> mpmath.mpf:
            alpha = 1 + mpmath.exp(t)
            return alpha * rho + (size - mpmath.log(alpha)) / (alpha - 1) + mpmath.log1p(-1 / alpha)

        low, high, ratio = mpmath.mpf(-60), mpmath.mpf(60), (mpmath.sqrt(5) - 1) / 2
        for _ in range(150):
            a, b = high - ratio * (high - low), low + ratio * (high - low)
            low, high = (low, b) if epsilon(a) < epsilon(b) else (a, high)
        return max(epsilon(low), mpmath.mpf(0))


@pytest.mark.long
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_is_the_infimum_over_all_orders_and_never_below_it(rho: float, delta: float) -> None:
    truth = true_epsilon(float(repr(rho)), delta)
    ours = epsilon_from(rho=rho, delta=delta)
    assert ours >= truth * (1 - mpmath.mpf(10) ** -30)
    assert ours <= float(truth) * (1 + 1e-14) + 1e-25


@pytest.mark.long
@settings(deadline=None, max_examples=50)
@given(st.floats(-6, 4), st.floats(-300, -1e-3))
def test_the_round_trip_returns_the_budget_and_not_more(log_epsilon: float, log_delta: float) -> None:
    epsilon, delta = 10.0**log_epsilon, 10.0**log_delta
    rho = rho_from(epsilon=epsilon, delta=delta)
    assert 0 < rho < math.inf
    with mpmath.workdps(60):
        amplified = mpmath.mpf(2) ** -48 * max(1, rho / epsilon)
        assert true_epsilon(rho, delta) <= mpmath.mpf(repr(epsilon))
        assert true_epsilon(rho, delta) >= mpmath.mpf(repr(epsilon)) * (1 - amplified * 1000)


@pytest.mark.long
def test_dp_accounting_agrees() -> None:
    orders = 1 + np.geomspace(1e-3, 1e5, 60_001)
    for rho in (1e-3, 0.1, 1.0, 10.0):
        for delta in (1e-12, 1e-9, 1e-5):
            theirs, _ = rdp_privacy_accountant.compute_epsilon(orders, rho * orders, delta)
            assert epsilon_from(rho=rho, delta=delta) == pytest.approx(theirs, rel=1e-6)
            assert rho_from(epsilon=theirs, delta=delta) == pytest.approx(rho, rel=1e-6)


def test_opendp_agrees() -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    for scale in (0.5, 2.0, 30.0):
        measurement = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale))
        for delta in (1e-12, 1e-9, 1e-5, 1e-2):
            theirs = measurement.map(1.0).epsilon(delta)
            assert epsilon_from(rho=0.5 / scale**2, delta=delta) == pytest.approx(theirs, rel=1e-9)


def test_more_budget_or_more_delta_is_more_rho() -> None:
    rhos = [rho_from(epsilon=e, delta=1e-9) for e in np.geomspace(1e-6, 1e4, 60)]
    assert all(a < b for a, b in pairwise(rhos))
    rhos = [rho_from(epsilon=1, delta=d) for d in np.geomspace(1e-300, 0.99, 60)]
    assert all(a < b for a, b in pairwise(rhos))


def test_delta_is_read_as_an_exact_number() -> None:
    assert rho_from(epsilon=1, delta="1e-9") == rho_from(epsilon="1", delta=1e-9)
    assert epsilon_from(rho=1, delta="1e-400") > epsilon_from(rho=1, delta="1e-300")


@pytest.mark.parametrize("bad", [0, -1, 1, 2, float("nan"), float("inf"), "x", True])
def test_bad_deltas_are_refused(bad: object) -> None:
    for convert in (lambda d: rho_from(epsilon=1, delta=d), lambda d: epsilon_from(rho=1, delta=d)):
        with pytest.raises(BudgetError):
            convert(bad)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), "x", True])
def test_bad_amounts_are_refused(bad: object) -> None:
    with pytest.raises(BudgetError):
        rho_from(epsilon=bad, delta=1e-9)  # type: ignore[arg-type]
    with pytest.raises(BudgetError):
        epsilon_from(rho=bad, delta=1e-9)  # type: ignore[arg-type]
