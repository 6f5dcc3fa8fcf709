"""Tables that are known from elsewhere: dense algebra under a condition, their worth, what is said and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from math import prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.axes import Axes
from hushtable.cli.app import run
from hushtable.errors import HushtableError, SchemaError
from hushtable.kernel.draw import noisy
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Counting, Layout
from hushtable.measurement import Answers, ResidualPart
from hushtable.privacy import UNIT

KEPT = {"null": "category", "outside": "other"}
ATTRIBUTES: dict[str, Any] = {
    "district": {"type": "categorical", "values": ["a", "b", "c"], **KEPT},
    "sex": {"type": "categorical", "values": ["F", "M"], **KEPT},
    "age": {"type": "integer", "bounds": [0, 59], "width": 10, **KEPT},
}
REGISTER = {"source": "register of 2025", "kind": "exact"}


def schema(known: list[dict[str, Any]], **more: Any) -> ht.Schema:
    return ht.Schema.from_dict({"known": known, **more, "attributes": ATTRIBUTES})


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    chance = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "district": chance.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]).tolist(),
            "sex": chance.choice(["F", "M"], rows).tolist(),
            "age": chance.integers(0, 60, rows),
        }
    )


def figures(frame: pl.DataFrame, *names: str) -> list[int]:
    """The true table over the schema's categories, "(null)" and "(other)" last, by counting rows one by one."""
    places = {"district": ["a", "b", "c", None, ""], "sex": ["F", "M", None, ""]}
    rows = frame.select(names).rows()
    return [rows.count(cell) for cell in product(*(places[name] for name in names))]


def stated(frame: pl.DataFrame, *names: str, **more: Any) -> dict[str, Any]:
    return {"attributes": list(names), "figures": figures(frame, *names), **REGISTER, **more}


def opened(frame: pl.DataFrame, declared: ht.Schema, folder: Path, budget: Any = None) -> ht.Session:
    return ht.Session.open(
        frame, schema=declared, ledger=folder / "l", budget=ht.ZCDP(100) if budget is None else budget
    )


def summing(sizes: tuple[int, ...], attributes: tuple[int, ...], lifted: bool = False) -> np.ndarray:
    """The matrix from a full table to a marginal, or to its lifted residual."""
    made = np.ones((1, 1))
    for k, n in enumerate(sizes):
        kept = n * np.eye(n) - np.ones((n, n)) if lifted else np.eye(n)
        made = np.kron(made, kept if k in attributes else np.ones((1, n)))
    return made


