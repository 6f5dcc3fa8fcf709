"""Records from releases: small and large domains, values, structural zeros, files, honesty and refusals."""

from __future__ import annotations

import json
import sys
import time
from datetime import date
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError, WorkloadError
from hushtable.marginals import Layout, closure
from hushtable.microdata import Measurement, Noise, fitting
from hushtable.microdata import program as program_module
from hushtable.microdata.assemble import Builder
from hushtable.microdata.generator import Targets, affordable, count_records, generate
from hushtable.microdata.program import solve
from hushtable.release import make_microdata

FIELDS = {
    "attributes": {
        "sex": {"type": "categorical", "values": ["F", "M"], "null": "category", "outside": "other"},
        "age": {"type": "integer", "bounds": [0, 79], "width": 20},
        "income": {"type": "real", "bounds": [0, 100], "bins": 4, "null": "category"},
        "born": {"type": "date", "bounds": ["1990-01-01", "1999-12-31"], "width": "5 years"},
        "rooms": {"type": "categorical", "values": [1, 2, 3]},
        "member": {"type": "boolean"},
    },
    "impossible": [{"age": "0-19", "member": True}],
}


def people(rows=4000):
    rng = np.random.default_rng(3)
    age = rng.integers(0, 80, rows)
    return pl.DataFrame(
        {
            "sex": rng.choice(["F", "M", "F", "odd"], rows),
            "age": age,
            "income": [
                None if k % 10 == 0 else float(v)
                for k, v in enumerate(np.minimum(99.0, age + rng.random(rows) * 20))
            ],
            "born": [date(1990 + int(y), 5, 1) for y in rng.integers(0, 10, rows)],
            "rooms": rng.choice([1, 2, 3], rows),
            "member": (age >= 20) & (rng.random(rows) < 0.5),
        }
    )


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    schema = ht.Schema.from_dict(FIELDS)
    folder = tmp_path_factory.mktemp("ledgers")
    return ht.Session.open(people(), schema=schema, ledger=folder / "a.ledger", budget=ht.ZCDP("1000"))


@pytest.fixture(scope="module")
def pairs(opened):
    return opened.release(
        ht.Workload.all_marginals(opened.schema, order=2), budget=ht.ZCDP("5"), strategy="residual-planner"
    )


@pytest.fixture(scope="module")
def cells(opened):
    whole = ht.Workload([(), ("sex", "age", "member")])
    return opened.release(whole, budget=ht.ZCDP("5"), strategy="identity")


@pytest.mark.long
@pytest.mark.parametrize("fit", ["ols", "nnls", "sequential", "reweighted"])
def test_a_small_domain_gives_records_near_the_released_tables(pairs, fit):
    made = make_microdata(pairs, fit=fit)
    assert made.explanation.fit == fit and made.frame.columns == list(FIELDS["attributes"])
    assert abs(made.frame.height - 4000) < 60
    tables = {t["marginal"]: t for t in made.to_dict()["tables"]}
    assert fit == "ols" or (tables["rooms"]["l1_share"] < 0.05 and tables["age x income"]["l1_share"] < 0.15)


@pytest.mark.long
def test_values_come_back_with_their_types_inside_their_bins(pairs):
    frame = pairs.microdata()
    assert frame.schema == {
        "sex": pl.String,
        "age": pl.Int64,
        "income": pl.Float64,
        "born": pl.Date,
        "rooms": pl.Int64,
        "member": pl.Boolean,
    }
    assert frame["age"].is_between(0, 79).all() and frame["age"].n_unique() > 40
    assert frame["income"].drop_nulls().is_between(0, 100).all() and frame["income"].null_count() > 200
    assert frame["born"].is_between(date(1990, 1, 1), date(1999, 12, 31)).all()
    assert set(frame["sex"].drop_nulls()) <= {"F", "M", "(other)"} and set(frame["rooms"]) <= {1, 2, 3}


PERIODS = {
    "quarters": ("%Y-Q%q", "3 months", {(2023, m, 1) for m in (1, 4, 7, 10)}, False),
    "months": ("%b %Y", "3 months", {(2023, m, 1) for m in range(1, 13)}, True),
    "years": ("%Y", "1 year", {(2023, 1, 1)}, False),
}


