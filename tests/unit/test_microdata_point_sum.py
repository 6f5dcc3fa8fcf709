"""The two mechanisms of the upper bounds, through the ledger."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import HushtableError

SCHEMA = {"attributes": {"block": {"type": "categorical", "values": list(range(40))}}}


@pytest.fixture
def session(tmp_path):
    rows = pl.DataFrame({"block": [k % 7 for k in range(500)]})

    def opened(budget):
        return ht.Session.open(rows, schema=SCHEMA, ledger=tmp_path / "l", budget=budget)

    return opened


def projected(counts, total):
    """Lemma 2 by bisection: counts minus a constant, at least zero, with the wanted sum."""
    low, high = counts.min() - total - 1.0, counts.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(counts - middle, 0).sum() > total else (low, middle)
    return np.maximum(counts - low, 0)


@pytest.mark.parametrize(
    "accurate, parameters", [("point", [Fraction(2)]), ("sum", [Fraction(4), Fraction(4)])]
)
def test_a_pure_budget_buys_the_noise_of_the_theorem(session, accurate, parameters):
    opened = session(ht.PureDP(1))
    release = opened.release_counts(budget=ht.PureDP("0.5"), accurate=accurate)
    assert [float(p) for p in release.answers.parameters] == pytest.approx(
        [float(p) for p in parameters], rel=1e-9
    )
    assert opened.remaining.epsilon == pytest.approx(0.5)


@pytest.mark.parametrize("budget", [ht.ZCDP("0.1"), ht.ApproxDP(epsilon=1, delta="1e-9")])
def test_other_budgets_buy_gaussian_noise_of_equal_variance(session, budget):
    release = session(budget).release_counts(budget=budget)
    rho = budget.limit.rho / 1e12
    assert release.answers.noise == "gaussian"
    assert [float(p) for p in release.answers.parameters] == pytest.approx([1 / rho] * 2, rel=1e-6)


def test_records_of_the_sum_accurate_mechanism_have_the_measured_sum(session):
    release = session(ht.PureDP(1)).release_counts(budget=ht.PureDP(1))
    records = release.microdata("sequential")
    total, counts = release.answers.of(()).item(), release.answers.of((0,)).astype(float)
    assert records.height == max(0, total)
    made = np.bincount(records["block"].to_numpy(), minlength=40)
    assert np.abs(made - projected(counts, max(0, total))).max() < 1 + 1e-6


def test_records_of_the_point_accurate_mechanism_are_the_counts_without_negatives(session):
    release = session(ht.PureDP(1)).release_counts(budget=ht.PureDP(1), accurate="point")
    made = np.bincount(release.microdata("sequential")["block"].to_numpy(), minlength=40)
    np.testing.assert_array_equal(made, np.maximum(release.answers.of((0,)), 0))


def test_another_word_is_refused(session):
    with pytest.raises(HushtableError) as caught:
        session(ht.PureDP(1)).release_counts(budget=ht.PureDP(1), accurate="both")
    assert caught.value.code == "microdata.accurate"
