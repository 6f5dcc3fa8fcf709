"""A strategy works through session and command line once it is registered, by that alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import BudgetError, WorkloadError
from hushtable.marginals import ResolvedWorkload
from hushtable.measurement import Label, Measure, Policy, Purse, ResidualPart
from hushtable.planning import (
    STRATEGIES,
    AdaptivePlan,
    AimPlan,
    Keeping,
    NoisePlan,
    PlanOptions,
    State,
    Strategy,
    TableReader,
    aim_policy,
    plan_adaptive,
    plan_residuals,
    register,
)
from hushtable.privacy import UNIT


class Thrifty(Strategy):
    """The residual plan for half of the budget."""

    name = "thrifty"
    reconstruction = "nonneg"

    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        return plan_residuals(workload, rho=rho / 2, objective=options.objective, rows=rows)


class PlainPlan(AimPlan):
    """Rounds of their own: equal noise in every cell of a chosen marginal."""

    def policy(self, state: State, purse: Purse, *_: object) -> Policy:
        return aim_policy(self.workload, state, purse, noise="iid")


class Plain(Strategy):
    """Decides its noise on the way."""

    name = "plain"
    foreseen = False

    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        return plan_adaptive(PlainPlan, workload, rho=rho, rows=rows)


class BriefPlan(AdaptivePlan):
    """Ten small looks, and then nothing more."""

    def policy(self, state: State, purse: Purse, *_: object) -> Policy:
        for _ in range(10):
            state.learn((yield Measure(self.look, label=Label("look"))))

    @property
    def look(self) -> ResidualPart:
        return ResidualPart(self.layout.sizes, ((0,),), (Fraction(1, 1000),))

    def ways(self, reader: TableReader | None) -> dict[Keeping, int]:
        return {Keeping(True, True): 24 * self.layout.cells}


class Brief(Plain):
    name = "brief"

    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        return plan_adaptive(BriefPlan, workload, rho=rho, rows=rows)


class Forgetful(Brief):
    """Does not say that its noise is decided on the way."""

    name = "forgetful"
    foreseen = True


@contextmanager
def registered(strategy: Strategy) -> Iterator[None]:
    register(strategy)
    yield
    STRATEGIES.pop(strategy.name, None)


@pytest.fixture
def plain() -> Iterator[None]:
    with registered(Plain()):
        yield


@pytest.fixture
def thrifty() -> Iterator[None]:
    with registered(Thrifty()):
        yield


@pytest.fixture
def files(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> Path:
    small_frame.write_csv(tmp_path / "people.csv")
    small_schema.save(tmp_path / "people.yaml")
    return tmp_path


@pytest.fixture
def session(files: Path) -> ht.Session:
    return ht.Session.open(
        files / "people.csv", schema=files / "people.yaml", ledger=files / "l", budget=ht.ZCDP(1)
    )


@pytest.mark.long
def test_a_registered_strategy_is_planned_charged_and_read_by_its_own_reconstruction(
    thrifty: None, files: Path, session: ht.Session
) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    assert session.plan(workload, budget=ht.ZCDP("0.2"), strategy="thrifty").cost.rho == 10**11
    release = session.release(workload, budget=ht.ZCDP("0.2"), strategy="thrifty")
    assert session.remaining.rho == 0.9
    assert release.card.reconstruct == "nonneg" and release.card.plan.strategy == "thrifty"
    table = release.table("age", "sex")
    assert table["estimate"].min() >= 0
    release.save(files / "out")
    assert ht.Release.load(files / "out").table("age", "sex").equals(table)
    with pytest.raises(BudgetError) as caught:
        session.release(workload, budget=ht.PureDP(1), strategy="thrifty")
    assert caught.value.code == "budget.not-pure"


@pytest.mark.long
def test_a_registered_adaptive_strategy_runs_its_own_rounds_and_promises_no_more_than_they_keep(
    plain: None, files: Path, session: ht.Session
) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=ht.ZCDP("0.2"), strategy="plain")
    assert session.remaining.rho == pytest.approx(0.8, abs=1e-9)
    assert release.history is not None and "select" in release.history["action"].to_list()
    assert "approximate, because later noise depended on earlier answers." in release.promise()
    with pytest.raises(WorkloadError) as caught:
        session.release(workload, budget=ht.ZCDP("0.2"), strategy="plain", reuse=True)
    assert caught.value.code == "release.reuse" and session.remaining.rho > 0.79
    release.save(files / "out")
    del STRATEGIES["plain"]
    assert "approximate, because later noise may have depended" in ht.Release.load(files / "out").promise()


def test_a_policy_that_ends_early_is_charged_for_what_it_drew(session: ht.Session) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    with registered(Brief()):
        plan = session.plan(workload, budget=ht.ZCDP("0.5"), strategy="brief")
        session.run(plan)
    assert isinstance(plan.noise, BriefPlan)
    drawn = 10 * plan.noise.look.rho * session.schema.max_rows_per_person**2
    assert session.ledger.spent().rho == -(-drawn.numerator * UNIT // drawn.denominator)
    assert session.ledger.held().rho == 0


def test_a_strategy_that_says_no_word_of_deciding_on_the_way_is_refused(session: ht.Session) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    with registered(Forgetful()), pytest.raises(WorkloadError) as caught:
        session.release(workload, budget=ht.ZCDP("0.5"), strategy="forgetful")
    assert caught.value.code == "release.not-foreseen" and session.remaining.rho == 1


def test_the_command_line_offers_it_and_lists_it_when_a_name_is_wrong(
    thrifty: None, files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = f"--schema {files}/people.yaml --order 2 --budget rho=0.2".split()
    assert run(["ledger", "create", f"{files}/l", "--budget", "rho=1"]) == 0
    assert run(["plan", *known, "--strategy", "thrifty"]) == 0
    out = ["--ledger", f"{files}/l", "--out", f"{files}/out", "--json"]
    assert run(["release", f"{files}/people.csv", *known, *out, "--strategy", "thrifty"]) == 0
    said = capsys.readouterr().out
    assert json.loads(said[said.index("{") :])["card"]["reconstruct"] == "nonneg"
    assert run(["plan", *known, "--strategy", "thirsty"]) == 2
    assert "thrifty" in capsys.readouterr().err


def test_a_name_that_nobody_registered_is_refused(files: Path) -> None:
    session = ht.Session.open(
        files / "people.csv", schema=files / "people.yaml", ledger=files / "l", budget=ht.ZCDP(1)
    )
    workload = ht.Workload.all_marginals(session.schema, order=1)
    for choice, code in (
        ({"strategy": "thrifty"}, "release.strategy"),
        ({"reconstruct": "cut"}, "release.reconstruct"),
    ):
        with pytest.raises(WorkloadError) as caught:
            session.release(workload, budget=ht.ZCDP("0.1"), **choice)
        assert caught.value.code == code
    assert session.remaining.rho == 1.0
