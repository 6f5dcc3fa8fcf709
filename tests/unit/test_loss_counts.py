"""What a release leaves out, published with noise: exact counts, the price of the worst person, and error bars."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.kernel.sources import open_counter
from hushtable.marginals import COVERAGE, Counting, Layout
from hushtable.measurement import QuantityPart, ResidualPart
from hushtable.privacy import UNIT
from hushtable.release.loss_counts import loss_counts
from hushtable.session import draft

ATTRIBUTES: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "age": {"type": "integer", "bounds": [0, 99], "width": 25, "outside": "drop"},
    "area": {"type": "categorical", "values": ["a", "b"], "null": "category", "outside": "other"},
}
WORKLOAD = ht.Workload([("sex", "age")])
EXPECTED = [
    ("sex", "dropped: no value"),
    ("sex", "dropped: not a declared value"),
    ("age", "dropped: no value"),
    ("age", "dropped: not a declared value"),
    ("age", "dropped: out of bounds"),
    ("x", "dropped: no value"),
    ("x", "dropped: not a declared value"),
    ("x", "moved to a bound"),
    ("", "dropped: for any reason"),
]
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["F", "M", "Q", None]),
        st.sampled_from([3, 50, -1, 120, None]),
        st.sampled_from(["a", "z", None]),
        st.sampled_from([0.0, 7.0, 12.0, -4.0, None]),
    ),
    max_size=25,
)


def schema(**more: Any) -> ht.Schema:
    sums = {"x": {"bounds": [0, 10], "resolution": 1}}
    return ht.Schema.from_dict({"coverage": "10%", "sums": sums, **more, "attributes": ATTRIBUTES})


def frame_of(rows: list[tuple[Any, ...]], **more: Any) -> pl.DataFrame:
    types = {"sex": pl.String, "age": pl.Int64, "area": pl.String, "x": pl.Float64}
    return pl.DataFrame(rows, schema=types, orient="row").with_columns(**more)


def by_hand(rows: list[tuple[Any, ...]], reasons: int = 3) -> list[int]:
    found = dict.fromkeys(EXPECTED, 0)
    for sex, age, _, x in rows:
        marks = []
        if sex is None or sex == "Q":
            marks.append(("sex", "dropped: no value" if sex is None else "dropped: not a declared value"))
        if age is None or not 0 <= age <= 99:
            marks.append(("age", "dropped: no value" if age is None else "dropped: out of bounds"))
        if x is None or not 0 <= x <= 10:
            marks.append(("x", "dropped: no value" if x is None else "moved to a bound"))
        for mark in marks[:reasons]:
            found[mark] += 1
        found[EXPECTED[-1]] += any("dropped" in why for _, why in marks)
    return list(found.values())


def counted(data: Any, declared: ht.Schema) -> list[int]:
    (found,) = open_counter(data, declared).totals(
        [Counting(Layout((len(declared.losses),), ((0,),)), COVERAGE)]
    )
    return found.tolist()


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(ROWS, st.sampled_from([1, 2, 3]))
def test_rows_are_counted_by_field_and_reason_in_every_kind_of_table(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[Any, ...]], reasons: int
):
    declared = schema(coverage={"share": "1%", "reasons": reasons})
    assert [(loss.field, loss.reason) for loss in declared.losses] == EXPECTED
    frame, folder = frame_of(rows), tmp_path_factory.mktemp("losses")
    frame.write_csv(folder / "d.csv")
    frame.write_parquet(folder / "d.parquet")
    for data in (frame, frame.to_arrow(), folder / "d.csv", folder / "d.parquet"):
        assert counted(data, declared) == by_hand(rows, reasons)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(ROWS, ROWS, st.sampled_from([1, 2]))
def test_a_person_moves_the_counters_by_no_more_than_is_paid_for(
    others: list[tuple[Any, ...]], own: list[tuple[Any, ...]], most: int
):
    """However many rows a person has, and wherever they stand."""
    declared = schema(person="who", max_rows_per_person=most, coverage={"share": "1%", "reasons": 2})
    theirs = frame_of(others, who=pl.arange(len(others)) % 5)
    mine = frame_of(own, who=pl.lit(99, pl.Int64))
    before = np.array(counted(theirs, declared))
    for together in (pl.concat([theirs, mine]), pl.concat([mine, theirs])):
        moved = np.array(counted(together, declared)) - before
        assert (moved >= 0).all() and moved.sum() <= 3 * most and (moved**2).sum() <= 3 * most**2


@pytest.mark.parametrize(("rows", "largest"), [(1, 1), (3, 1), (2, 40)])
def test_the_price_is_that_of_the_worst_person(rows: int, largest: int):
    """k rows with two faults each, weights or not: sum of squares over twice the variance, exactly the share."""
    more = {} if largest == 1 else {"weight": {"column": "w", "bounds": [0, largest]}}
    declared = schema(max_rows_per_person=rows, coverage={"share": "5%", "reasons": 2}, **more)
    plan = ht.release.plan_release(declared, WORKLOAD, ht.ZCDP(2))
    part = plan.beside.coverage
    worst = frame_of([("Q", 120, "a", 3.0)] * rows, w=pl.lit(1.0))
    (variance,) = part.noise.parameters
    cost = sum(Fraction(n) ** 2 / (2 * variance) for n in counted(worst, declared))
    assert cost == part.price(declared.most_per_person).rho
    assert float(cost) == pytest.approx(0.1, rel=1e-9) and cost <= Fraction(1, 10)
    assert float(plan.price(plan.noise).rho) == pytest.approx(2, rel=1e-6) and plan.cost.rho <= 2 * UNIT
    pure = ht.release.plan_release(declared, WORKLOAD, ht.PureDP(2), ht.release.Way("identity"))
    lost = pure.beside.coverage
    assert float(sum(counted(worst, declared)) / lost.noise.parameters[0]) == pytest.approx(0.1, rel=1e-9)
    assert float(lost.price(declared.most_per_person).xi) == pytest.approx(0.1, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["residual-planner", "auto", "aim", "identity"])
def test_card_and_report_tell_what_is_left_out(strategy: str, tmp_path: Path):
    chance = np.random.default_rng(3)
    rows = [
        (
            str(chance.choice(["F", "M", "Q"], p=[0.5, 0.4, 0.1])),
            int(chance.integers(-10, 110)),
            "a",
            float(chance.integers(-2, 13)),
        )
        for _ in range(4000)
    ]
    declared = (
        schema() if strategy != "aim" else ht.Schema.from_dict({"coverage": "10%", "attributes": ATTRIBUTES})
    )
    session = ht.Session.open(frame_of(rows), schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(9))
    release = session.release(WORKLOAD, budget=ht.ZCDP(1), strategy=strategy)
    truth = [
        n for n, (field, _) in zip(by_hand(rows), EXPECTED, strict=True) if strategy != "aim" or field != "x"
    ]
    told = release.card.coverage
    assert len(told) == len(declared.losses)
    for one, exact in zip(told[:-1] if strategy == "aim" else told, truth, strict=False):
        assert abs(one.rows - exact) <= 6 * one.std and one.lower <= one.rows <= one.upper
    assert release.card.charged.rho <= UNIT
    release.save(tmp_path / "out")
    again = ht.Release.load(tmp_path / "out")
    assert again.card.coverage == told
    page = ht.report.write_report(tmp_path / "out", out=tmp_path / "page.html") if strategy == "aim" else None
    if page is not None:
        assert "What is left out" in (tmp_path / "page.html").read_text()


def test_error_bars_hold_as_often_as_they_say(tmp_path: Path):
    """2,000 draws of each counter at 95%; within 5 standard errors, which one run in a million leaves by chance."""
    declared = schema()
    session = ht.Session.open(frame_of([]), schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(9))
    release = session.release(WORKLOAD, budget=ht.ZCDP("0.1"), strategy="residual-planner")
    from hushtable.kernel.draw import noisy
    from hushtable.measurement import Answers

    part = release.quantities[COVERAGE].part
    exact = np.arange(len(declared.losses)) * 50
    held = []
    for _ in range(2000 // len(exact) + 1):
        found = loss_counts(declared, Answers(part, noisy(exact, part.noise)))
        held += [one.lower <= at <= one.upper for one, at in zip(found, exact.tolist(), strict=True)]
    assert abs(np.mean(held) - 0.95) <= 5 * np.sqrt(0.95 * 0.05 / len(held)) + 0.01  # noise in whole numbers


def test_init_proposes_it_and_shares_that_cannot_be_are_refused(tmp_path: Path, capsys: Any):
    frame_of([("F", 30, "a", 1.0)] * 60).write_csv(tmp_path / "d.csv")
    assert "\ncoverage: 1%" in draft(tmp_path / "d.csv")
    for told in (
        "0%",
        "60%",
        "nan%",
        "1%%",
        "1",
        1,
        True,
        "x",
        {"reasons": 2},
        {"share": "1%", "reasons": 0},
    ):
        with pytest.raises(HushtableError) as refused:
            schema(coverage=told)
        assert "`coverage" in str(refused.value)
        assert refused.value.code in ("schema.wrong-share", "schema.missing-field", "schema.wrong-type")
    for told in ("1%", "0.5%", 0.02, {"share": "2%", "reasons": 5}):
        declared = schema(coverage=told)
        assert ht.Schema.loads(declared.to_yaml()) == declared
    assert run(["plan", "--schema", "none.yaml"]) == 2
    capsys.readouterr()


def test_residuals_of_which_a_row_has_several_cells_are_refused_because_their_squares_do_not_add() -> None:
    """Two cells that differ in both attributes move 4 contrasts of a 2 x 2 table by 2 each: 16, not 2 x 4."""
    contrast = np.kron([[1, -1], [-1, 1]], [[1, -1], [-1, 1]])
    assert (contrast[:, [0, 3]].sum(axis=1) ** 2).sum() == 16 > 2 * (contrast[:, 0] ** 2).sum()
    part = ResidualPart((2, 2), ((0, 1),), (Fraction(1),))
    assert QuantityPart("sum(x)", part, 5).rho == 25 * part.rho
    with pytest.raises(HushtableError, match="cell by cell"):
        QuantityPart("sum(x)", part, 5, touched=2)