@pytest.mark.parametrize("case", PERIODS)
def test_no_day_is_invented_where_a_file_writes_none(case: str, tmp_path: Path) -> None:
    pattern, width, days, band = PERIODS[case]
    schema = ht.Schema.from_dict(
        {
            "max_rows_per_person": 1,
            "attributes": {
                "seen": {
                    "type": "date",
                    "bounds": ["2023-01-01", "2023-12-31"],
                    "width": width,
                    "format": pattern,
                }
            },
        }
    )
    rows = pl.DataFrame({"seen": [date(2023, 1 + k % 12, 1) for k in range(1200)]})
    session = ht.Session.open(rows, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(9))
    release = session.release(ht.Workload([("seen",)]), budget=ht.ZCDP(9), strategy="residual-planner")
    made = make_microdata(release)
    assert set(made.frame["seen"]) == {date(*day) for day in days}
    assert any("drawn evenly" in note for note in made.explanation.notes) == band
    release.save(tmp_path / "out")
    assert run(["microdata", str(tmp_path / "out"), "--out", str(tmp_path / "r.csv")]) == 0
    told = pl.read_csv(tmp_path / "r.csv.dictionary.csv", infer_schema=False).filter(pl.col("label") != "")
    assert set(told["what"]) == {"band" if band else "value"}
    assert band or set(told["value"]) == {date(*day).isoformat() for day in days}


@pytest.mark.long
@pytest.mark.parametrize("fit", ["nnls", "sequential", "reweighted"])
def test_impossible_combinations_have_no_records(pairs, fit):
    frame = pairs.microdata(fit)
    assert frame.filter((pl.col("age") < 20) & pl.col("member")).height == 0


@pytest.mark.long
def test_the_nonnegative_likelihood_is_optimal(pairs):
    """Twin: the optimality conditions, computed from the released residuals."""
    made = make_microdata(pairs, fit="nnls")
    assert made.explanation.certificate is not None and made.explanation.certificate < 1e-6


def test_measured_cells_are_fitted_directly(cells):
    schema = cells.schema
    made = make_microdata(cells, fit="sequential", priorities=[[()], [("sex", "age", "member")]])
    total = cells.answers.of(()).item()
    assert made.frame.height == total
    assert schema.domain_cells < 100_000


@pytest.mark.long
def test_rows_and_seed_are_respected(pairs):
    assert pairs.microdata(rows=100).height == 100
    assert pairs.microdata(rows=0).height == 0
    assert pairs.microdata(seed=1).equals(pairs.microdata(seed=1))
    assert not pairs.microdata(seed=1).equals(pairs.microdata(seed=2))


@pytest.mark.parametrize(
    "code, arguments",
    [
        ("microdata.rows", {"rows": -1}),
        ("microdata.rows", {"rows": 1.5}),
        ("microdata.rows", {"rows": float("nan")}),
        ("microdata.rows", {"rows": 10**12}),
        ("microdata.method", {"fit": "magic"}),
        ("microdata.priorities", {"fit": "sequential", "priorities": [[("sex",)]]}),
        ("microdata.priorities", {"fit": "sequential", "priorities": [[("sex", "age", "rooms")]]}),
        ("microdata.priorities", {"priorities": [[("sex",)]]}),
        ("microdata.priorities", {"fit": "sequential", "priorities": 5}),
        ("microdata.priorities", {"fit": "sequential", "priorities": [[]]}),
        ("microdata.priorities", {"fit": "sequential", "priorities": [[("sex",)], [("sex",)]]}),
        ("schema.unknown-attribute", {"fit": "sequential", "priorities": [[("height",)]]}),
    ],
)
def test_bad_requests_are_refused(pairs, code, arguments):
    with pytest.raises(HushtableError) as caught:
        pairs.microdata(**arguments)
    assert caught.value.code == code


