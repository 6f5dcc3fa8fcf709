"""Adaptive releases through the ledger: exact charges, groups of rounds, crashes, resumption, and what may be seen."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import BudgetError, LedgerError, WorkloadError
from hushtable.kernel import run as loop
from hushtable.kernel.draw import Confidential
from hushtable.kernel.run import Job, run
from hushtable.kernel.spending import working_on
from hushtable.ledger import Spend
from hushtable.marginals import Layout, ResolvedWorkload
from hushtable.measurement import Compare, Measure, Policy, Purse, Reply, Select
from hushtable.planning import AdaptivePlan, AimPlan, AutoPlan, State, plan_adaptive
from hushtable.reconstruct.fits import RECONSTRUCTIONS, StateFits, refit_for
from hushtable.release.details import RefinementDetail


@pytest.fixture
def session(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> ht.Session:
    return ht.Session.open(small_frame, schema=small_schema, ledger=tmp_path / "a.ledger", budget=ht.ZCDP(20))


def workload(session: ht.Session, order: int = 3) -> ht.Workload:
    return ht.Workload.all_marginals(session.schema, order=order)


def drawing(monkeypatch: pytest.MonkeyPatch, watch: Callable[[Any], None]) -> None:
    """Call ``watch`` with each request when its noise is about to be drawn."""
    prepare = Confidential.prepare

    def watched(self: Confidential, request: Any) -> Any:
        draw = prepare(self, request)

        def drawn() -> Any:
            watch(request)
            return draw()

        return drawn

    monkeypatch.setattr(Confidential, "prepare", watched)


WAYS: dict[str, dict[str, Any]] = {
    "aim": {"strategy": "aim"},
    "aim scored against tables": {"strategy": "aim", "reconstruct": "maxent"},
    "auto": {"strategy": "auto"},
}


@pytest.mark.long
@pytest.mark.parametrize("way", sorted(WAYS))
def test_the_ledger_is_charged_the_exact_sum_of_the_rounds(
    session: ht.Session, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs: list[Fraction] = []
    drawing(monkeypatch, lambda request: costs.append(request.rho))
    release = session.release(workload(session), budget=ht.ZCDP("0.3"), **WAYS[way])
    units = sum(costs, Fraction(0)) * 10**12
    assert session.ledger.spent().rho == -(-units.numerator // units.denominator) <= 3 * 10**11
    assert session.ledger.held().rho == 0
    assert str(release.card.charged) == "rho=0.3"
    assert release.history is not None and abs(release.history["share"].sum() - 1.0) < 1e-9


def test_charges_come_before_draws_and_payloads_before_results(
    session: ht.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    used = Fraction(0)

    def watched(request: Any) -> None:
        nonlocal used
        used += request.rho
        assert session.ledger.spent().rho >= used * 10**12

    drawing(monkeypatch, watched)
    session.release(workload(session), budget=ht.ZCDP("0.3"), strategy="aim", request="one")
    found = session.ledger.find("one")
    assert found is not None and found.state == "settled"
    assert len(found.charges) > 1 and all(payload is not None for payload in found.payloads)


class Stop(Exception):
    """An interruption."""


def stop_after(monkeypatch: pytest.MonkeyPatch, draws: int) -> Callable[[], None]:
    """The handle fails after some answers; gives back what lifts the failure."""
    left = [draws]

    def failing(request: Any) -> None:
        if left[0] == 0:
            raise Stop
        left[0] -= 1

    prepare = Confidential.prepare
    drawing(monkeypatch, failing)
    return lambda: monkeypatch.setattr(Confidential, "prepare", prepare)


INTERRUPTIONS = [(way, draws) for way in sorted(WAYS) for draws in (0, 1, 2, 4) if way != "auto" or draws < 3]
"""After how many draws; whether `auto` draws a fifth time depends on what it sees."""


@pytest.mark.long
@pytest.mark.parametrize(("way", "draws"), INTERRUPTIONS)
def test_an_interrupted_release_goes_on_after_its_last_round(
    session: ht.Session, way: str, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lift = stop_after(monkeypatch, draws)
    options: dict[str, Any] = {"budget": ht.ZCDP("0.3"), "request": "again", **WAYS[way]}
    with pytest.raises(Stop):
        session.release(workload(session), **options)
    before = session.ledger.find("again")
    assert before is not None and before.state == "open"
    lift()
    release = session.release(workload(session), **options)
    found = session.ledger.find("again")
    assert found is not None and found.state == "settled"
    assert found.payloads[: len(before.payloads)] == before.payloads
    assert session.ledger.spent().rho <= 3 * 10**11
    lost_batch = (
        way == "auto" and draws > 0
    )  # what was lost may be most of the budget, and the next one not fit
    assert session.ledger.spent().rho >= 3 * 10**11 - 1 or lost_batch, "what is left could have been spent"
    third = session.release(workload(session), **options)
    assert (third.answers.values == release.answers.values).all()
    assert session.ledger.verify().ok


def test_a_lost_group_stays_spent_and_the_loop_ends_within_its_budget(
    session: ht.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lift = stop_after(monkeypatch, 5)
    options: dict[str, Any] = {"budget": ht.ZCDP("0.3"), "strategy": "aim", "request": "lost"}
    with monkeypatch.context() as crash:
        crash.setattr(loop._Credit, "write", lambda self: None)
        with pytest.raises(Stop):
            session.release(workload(session), **options)
    charged = session.ledger.spent().rho
    assert charged > 0
    lift()
    again = ht.Session.open(
        _frame(),
        schema=session.schema,
        ledger=session.ledger.path,
    )
    again.release(workload(again), **options)
    assert charged < again.ledger.spent().rho <= 3 * 10**11
    found = again.ledger.find("lost")
    assert found is not None and found.payloads[0] is None and found.payloads[-1] is not None
    assert again.ledger.verify().ok


def _frame() -> pl.DataFrame:
    rows = range(600)
    return pl.DataFrame(
        {
            "age": [(7 * r * r + 3 * r) % 80 for r in rows],
            "sex": [("F", "M", "F", "unknown")[(r * r) % 4] for r in rows],
            "member": [r % 3 == 0 for r in rows],
        }
    )


def reachable(start: list[Any]) -> Iterator[Any]:
    """Everything that can be reached from some objects through references, modules and classes left out."""
    seen: set[int] = set()
    queue = list(start)
    while queue:
        item = queue.pop()
        if (
            id(item) in seen
            or isinstance(item, type)
            or type(item).__name__ in ("module", "function", "cell")
        ):
            continue
        seen.add(id(item))
        yield item
        queue.extend(gc.get_referents(item))


def test_memory_decides_beforehand_how_counts_and_tables_are_kept() -> None:
    sizes = (50,) * 6
    sets = tuple(combinations(range(6), 3))
    resolved = ResolvedWorkload(sets, (Fraction(1),) * len(sets), sizes)
    cells = Layout(sizes, resolved.closure).cells
    aim, auto = (plan_adaptive(kind, resolved, rho=Fraction(1)) for kind in (AimPlan, AutoPlan))
    maxent = RECONSTRUCTIONS["maxent"]
    assert aim.keeping(100 * cells, maxent).tables and not aim.keeping(100 * cells).tables
    assert not aim.keeping(50 * cells, maxent).tables and aim.keeping(50 * cells, maxent).wide
    assert not auto.keeping(30 * cells, maxent).large
    for plan in (aim, auto):
        with pytest.raises(WorkloadError) as refused:
            plan.keeping(50 * cells, RECONSTRUCTIONS["nonneg"])
        assert refused.value.code == "workload.too-large"


def test_rounds_scored_against_tables_are_another_request(session: ht.Session) -> None:
    options: dict[str, Any] = {"budget": ht.ZCDP("0.3"), "strategy": "aim", "request": "same"}
    session.release(workload(session), reconstruct="maxent", **options)
    with pytest.raises(LedgerError) as refused:
        session.release(workload(session), reconstruct="mle", **options)
    assert refused.value.code == "ledger.request-differs"


@pytest.mark.parametrize("way", sorted(WAYS))
def test_a_policy_is_sent_noisy_replies_and_can_reach_nothing_else(session: ht.Session, way: str) -> None:
    """Fails if anything computed from exact counts, other than the charged replies, gets to the policy."""
    strategy, tables = WAYS[way]["strategy"], "reconstruct" in WAYS[way]
    whole = session.plan(workload(session), budget=ht.ZCDP("0.3"), strategy=strategy)
    plan = whole.noise
    assert isinstance(plan, AdaptivePlan)

    def policy_over(state: State, purse: Purse) -> Policy:
        refit = refit_for(session.schema, plan.layout) if tables else None
        return plan.policy(state, purse, StateFits(), plan.keeping(2**30), refit)

    state, purse = State.empty(plan.layout), Purse(plan.rho)
    inner = policy_over(state, purse)
    sent: list[Any] = []
    made: list[Confidential] = []

    def spied() -> Iterator[Any]:
        request = next(inner)
        while True:
            told = yield request
            assert type(told) is Reply and told.asked is request
            reply = told.values
            assert type(reply) is np.ndarray and reply.dtype == np.int64 and reply.ndim == 1
            length = request.part.layout.cells if isinstance(request, Measure) else 1
            assert len(reply) == (len(request.sets) if isinstance(request, Compare) else length)
            kept = request
            if isinstance(request, Select) and request.tables is not None:
                kept = replace(request, tables=request.tables.copy())
            sent.append((kept, reply))
            assert not any(isinstance(item, Confidential) for item in reachable([inner, state, purse]))
            try:
                request = inner.send(told)
            except StopIteration:
                return

    def opened() -> Confidential:
        made.append(Confidential(session._counter, plan.layout, scored=way == "aim"))
        return made[-1]

    spend = Spend(whole.cost, "release", RefinementDetail("nothing", "0"))
    with working_on(session.ledger, "spy") as account:
        run(Job(spied(), purse, opened), account, account.begin(spend), lambda *_: None)
    twin_state, twin_purse = State.empty(plan.layout), Purse(plan.rho)
    twin = policy_over(twin_state, twin_purse)
    request = next(twin)
    for asked, reply in sent:
        assert request.words() == asked.words()
        if isinstance(asked, Select):
            assert request.penalty == asked.penalty
            assert all((a[1] == b[1]).all() for a, b in zip(request.changes, asked.changes, strict=True))
            assert (asked.tables is not None) == tables
            if tables:
                assert (request.tables == asked.tables).all() and (request.numbers == asked.numbers).all()
        if isinstance(asked, Compare):
            assert (request.tables == asked.tables).all()
        try:
            twin_purse.pay(request.rho)
            request = twin.send(Reply(request, reply))
        except StopIteration:
            break
    assert twin_purse.spent == purse.spent and (twin_state.values == state.values).all()


def test_a_pure_budget_a_tiny_budget_and_bad_names_spend_nothing(session: ht.Session) -> None:
    head = session.ledger.head
    refused: list[tuple[type[Exception], dict[str, Any]]] = [
        (BudgetError, {"budget": ht.PureDP(1)}),
        (BudgetError, {"budget": ht.ZCDP("1e-12")}),
        (WorkloadError, {"budget": ht.ZCDP("0.1"), "reconstruct": "magic"}),
        (WorkloadError, {"budget": ht.ZCDP("0.1"), "time": "soon"}),
        (WorkloadError, {"budget": ht.ZCDP("0.1"), "memory": "1KB"}),
    ]
    for kind, options in refused:
        for strategy in ("auto", "aim"):
            with pytest.raises(kind):
                session.release(workload(session), strategy=strategy, **options)
    with pytest.raises(WorkloadError):
        session.plan(workload(session), budget=ht.ZCDP("0.1"), strategy="auto").tables()
    assert session.ledger.head == head


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["auto", "aim", "residual-planner"])
@pytest.mark.parametrize("reconstruct", ["mle", "maxent", "nonneg"])
def test_every_strategy_can_be_read_in_every_way_and_saved(
    session: ht.Session, strategy: str, reconstruct: str, tmp_path: Path
) -> None:
    release = session.release(
        workload(session), budget=ht.ZCDP("1"), strategy=strategy, reconstruct=reconstruct
    )
    table = release.table("member", "age", "sex")
    assert table.height == 24 and (table["lower"] <= table["upper"]).all()
    if reconstruct != "mle":
        assert (table["estimate"] >= 0).all()
    flags = set(table["measured"])
    assert flags <= {"fully", "partly", "derived"}
    assert table["std"].is_null().all() == (flags != {"fully"})
    release.save(tmp_path / "out")
    loaded = ht.Release.load(tmp_path / "out")
    assert loaded.table("age", "member").equals(release.table("age", "member"))
    assert (loaded.history is None) == (strategy == "residual-planner")
    long = pl.read_parquet(tmp_path / "out" / "tables" / "order-3.parquet")
    assert long.height == 24 and set(long["measured"]) == flags


def test_several_rows_per_person_leave_a_ninth_of_the_budget_for_each(tmp_path: Path) -> None:
    declared = {
        "max_rows_per_person": 3,
        "attributes": {
            "age": {"type": "integer", "bounds": [0, 79], "width": 20},
            "member": {"type": "boolean"},
        },
    }
    session = ht.Session.open(_frame(), schema=declared, ledger=tmp_path / "k.ledger", budget=ht.ZCDP(1))
    plan = session.plan(workload(session, 2), budget=ht.ZCDP("0.9"), strategy="aim").noise
    assert isinstance(plan, AdaptivePlan) and plan.rho == Fraction(1, 10)
    session.release(workload(session, 2), budget=ht.ZCDP("0.9"), strategy="aim")
    assert 9 * 10**11 - 9 <= session.ledger.spent().rho <= 9 * 10**11


@pytest.mark.long
@pytest.mark.parametrize("order", [0, 1, 2])
def test_small_workloads_run_as_well(session: ht.Session, order: int) -> None:
    for strategy in ("auto", "aim"):
        release = session.release(workload(session, order), budget=ht.ZCDP("0.5"), strategy=strategy)
        assert abs(release.table()["estimate"][0] - 600) < 100