@pytest.mark.long
@pytest.mark.parametrize("case", range(60))
def test_estimates_variances_and_prices_are_those_of_least_squares_under_the_condition(
    case: int, tmp_path: Path
):
    """60 random schemas, workloads and known tables; the condition is put into dense algebra by its null space."""
    chance = np.random.default_rng(case)
    sizes = tuple(int(n) for n in chance.integers(2, 5, chance.integers(2, 4)))
    axes = range(len(sizes))
    names = [f"a{k}" for k in axes]
    frame = pl.DataFrame({name: chance.integers(0, n, 60) for name, n in zip(names, sizes, strict=True)})
    truth = np.zeros(sizes)
    np.add.at(truth, tuple(frame[name].to_numpy() for name in names), 1)
    below = [s for order in range(len(sizes)) for s in combinations(axes, order)]
    tables = [below[k] for k in sorted(set(chance.integers(0, len(below), 1 + case % 2).tolist()))]
    every = [s for order in range(1, len(sizes) + 1) for s in combinations(axes, order)]
    asked = sorted({tuple(axes)} | {every[k] for k in chance.integers(0, len(every), 2)})
    asked = [s for s in asked if not any(set(s) <= set(t) for t in tables)]
    kind = "exact" if case % 5 else "invariant"
    declared = ht.Schema.from_dict(
        {
            "known": [
                {
                    "attributes": [names[a] for a in s],
                    "figures": [int(x) for x in truth.sum(tuple(a for a in axes if a not in s)).ravel()],
                    "source": "a register",
                    "kind": "invariant",
                }
                for s in tables
            ],
            "attributes": {
                name: {"type": "categorical", "values": list(range(n))}
                for name, n in zip(names, sizes, strict=True)
            },
        }
    )
    declared = replace(declared, known=tuple(replace(one, kind=kind) for one in declared.known))
    rows = 1 + case % 3
    declared = replace(declared, max_rows_per_person=rows)
    strategy = ("residual-planner", "identity")[case % 4 == 0]
    session = opened(frame, declared, tmp_path)
    workload = ht.Workload([[names[a] for a in s] for s in asked])
    release = session.release(workload, budget=ht.ZCDP("0.001"), strategy=strategy)
    part = release.answers.part
    residual = isinstance(part, ResidualPart)
    queries = [summing(sizes, s, residual) for s in part.sets]
    spread = [
        float(p) for p, n in zip(part.noise.parameters, part.noise.lengths, strict=True) for _ in range(n)
    ]
    matrix, weights = np.concatenate(queries), 1.0 / np.array(spread)
    conditions = np.concatenate([summing(sizes, s) for s in tables])
    start = np.linalg.pinv(conditions) @ (conditions @ truth.ravel())
    _, sizes_of, directions = np.linalg.svd(conditions)
    free = directions[(sizes_of > 1e-9).sum() :].T
    gram = free.T @ matrix.T @ (weights[:, None] * matrix) @ free
    inverse = free @ np.linalg.pinv(gram, rcond=1e-12, hermitian=True) @ free.T
    table = start + inverse @ (matrix.T @ (weights * (release.answers.values - matrix @ start)))
    for s in {*asked, *tables}:
        ask = summing(sizes, s)
        found = release.estimates.marginal(s).ravel()
        assert np.allclose(found, ask @ table, atol=1e-9 * (np.abs(ask @ table).max() + 1.0), rtol=0)
        variances = release.estimates.model.variances_of(Layout(declared.sizes, (s,)))
        expected = np.diag(ask @ inverse @ ask.T)
        nothing = 1e-9 * expected.max(initial=0.0) + 1e-9  # of cells that are known, whose variance is 0
        assert np.allclose(variances, expected, rtol=1e-9, atol=nothing)
        table_of = release.table(*(names[a] for a in s))
        assert np.allclose(table_of["std"].to_numpy() ** 2, expected, rtol=1e-9, atol=nothing)
    if residual:
        tables_below = {t for s in tables for k in range(len(s) + 1) for t in combinations(s, k)}
        assert not tables_below.intersection(part.sets)
    charged = max(_cost(queries, part, cell) for cell in range(prod(sizes))) * rows**2
    assert release.card.charged.rho == -(-charged.numerator * UNIT // charged.denominator)


def _cost(queries: list[np.ndarray], part: Any, cell: int) -> Fraction:
    """Sum of squares over twice the variances, of one row in a cell."""
    each = zip(queries, part.noise.parameters, strict=True)
    return sum(
        (Fraction(int((q[:, cell].astype(int) ** 2).sum())) / (2 * Fraction(v)) for q, v in each), Fraction()
    )


def statement_held(runs: int, folder: Path, strategy: str, off: float = 1.0) -> dict[tuple[str, int], float]:
    """How often intervals of counts and shares hold, by rows of a group, where a table is stated as exact.

    Nothing is dropped: rows without a category, or with another one, are counted under one of their own.
    """
    groups = {
        ("a", "F"): 5,
        ("a", "M"): 50,
        ("b", "F"): 5000,
        ("b", "M"): 5,
        ("c", "F"): 50,
        ("c", "M"): 5000,
    }
    ages = (5, 15, 25)
    cells = [(*group, age) for group, size in groups.items() for age in ages for _ in range(size)]
    odd = [(None, "F", 5)] * 7 + [("elsewhere", None, 99)] * 9
    frame = pl.DataFrame([*cells, *odd], schema=["district", "sex", "age"], orient="row")
    table = [
        round(off * x)
        for x in stated(
            frame.with_columns(district=pl.col("district").replace("elsewhere", "")), "district", "sex"
        )["figures"]
    ]
    declared = schema([{"attributes": ["district", "sex"], "figures": table, **REGISTER}])
    session = opened(frame, declared, folder, ht.ZCDP(10_000))
    names = ("district", "sex", "age")
    workload = ht.Workload([names])
    release = session.release(workload, budget=ht.ZCDP("0.2"), strategy=strategy)
    (counts,) = open_counter(frame, declared).totals([Counting(release.answers.part.layout)])
    exact = release.answers.part.exact(counts)
    found = dict.fromkeys(((value, size) for value in ("count", "share(age)") for size in (5, 50, 5000)), 0.0)
    for _ in range(runs):
        if strategy == "auto":
            again = session.release(workload, budget=ht.ZCDP("0.2"), strategy=strategy)
        else:
            again = replace(
                release, answers=Answers(release.answers.part, noisy(exact, release.answers.part.noise))
            )
        for value in ("count", "share(age)"):
            for row in again.table(*names, value=value).to_dicts():
                size = groups.get((row["district"], row["sex"]), 0)
                if size and row["age"] in ("0-9", "10-19", "20-29"):
                    at = size if value == "count" else 1 / 3
                    found[value, size] += (row["lower"] - 1e-9 <= at <= row["upper"] + 1e-9) / (6 * runs)
    return found


def _least(runs: int, errors: float) -> float:
    """95% less so many standard errors; cells of a group share noise, so that a run counts as one of six."""
    return 0.95 - errors * sqrt(0.05 * 0.95 / runs)


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["residual-planner", "identity"])
def test_intervals_hold_under_an_exact_statement_and_not_where_it_is_off(strategy: str, tmp_path: Path):
    found = statement_held(60, tmp_path, strategy)
    assert min(found.values()) >= _least(60, 4), found
    (tmp_path / "off").mkdir()
    assert statement_held(20, tmp_path / "off", strategy, 1.01)["count", 5000] < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["residual-planner", "identity", "auto"])