def wide_schema():
    fields = {f"a{k}": {"type": "categorical", "values": list(range(6))} for k in range(12)}
    return ht.Schema.from_dict({"attributes": fields, "impossible": [{"a0": 0, "a1": 0}]})


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    rng = np.random.default_rng(8)
    hidden = rng.integers(0, 6, 3000)
    frame = pl.DataFrame(
        {
            f"a{k}": np.where(rng.random(3000) < 0.7, (hidden + k) % 6, rng.integers(0, 6, 3000))
            for k in range(12)
        }
    )
    frame = frame.filter(~((pl.col("a0") == 0) & (pl.col("a1") == 0)))
    schema = wide_schema()
    folder = tmp_path_factory.mktemp("wide")
    session = ht.Session.open(frame, schema=schema, ledger=folder / "w.ledger", budget=ht.ZCDP("100"))
    made = session.release(
        ht.Workload.all_marginals(schema, order=2), budget=ht.ZCDP("20"), strategy="residual-planner"
    )
    return frame, made


@pytest.mark.long
def test_a_large_domain_gives_records_whose_tables_match(wide):
    frame, release = wide
    made = make_microdata(release)
    assert made.explanation.fit == "generated" and abs(made.frame.height - frame.height) < 30
    layout = Layout(release.schema.sizes, release.workload)
    true = count_records(frame.to_numpy().astype(np.int32), layout)
    ours = count_records(made.codes, layout)
    assert np.abs(ours - true).sum() / len(release.workload) / frame.height < 0.1
    assert made.frame.filter((pl.col("a0") == 0) & (pl.col("a1") == 0)).height == 0


def test_a_large_domain_refuses_fits_of_the_whole_table_and_names_the_other_way(wide):
    with pytest.raises(HushtableError) as caught:
        wide[1].microdata("nnls")
    assert caught.value.code == "microdata.too-large" and "reweighted" in caught.value.fix


