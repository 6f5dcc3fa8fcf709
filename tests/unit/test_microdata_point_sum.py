"""The two mechanisms of the upper bounds, through the ledger."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.kernel.draw import noisy
from hushtable.measurement import Answers
from hushtable.microdata import Measurement, Noise, fit, upper_bound
from hushtable.microdata.point_sum import counts_budget, counts_workload
from hushtable.microdata.uncertainty import promise
from hushtable.privacy import Cost, GaussianNoise, LaplaceNoise, shared_bound
from hushtable.privacy.amounts import text
from hushtable.privacy.truncation import least_bound
from hushtable.release.plan_maker import Way, plan_release
from hushtable.release.record_fits import laws_of

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
    assert [float(p) for p in release.answers.part.noise.parameters] == pytest.approx(
        [float(p) for p in parameters], rel=1e-9
    )
    assert opened.remaining.epsilon == pytest.approx(0.5)


@pytest.mark.parametrize("budget", [ht.ZCDP("0.1"), ht.ApproxDP(epsilon=1, delta="1e-9")])
def test_other_budgets_buy_gaussian_noise_of_equal_variance(session, budget):
    release = session(budget).release_counts(budget=budget)
    rho = budget.limit.rho / 1e12
    assert release.answers.part.noise.law is GaussianNoise
    assert [float(p) for p in release.answers.part.noise.parameters] == pytest.approx([1 / rho] * 2, rel=1e-6)


@pytest.mark.long
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


# Noise that is cut off

CUT = ht.ApproxDP(epsilon=1, delta="0.2", truncation="0.2")
"""Forty counts are more than 4 / delta, so that cutting off pays."""


def test_a_truncation_buys_noise_that_is_cut_off_and_is_charged_for_its_delta(session, tmp_path):
    opened = session(ht.ApproxDP(epsilon=2, delta="0.3", truncation="0.3"))
    release = opened.release_counts(budget=CUT, request="cut")
    bound, spent = release.answers.part.noise.bound, opened.ledger.spent()
    assert bound == least_bound(Fraction(2), Fraction(1, 10))
    assert (spent.xi, spent.rho) == (10**12, 0) and 0 < spent.delta <= Fraction(1, 5)
    assert float(spent.delta) == pytest.approx(2 * exp(-bound / 2) / (1 + exp(-0.5)) * 1, rel=1e-9)
    assert release.card.to_dict()["charged"]["delta"] == text(Fraction(spent.delta))
    assert [each.delta for each in release.card.epsilon_by_delta] == [text(Fraction(spent.delta))]
    counts = np.bincount([k % 7 for k in range(500)], minlength=40)
    noise = np.append(release.answers.of((0,)) - counts, release.answers.of(()) - 500)
    assert np.abs(noise).max() <= bound
    again = opened.release_counts(budget=CUT, request="cut")
    assert opened.ledger.spent() == spent
    np.testing.assert_array_equal(again.answers.values, release.answers.values)
    release.save(tmp_path / "out")
    loaded = ht.Release.load(tmp_path / "out")
    assert loaded.answers.part.noise.bound == bound and loaded.card.charged == release.card.charged
    assert opened.ledger.verify().ok


@pytest.mark.parametrize(
    "accurate, budget, bound",
    [
        ("point", CUT, None),
        ("sum", ht.ApproxDP(epsilon=1, delta="1e-6", truncation="1e-6"), None),
        ("sum", CUT, 5),
    ],
)
def test_delta_is_charged_only_where_it_promises_more(session, accurate, budget, bound):
    opened = session(ht.ApproxDP(epsilon=2, delta="0.3", truncation="0.3"))
    release = opened.release_counts(budget=budget, accurate=accurate)
    assert (release.answers.part.noise.bound is None) == (bound is None)
    assert bool(opened.ledger.spent().delta) == (bound is not None)


@pytest.mark.parametrize("budget", [ht.ZCDP(1), ht.PureDP(2), ht.ApproxDP(epsilon=2, delta="1e-6")])
def test_a_ledger_without_a_truncation_cannot_pay_for_one(session, budget):
    opened = session(budget)
    with pytest.raises(HushtableError) as caught:
        opened.release_counts(budget=CUT)
    assert caught.value.code in {"budget.no-delta", "ledger.exhausted"} and caught.value.fix
    assert opened.ledger.spent() == Cost.ZERO


@pytest.mark.parametrize("d", [3, 40, 10**4, 10**9, 10**15])
@pytest.mark.parametrize("delta", ["1e-9", "1e-4", "0.1"])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_the_upper_bound_promises_what_is_bought(d, delta, epsilon):
    """At the error of the sum that two equal halves have; at that of the counts that all of epsilon has.

    (Of two counts without their sum, the sum is as exact as that, so the bound is then that of "point".)
    """
    given = {"epsilon": float(epsilon), "delta": float(delta)}
    budget = ht.ApproxDP(epsilon=epsilon, delta=delta, truncation=delta)
    scale = 2 / Fraction(epsilon)
    bought = counts_budget(d, "sum", budget)
    law = Noise.discrete_laplace(float(scale))
    if bought.limit.delta:
        law = Noise.truncated_geometric(float(1 / scale), shared_bound([scale, scale], Fraction(delta)))
    made = promise(d, "sum", law)
    assert made.point_error == pytest.approx(upper_bound(d=d, **given, sum_error=made.sum_error), rel=1e-9)
    made = promise(d, "point", Noise.discrete_laplace(float(scale) / 2))
    assert made.sum_error == pytest.approx(upper_bound(d=d, **given, point_error=made.point_error), rel=1e-9)
    published = 2 / float(epsilon) * log(4 / float(delta)) + 1
    assert upper_bound(d=d, **given, sum_error=8 / float(epsilon) ** 2) <= (
        8 / float(epsilon) ** 2 + 8 / float(epsilon) * published + 4 * published**2
    ) * (1 + 1e-9)


@pytest.mark.parametrize("d", [1, 3, 100, 10**5])
@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0, 30.0])
def test_the_largest_of_discrete_draws_is_within_the_continuous_bounds(d, scale):
    """Lemma 1 is stated for continuous laws; here E max |z| and E max z^2 of the discrete ones, term by term."""
    for law in (Noise.discrete_laplace(scale), Noise.discrete_gaussian(scale**2)):
        size = np.arange(0, int(60 * scale * (1 + log(d))) + 60)
        below = np.clip(law.at_most(size) - law.below(-size), 0.0, 1.0)  # P(|z| <= size)
        beyond = -np.expm1(d * np.log(np.maximum(below, 1e-300)))  # P(max > size)
        first, second = beyond.sum(), ((2 * size + 1) * beyond).sum()
        absolute, square = law.largest(d)
        assert first <= absolute * (1 + 1e-9) and second <= square * (1 + 1e-9)


def weights_of(answers, laws):
    given = [Measurement(s, answers.of(s), law) for s, law in zip(answers.layout.sets, laws, strict=True)]
    return fit(given, answers.layout.sizes, "sequential").weights


def hard_tables(d, bound):
    """Tables that push a projection: nothing, one count, one as large as the noise, many small ones, stairs, equal."""
    one, many, stairs = np.zeros(d, int), np.zeros(d, int), np.zeros(d, int)
    one[0] = 2 * bound
    many[:: max(1, d // 7)] = bound
    stairs[: d // 2] = np.arange(d // 2) % (bound + 2)
    few = np.zeros(d, int)
    few[d - 1] = 1
    return [np.zeros(d, int), one, few, many, stairs, np.full(d, 3)]


@pytest.mark.long
@pytest.mark.parametrize("accurate", ["point", "sum"])
@pytest.mark.parametrize("budget", [CUT, ht.PureDP(1), ht.ZCDP("0.5")], ids=str)
def test_what_is_released_errs_no_more_than_promised_on_hard_tables(accurate, budget):
    """Mean squared errors of the weights over 400 draws of the kernel, with the noise that ``release_counts`` plans.

    For noise that is cut off, |error| <= |noise of the sum| + 2 bound holds in every single draw.  A promise may be all
    but tight (the sum, a point-accurate count), so each of about 750 means is given seven standard errors: false alarms
    below 1e-8, as squares of discrete Laplace noise have tails that 400 draws tame.
    """
    d, runs = 60, 400
    schema = ht.Schema.from_dict({"attributes": {"block": {"type": "categorical", "values": list(range(d))}}})
    bought = counts_budget(d, accurate, budget)
    workload = counts_workload(schema, None, accurate)
    part = plan_release(schema, workload, bought, Way("identity")).noise.part
    for table in hard_tables(d, 12):
        exact = np.concatenate([[table.sum()] if s == () else table for s in part.sets])
        drawn = [Answers(part, noisy(exact, part.noise)) for _ in range(runs)]
        laws = laws_of(part)
        weights = np.array([weights_of(a, laws) for a in drawn])
        if part.bound is not None:
            noise = np.abs([int(a.of(())) - table.sum() for a in drawn])
            assert (np.abs(weights - table).max(axis=1) <= noise + 2 * part.bound + 1e-9).all()
        made = promise(d, accurate, laws[-1])
        for errors, most in (
            (weights - table, made.point_error),
            (weights.sum(axis=1) - table.sum(), made.sum_error),
        ):
            squares = errors**2
            allowed = most + 7 * squares.std(axis=0, ddof=1) / runs**0.5
            assert (squares.mean(axis=0) <= allowed * (1 + 1e-6)).all()


def test_the_simulation_notices_noise_twice_as_wide(monkeypatch):
    """The mutant: promises are compared with errors of a kernel that adds twice its noise."""
    laplace = LaplaceNoise.segments
    monkeypatch.setattr(LaplaceNoise, "segments", lambda scales, n: laplace([2 * s for s in scales], n))
    with pytest.raises(AssertionError):
        test_what_is_released_errs_no_more_than_promised_on_hard_tables("point", ht.PureDP(1))


def test_another_word_is_refused(session):
    with pytest.raises(HushtableError) as caught:
        session(ht.PureDP(1)).release_counts(budget=ht.PureDP(1), accurate="both")
    assert caught.value.code == "microdata.accurate"
