"""Checks through kernel, ledger and session: what is decided, what it costs, what is stored and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from decider_profiles import claim
from hushtable.deciders import (
    AGGREGATES,
    DECIDERS,
    Aggregate,
    Supposed,
    Synthetic,
    Verdict,
    columns_of,
    parse,
    read_verdicts,
    resolve,
)
from hushtable.errors import BudgetExhausted, HushtableError, LedgerError
from hushtable.kernel import draw
from hushtable.kernel.sources import open_source
from hushtable.kernel.sources.records import record_frames
from hushtable.ledger import failpoints
from hushtable.privacy import Cost

SCHEMA = ht.Schema.from_dict(
    {
        "attributes": {
            "sex": {"type": "categorical", "values": ["F", "M"], "null": "category", "outside": "other"},
            "code": {"type": "categorical", "values": [1, 2, 5]},
            "age": {"type": "integer", "bounds": [0, 115], "width": 5},
            "income": {
                "type": "real",
                "bounds": [0, 5000],
                "bins": 10,
                "resolution": 0.5,
                "null": "category",
            },
            "change": {"type": "integer", "bounds": [-50, 50]},
            "member": {"type": "boolean", "null": "category"},
            "born": {"type": "date", "bounds": ["1900-01-01", "2025-12-31"], "width": "1 year"},
            "weight": {"type": "real", "bounds": [0, 200], "bins": 4},
        }
    }
)
CERTAIN = ht.PureDP(2000)


def people(rows: int, seed: int = 0) -> pl.DataFrame:
    """Rows with nulls, values outside and unreadable ones."""
    rng = np.random.default_rng(seed)
    pick = rng.choice
    return pl.DataFrame(
        {
            "sex": pick(np.array(["F", "M", None, "Z"], object), rows, p=[0.45, 0.4, 0.1, 0.05]).tolist(),
            "code": pick([1, 2, 5, 9], rows, p=[0.4, 0.3, 0.2, 0.1]),
            "age": rng.integers(-5, 130, rows),
            "income": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(0, 24_000, rows) / 4),
            "change": rng.integers(-50, 51, rows),
            "member": pick(np.array([True, False, None], object), rows).tolist(),
            "born": pl.Series(rng.integers(-20_000, 18_000, rows)).cast(pl.Int32).cast(pl.Date),
            "weight": rng.random(rows) * 200,
        },
        schema_overrides={"sex": pl.String, "member": pl.Boolean},
    ).with_columns(pl.col("income").fill_nan(None))


def kept(frame: pl.DataFrame) -> pl.DataFrame:
    """What the schema says of these rows, written again by hand."""
    return frame.filter(pl.col("code").is_in([1, 2, 5])).with_columns(
        pl.col("age").clip(0, 115), pl.col("income").clip(0, 5000)
    )


def opened(folder: Path, data: object, budget: object = None, **options: object) -> ht.Session:
    return ht.Session.open(
        data, schema=SCHEMA, ledger=folder / "people.ledger", budget=budget or ht.PureDP(10_000), **options
    )


QUERIES = {
    "COUNT WHERE sex <> 'F'": lambda f: f.filter(pl.col("sex") != "F").height,
    "COUNT WHERE sex IS NULL AND age >= 30": lambda f: (
        f.filter(pl.col("sex").is_null(), pl.col("age") >= 30).height
    ),
    "COUNT WHERE code IN (1, 5) OR NOT member": lambda f: (
        f.filter(pl.col("code").is_in([1, 5]) | ~pl.col("member")).height
    ),
    "COUNT WHERE born >= DATE '1970-01-01' AND weight < 99.5": lambda f: (
        f.filter(pl.col("born") >= pl.date(1970, 1, 1), pl.col("weight") < 99.5).height
    ),
    "SUM(income) WHERE age BETWEEN 20 AND 60": lambda f: float(
        (f.filter(pl.col("age").is_between(20, 60))["income"] * 2)
        .to_numpy()
        .round()[~f.filter(pl.col("age").is_between(20, 60))["income"].is_null().to_numpy()]
        .sum()
        / 2
    ),
    "SUM(change)": lambda f: f["change"].sum(),
    "AVG(age) WHERE member": lambda f: f.filter(pl.col("member"))["age"].mean(),
    "MEDIAN(age) WHERE income > 1000": lambda f: f.filter(pl.col("income") > 1000)["age"].quantile(
        0.5, "lower"
    ),
    "QUANTILE(age, 0.25) WHERE sex LIKE 'M%'": lambda f: _lower(f.filter(pl.col("sex") == "M")["age"], 0.25),
}


def _lower(values: pl.Series, quantile: float) -> int:
    return values.sort()[math.ceil(quantile * len(values)) - 1]


@pytest.mark.long
@pytest.mark.parametrize("kind", ["csv", "parquet", "polars"])
def test_with_a_huge_epsilon_verdicts_are_the_truth_about_raw_values(tmp_path: Path, kind: str) -> None:
    truth, other = people(4_000), people(4_000, seed=1)
    if kind == "csv":
        truth.write_csv(tmp_path / "people.csv")
    elif kind == "parquet":
        truth.write_parquet(tmp_path / "people.parquet")
    session = opened(tmp_path, truth if kind == "polars" else tmp_path / f"people.{kind}", ht.PureDP(200_000))
    columns = columns_of(SCHEMA)
    for text, exact in QUERIES.items():
        answer = exact(kept(truth))
        synthetic = ht.deciders.Synthetic.of(kept(other), columns)
        supposed = synthetic.suppose(resolve(parse(text), columns))
        resolution = Fraction(1, 2) if "SUM(income)" in text else Fraction(1)
        shown = supposed.answer(decided_aggregate(text)) * resolution
        distance = abs(float(shown) - answer)
        slack = 200 if "SUM(income)" in text else 2.5  # 80 times the scale of the noise, or more
        for tau, expected in ((distance + slack, True), (distance - slack, False)):
            if tau > 0.01:
                verdict = session.check(text, synthetic, tau=tau, budget=CERTAIN)
                assert verdict.satisfied is expected, (text, tau)
                assert verdict.synthetic == shown


def decided_aggregate(text: str) -> Aggregate:
    return AGGREGATES[text.split(" ")[0].split("(")[0]]


def test_records_hold_plain_values_in_compact_columns() -> None:
    frame = people(3_000)
    found = pl.concat(record_frames(open_source(frame, SCHEMA)))
    expected = kept(frame)
    assert found.height == expected.height
    assert found["age"].to_list() == expected["age"].to_list() and found["age"].dtype == pl.Int8
    assert found["income"].to_list() == expected["income"].to_list()
    assert found["born"].to_list() == expected["born"].to_list()
    assert found["member"].to_list() == expected["member"].to_list()
    assert found["code"].to_list() == expected["code"].to_list() and found["code"].dtype == pl.Int8
    known = [text if text in ("F", "M", None) else "?" for text in expected["sex"]]
    assert [text if text in ("F", "M", None) else "?" for text in found["sex"]] == known


@pytest.mark.long
def test_at_most_k_rows_of_a_person_count_and_cost_k_times(tmp_path: Path) -> None:
    schema = ht.Schema.from_dict(
        {
            "max_rows_per_person": 2,
            "person": "who",
            "attributes": {"x": {"type": "integer", "bounds": [0, 9]}},
        }
    )
    rows = pl.DataFrame({"who": ["a"] * 50 + ["b"], "x": [1] * 50 + [0]})
    session = ht.Session.open(rows, schema=schema, ledger=tmp_path / "l", budget=ht.PureDP(4000))
    ones = pl.DataFrame({"x": [1, 1, 0]})
    verdict = session.check("COUNT WHERE x = 1", ones, tau=1, budget=CERTAIN)
    assert verdict.satisfied and verdict.epsilon == 2000
    assert (
        session.plan_check("COUNT WHERE x = 1", ones, tau=1, budget=CERTAIN).questions[0].decider.epsilon
        == 1000
    )
    assert session.remaining.epsilon == 2000


def test_a_question_is_never_paid_for_twice(tmp_path: Path) -> None:
    session, synthetic = opened(tmp_path, people(500)), people(500, seed=2)
    first = session.check("COUNT WHERE age >= 30", synthetic, tau=20, budget=ht.PureDP(0.25))
    left = session.remaining.epsilon
    again = opened(tmp_path, people(500)).check(
        "SELECT COUNT(*) FROM t WHERE NOT age < 30", synthetic, tau="20", budget=ht.PureDP("1/4")
    )
    assert again.repeated and not first.repeated
    assert (again.satisfied, again.price) == (first.satisfied, first.price)
    assert "nothing, it was asked before" in str(again)
    assert session.remaining.epsilon == left
    for change in ({"tau": 21}, {"budget": ht.PureDP(0.5)}, {"decider": "count-lm"}):
        asked = {"tau": 20, "budget": ht.PureDP(0.25)} | change
        assert not session.check("COUNT WHERE age >= 30", synthetic, **asked).repeated
    assert not session.check("COUNT WHERE age >= 30", synthetic[1:], tau=20, budget=ht.PureDP(0.25)).repeated


@pytest.mark.long
@pytest.mark.parametrize("spender", [None, "ann"])
@pytest.mark.parametrize(("first", "second"), [("ab", "b"), ("b", "ab"), ("ab", "bc"), ("b", "b")])
def test_a_question_that_is_being_decided_is_not_paid_for_again(
    tmp_path: Path, first: str, second: str, spender: str | None
) -> None:
    """The other caller comes between the charge and the store of the one who asks; neither may pay for b twice."""
    data = people(50)
    asks = {name: f"COUNT WHERE code = {code}" for name, code in zip("abc", (1, 2, 5), strict=True)}
    session = opened(tmp_path, data, ht.ZCDP(5))
    session.ledger.grant("ann", ht.ZCDP(5))
    other = opened(tmp_path, data, spender=spender)
    codes: list[str] = []

    def come_between(name: str) -> None:
        if name == "charge.committed" and not codes:
            codes.append("")
            with pytest.raises(LedgerError) as caught:
                other.check([asks[q] for q in second], kept(data), tau=5, budget=ht.PureDP(len(second)))
            codes[0] = caught.value.code

    failpoints.arm(come_between)
    try:
        session.check([asks[q] for q in first], kept(data), tau=5, budget=ht.PureDP(len(first)))
    finally:
        failpoints.arm(None)
    assert codes == ["ledger.in-progress"]
    spent = session.ledger.spent()
    stored = session.check(asks["b"], kept(data), tau=5, budget=ht.PureDP(1))
    assert isinstance(stored, Verdict) and session.ledger.spent() == spent


def test_a_batch_is_one_spend_shared_equally_and_asks_each_question_once(tmp_path: Path) -> None:
    session, synthetic = opened(tmp_path, people(500), ht.PureDP(1)), people(500, seed=2)
    batch = ["COUNT WHERE age >= 30", "SUM(age)", "COUNT WHERE NOT age < 30", "MEDIAN(age)"]
    verdicts = session.check(batch, synthetic, tau="10%", budget=ht.PureDP("0.75"))
    assert [v.query for v in verdicts] == [
        "COUNT WHERE age >= 30",
        "SUM(age)",
        "COUNT WHERE age >= 30",
        "MEDIAN(age)",
    ]
    assert verdicts[0] == verdicts[2]
    assert {v.epsilon for v in verdicts} == {Fraction(1, 4)}
    assert len(session.ledger.reservations()) == 1
    assert session.remaining.epsilon == 0.25
    assert session.check("SUM(age)", synthetic, tau="10%", budget=ht.PureDP(0.25)).repeated
    longer = session.check([*batch, "AVG(age)"], synthetic, tau="10%", budget=ht.PureDP(1))
    assert [v.repeated for v in longer] == [True, True, True, True, False]
    assert session.remaining.epsilon == 0


@pytest.mark.long
def test_prices_follow_the_currency_of_the_ledger(tmp_path: Path) -> None:
    synthetic = people(100, seed=3)
    ask = {"query": "COUNT WHERE age >= 30", "synthetic": synthetic, "tau": 10}

    def price(name: str, budget: object, spend: object, **more: object) -> tuple[str, Cost]:
        session = ht.Session.open(people(100), schema=SCHEMA, ledger=tmp_path / name, budget=budget)
        verdict = session.check(**ask, budget=spend, **more)
        assert session.ledger.spent() == verdict.price
        return verdict.decider, verdict.price

    unit = 10**12
    assert price("pure", ht.PureDP(1), ht.PureDP(0.25)) == ("count-optimal", Cost(unit // 4, 0))
    tanh = math.ceil(0.25 * math.tanh(0.125) * unit)
    decider, cost = price("zcdp", ht.ZCDP(1), ht.PureDP(0.25))
    assert (decider, cost.xi) == ("count-optimal", 0) and 0 <= cost.rho - tanh <= 1e-8 * tanh
    assert price("coin", ht.ZCDP(1), ht.PureDP(0.25), decider="count-em")[1] == Cost(0, unit // 128)
    decider, cost = price("rho", ht.ZCDP(1), ht.ZCDP("0.0078125"))
    assert decider == "count-logistic" and unit // 128 - 10 <= cost.rho <= unit // 128
    aside = ht.ApproxDP(epsilon=1, delta=1e-9, pure=0.5)
    assert price("aside", aside, ht.PureDP(0.25))[1] == Cost(unit // 4, 0)
    plain = ht.ApproxDP(epsilon=1, delta=1e-9)
    assert price("approx", plain, ht.PureDP("0.025"))[1].xi == 0
    spend = ht.ApproxDP(epsilon=0.5, delta=1e-9)
    decider, cost = price("spend", plain, spend)
    assert decider == "count-logistic" and spend.limit.rho - 10 <= cost.rho <= spend.limit.rho
    with pytest.raises(HushtableError, match=r"budget\.not-pure"):
        price("wrong", ht.PureDP(1), ht.ZCDP(0.1))


def test_an_exhausted_budget_is_refused_before_a_row_is_read(tmp_path: Path) -> None:
    people(50).write_csv(tmp_path / "people.csv")
    session = opened(tmp_path, tmp_path / "people.csv", ht.PureDP(1))
    session.ledger.grant("ann", ht.PureDP(0.25))
    (tmp_path / "people.csv").unlink()
    head = session.ledger.head
    with pytest.raises(BudgetExhausted):
        session.check("COUNT WHERE age > 9", people(50), tau=5, budget=ht.PureDP(2))
    session.spender = "ann"
    with pytest.raises(BudgetExhausted):
        session.check("COUNT WHERE age > 9", people(50), tau=5, budget=ht.PureDP(0.5))
    assert session.ledger.head == head


def test_a_lost_draw_stays_spent_and_the_next_asking_is_a_new_spend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, synthetic = opened(tmp_path, people(50), ht.PureDP(1)), people(50, seed=1)
    ask = {"tau": 5, "budget": ht.PureDP(0.25)}
    with monkeypatch.context() as patch:
        patch.setattr(draw, "verdict", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.check("COUNT WHERE age > 9", synthetic, **ask)
    assert session.remaining.epsilon == 0.75
    assert not session.check("COUNT WHERE age > 9", synthetic, **ask).repeated
    assert session.remaining.epsilon == 0.5
    assert session.check("COUNT WHERE age > 9", synthetic, **ask).repeated


def test_a_reservation_that_was_never_charged_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, synthetic = opened(tmp_path, people(50), ht.PureDP(1)), people(50, seed=1)
    with monkeypatch.context() as patch:
        patch.setattr(session.ledger, "charge", lambda *_, **__: 1 / 0)
        patch.setattr(session.ledger, "settle", lambda *_: None)
        with pytest.raises(ZeroDivisionError):
            session.check("SUM(age)", synthetic, tau=500, budget=ht.PureDP(0.25))
    assert session.ledger.held().xi > 0
    session.check("SUM(age)", synthetic, tau=500, budget=ht.PureDP(0.25))
    assert session.ledger.held().xi == 0 and session.remaining.epsilon == 0.75


@pytest.mark.long
@pytest.mark.parametrize("name", DECIDERS)
def test_every_decider_runs_on_empty_tables_and_selections_like_on_any_other(
    tmp_path: Path, name: str
) -> None:
    kind = DECIDERS[name].aggregate.name
    query = {"count": "COUNT", "sum": "SUM(age)", "median": "MEDIAN(age)", "avg": "AVG(age)"}[kind]
    synthetic = people(60, seed=4)
    lengths, entries = set(), set()
    for rows in (0, 40):
        folder = tmp_path / str(rows)
        folder.mkdir()
        session = opened(folder, people(rows))
        verdict = session.check(
            f"{query} WHERE age = 60", kept_ages(synthetic), tau=9, budget=ht.PureDP(1), decider=name
        )
        assert verdict.decider == name and 0 <= verdict.error_bound <= 1
        stored = session.ledger.reservations()[0].charges[0]
        lengths.add(len(session.ledger.payload(stored.number)))
        entries.add(len(session.ledger.history()))
    assert len(lengths) == len(entries) == 1


def kept_ages(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.lit(60).alias("age"))


def test_a_verdict_reads_like_a_sentence_and_survives_storage(tmp_path: Path) -> None:
    session, synthetic = opened(tmp_path, people(400)), kept_ages(people(400, seed=1))
    verdict = session.check(
        "COUNT WHERE age = 60 AND sex = 'F'", synthetic, tau="100%", budget=ht.PureDP(0.25)
    )
    rows = synthetic.filter(pl.col("sex") == "F").height
    assert str(verdict).startswith(("Yes: the true COUNT", "No: the true COUNT"))
    assert f"within {rows:,} of the synthetic {rows:,}" in str(verdict)
    assert "It cost epsilon=0.25 per person." in str(verdict)
    assert Verdict.from_dict(verdict.to_dict()) == verdict
    bound = claim("count-optimal", Supposed.count(rows), tau=rows, epsilon=Fraction(1, 4)).error
    assert verdict.error_bound == bound


def test_a_plan_knows_errors_thresholds_and_the_epsilon_needed() -> None:
    synthetic = people(2_000, seed=5)
    for text, decider in (("COUNT WHERE age > 30", "auto"), ("MEDIAN(age)", "auto"), ("SUM(age)", "sum-r2t")):
        plan = ht.deciders.plan_check(
            SCHEMA, [text], synthetic, tau=40, budget=ht.PureDP(0.1), decider=decider
        ).planned[0]
        profile = plan.profile()
        assert profile[0].distance == 0 and profile[-1].distance == 120
        assert max(profile[0].error, profile[16].error) <= plan.claim.error + 1e-12
        needed = plan.epsilon_needed(0.05)
        again = ht.deciders.plan_check(
            SCHEMA, [text], synthetic, tau=40, budget=ht.PureDP(needed * 1.002), decider=decider
        ).planned[0]
        assert again.claim.error <= 0.05 + 1e-9
    count = ht.deciders.plan_check(SCHEMA, ["COUNT"], synthetic, tau=40, budget=ht.PureDP(0.1)).planned[0]
    assert count.threshold(0.05) == pytest.approx(
        ht.deciders.effectiveness_threshold("count-optimal", epsilon=0.1, delta=0.05)
    )
    median = ht.deciders.plan_check(SCHEMA, ["MEDIAN(age)"], synthetic, tau=4, budget=ht.PureDP(0.1)).planned[
        0
    ]
    assert median.threshold(0.05) is None


def test_distances_and_errors_that_make_no_sense_are_refused() -> None:
    made = ht.deciders.plan_check(SCHEMA, ["MEDIAN(age)"], people(90), tau=4, budget=ht.PureDP(1)).planned[0]
    with pytest.raises(HushtableError, match=r"query\.bad-distance"):
        made.at([float("inf")])
    with pytest.raises(HushtableError, match=r"query\.bad-probability"):
        made.epsilon_needed(1.5)


def test_public_knowledge_of_the_largest_value_can_make_the_race_the_better_decider() -> None:
    schema = ht.Schema.from_dict(
        {"attributes": {"pay": {"type": "integer", "bounds": [0, 10**8], "bins": 5}}}
    )
    synthetic = pl.DataFrame({"pay": [900, 300] * 5_000})
    names = [
        ht.deciders.plan_check(
            schema, ["SUM(pay)"], synthetic, tau="10%", budget=ht.PureDP(1), largest=largest
        )
        .questions[0]
        .decider.name
        for largest in (None, 1_000)
    ]
    assert names == ["sum-margin", "sum-r2t-centred"]


REFUSED = [
    ("COUNT WHERE height > 3", {}, "query.unknown-column"),
    ("COUNT WHERE age = 'old'", {}, "query.type-mismatch"),
    ("COUNT WHERE age >= 0", {}, "query.always-holds"),
    ("COUNT WHERE age > 200", {}, "query.never-holds"),
    ("SUM(sex)", {}, "query.not-a-number"),
    ("SUM(weight)", {}, "query.no-resolution"),
    ("SUM(change)", {"decider": "sum-r2t"}, "query.negative-values"),
    ("COUNT WHERE age > 3", {"decider": "sum-lm"}, "query.wrong-decider"),
    ("COUNT WHERE age > 3", {"decider": "magic"}, "query.unknown-decider"),
    ("COUNT WHERE age > 3", {"tau": 0}, "query.tau-not-positive"),
    ("COUNT WHERE age > 3", {"tau": "-5%"}, "query.tau-not-positive"),
    ("COUNT WHERE age > 3", {"tau": "much"}, "query.tau-unreadable"),
    ("MEDIAN(age)", {"tau": 500}, "query.tau-covers-range"),
    ("QUANTILE(age, 0.3333333333333)", {}, "query.bad-quantile"),
    ("DELETE FROM t", {}, "query.unreadable"),
    ("SUM(age)", {"largest": float("nan")}, "query.bad-largest"),
    ("SUM(age)", {"largest": -3}, "query.bad-largest"),
    ([], {}, "query.batch-size"),
    (["COUNT WHERE age > 3"] * 1001, {}, "query.batch-size"),
]


@pytest.mark.parametrize(("query", "change", "code"), REFUSED)
def test_bad_questions_are_refused_before_anything_is_spent(
    tmp_path: Path, query: object, change: dict, code: str
) -> None:
    session = opened(tmp_path, people(30))
    head = session.ledger.head
    with pytest.raises(HushtableError) as refusal:
        session.check(query, people(300, seed=1), **({"tau": 3, "budget": ht.PureDP(0.5)} | change))
    assert refusal.value.code == code
    assert session.ledger.head == head


def test_synthetic_files_with_other_columns_or_without_a_table_are_refused(tmp_path: Path) -> None:
    session, whole = opened(tmp_path, people(30)), people(30, seed=1)
    whole.write_csv(tmp_path / "fine.csv")
    (tmp_path / "broken.parquet").write_bytes(b"not a table")
    ask = {"query": "COUNT WHERE age > 3", "tau": 3, "budget": ht.PureDP(0.5)}
    cases = [
        (whole.drop("sex"), "query.missing-column"),
        (whole.with_columns(pl.lit(1).alias("more")), "query.extra-column"),
        (tmp_path / "absent.csv", "query.no-synthetic"),
        (tmp_path / "broken.parquet", "query.unreadable-synthetic"),
        (42, "query.not-a-frame"),
    ]
    for synthetic, code in cases:
        with pytest.raises(HushtableError) as refusal:
            session.check(synthetic=synthetic, **ask)
        assert refusal.value.code == code
    from_file = session.check(synthetic=tmp_path / "fine.csv", **ask)
    assert session.check(synthetic=whole, **ask).repeated and not from_file.repeated


@pytest.mark.parametrize("name", DECIDERS)
@pytest.mark.parametrize("tau", [4, 10**30])
def test_distances_beyond_64_bits_are_like_any_others(name: str, tau: int) -> None:
    kind = DECIDERS[name].aggregate.name
    query = {"count": "COUNT", "sum": "SUM(age)", "median": "MEDIAN(age)", "avg": "AVG(age)"}[kind]
    asked = {"tau": tau, "budget": ht.PureDP(40), "decider": name}
    if kind in ("median", "avg") and tau > 115:
        with pytest.raises(HushtableError, match=r"query\.tau-covers-range"):
            ht.deciders.plan_check(SCHEMA, [query], people(90), **asked)
        return
    made = ht.deciders.plan_check(SCHEMA, [query], people(90), **asked).planned[0]
    near, far, below = (place.satisfied for place in made.at([0, 10**33, -(10**33)]))
    assert 0 <= made.claim.error <= 1 and 0 <= near <= 1 and max(far, below) < 0.1


def test_sums_that_could_overflow_are_refused_from_the_schema() -> None:
    schema = ht.Schema.from_dict({"attributes": {"x": {"type": "integer", "bounds": [0, 2**30], "bins": 4}}})
    with pytest.raises(HushtableError, match=r"query\.overflow"):
        ht.deciders.plan_check(schema, ["SUM(x)"], pl.DataFrame({"x": [5]}), tau=1, budget=ht.PureDP(1))


def test_stored_verdicts_of_another_version_are_refused() -> None:
    with pytest.raises(LedgerError, match=r"ledger\.other-verdicts"):
        read_verdicts(b'{"format": "older"}')


@pytest.mark.parametrize(
    "odd", [pl.Series([[1], [2]]), pl.Series([b"a", b"b"]), pl.Series([object(), object()], dtype=pl.Object)]
)
def test_columns_of_lists_and_bytes_are_refused_in_a_sentence(odd: pl.Series) -> None:
    columns = columns_of(SCHEMA)
    for name in ("age", "code"):
        table = pl.DataFrame({each: odd if each == name else [None, None] for each in columns})
        with pytest.raises(HushtableError) as caught:
            Synthetic.of(table, columns)
        assert caught.value.code == "query.odd-column"
