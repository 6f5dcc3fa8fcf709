"""Choices through session, kernel and ledger: what is measured, what is charged, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable import linear
from hushtable.errors import BudgetError, HushtableError, LedgerError, RefusedError, WorkloadError
from hushtable.kernel.draw import noisy
from hushtable.measurement import DeviationPart, MatrixPart, ResidualPart
from hushtable.privacy import Cost
from hushtable.release.choices import Choice, plan_choice
from hushtable.release.choices.families import read_option
from hushtable.release.query_release import QueryRelease
from thresholds import Z

UNIT = 10**12
AGES = (linear.buckets(4), linear.buckets(4, (2,)), linear.buckets(4, (1, 2, 3)))


@pytest.fixture
def session(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> ht.Session:
    return ht.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "t.ledger", budget=ht.ZCDP(rho=2)
    )


def orders(schema: ht.Schema, *wanted: int, **noise: Any) -> list[linear.MarginalMechanism]:
    return [linear.marginals(schema, order=k, **noise) for k in wanted]


def bucket_options() -> list[linear.BucketTable]:
    """Ages in 1, 2 and 4 buckets by sex; membership left out."""
    return [linear.bucket_table([ages, (0, 1, 2), (0, 0)]) for ages in AGES]


def counts(frame: pl.DataFrame) -> np.ndarray:
    table = np.zeros((4, 3, 2))
    for age, sex, member in frame.iter_rows():
        table[age // 20, {"F": 0, "M": 1}.get(sex, 2), int(member)] += 1
    return table


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_the_ledger_ends_at_exactly_the_price_of_the_option_taken(session: ht.Session, taken: int) -> None:
    choice = session.choose(orders(session.schema, 1, 2, 3), budget=ht.ZCDP("0.123456789012"))
    assert session.ledger.held() + session.ledger.spent() == Cost(0, 123456789012)
    common = session.ledger.spent().rho
    assert common == -(-choice.plan.common_rho * UNIT // 1)
    for _ in range(min(taken, 1)):
        choice.advance()
    choice.finish(taken)
    assert session.ledger.spent() == Cost(0, 123456789012)
    assert session.ledger.held() == Cost.ZERO
    assert session.ledger.verify().ok


def test_the_papers_share_of_the_budget_is_charged_for_the_common_part(tmp_path: Path) -> None:
    schema = ht.Schema.from_dict(
        {"attributes": {f"a{k}": {"type": "categorical", "values": ["n", "y"]} for k in range(7)}}
    )
    frame = pl.DataFrame({f"a{k}": ["n", "y"] for k in range(7)})
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    choice = session.choose(orders(schema, 1, 2), budget=ht.ZCDP("0.5"))
    assert choice.charged.rho == UNIT * 3 // 8  # 75%
    choice.abandon()
    assert session.ledger.spent() == Cost(0, UNIT * 3 // 8) and session.ledger.held() == Cost.ZERO
    wide = session.choose(orders(schema, 1, 7), budget=ht.ZCDP("0.5"))
    assert wide.charged.rho == UNIT // 32  # 6.25%


def test_taking_no_option_costs_the_common_part_only_and_ends_the_choice(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"))
    charged = choice.charged
    choice.abandon()
    assert choice.state == "abandoned" and session.ledger.spent() == charged and charged.rho < UNIT // 10
    for attempt in (choice.abandon, lambda: choice.finish(0), choice.advance):
        with pytest.raises(RefusedError) as caught:
            attempt()
        assert caught.value.code == "choose.abandoned"


def test_a_second_finish_is_refused_and_the_result_can_be_read_again(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"))
    release = choice.finish(1)
    spent = session.ledger.spent()
    for option in (0, 1):
        with pytest.raises(RefusedError) as caught:
            choice.finish(option)
        assert caught.value.code == "choose.finished"
    again = session.choice(choice.id).result()
    assert np.array_equal(again.answers.values, release.answers.values)
    assert session.ledger.spent() == spent


def test_a_choice_is_finished_by_another_session_from_its_id(
    session: ht.Session, tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    for options, finest in ((orders(small_schema, 0, 1, 2), 2), (bucket_options(), 2)):
        begun = session.choose(options, budget=ht.ZCDP("0.1"))
        begun.advance()
        before = session.ledger.spent().rho - begun.charged.rho
        later = ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "t.ledger")
        choice = later.choice(begun.id)
        assert choice.stage == 1 and choice.state == "open"
        assert np.array_equal(choice.snr(finest), begun.snr(finest))
        choice.finish(finest)
        assert later.ledger.spent().rho - before == UNIT // 10


def test_a_request_id_gives_the_same_choice_back(session: ht.Session) -> None:
    first = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"), request="spring")
    again = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"), request="spring")
    assert again.id == "spring" and np.array_equal(first.snr(1), again.snr(1))
    assert session.ledger.spent() == first.charged
    with pytest.raises(LedgerError) as caught:
        session.choose(orders(session.schema, 1, 3), budget=ht.ZCDP("0.1"), request="spring")
    assert caught.value.code == "ledger.request-differs"


def test_signal_to_noise_is_the_common_estimate_over_the_noise_of_the_option(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"))
    tables = [choice.common.table(name) for name in session.schema.names]
    estimates = np.concatenate([t["estimate"].to_numpy() for t in tables])
    stds = np.concatenate([t["std"].to_numpy() for t in tables])
    for option in (0, 1):
        dense = choice.options[option].dense()
        rows = choice.options[0].dense().queries
        noise = np.sqrt(linear.query_variances(dense, rows))
        assert np.allclose(choice.snr(option), estimates / noise)
        assert np.allclose(choice.snr(option, rule="three-sigma"), (estimates - 3 * stds) / noise)


def test_rules_decide_step_by_step_and_can_stop_early(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 0, 1, 2), budget=ht.ZCDP("0.5"))
    assert choice.decide(share=0.5, ratio=1) == 2 and choice.stage == 1
    weak = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.0001"))
    assert weak.decide(share=0.5, ratio=100) == 0
    assert weak.decide(share=0.5, ratio=100, stop_early=True) is None


def test_a_refinement_is_a_spend_of_its_own_and_is_not_bought_again(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"))
    before = choice.signal(1)
    choice.refine(rho="0.02")
    after = choice.signal(1)
    assert (after.upper - after.lower < before.upper - before.lower).all()
    charged = choice.charged.rho
    choice.finish(0)
    # Option 0 knows every residual better than the common part, so that part of the refinement comes off its price.
    assert charged < choice.charged.rho < UNIT // 10 + UNIT // 50
    assert session.ledger.spent() == choice.charged and session.ledger.held() == Cost.ZERO


def test_an_interrupted_refinement_holds_nothing_for_ever(
    session: ht.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"))

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(session.ledger), "charge", stop)
        patch.setattr(type(session.ledger), "settle", stop)
        with pytest.raises(KeyboardInterrupt):
            choice.refine(rho="0.2")
    assert session.ledger.held().rho > UNIT // 5
    head = session.ledger.head
    later = session.choice(choice.id)
    assert later.state == "open" and "interrupted" in later.notes[-1]
    assert session.ledger.held() != later.held and session.ledger.head == head
    later.tidy()
    assert session.ledger.held() == later.held
    later.refine(rho="0.2")
    later.finish(0)


def test_options_with_different_budgets_are_explained_and_charged_their_own_price(
    session: ht.Session,
) -> None:
    options = [
        linear.marginals(session.schema, order=1, rho="0.02"),
        linear.marginals(session.schema, order=2, rho="0.1"),
    ]
    choice = session.choose(options)
    assert "different budgets" in choice.notes[0]
    assert session.ledger.held() + session.ledger.spent() == Cost(0, UNIT // 10)
    choice.finish(0)
    assert session.ledger.spent() == Cost(0, UNIT // 50) and session.ledger.held() == Cost.ZERO


def test_rows_per_person_count_squared(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    schema = ht.Schema.from_dict({**small_schema.to_dict(), "max_rows_per_person": 3})
    session = ht.Session.open(small_frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    choice = session.choose(orders(schema, 1, 2), budget=ht.ZCDP("0.09"))
    assert choice.options[1].rho == Fraction(1, 100)
    choice.finish(1)
    assert session.ledger.spent() == Cost(0, 9 * UNIT // 100)


@pytest.mark.parametrize("taken", [0, 1, 2])
def test_bucket_tables_end_at_their_price_and_their_noise(
    session: ht.Session, small_frame: pl.DataFrame, taken: int
) -> None:
    choice = session.choose(bucket_options(), budget=ht.ZCDP("0.1"))
    if taken:
        choice.advance()
    release = choice.finish(taken)
    assert isinstance(release, QueryRelease)
    assert session.ledger.spent() == Cost(0, UNIT // 10)
    table = release.table()
    assert np.allclose(table["std"], 5**0.5)  # 1 / (2 rho) = 5
    ages = np.zeros((max(AGES[taken]) + 1, 3))
    np.add.at(ages, list(AGES[taken]), counts(small_frame).sum(axis=2))
    assert (np.abs(table["estimate"].to_numpy() - ages.ravel()) < 8 * 5**0.5).all()


def test_matrix_options_are_charged_what_was_really_measured_and_never_more_than_the_budget(
    session: ht.Session, small_frame: pl.DataFrame
) -> None:
    options = [m.dense() for m in orders(session.schema, 1, 2, rho="0.1")]
    choice = session.choose(options, budget=ht.ZCDP("0.1"), frozen=True)
    release = choice.finish(1)
    spent = session.ledger.spent().rho
    assert 0.9999 < spent / (UNIT // 10) <= 1
    rows = [part.matrix for part in choice._paid if isinstance(part, MatrixPart)]
    scales = [part.scale for part in choice._paid if isinstance(part, MatrixPart)]
    profile = [
        sum(Fraction(int(v) ** 2, 4**s) for m, s in zip(rows, scales, strict=True) for v in m[:, t])
        for t in range(24)
    ]
    assert spent == -(-max(profile) / 2 * UNIT // 1)
    truth = options[1].queries @ counts(small_frame).ravel()
    table = release.table()
    assert (np.abs(table["estimate"].to_numpy() - truth) < 8 * table["std"].to_numpy()).all()


def finish_interrupted(session: ht.Session, step: str, monkeypatch: pytest.MonkeyPatch) -> ht.Choice:
    """A choice whose finish was interrupted at a step of the ledger, as it is found again."""
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(session.ledger), step, stop)
        with pytest.raises(KeyboardInterrupt):
            choice.finish(1)
    return session.choice(choice.id)


def test_an_interrupted_finish_is_found_finished(
    session: ht.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = finish_interrupted(session, "settle", monkeypatch)
    head = session.ledger.head
    later = session.choice(begun.id)
    assert later.state == "finished" and later.taken == 1 and "interrupted" in later.notes[-1]
    assert later.result().table("age", "sex").height == 12
    assert session.ledger.head == head and session.ledger.open_reservations(), "reading wrote to the ledger"
    with pytest.raises(RefusedError) as caught:
        later.finish(1)
    assert caught.value.code == "choose.finished" and later.notes == []
    assert not session.ledger.open_reservations()
    assert session.ledger.spent() == Cost(0, UNIT // 10) and session.ledger.held() == Cost.ZERO


def test_a_lost_draw_stays_spent_and_leaves_only_abandoning(
    session: ht.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = session.choose(orders(session.schema, 0, 1, 2), budget=ht.ZCDP("0.1"))

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(session.ledger), "store", stop)
        with pytest.raises(KeyboardInterrupt):
            choice.advance()
    later = session.choice(choice.id)
    with pytest.raises(LedgerError) as caught:
        later.finish(1)
    assert caught.value.code == "choose.draw-lost" and session.ledger.held() != Cost.ZERO
    later.abandon()
    assert later.state == "abandoned" and session.ledger.held() == Cost.ZERO
    assert choice.charged.rho < session.ledger.spent().rho == later.charged.rho < UNIT // 10


def test_a_lost_last_draw_too_leaves_only_abandoning(
    session: ht.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = finish_interrupted(session, "store", monkeypatch)
    with pytest.raises(LedgerError) as caught:
        later.finish(1)
    assert caught.value.code == "choose.draw-lost" and later.state == "open"
    later.abandon()
    assert later.state == "abandoned" and session.ledger.held() == Cost.ZERO
    assert session.ledger.spent() == Cost(0, UNIT // 10)


@pytest.mark.parametrize(
    ("error", "code", "call"),
    [
        (WorkloadError, "choose.one-option", lambda s: s.choose(orders(s.schema, 1), budget=ht.ZCDP(0.1))),
        (WorkloadError, "choose.no-budget", lambda s: s.choose(orders(s.schema, 1, 2))),
        (
            WorkloadError,
            "choose.over-budget",
            lambda s: s.choose(orders(s.schema, 1, 2, rho=1), budget=ht.ZCDP(0.1)),
        ),
        (
            WorkloadError,
            "linear.domains",
            lambda s: s.choose(
                [linear.marginals((2, 2), 1), linear.marginals((2, 2), 2)], budget=ht.ZCDP(0.1)
            ),
        ),
        (WorkloadError, "linear.kind", lambda s: s.choose(["age", "sex"], budget=ht.ZCDP(0.1))),
        (
            WorkloadError,
            "choose.nothing-common",
            lambda s: s.choose(
                [linear.LinearGaussian(np.eye(24)[k : k + 1], [9.0]) for k in (0, 1)], budget=ht.ZCDP(0.1)
            ),
        ),
        (BudgetError, "budget.not-pure", lambda s: s.choose(orders(s.schema, 1, 2), budget=ht.PureDP(1))),
        (HushtableError, "ledger.exhausted", lambda s: s.choose(orders(s.schema, 1, 2), budget=ht.ZCDP(3))),
        (
            WorkloadError,
            "workload.too-large",
            lambda s: s.choose(orders(s.schema, 1, 2), budget=ht.ZCDP(1), memory="1KB"),
        ),
        (LedgerError, "choose.unknown", lambda s: s.choice("nobody")),
    ],
)
def test_nothing_is_spent_when_a_choice_is_refused(
    session: ht.Session, error: type[HushtableError], code: str, call: Any
) -> None:
    head = session.ledger.head
    with pytest.raises(error) as caught:
        call(session)
    assert caught.value.code == code
    assert session.ledger.head == head


def test_bad_questions_to_an_open_choice_are_refused(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 0, 1, 2), budget=ht.ZCDP("0.1"))
    asked: list[tuple[str, Any]] = [
        ("choose.option", lambda: choice.finish(3)),
        ("choose.option", lambda: choice.snr(option=True)),
        ("linear.rule", lambda: choice.snr(1, rule="maybe")),  # type: ignore[arg-type]
        ("choose.rule", lambda: choice.decide(share=0, ratio=1)),
        ("choose.not-finished", choice.result),
    ]
    for code, call in asked:
        with pytest.raises(HushtableError) as caught:
            call()
        assert caught.value.code == code
    choice.advance()
    for code, call in (("choose.passed", lambda: choice.finish(0)), ("choose.last-stage", choice.advance)):
        with pytest.raises(RefusedError) as caught:
            call()
        assert caught.value.code == code
    tables = session.choose(bucket_options(), budget=ht.ZCDP("0.1"))
    with pytest.raises(WorkloadError) as caught:
        tables.refine(rho=0.1)
    assert caught.value.code == "choose.refine"


def test_a_choice_left_open_counts_as_spent(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("1.5"))
    assert session.remaining.rho == 0.5
    (held,) = session.ledger.open_reservations()
    assert held.reservation.kind == "choose" and held.reservation.request == choice.id
    detail = held.reservation.detail
    assert Fraction(detail["usual_way_rho"][1]) == Fraction(detail["option_rho"][1]) + Fraction(
        detail["common_rho"]
    )


def measured_variances(steps: list[ResidualPart], runs: int) -> dict[tuple[int, ...], float]:
    """Sample variance of centred, precision-weighted residuals over runs on an empty table."""
    total: dict[tuple[int, ...], Any] = {}
    weight: dict[tuple[int, ...], float] = {}
    for part in steps:
        for s, mechanism in zip(part.layout.sets, part.mechanisms, strict=True):
            one = ResidualPart(part.sizes, (s,), (mechanism.precision,))
            cells = int(np.prod([part.sizes[i] for i in s]))
            draws = np.stack([noisy(np.zeros(cells, np.int64), one.noise) for _ in range(runs)]) / cells
            total[s] = total.get(s, 0) + float(mechanism.precision) * draws
            weight[s] = weight.get(s, 0) + float(mechanism.precision)
    return {s: float((t / weight[s]).var()) for s, t in total.items()}


@pytest.mark.long
def test_common_and_finish_together_have_the_noise_of_the_option(small_schema: ht.Schema) -> None:
    """False-alarm rate below 1e-8: eleven variances at 6.1 standard errors, a mutant 10% off would be 9 away."""
    plan = plan_choice(small_schema.sizes, orders(small_schema, 1, 2), rho=Fraction(1, 100))
    first = plan.step_part(0, ())
    last = plan.finish_part(0, 1, [first])
    runs = 4000
    for s, variance in measured_variances([first, last], runs).items():
        wanted = float(1 / plan.options[1].precisions[s])
        cells = int(np.prod([small_schema.sizes[i] for i in s]))
        spread = (2 / (runs * cells)) ** 0.5
        assert abs(variance / wanted - 1) < Z * spread
        if cells >= 4:
            assert abs(1.25 * variance / wanted - 1) > Z * spread


def test_integer_deviations_are_the_exact_residual_queries() -> None:
    plan = plan_choice((4, 3, 2), bucket_options(), rho=Fraction(1, 10))
    generator = np.random.default_rng(5)
    table = generator.integers(0, 100, (4, 3))
    for option in (1, 2):
        part = plan.finish_part(0, option, ())
        assert isinstance(part, DeviationPart)
        exact = part.exact(table.ravel())
        deviations, totals = part.outputs(exact)
        dense = part.residual.dense()
        expected = dense.queries @ np.repeat(table.ravel(), 2) / 2
        assert np.allclose(np.concatenate([deviations.ravel(), totals[part.asked]]), expected)
        variances = np.repeat([float(v) for v in part.noise.parameters], part.noise.lengths)
        whole = np.concatenate([part.whole.ravel().astype(float), np.ones(int(part.asked.sum()))])
        assert np.allclose(variances / whole**2, dense.covariance)


def test_mechanisms_survive_being_written_down() -> None:
    options: list[Any] = [*bucket_options(), linear.marginals((2, 3), order=1, rho="0.3")]
    options.append(options[-1].dense())
    options.append(
        linear.common([linear.marginals((2, 3), order=1, rho=1), linear.marginals((2, 3), 2, rho=1)])
    )
    for option in options:
        again = read_option(option.to_dict(), ())
        assert linear.equivalent(again, option) and again.rho == option.rho


def test_sixty_attributes_are_chosen_between_in_seconds(tmp_path: Path) -> None:
    values = [str(v) for v in range(4)]
    schema = ht.Schema.from_dict(
        {"attributes": {f"a{k}": {"type": "categorical", "values": values} for k in range(60)}}
    )
    frame = pl.DataFrame({f"a{k}": [values[(k * r) % 4] for r in range(50)] for k in range(60)})
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    choice = session.choose(orders(schema, 1, 2), budget=ht.ZCDP("0.5"))
    assert isinstance(choice, Choice) and len(choice.snr(1)) == 240
    choice.finish(1)
    assert session.ledger.spent() == Cost(0, UNIT // 2)


@pytest.mark.parametrize("kind", ["marginals", "buckets", "matrices"])
def test_evidence_is_the_common_part_as_queries(session: ht.Session, kind: str) -> None:
    options: list[Any] = bucket_options() if kind == "buckets" else orders(session.schema, 1, 2, rho="0.1")
    if kind == "matrices":
        options = [o.dense() for o in options]
    choice = session.choose(options, budget=ht.ZCDP("0.1"))
    mechanism, output = choice.evidence()
    assert linear.equivalent(mechanism, choice.plan.steps[0].dense())
    rows = choice.options[0].dense().queries
    estimates = linear.estimates(mechanism, output, rows)
    std = np.sqrt(linear.query_variances(choice.options[1].dense(), rows))
    assert np.allclose(estimates / std, choice.snr(1), atol=1e-5)


def test_the_gain_of_an_option_is_the_variance_that_it_would_remove(session: ht.Session) -> None:
    choice = session.choose(orders(session.schema, 1, 2), budget=ht.ZCDP("0.1"))
    mechanism, output = choice.evidence()
    for option in (0, 1):
        wanted = choice.options[option].dense()
        prior = 400.0 * np.eye(24)
        gain = (
            prior
            @ mechanism.queries.T
            @ np.linalg.inv(mechanism.queries @ prior @ mechanism.queries.T + np.diag(mechanism.covariance))
        )
        now = np.diag(wanted.queries @ (prior - gain @ mechanism.queries @ prior) @ wanted.queries.T)
        then = linear.query_variances(wanted, wanted.queries)
        assert choice.gain(option, prior_variance=400.0) == pytest.approx(
            np.mean(1 - np.minimum(then / now, 1))
        )
    assert choice.gain(1, prior_variance=400.0) > choice.gain(0, prior_variance=400.0)
    assert len(output) == len(mechanism.queries)
