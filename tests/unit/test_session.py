"""The whole flow through the public interface, on a real ledger and real files."""

from __future__ import annotations

from fractions import Fraction
from math import isclose, prod
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.errors import (
    BudgetError,
    BudgetExhausted,
    BundleError,
    LedgerError,
    SchemaError,
    WorkloadError,
)


@pytest.fixture
def session(tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame) -> ht.Session:
    return ht.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "t.ledger", budget=ht.ZCDP(rho=0.5)
    )


def true_counts(frame: pl.DataFrame) -> np.ndarray:
    """Counts by age band, sex and membership, by plain loops."""
    counts = np.zeros((4, 3, 2))
    for age, sex, member in frame.iter_rows():
        counts[age // 20, {"F": 0, "M": 1}.get(sex, 2), int(member)] += 1
    return counts


def test_a_release_has_every_table_with_its_error_bar(session: ht.Session, small_frame: pl.DataFrame) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    release = session.release(workload, budget=ht.ZCDP(0.4), strategy="residual-planner")
    table = release.table("sex", "age")
    contract = ["sex", "age", "estimate", "std", "lower", "upper", "measured"]
    assert table.columns == [*contract, "unbiased", "unbiased_lower", "unbiased_upper"]
    assert table.height == 12
    truth = true_counts(small_frame).sum(axis=2).T.ravel()
    errors = np.abs(table["estimate"].to_numpy() - truth)
    assert (errors < 8 * table["std"].to_numpy()).all()
    assert np.allclose(table["unbiased_upper"] - table["estimate"], 1.959964 * table["std"], rtol=1e-5)
    assert set(table["measured"]) == {"fully"}
    assert table["sex"].unique(maintain_order=True).to_list() == ["F", "M", "(other)"]


def test_tables_agree_with_each_other(session: ht.Session) -> None:
    release = session.release(ht.Workload.all_marginals(session.schema, order=2), budget=ht.ZCDP(0.1))
    direct = release.table("age")["estimate"].to_numpy()
    for other in ("sex", "member"):
        summed = (
            release.table("age", other).group_by("age", maintain_order=True).agg(pl.col("estimate").sum())
        )
        assert np.allclose(summed["estimate"], direct, atol=1e-9)
    assert np.isclose(release.table()["estimate"][0], direct.sum(), atol=1e-9)


def test_the_charge_is_the_exact_price_and_the_plan_predicts_the_errors(session: ht.Session) -> None:
    workload = ht.Workload.all_marginals(session.schema, order=2)
    plan = session.plan(workload, budget=ht.ZCDP(0.1))
    release = session.release(workload, budget=ht.ZCDP(0.1), strategy="residual-planner")
    sizes = session.schema.sizes
    price = sum(
        precision * prod(Fraction(sizes[i] - 1, sizes[i]) for i in residual) / 2
        for residual, precision in zip(plan.noise.part.sets, plan.noise.part.precisions, strict=True)
    )
    assert Fraction(99999, 10**6) < price <= Fraction(1, 10)
    spent = session.ledger.spent()
    assert spent.xi == 0 and 0 <= Fraction(spent.rho, 10**12) - price < Fraction(1, 10**12)
    assert isclose(session.remaining.rho, 0.4, abs_tol=1e-9)
    assert np.allclose(plan.tables()["std"], release.accuracy()["std"])


def test_a_request_id_buys_once(session: ht.Session) -> None:
    workload = ht.Workload([("age", "sex")])
    first = session.release(workload, budget=ht.ZCDP(0.1), request="autumn")
    again = session.release(workload, budget=ht.ZCDP(0.1), request="autumn")
    other = session.release(workload, budget=ht.ZCDP(0.1))
    assert np.array_equal(first.answers.values, again.answers.values)
    assert not np.array_equal(first.answers.values, other.answers.values)
    assert isclose(session.remaining.rho, 0.3, abs_tol=1e-9)
    with pytest.raises(LedgerError) as caught:
        session.release(ht.Workload([("age",)]), budget=ht.ZCDP(0.1), request="autumn")
    assert caught.value.code == "ledger.request-differs"


def test_nothing_is_spent_when_a_release_is_refused(session: ht.Session) -> None:
    head = session.ledger.head
    pairs = ht.Workload.all_marginals(session.schema, order=2)
    refused = [
        (BudgetExhausted, lambda: session.release(pairs, budget=ht.ZCDP(0.6))),
        (WorkloadError, lambda: session.release(pairs, budget=ht.ZCDP(0.1), strategy="magic")),
        (WorkloadError, lambda: session.release(pairs, budget=ht.ZCDP(0.1), reconstruct="magic")),
        (WorkloadError, lambda: session.release(ht.Workload([("age", "size")]), budget=ht.ZCDP(0.1))),
        (WorkloadError, lambda: session.release(pairs, budget=ht.ZCDP(0.1), memory="1KB")),
        (BudgetError, lambda: session.release(pairs, budget=ht.PureDP(1))),
        (BudgetError, lambda: session.release(pairs, budget=ht.ZCDP(0))),
    ]
    for kind, attempt in refused:
        with pytest.raises(kind):
            attempt()
    assert session.ledger.head == head


@pytest.mark.parametrize("strategy", ["residual-planner", "identity"])
def test_a_saved_release_reads_back_equal(session: ht.Session, tmp_path: Path, strategy: str) -> None:
    workload = ht.Workload([("age", "sex"), ("sex", "member"), ("age",)])
    release = session.release(workload, budget=ht.ZCDP(0.1), strategy=strategy)
    release.save(tmp_path / "out")
    loaded = ht.Release.load(tmp_path / "out")
    assert loaded.card == release.card
    assert loaded.marginals == release.marginals
    assert loaded.table("age", "sex").equals(release.table("age", "sex"))
    for order, marginals in ((1, 1), (2, 2)):
        long = pl.read_parquet(tmp_path / "out" / "tables" / f"order-{order}.parquet")
        assert long.select(f"attribute_{k}" for k in range(1, order + 1)).unique().height == marginals
        cell = {"attribute_1": "age", "value_1": "20-39"} | (
            {"attribute_2": "sex", "value_2": "(other)"} if order == 2 else {}
        )
        row = long.filter(*(pl.col(k) == v for k, v in cell.items()))
        short = release.table("age", *(["sex"] if order == 2 else []))
        wanted = short.filter(pl.col("age") == "20-39", *([pl.col("sex") == "(other)"] if order == 2 else []))
        assert row.height == 1
        assert np.allclose(
            row.select("estimate", "std", "lower", "upper").to_numpy(),
            wanted.select("estimate", "std", "lower", "upper").to_numpy(),
        )


def test_a_damaged_or_taken_folder_is_refused(session: ht.Session, tmp_path: Path) -> None:
    release = session.release(ht.Workload([("age",)]), budget=ht.ZCDP(0.1))
    release.save(tmp_path / "out")
    with pytest.raises(BundleError, match="exists"):
        release.save(tmp_path / "out")
    (tmp_path / "out" / "measurements.parquet").write_bytes(b"PAR1")
    with pytest.raises(BundleError, match="damaged"):
        ht.Release.load(tmp_path / "out")
    with pytest.raises(BundleError, match="not a release"):
        ht.Release.load(tmp_path)


def test_a_pure_ledger_buys_laplace_noise_and_refuses_gaussian(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    session = ht.Session.open(
        small_frame, schema=small_schema, ledger=tmp_path / "p.ledger", budget=ht.PureDP(epsilon=1)
    )
    release = session.release(ht.Workload([("age",), ("sex",)]), budget=ht.PureDP(0.5), strategy="identity")
    assert release.answers.part.noise.law.name == "laplace"
    assert isclose(session.remaining.epsilon, 0.5, abs_tol=1e-9)
    assert release.card.epsilon_by_delta == (("0", pytest.approx(0.5, abs=1e-9)),)
    with pytest.raises(BudgetError):
        session.release(ht.Workload([("age",)]), budget=ht.ZCDP(0.01))


def test_several_rows_per_person_cost_the_square(tmp_path: Path, small_frame: pl.DataFrame) -> None:
    declared = {
        "max_rows_per_person": 3,
        "attributes": {"age": {"type": "integer", "bounds": [0, 79], "width": 20}},
    }
    one, three = ht.Schema.from_dict(declared | {"max_rows_per_person": 1}), ht.Schema.from_dict(declared)
    workload = ht.Workload([("age",)])
    stds = []
    for name, schema in (("one", one), ("three", three)):
        session = ht.Session.open(
            small_frame, schema=schema, ledger=tmp_path / f"{name}.ledger", budget=ht.ZCDP(1)
        )
        stds.append(session.plan(workload, budget=ht.ZCDP(0.1)).tables()["std"][0])
    assert isclose(stds[1] / stds[0], 3, rel_tol=1e-6)


def test_spenders_draw_on_their_grants(
    tmp_path: Path, small_schema: ht.Schema, small_frame: pl.DataFrame
) -> None:
    path = tmp_path / "g.ledger"
    ht.Ledger.create(path, ht.ZCDP(1)).grant("maria", ht.ZCDP("0.1"))
    session = ht.Session.open(small_frame, schema=small_schema, ledger=path, spender="maria")
    workload = ht.Workload([("age",)])
    session.release(workload, budget=ht.ZCDP("0.06"))
    with pytest.raises(BudgetExhausted):
        session.release(workload, budget=ht.ZCDP("0.06"))
    with pytest.raises(LedgerError):
        ht.Session.open(small_frame, schema=small_schema, ledger=path, spender="nobody")


def test_a_schema_learnt_from_data_must_be_reviewed_and_stays_on_the_card(
    tmp_path: Path, small_frame: pl.DataFrame
) -> None:
    declared = {
        "attributes": {"age": {"type": "integer", "bounds": [0, 79], "width": 20}},
        "learnt_from_data": {"unreviewed": ["attributes.age.bounds"]},
    }
    with pytest.raises(SchemaError) as caught:
        ht.Session.open(small_frame, schema=declared, ledger=tmp_path / "l.ledger", budget=ht.ZCDP(1))
    assert caught.value.code == "schema.unreviewed"
    assert not (tmp_path / "l.ledger").exists()
    declared["learnt_from_data"] = {"reviewed": ["attributes.age.bounds"]}
    session = ht.Session.open(small_frame, schema=declared, ledger=tmp_path / "l.ledger", budget=ht.ZCDP(1))
    release = session.release(ht.Workload([("age",)]), budget=ht.ZCDP(0.1))
    assert release.card.learnt_from_data == ("attributes.age.bounds",)


def test_the_public_names_are_those_listed() -> None:
    for name in ht.__all__:
        assert getattr(ht, name) is not None