def test_intervals_hold_under_an_exact_statement_in_2000_runs(strategy: str, tmp_path: Path):
    found = statement_held(2000, tmp_path, strategy)
    print(strategy, {f"{value} {size}": round(share, 4) for (value, size), share in found.items()})
    assert min(found.values()) >= _least(2000, 3), found


def test_the_error_of_a_table_falls_by_the_share_of_its_cells_that_is_known():
    """The std of a cell goes as the sum of ``prod (n - 1)`` over what is measured: n, or n - m if m are known."""
    frame = people(10)
    known, none = schema([stated(frame, "district", "sex")]), schema([])
    workload = ht.Workload([("district", "sex", "age")])
    errors = [
        ht.release.plan_release(declared, workload, ht.ZCDP("0.00001")).table_errors()[0]
        for declared in (known, none)
    ]
    n, m = 5 * 4 * 8, 5 * 4
    assert errors[0].std / errors[1].std == pytest.approx(1 - m / n, rel=1e-6)
    assert errors[0].half_width / errors[1].half_width == pytest.approx(1 - m / n, rel=1e-6)


@pytest.mark.parametrize("objective", ["sum_variance", "max_variance"])
def test_no_error_rises_by_what_is_known(objective: str):
    chance = np.random.default_rng(3)
    frame = people(50)
    options = [["district"], ["sex"], ["district", "sex"], []]
    for case in range(12):
        names = options[case % 4]
        known = stated(frame, *names) if names else {"attributes": [], "figures": [50], **REGISTER}
        order = int(chance.integers(1, 4))
        tables = [t for t in combinations(["district", "sex", "age"], order) if not set(t) <= set(names)]
        way = ht.release.Way(options=ht.planning.PlanOptions(objective))
        budget = ht.ZCDP("0.00001")
        after, before = (
            ht.release.plan_release(declared, ht.Workload(tables), budget, way).table_errors()
            for declared in (schema([known]), schema([]))
        )
        pairs = list(zip(after, before, strict=True))
        if objective == "sum_variance":
            assert all(one.std < other.std for one, other in pairs)
        assert max(a.std for a in after) < max(b.std for b in before) * (1 + 1e-9)