def test_records_reach_consistent_targets_almost_exactly():
    """Targets counted from a real table can be met; the moves must come within 2% of every table."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 4, 5000)
    table = np.stack(
        [np.where(rng.random(5000) < 0.6, hidden, rng.integers(0, 4, 5000)) for _ in range(6)], axis=1
    )
    sets = tuple((a, b) for a in range(6) for b in range(a + 1, 6))
    layout = Layout((4,) * 6, sets)
    want = count_records(table.astype(np.int32), layout)
    schema = ht.Schema.from_dict(
        {"attributes": {f"x{k}": {"type": "categorical", "values": [0, 1, 2, 3]} for k in range(6)}}
    )
    records, _ = generate(Targets(layout, want.astype(float)), schema, 5000, sweeps=8)
    gap = np.abs(count_records(records, layout) - want)
    assert np.add.reduceat(gap, layout.offsets[:-1]).max() / 5000 < 0.02
    start, _ = generate(Targets(layout, want.astype(float)), schema, 5000, sweeps=0)
    assert np.abs(count_records(start, layout) - want).sum() > 3 * gap.sum()


def ruled(impossible):
    fields = {f"x{k}": {"type": "categorical", "values": [0, 1, 2, 3]} for k in range(6)}
    return ht.Schema.from_dict({"attributes": fields, "impossible": impossible})


def test_many_rules_are_obeyed_and_leave_other_attributes_alone():
    """x1 must equal x0; targets of the other attributes say that they are always 2."""
    rules = [{"x0": a, "x1": b} for a in range(4) for b in range(4) if a != b]
    layout = Layout((4,) * 6, tuple((k,) for k in range(6)))
    wanted = np.concatenate([np.full(8, 250.0), np.tile([0.0, 0.0, 1000.0, 0.0], 4)])
    records, _ = generate(Targets(layout, wanted), ruled(rules), 1000)
    assert (records[:, 0] == records[:, 1]).all() and (records[:, 2:] == 2).all()


def test_rules_that_leave_nothing_possible_are_refused():
    layout = Layout((4,) * 6, ((0,),))
    with pytest.raises(HushtableError) as caught:
        generate(Targets(layout, np.full(4, 25.0)), ruled([{"x0": [0, 1, 2, 3]}]), 100)
    assert caught.value.code == "microdata.impossible"


def test_counts_of_records_agree_with_numpy():
    rng = np.random.default_rng(2)
    records = rng.integers(0, 3, (500, 4)).astype(np.int32)
    layout = Layout((3, 3, 3, 3), ((), (1,), (0, 2), (1, 2, 3)))
    assert count_records(records, layout)[0] == 500
    for s in layout.sets[1:]:
        twin = np.zeros([3] * len(s), np.int64)
        np.add.at(twin, tuple(records[:, a] for a in s), 1)
        np.testing.assert_array_equal(layout.view(count_records(records, layout), s), twin)


@pytest.mark.long
def test_the_explanation_says_which_tables_to_read(pairs):
    found = make_microdata(pairs, fit="sequential").to_dict()
    assert {t["read_from"] for t in found["tables"]} <= {"tables", "microdata"}
    total = found["sum"]
    assert abs(total["microdata"] - total["released"]) <= 1
    assert sum(band["cells"] for band in found["small_cells"]) == sum(t["cells"] for t in found["tables"])
    json.dumps(found)


@pytest.mark.long
def test_the_command_writes_files_and_keeps_the_explanation(pairs, tmp_path, capsys):
    folder = tmp_path / "out"
    pairs.save(folder)
    assert run(["microdata", str(folder), "--out", str(tmp_path / "p.csv"), "--explain"]) == 0
    assert "read from" in capsys.readouterr().out
    assert (
        run(["microdata", str(folder), "--out", str(tmp_path / "p.parquet"), "--rows", "50", "--json"]) == 0
    )
    assert json.loads(capsys.readouterr().out)["rows"] == 50
    assert pl.read_parquet(tmp_path / "p.parquet").height == 50
    assert pl.read_csv(tmp_path / "p.csv").columns == list(FIELDS["attributes"])
    kept = json.loads((folder / "microdata.json").read_text())
    assert kept["fit"] == "reweighted"
    assert ht.Release.load(folder).marginals == pairs.marginals
    first = ["--fit", "sequential", "--priority", "sex,age", "--explain"]
    assert run(["microdata", str(folder), *first]) == 0


def test_the_command_refuses_bad_flags_and_damaged_bundles(pairs, tmp_path):
    folder = tmp_path / "out"
    pairs.save(folder)
    assert run(["microdata", str(folder)]) == 2
    assert run(["microdata", str(folder), "--out", str(tmp_path / "p.xlsx")]) == 2
    assert run(["microdata", str(folder), "--out", str(tmp_path / "p.csv"), "--rows", "-3"]) == 2
    (folder / "measurements.parquet").unlink()
    assert run(["microdata", str(folder), "--out", str(tmp_path / "p.csv")]) == 1


def binary_release(
    tmp_path: Path, attributes: int, order: int, strategy: str
) -> tuple[pl.DataFrame, ht.Release]:
    """5,000 rows of dependent yes-or-no attributes, and all their tables of an order."""
    schema = ht.Schema.from_domain({f"a{k}": 2 for k in range(attributes)})
    draw = np.random.default_rng(5)
    common = draw.random(5000)
    data = pl.DataFrame({name: (draw.random(5000) < common).astype(np.int64) for name in schema.names})
    session = ht.Session.open(data, schema=schema, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    asked = ht.Workload.all_marginals(schema, order=order)
    return data, session.release(asked, budget=ht.ZCDP("0.1"), strategy=strategy)


def mean_error(data: pl.DataFrame, release: ht.Release, records: pl.DataFrame) -> tuple[float, float]:
    """Mean L1 error of the released tables against the data, from the tables themselves and from records."""
    found: list[tuple[float, float]] = []
    for names, table in release.tables():
        shape = (2,) * len(names)
        true, made = (
            np.bincount(
                np.ravel_multi_index([f[n].cast(pl.Int64) for n in names], shape), minlength=2 ** len(names)
            )
            for f in (data, records)
        )
        estimate = table["estimate"].to_numpy()
        found.append((float(np.abs(true - estimate).sum()), float(np.abs(true - made).sum())))
    tables, records_error = np.mean(found, axis=0).tolist()
    return tables, records_error


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["residual-planner", "auto"])
def test_many_tables_of_a_small_domain_take_no_longer_than_a_few_and_have_the_error_of_the_tables(
    tmp_path: Path, strategy: str
) -> None:
    """250 tables over 4,096 cells took many minutes as a fit of the whole; generated they take about what 56 take."""
    (tmp_path / "small").mkdir()
    _, small = binary_release(tmp_path / "small", 8, 3, strategy)
    data, large = binary_release(tmp_path, 12, 3, strategy)
    make_microdata(small)  # compiles
    make_microdata(large)
    clock = time.process_time()
    make_microdata(small)
    few = time.process_time() - clock
    clock = time.process_time()
    made = make_microdata(large)
    many = time.process_time() - clock
    assert made.explanation.fit == "generated" and any(
        "4,096 cells" in note for note in made.explanation.notes
    )
    assert many < 20 * max(few, 0.05)
    of_tables, of_records = mean_error(data, large, made.frame)
    assert of_records < 1.1 * of_tables


@pytest.mark.long
def test_a_fit_stops_where_its_work_ends_and_says_so(tmp_path: Path) -> None:
    data, release = binary_release(tmp_path, 8, 2, "residual-planner")
    whole = make_microdata(release)
    assert whole.explanation.fit == "reweighted"
    short = make_microdata(release, work=1e6)
    assert short.explanation.fit == "generated"
    of_tables, of_records = mean_error(data, release, short.frame)
    assert of_records < 1.1 * of_tables
    for name in ("nnls", "max", "sequential", "balanced"):
        with pytest.raises(WorkloadError) as refused:
            make_microdata(release, fit=name, work=1e4)
        assert refused.value.code == "microdata.too-much-work"


@pytest.mark.long
def test_a_fit_that_would_take_too_long_is_refused_before_its_rows_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One table of sixteen attributes has 65,536 marginals of 65,536 cells: their rows would fill the memory."""
    _, release = binary_release(tmp_path, 8, 8, "residual-planner")
    monkeypatch.setattr(fitting, "Builder", None)
    assert make_microdata(release, work=1e6).explanation.fit == "generated"
    with pytest.raises(WorkloadError, match="too-much-work"):
        make_microdata(release, fit="balanced", work=1e6)


