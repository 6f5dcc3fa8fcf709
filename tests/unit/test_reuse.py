"""Releases that build on earlier ones: what is charged, how exact the tables are, and what counts as known."""

from __future__ import annotations

from fractions import Fraction
from math import prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable import linear
from hushtable.errors import WorkloadError
from hushtable.marginals import Layout, closure
from hushtable.measurement import Answers, MarginalPart, Transcript
from hushtable.privacy import Cost, GaussianNoise
from hushtable.reconstruct import from_answers
from hushtable.release.reuse import earlier_answers

UNIT = 10**12


@pytest.fixture
def session(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> ht.Session:
    return ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "t.ledger", budget=ht.ZCDP(5))


def pairs(session: ht.Session) -> ht.Workload:
    return ht.Workload.all_marginals(session.schema, order=2)


def batch(session: ht.Session, rho: str, **more: object) -> ht.Release:
    return session.release(pairs(session), budget=ht.ZCDP(rho), strategy="residual-planner", **more)


def spent(session: ht.Session) -> int:
    return session.ledger.spent().rho


def test_the_same_release_again_costs_nothing_and_gives_the_same_tables(session: ht.Session) -> None:
    first = batch(session, "0.1")
    before = spent(session)
    again = batch(session, "0.1", reuse=True)
    assert spent(session) == before and session.ledger.verify().ok
    assert again.table("age", "sex").equals(first.table("age", "sex"))
    assert again.card.charged == Cost.ZERO and again.card.reuse.saved_rho != "0"


def test_a_larger_budget_pays_the_difference_and_has_the_errors_of_one_release(session: ht.Session) -> None:
    batch(session, "0.1")
    better = batch(session, "0.3", reuse=True)
    assert 0 <= 3 * UNIT // 10 - spent(session) < 100  # plans round precisions to 40 bits
    fresh = session.plan(pairs(session), budget=ht.ZCDP("0.3"), strategy="residual-planner")
    assert np.allclose(better.accuracy()["std"], fresh.tables()["std"], rtol=1e-9)