def test_known_tables_hold_exactly_by_every_reading_and_in_records(tmp_path: Path):
    frame = people(4000)
    declared = schema([stated(frame, "district", "sex")])
    session = opened(frame, declared, tmp_path)
    workload = ht.Workload([("district", "sex", "age")])
    for reading in ("mle", "maxent", "nonneg"):
        release = session.release(workload, budget=ht.ZCDP("0.05"), reconstruct=reading)
        assert release.card.plan.strategy == "residual-planner"  # auto leaves out what is known
        table = release.table("district", "sex")
        assert table["estimate"].to_list() == figures(frame, "district", "sex")
        assert table["lower"].to_list() == table["upper"].to_list() == table["estimate"].to_list()
        assert table["std"].to_list() == [0.0] * 20
        wide = release.table("district", "sex", "age").group_by("district", "sex", maintain_order=True)
        assert np.allclose(wide.agg(pl.col("estimate").sum())["estimate"], table["estimate"], atol=1e-6)
    records = release.microdata()
    assert figures(records.cast({"district": pl.String}), "district", "sex") == figures(
        frame, "district", "sex"
    )
    release.save(tmp_path / "out")
    again = ht.Release.load(tmp_path / "out")
    assert again.table("district", "age").equals(release.table("district", "age"))
    assert again.schema == declared and again.promise() == release.promise()


@pytest.mark.long
def test_what_rests_on_a_statement_is_said_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    frame = people(3000)
    frame.write_parquet("people.parquet")
    told = frame.group_by("district", "sex").len("persons")
    told.write_csv("population.csv")
    known = {"table": "population.csv", "column": "persons", **REGISTER}
    ht.Schema.from_dict({"attributes": ATTRIBUTES, "known": [known]}).save("s.yaml")
    assert run(["plan", "--schema", "s.yaml", "--order", "3", "--budget", "rho=0.1"]) == 0
    assert "exactly those of register of 2025" in capsys.readouterr().out
    made = ["release", "people.parquet", "--schema", "s.yaml", "--ledger", "l", "--budget", "rho=0.1"]
    assert run(["ledger", "create", "l", "--budget", "rho=1"]) == 0
    assert run([*made, "--order", "3", "--out", "out"]) == 0
    capsys.readouterr()
    assert run(["table", "out", "district", "age"]) == 0
    assert "intervals are conditional on it" in " ".join(capsys.readouterr().out.split())
    assert run(["report", "out"]) == 0
    release = ht.Release.load("out")
    assert "conditional on it" in release.card.known[0] and release.card.doubts is None
    assert "Taken as exact" in Path("out/report.html").read_text()
    assert "conditional on it" in " ".join(Path("out/README.txt").read_text().split())
    assert release.table("sex")["std"].to_list() == [0.0] * 4


def test_attributes_that_are_no_names_are_refused():
    for name in (["sex"], {"sex": 1}, 2025, None):
        known = {"attributes": [name], "figures": [1, 2], **REGISTER}
        with pytest.raises(HushtableError) as refused:
            ht.Schema.from_dict({"known": [known], "attributes": ATTRIBUTES})
        assert refused.value.code == "schema.known-attribute"


def test_a_total_of_these_very_rows_is_an_invariant_and_the_guarantee_is_said_to_be_conditional(
    tmp_path: Path,
):
    frame = people(500)
    dropping = {name: {k: v for k, v in a.items() if k not in KEPT} for name, a in ATTRIBUTES.items()}
    known = {
        "attributes": ["sex"],
        "figures": figures(frame, "sex")[:2],
        "source": "this file",
        "kind": "invariant",
    }
    declared = ht.Schema.from_dict({"known": [known], "attributes": dropping})
    release = opened(frame, declared, tmp_path).release(ht.Workload([("sex", "age")]), budget=ht.ZCDP(1))
    (told,) = release.card.conditional
    assert "the guarantee is conditional on them" in told and "fourfold" in told
    assert release.table("sex")["estimate"].to_list() == figures(frame, "sex")[:2]