def test_the_explanation_compares_no_more_than_it_can_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that lies in one table of n binary attributes takes 5^n sums; small tables come first."""
    _, release = binary_release(tmp_path, 6, 6, "residual-planner")
    assert len(make_microdata(release).explanation.tables) == 2**6
    monkeypatch.setattr(sys.modules["hushtable.release.record_fits"], "MOST_ASSEMBLED", 1 + 4 * 6 + 16 * 15)
    assert len(make_microdata(release).explanation.tables) == 1 + 6 + 15


def test_records_follow_the_small_ones_of_many_large_tables() -> None:
    """Tables of more than three attributes are made one by one; of twelve attributes there are 3,797."""
    kept = affordable(closure([tuple(range(12))]), (2,) * 12, 1000)
    assert max(map(len, kept)) == 5 and len(kept) == sum(comb(12, k) for k in range(1, 6))
    assert len(affordable(closure(combinations(range(40), 3)), (2,) * 40, 1000)) == 40 + 780 + 9880


@pytest.mark.long
def test_the_loop_counts_its_work_and_ends_when_it_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prediction lets a fit begin; the count ends one that is harder than predicted."""
    draw = np.random.default_rng(3)
    sets = list(combinations(range(6), 2))
    truth = draw.poisson(2.0, (3,) * 6).astype(float)
    given = [
        Measurement(
            s, truth.sum(axis=tuple({*range(6)} - {*s})) + draw.normal(0, 9, (3, 3)), Noise.gaussian(81.0)
        )
        for s in sets
    ]
    builder = Builder((3,) * 6)
    for one in given:
        builder.weigh(one, np.full(9, 1 / 81.0))
    program = builder.program()
    purse = np.array([1e15])
    solve(program, work=purse)
    used = 1e15 - purse[0]
    monkeypatch.setattr(program_module, "STEPS", 0)
    for share in (0.9, 0.5, 0.01):
        purse = np.array([share * used])
        with pytest.raises(WorkloadError, match="too-much-work"):
            solve(program, work=purse)
        assert purse[0] > -0.5 * used  # a step at most beyond its purse
