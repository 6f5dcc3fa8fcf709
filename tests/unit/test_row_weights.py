"""Rows that count by a weight or by a number of persons: exact sums, prices by hand, and what a schema refuses."""

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
from hushtable.marginals import Layout
from hushtable.privacy import UNIT

ATTRIBUTES: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "age": {"type": "integer", "bounds": [0, 99], "width": 25},
}
LAYOUT = Layout((2, 4), ((), (0,), (1,), (0, 1)))


def schema(**more: Any) -> ht.Schema:
    return ht.Schema.from_dict({**more, "attributes": ATTRIBUTES})


def weighted(low: float = 0, high: float = 300, **more: Any) -> ht.Schema:
    return schema(weight={"column": "w", "bounds": [low, high], **more})


def by_hand(frame: pl.DataFrame, weights: list[int]) -> list[int]:
    """Sums of weights, cell by cell."""
    sexes, ages = ["F", "M"], range(4)
    rows = list(zip(frame["sex"], (a // 25 for a in frame["age"]), weights, strict=True))
    of_sex = [sum(w for s, _, w in rows if s == sex) for sex in sexes]
    of_age = [sum(w for _, a, w in rows if a == age) for age in ages]
    both = [sum(w for s, a, w in rows if (s, a) == (sex, age)) for sex in sexes for age in ages]
    return [sum(weights), *of_sex, *of_age, *both]


def frame_of(seed: int, rows: int, weights: np.ndarray) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sexes = np.array(["F", "M"])[rng.integers(0, 2, rows)]
    return pl.DataFrame({"sex": sexes, "age": rng.integers(0, 100, rows), "w": weights})


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(-50, 500), max_size=30), st.integers(0, 99))
def test_weights_are_clipped_rounded_and_added_up_in_every_kind_of_table(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[float], seed: int
):
    frame = frame_of(seed, len(drawn), np.array(drawn, np.float64))
    whole = [int(np.floor(min(max(w, 0.0), 300.0) + 0.5)) for w in drawn]
    folder = tmp_path_factory.mktemp("weights")
    frame.write_csv(folder / "d.csv")
    frame.write_parquet(folder / "d.parquet")
    for data in (frame, frame.to_arrow(), folder / "d.csv", folder / "d.parquet"):
        found = open_counter(data, weighted()).tabulate(LAYOUT)
        assert found.tolist() == by_hand(frame, whole)


def test_rows_without_a_weight_are_dropped_and_those_beyond_it_as_declared():
    frame = pl.DataFrame({"sex": ["F"] * 4, "age": [30] * 4, "w": [5.0, None, float("nan"), 400.0]})
    assert open_counter(frame, weighted()).tabulate(LAYOUT)[0] == 305
    assert open_counter(frame, weighted(outside="drop")).tabulate(LAYOUT)[0] == 5
    found = ht.preflight(frame, schema=weighted(outside="drop"))
    assert (found.rows, found.dropped) == (4, 3)


def test_lines_of_several_persons_count_them_and_a_person_more_is_one_more():
    counts = np.array([0.0, 1.0, 2.5, 3.49999, 12.0, 1e12, -3.0])
    frame = frame_of(1, len(counts), counts)
    declared = schema(count={"column": "w", "bounds": [0, 1000]})
    before = open_counter(frame, declared).tabulate(LAYOUT)
    assert before.tolist() == by_hand(frame, [0, 1, 3, 3, 12, 1000, 0])
    for line in range(len(counts)):
        more = frame.with_columns(w=pl.Series(counts + (np.arange(len(counts)) == line)))
        moved = np.abs(open_counter(more, declared).tabulate(LAYOUT) - before)
        assert moved.max() <= 1 and moved.sum() in (0, len(LAYOUT.sets))
    assert declared.most_per_person == 1


def test_lines_that_one_person_more_may_drop_are_paid_for_whole(tmp_path: Path):
    """A line at the bound is gone with one person more: a count moves by the bound, and never further."""
    declared = schema(count={"column": "w", "bounds": [0, 300], "outside": "drop"})
    counts = np.array([0.0, 1.0, 2.5, 299.4, 299.5, 300.0, 300.2, -3.0, -0.4, np.nan])
    frame = frame_of(1, len(counts), counts)
    kept = np.where((counts >= 0) & (counts <= 300), counts, 0.0)
    before = open_counter(frame, declared).tabulate(LAYOUT)
    assert before.tolist() == by_hand(frame, [int(np.floor(x + 0.5)) for x in kept])
    moves = []
    for line in range(len(counts)):
        more = frame.with_columns(w=pl.Series(counts + (np.arange(len(counts)) == line)))
        moves.append(int(np.abs(open_counter(more, declared).tabulate(LAYOUT) - before).max()))
    assert max(moves) == declared.most_per_person == 300
    note = "paid for as 300 rows each: one person more may drop a line"
    plan = ht.release.plan_release(declared, ht.Workload([("sex", "age")]), ht.ZCDP(1))
    assert note in declared.weight.note and note in str(plan)
    rows = ht.release.plan_release(schema(max_rows_per_person=300), ht.Workload([("sex", "age")]), ht.ZCDP(1))
    assert plan.cost == rows.cost and plan.table_errors() == rows.table_errors()
    assert "one person more may drop" not in schema(count="w").weight.note


@pytest.mark.parametrize("strategy", ["residual-planner", "auto", "identity", "aim"])
def test_the_largest_weight_is_paid_for_as_that_many_rows(strategy: str, tmp_path: Path):
    """The plan of weights up to 300 is that of a person with 300 rows, and so is its noise."""
    workload = ht.Workload([("sex", "age")])
    ledgers = {
        "weights": (weighted(), tmp_path / "w.ledger"),
        "rows": (schema(max_rows_per_person=300), tmp_path / "r.ledger"),
    }
    plans = {}
    for name, (declared, ledger) in ledgers.items():
        session = ht.Session.open(
            frame_of(2, 50, np.ones(50)), schema=declared, ledger=ledger, budget=ht.ZCDP(1)
        )
        plans[name] = session.plan(workload, budget=ht.ZCDP(0.5), strategy=strategy)
    assert plans["weights"].cost == plans["rows"].cost
    one, other = (p.noise for p in plans.values())
    assert one.price(300) == other.price(300)
    assert (
        "300 rows each" in str(plans["weights"]) and "300 rows each" in plans["weights"].to_dict()["counted"]
    )


def test_a_release_is_charged_exactly_and_its_intervals_hold(tmp_path: Path):
    """rho = sum over residuals of W^2 p / (2 s2), from the stored answers, by hand."""
    weights = np.random.default_rng(3).integers(1, 40, 4000).astype(float)
    frame = frame_of(3, 4000, weights)
    declared = weighted(0, 40)
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(10))
    release = session.release(ht.Workload([("sex", "age")]), budget=ht.ZCDP(2), strategy="residual-planner")
    part = release.answers.part
    price = sum(
        (p * Fraction(int(np.prod([declared.sizes[i] - 1 for i in s], dtype=int)),
                      int(np.prod([declared.sizes[i] for i in s], dtype=int))) / 2
         for s, p in zip(part.sets, part.precisions, strict=True)),
        Fraction(0),
    )  # fmt: skip
    assert release.card.charged.rho == -(-price.numerator * 40**2 * UNIT // price.denominator)
    assert release.card.charged.rho <= 2 * UNIT
    truth = np.array(by_hand(frame, weights.astype(int).tolist())[-8:])
    table = release.table("sex", "age", alpha=1e-6)
    assert ((table["lower"].to_numpy() <= truth) & (truth <= table["upper"].to_numpy())).all()
    assert "40 rows each" in str(release.card.counted)
    release.save(tmp_path / "out")
    assert ht.Release.load(tmp_path / "out").card.counted == release.card.counted


def test_choices_and_differences_pay_for_the_largest_weight(tmp_path: Path):
    frame, declared = frame_of(4, 200, np.full(200, 7.0)), weighted(0, 10)
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(100))
    options = [ht.linear.marginals(declared, order=k, rho=0.01) for k in (1, 2)]
    choice = session.choose(options)
    choice.finish(1)
    spent = ht.Ledger.open(tmp_path / "l").holding(choice.id).drawn
    assert spent.rho == pytest.approx(0.01 * 10**2 * UNIT, rel=1e-6)
    workload = ht.Workload([("sex", "age")])
    session.release(workload, budget=ht.ZCDP(1), strategy="residual-planner")
    more = session.release(workload, budget=ht.ZCDP(4), strategy="residual-planner", reuse=True)
    assert 0 < more.card.charged.rho < 4 * UNIT
    saved = float(more.card.reuse.saved_rho) + more.card.charged.rho / UNIT
    assert saved == pytest.approx(float(more.card.reuse.full_price_rho), rel=1e-6)