def test_paid_answers_that_contradict_a_statement_are_reported_and_not_refused(tmp_path: Path):
    """1% of 40,000 persons off: tables that were measured by themselves show it, and so do cells below 0."""
    frame = people(40_000)
    truth = figures(frame, "district", "sex")
    off = {"attributes": ["district", "sex"], "figures": [round(1.01 * x) for x in truth], **REGISTER}
    workload = ht.Workload([("district", "sex", "age"), ("sex", "age")])
    for known, doubted in ((off, True), (stated(frame, "district", "sex"), False)):
        folder = tmp_path / str(doubted)
        folder.mkdir()
        session = opened(frame, schema([known]), folder)
        release = session.release(workload, budget=ht.ZCDP(1), strategy="identity")
        assert (
            release.card.doubts is not None
        ) is doubted  # a true statement is doubted in one of 1,000 releases
        if doubted:
            assert "standard deviations" in release.card.doubts[0] and "may not hold" in release.promise()
    nobody = {"attributes": ["district"], "figures": [40_000 - 40, 20, 20, 0, 0], **REGISTER}
    folder = tmp_path / "below"
    folder.mkdir()
    release = opened(frame, schema([nobody]), folder).release(workload, budget=ht.ZCDP(1))
    assert any("below 0" in sentence for sentence in release.card.doubts)


def test_earlier_answers_are_compared_with_a_statement_and_not_bought_again(tmp_path: Path):
    frame = people(5000)
    declared = schema([stated(frame, "district")])
    session = opened(frame, declared, tmp_path)
    workload = ht.Workload([("district", "age")])
    first = session.release(workload, budget=ht.ZCDP("0.1"))
    second = session.release(workload, budget=ht.ZCDP("0.1"), reuse=True)
    assert second.card.charged.rho == 0 and first.card.charged.rho > 0
    assert second.table("district")["estimate"].to_list() == figures(frame, "district")


def test_levels_are_known_on_all_coarser_ones(tmp_path: Path):
    chance = np.random.default_rng(5)
    tree = {"North": ["a", "b", "c"], "South": ["d", "e"]}
    places = chance.choice(list("abcde"), 3000)
    frame = pl.DataFrame({"place": places.tolist(), "sex": chance.choice(["F", "M"], 3000).tolist()})
    base = {
        "attributes": {
            "place": {"type": "categorical", "levels": ["region", "district"], "tree": tree},
            "sex": {"type": "categorical", "values": ["F", "M"]},
        }
    }
    north = int(np.isin(places, ["a", "b", "c"]).sum())
    known = {
        "attributes": ["region"],
        "figures": [north, 3000 - north],
        "source": "this file",
        "kind": "invariant",
    }
    declared = ht.Schema.from_dict({**base, "known": [known]})
    release = opened(frame, declared, tmp_path).release(ht.Workload([("district", "sex")]), budget=ht.ZCDP(1))
    assert release.table("region")["estimate"].to_list() == [north, 3000 - north]
    assert release.table()["std"].to_list() == [0.0]
    table = release.table("district")
    assert table["estimate"][:3].sum() == pytest.approx(north)
    axes = Axes.of(declared.sizes)
    assert (0,) not in release.answers.part.sets and (1,) in release.answers.part.sets and axes.has_levels
    shares = [1 - 1 / 3] * 3 + [1 - 1 / 2] * 2  # of the noise of a cell before its block is centred
    stds = table["std"].to_numpy()
    assert stds[0] ** 2 / stds[3] ** 2 == pytest.approx(_spread(shares[0]) / _spread(shares[3]), rel=1e-6)