def test_only_what_is_missing_of_a_finer_workload_is_charged(session: ht.Session) -> None:
    ones = ht.Workload.all_marginals(session.schema, order=1)
    session.release(ones, budget=ht.ZCDP("0.1"), strategy="residual-planner")
    before = spent(session)
    session.release(pairs(session), budget=ht.ZCDP("0.1"), strategy="residual-planner", reuse=True)
    old = session.plan(ones, budget=ht.ZCDP("0.1"), strategy="residual-planner").noise
    new = session.plan(pairs(session), budget=ht.ZCDP("0.1"), strategy="residual-planner").noise
    known = dict(zip(old.part.sets, old.part.precisions, strict=True))
    sizes = session.schema.sizes
    price = sum(
        max(Fraction(0), p - known.get(s, 0)) * prod(Fraction(sizes[i] - 1, sizes[i]) for i in s) / 2
        for s, p in zip(new.part.sets, new.part.precisions, strict=True)
    )
    assert spent(session) - before == -(-price * UNIT // 1)
    assert price < Fraction(1, 10)


@pytest.mark.long
def test_answers_of_choices_and_adaptive_releases_are_reused(session: ht.Session) -> None:
    choice = session.choose(
        [linear.marginals(session.schema, order=k) for k in (1, 2)], budget=ht.ZCDP("0.1")
    )
    choice.finish(1)
    taken = spent(session)
    session.release(pairs(session), budget=ht.ZCDP("0.1"), strategy="identity", reuse=True)
    noise = session.plan(pairs(session), budget=ht.ZCDP("0.1"), strategy="identity").noise
    variances = {s: 1 / p for s, p in zip(noise.part.sets, noise.part.precisions, strict=True)}
    target = linear.MarginalMechanism.from_tables(noise.part.sizes, variances)
    rest = linear.residual(target, linear.common([target, choice.options[1]]))
    assert spent(session) - taken == -(-rest.rho * UNIT // 1) < UNIT // 100
    wide = session.release(pairs(session), budget=ht.ZCDP("0.4"), strategy="aim", request="aim")
    before = spent(session)
    sets, sizes = closure([(0, 1), (0, 2), (1, 2)]), session.schema.sizes
    known = dict.fromkeys(sets, Fraction(0))
    for answers in earlier_answers(session.ledger, session.schema, sets).answers:
        for s, precision in zip(answers.part.sets, answers.part.precisions, strict=True):
            known[s] += precision
    for s, precision in zip(wide.answers.part.sets, wide.answers.part.precisions, strict=True):
        assert known[s] > precision
    session.release(pairs(session), budget=ht.ZCDP("0.3"), reuse=True)
    plan = session.plan(pairs(session), budget=ht.ZCDP("0.3"), strategy="residual-planner").noise
    price = sum(
        max(Fraction(0), p - known[s]) * prod(Fraction(sizes[i] - 1, sizes[i]) for i in s) / 2
        for s, p in zip(plan.part.sets, plan.part.precisions, strict=True)
    )
    assert spent(session) - before == -(-price * UNIT // 1) < 3 * UNIT // 10


def test_old_and_new_combine_by_inverse_variance(session: ht.Session) -> None:
    first = batch(session, "0.1")
    both = batch(session, "0.4", reuse=True)
    new = Transcript.of([session.ledger.payload(session.ledger.reservations()[-1].charges[0].number)])
    new = new.answers(session.schema.sizes)
    for s in ((), (0,), (0, 1)):
        parts = [from_answers(a) for a in (first.answers, new)]
        weights = [1 / p.model.variances[p.layout.index[s]] for p in parts]
        mean = sum(w * p.value(s) for w, p in zip(weights, parts, strict=True)) / sum(weights)
        assert np.allclose(both.estimates.value(s), mean)


def test_marginals_tell_residuals_exactly_what_least_squares_says() -> None:
    layout = Layout((4, 3, 2), ((0, 1), (1, 2)))
    values = np.random.default_rng(3).integers(-50, 200, layout.cells)
    part = MarginalPart(layout.sizes, layout.sets, GaussianNoise, (Fraction(1, 9000), Fraction(1, 4000)))
    answers = Answers(part, values)
    direct, through = from_answers(answers), from_answers(answers.residuals())
    for s in closure(layout.sets):
        assert np.allclose(direct.value(s), through.value(s))
        assert np.isclose(direct.variance(s), through.variance(s))


def test_a_request_id_buys_once_even_when_more_was_released_since(session: ht.Session) -> None:
    batch(session, "0.1")
    first = batch(session, "0.2", reuse=True, request="spring")
    batch(session, "0.3")
    before = spent(session)
    again = batch(session, "0.2", reuse=True, request="spring")
    assert spent(session) == before
    assert again.table("age").equals(first.table("age"))


def test_another_schema_shares_nothing(
    session: ht.Session, tmp_path: Path, small_frame: pl.DataFrame
) -> None:
    batch(session, "0.1")
    before = spent(session)
    declared = session.schema.to_dict()
    declared["attributes"]["age"]["width"] = 40
    other = ht.Session.open(small_frame, schema=declared, ledger=tmp_path / "t.ledger")
    batch(other, "0.1", reuse=True)
    assert spent(session) - before == pytest.approx(UNIT // 10, abs=100)


def test_a_saved_release_reads_back_equal(session: ht.Session, tmp_path: Path) -> None:
    batch(session, "0.1")
    made = batch(session, "0.2", reuse=True)
    made.save(tmp_path / "out")
    loaded = ht.Release.load(tmp_path / "out")
    assert loaded.table("age", "sex").equals(made.table("age", "sex")) and loaded.card == made.card


def test_what_cannot_be_charged_by_difference_is_refused(session: ht.Session) -> None:
    with pytest.raises(WorkloadError) as caught:
        session.release(pairs(session), budget=ht.ZCDP("0.1"), strategy="aim", reuse=True)
    assert caught.value.code == "release.reuse"
    with pytest.raises(WorkloadError) as caught:
        session.release(pairs(session), budget=ht.PureDP(1), strategy="identity", reuse=True)
    assert caught.value.code == "release.reuse"
    assert session.ledger.spent() == Cost.ZERO


TREE = """\
attributes:
  place: {type: categorical, levels: [region, district], tree: {North: [a, b, c], South: [d, e]}}
  sex: {type: categorical, values: [F, M]}
"""


def of_places(ledger: Path, declared: str = TREE) -> ht.Session:
    frame = pl.DataFrame({"place": list("aabcde"), "sex": list("FMFMFM")})
    return ht.Session.open(frame, schema=ht.Schema.loads(declared), ledger=ledger, budget=ht.ZCDP(5))


def by_place(session: ht.Session, **more: object) -> ht.Release:
    asked = ht.Workload([("region", "sex"), ("district",)])
    return session.release(asked, budget=ht.ZCDP("0.1"), strategy="residual-planner", **more)


def test_a_tree_that_changed_is_refused_by_name_before_anything_is_spent(tmp_path: Path) -> None:
    """A district that moved, with as many categories as before; a fresh release can be reused again."""
    by_place(of_places(tmp_path / "l"))
    moved = of_places(tmp_path / "l", TREE.replace("b, c], South: [d", "b], South: [c, d"))
    before, entries = spent(moved), len(moved.ledger.reservations())
    with pytest.raises(WorkloadError, match="'place'") as refused:
        by_place(moved, reuse=True)
    assert refused.value.code == "reuse.different"
    assert spent(moved) == before and len(moved.ledger.reservations()) == entries
    by_place(moved)
    before = spent(moved)
    by_place(moved, reuse=True)
    assert spent(moved) == before
    by_place(of_places(tmp_path / "l"), reuse=True)
    assert spent(moved) == before


def test_other_changes_of_a_schema_with_a_tree_share_nothing_and_are_not_refused(tmp_path: Path) -> None:
    by_place(of_places(tmp_path / "l"))
    wider = of_places(tmp_path / "l", TREE.replace("[F, M]", "[F, M, X]"))
    assert by_place(wider, reuse=True).card.reuse.charges == ()
    split = of_places(tmp_path / "l", TREE.replace("b, c], South: [d", "b], South: [c, d"))
    by_sex = split.release(ht.Workload([("sex",)]), budget=ht.ZCDP("0.1"), reuse=True)
    assert by_sex.card.reuse.charges == ()


def test_what_was_reused_says_by_which_strategies_it_was_measured(
    session: ht.Session, tmp_path: Path
) -> None:
    """Of noise that was fixed beforehand intervals are as exact as of one release, and no model was measured for."""
    batch(session, "0.1")
    again = batch(session, "0.2", reuse=True, reconstruct="mle")
    again.save(tmp_path / "r")
    for made in (again, ht.Release.load(tmp_path / "r")):
        assert made.card.reuse.strategies == ("residual-planner",)
        assert not made.reads_roughly and not ht.release.approximate(made.card)
        assert "approximate" not in made.promise(0.05)
    session.release(pairs(session), budget=ht.ZCDP("0.5"), strategy="auto")
    mixed = batch(session, "0.9", reuse=True, reconstruct="mle")
    assert "auto" in mixed.card.reuse.strategies
    assert mixed.reads_roughly and ht.release.approximate(mixed.card)