def test_adjusted_weights_are_said_to_be_taken_as_fixed_and_checks_are_refused(tmp_path: Path):
    declared = weighted(kind="adjusted")
    frame = frame_of(5, 20, np.ones(20))
    session = ht.Session.open(frame, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    assert "as fixed" in str(session.plan(ht.Workload([("sex",)]), budget=ht.ZCDP(0.5)))
    with pytest.raises(HushtableError) as refused:
        session.check("COUNT WHERE sex = 'F'", frame, tau=5, budget=ht.ZCDP(0.1))
    assert refused.value.code == "query.weighted"
    assert session.remaining.to_dict() == session.remaining.to_dict()
    assert not ht.Ledger.open(tmp_path / "l").reservations()


REFUSED = {
    "no bounds": ({"weight": {"column": "w"}}, "schema.missing-field"),
    "no column": ({"weight": {"bounds": [0, 3]}}, "schema.missing-field"),
    "all below a half": ({"weight": {"column": "w", "bounds": [0, 0.4]}}, "schema.wrong-bounds"),
    "negative": ({"weight": {"column": "w", "bounds": [-1, 3]}}, "schema.wrong-bounds"),
    "too large": ({"weight": {"column": "w", "bounds": [0, 10**7]}}, "schema.wrong-bounds"),
    "finest": ({"weight": {"column": "w", "bounds": [0, 3], "resolution": 1e-7}}, "schema.wrong-weight"),
    "coarser than all": (
        {"weight": {"column": "w", "bounds": [0, 3], "resolution": 10}},
        "schema.wrong-weight",
    ),
    "both": ({"weight": {"column": "w", "bounds": [0, 3]}, "count": "n"}, "schema.wrong-weight"),
    "whose": ({"count": "n", "person": "p"}, "schema.wrong-weight"),
    "from one": ({"count": {"column": "n", "bounds": [1, 5]}}, "schema.wrong-weight"),
    "dropped lines of any number": ({"count": {"column": "n", "outside": "drop"}}, "schema.missing-field"),
    "dropped lines of too many": (
        {"count": {"column": "n", "outside": "drop", "bounds": [0, 10**7]}},
        "schema.wrong-bounds",
    ),
    "rounded lines": ({"count": {"column": "n", "outside": "round"}}, "schema.wrong-choice"),
    "kind": ({"weight": {"column": "w", "bounds": [0, 3], "kind": "raked"}}, "schema.wrong-choice"),
    "no place": (
        {"csv": {"header": False}, "weight": {"column": "w", "bounds": [0, 3]}},
        "schema.no-position",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_by_name(case: str):
    given, code = REFUSED[case]
    with pytest.raises(HushtableError) as refused:
        schema(**given)
    assert refused.value.code == code


def test_weights_are_rounded_to_multiples_of_their_resolution_and_the_largest_is_paid_for(tmp_path: Path):
    declared = schema(weight={"column": "w", "bounds": [0, 48], "resolution": 10})
    assert declared.most_per_person == 50  # 48 is rounded upward, and paid for as that
    numbers = np.array([0.0, 4.9, 5.0, 14.0, 48.0])
    assert declared.weight.whole(numbers).tolist() == [0, 0, 10, 10, 50]
    for kind in ("design", "adjusted"):
        told = schema(weight={"column": "w", "bounds": [0, 48], "kind": kind}).weight.note
        assert f"{kind} weight" in told and ("as fixed" in told) is (kind == "adjusted")


def test_a_schema_with_weights_is_read_back_and_is_another_domain():
    for more in (
        {"weight": {"column": "w", "bounds": [0.5, 99.5], "kind": "adjusted", "outside": "drop"}},
        {"weight": {"column": "w", "bounds": [0, 100], "resolution": 5}},
        {"count": "n"},
        {"count": {"column": "n", "bounds": [0, 300], "outside": "drop"}},
    ):
        declared = schema(**more)
        assert ht.Schema.loads(declared.to_yaml()) == declared
        assert declared.version != schema().version


@pytest.mark.long
def test_the_command_line_reads_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    monkeypatch.chdir(tmp_path)
    frame_of(6, 3000, np.full(3000, 20.0)).write_csv("d.csv")
    weighted(0, 20).save("s.yaml")
    assert run(["ledger", "create", "l", "--budget", "rho=10"]) == 0
    asked = ["--schema", "s.yaml", "--ledger", "l", "--budget", "rho=5", "--order", "1", "--out", "out"]
    assert run(["release", "d.csv", *asked]) == 0
    assert run(["plan", "--schema", "s.yaml", "--budget", "rho=5", "--order", "1"]) == 0
    assert "20 rows each" in capsys.readouterr().out
    total = ht.Release.load("out").table("sex")["estimate"].sum()
    assert total == pytest.approx(60_000, abs=400)


@pytest.mark.parametrize("rows", [1, 3])
def test_no_person_costs_more_than_the_charge_and_the_heaviest_costs_it(rows: int):
    """Sum of squared changes over 2 variances, exactly; a price for weights 10% smaller would be exceeded."""
    declared = schema(max_rows_per_person=rows, weight={"column": "w", "bounds": [0, 40]})
    part = ht.release.plan_release(declared, ht.Workload([("sex", "age")]), ht.ZCDP(1)).noise.part
    variances = np.repeat([float(v) for v in part.noise.parameters], part.noise.lengths)
    nobody = part.exact(np.zeros(part.layout.cells, np.int64))
    costs = []
    for seed in range(30):
        chance = np.random.default_rng(seed)
        weights = chance.integers(0, 41, rows) if seed else np.full(rows, 40)
        person = frame_of(seed, rows, weights.astype(float))
        if not seed:
            person = person.with_columns(sex=pl.lit("F"), age=30)  # all rows in one cell
        moved = part.exact(open_counter(person, declared).tabulate(part.layout)) - nobody
        costs.append(float(np.sum(moved**2 / (2 * variances))))
    charge = float(part.price(declared.most_per_person).rho)
    assert max(costs) == costs[0] == pytest.approx(charge, rel=1e-12)
    assert costs[0] > float(part.price(36 * rows).rho) * 1.2  # (40/36)^2 = 1.23


def test_a_bound_that_was_changed_after_a_preflight_must_be_reviewed(tmp_path: Path):
    frame = frame_of(7, 40, np.full(40, 9.0))
    frame.write_csv(tmp_path / "d.csv")
    ht.preflight(tmp_path / "d.csv", schema=weighted(0, 300), ledger=tmp_path / "l")
    with pytest.raises(HushtableError) as refused:
        ht.Session.open(tmp_path / "d.csv", schema=weighted(0, 9), ledger=tmp_path / "l", budget=ht.ZCDP(1))
    assert refused.value.code == "schema.changed-after-preflight" and "weight.bounds" in str(refused.value)