def _spread(share: float) -> float:
    """Noise goes as what a row moves, ``1 - 1/n``; centring leaves the same share of it."""
    return share * share / (1 - 1 / 3)


def test_a_total_of_a_column_is_more_exact_where_counts_are_known(tmp_path: Path):
    frame = people(2000).with_columns(pay=pl.lit(700.0))
    known = {**stated(frame, "sex"), "kind": "invariant"}
    sums = {"pay": {"bounds": [0, 1000], "resolution": 10}}
    workload = ht.Workload([("sex",)]), ht.Workload([("sex", "age")])
    with_known, without = schema([known], sums=sums), schema([], sums=sums)
    release = opened(frame, with_known, tmp_path).release(workload[1], budget=ht.ZCDP(1))
    (tmp_path / "b").mkdir()
    other = opened(frame, without, tmp_path / "b").release(workload[1], budget=ht.ZCDP(1))
    one, two = (r.table("sex", value="sum(pay)")["std"][0] for r in (release, other))
    own = release.totals["pay"].variance((1,)) * 10.0**2
    assert one == pytest.approx(sqrt(own)) and one < two


def _csv(tmp_path: Path, text: str, kind: str = "exact", **more: Any) -> ht.Schema:
    (tmp_path / "k.csv").write_text(text)
    known = [{"table": "k.csv", "source": "a register", "kind": kind}]
    (tmp_path / "s.yaml").write_text("")
    fields = {
        "known": known,
        "attributes": {"sex": {"type": "categorical", "values": ["F", "M"], **KEPT}},
        **more,
    }
    (tmp_path / "s.yaml").write_text(json.dumps(fields))
    return ht.Schema.load(tmp_path / "s.yaml")


GOOD = "sex,count\nF,10\nM,12\n"
FILES = {
    "no figures": ("sex\nF\nM\n", "schema.known-table"),
    "a number of fields": ("sex,count\nF,10\nM\n", "schema.known-table"),
    "twice": ("sex,count\nF,10\nF,12\n", "schema.known-table"),
    "a missing cell": ("sex,count\nF,10\n", "schema.known-table"),
    "a label": ("sex,count\nF,10\nX,12\n", "schema.known-table"),
    "below zero": ("sex,count\nF,-1\nM,12\n", "schema.known-table"),
    "half a person": ("sex,count\nF,1.5\nM,12\n", "schema.known-table"),
    "no number": ("sex,count\nF,ten\nM,12\n", "schema.known-table"),
    "an attribute": ("gender,count\nF,10\nM,12\n", "schema.known-attribute"),
    "nothing": ("", "schema.known-table"),
}


@pytest.mark.parametrize("case", FILES)
def test_files_that_disagree_with_the_schema_are_refused_by_name(case: str, tmp_path: Path):
    text, code = FILES[case]
    with pytest.raises(SchemaError) as refused:
        _csv(tmp_path, text)
    assert refused.value.code == code and "known" in str(refused.value)


def test_a_good_file_is_read_and_a_missing_one_refused(tmp_path: Path):
    declared = _csv(tmp_path, GOOD)
    assert declared.known[0].figures == (10, 12, 0, 0)
    (tmp_path / "k.csv").unlink()
    with pytest.raises(SchemaError) as refused:
        ht.Schema.load(tmp_path / "s.yaml")
    assert refused.value.code == "schema.known-table"
    assert ht.Schema.loads(declared.to_yaml()) == declared
    with pytest.raises(SchemaError):  # a stored schema names no file
        ht.Schema.loads_stored(
            b'{"known": [{"table": "k.csv", "source": "x", "kind": "exact"}], "attributes": '
            b'{"sex": {"type": "categorical", "values": ["F"]}}}'
        )


SCHEMAS: dict[str, tuple[dict[str, Any], str]] = {
    "rows of a person": ({"person": "who"}, "schema.known-dropped"),
    "a weight": ({"weight": {"column": "w", "bounds": [0, 9]}}, "schema.known-dropped"),
    "a sum": ({"sums": {"pay": {"bounds": [0, 9], "resolution": 1}}}, "schema.known-dropped"),
    "lines of persons": ({"count": "n"}, "schema.known-dropped"),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_an_exact_table_is_refused_where_rows_may_be_dropped(case: str, tmp_path: Path):
    more, code = SCHEMAS[case]
    with pytest.raises(SchemaError) as refused:
        _csv(tmp_path, GOOD, **more)
    assert refused.value.code == code
    assert _csv(tmp_path, GOOD, kind="invariant", **more).known[0].kind == "invariant"


@pytest.mark.parametrize("rule", ["null", "outside"])
@pytest.mark.parametrize("name", ["sex", "age"])
def test_an_exact_table_is_refused_where_an_attribute_drops_rows(rule: str, name: str):
    changed = {**ATTRIBUTES, name: {k: v for k, v in ATTRIBUTES[name].items() if k != rule}}
    frame = people(10)
    with pytest.raises(SchemaError) as refused:
        ht.Schema.from_dict({"known": [stated(frame, "district")], "attributes": changed})
    assert refused.value.code == "schema.known-dropped" and name in str(refused.value)


def test_tables_that_disagree_among_themselves_or_with_what_is_impossible_are_refused():
    frame = people(100)
    good = [stated(frame, "district", "sex"), stated(frame, "sex")]
    assert len(schema(good).known) == 2
    wrong = {**stated(frame, "sex"), "figures": [x + 1 for x in figures(frame, "sex")]}
    with pytest.raises(SchemaError) as refused:
        schema([good[0], wrong])
    assert refused.value.code == "schema.known-disagree" and "known.1" in str(refused.value)
    with pytest.raises(SchemaError) as refused:
        schema([good[0]], impossible=[{"district": "a", "sex": "F"}])
    assert refused.value.code == "schema.known-table"
    assert schema([good[0]], impossible=[{"district": "a", "sex": "F", "age": "0-9"}]).known


@pytest.mark.parametrize(
    "entry",
    [
        {"attributes": ["sex"], "figures": [1, 2], "source": "x", "kind": "exact"},
        {"attributes": ["sex"], "figures": [1, 2, 0, 0], "kind": "exact"},
        {"attributes": ["sex"], "figures": [1, 2, 0, 0], "source": "x"},
        {"attributes": ["sex"], "figures": [1, 2, 0, 0], "source": "x", "kind": "sure"},
        {"attributes": ["sex", "sex"], "figures": [1] * 16, "source": "x", "kind": "exact"},
        {"attributes": ["sex"], "figures": [2**50, 2, 0, 0], "source": "x", "kind": "exact"},
        {"source": "x", "kind": "exact"},
        {"attributes": ["sex"], "figures": [1, 2, 0, 0], "source": "x", "kind": "exact", "trust": 1},
    ],
)
def test_entries_that_cannot_be_are_refused(entry: dict[str, Any]):
    with pytest.raises(SchemaError):
        schema([entry])


def test_a_strategy_that_measures_all_and_a_workload_that_is_known_are_refused(tmp_path: Path):
    frame = people(100)
    declared = schema([stated(frame, "district", "sex")])
    session = opened(frame, declared, tmp_path)
    with pytest.raises(HushtableError) as refused:
        session.release(ht.Workload([("age",)]), budget=ht.ZCDP("0.1"), strategy="aim")
    assert refused.value.code == "release.known"
    with pytest.raises(HushtableError) as refused:
        session.release(ht.Workload([("sex",)]), budget=ht.ZCDP("0.1"))
    assert refused.value.code == "workload.known"
    assert not list(session.ledger.reservations())


def test_other_figures_are_another_domain():
    frame = people(100)
    one, none = schema([stated(frame, "sex")]), schema([])
    other = schema([{**stated(frame, "sex"), "figures": [1, 99, 0, 0]}])
    assert len({one.version, none.version, other.version}) == 3
