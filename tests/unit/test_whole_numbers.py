"""Whole numbers to publish: they add up everywhere, lie near the estimates, and their intervals cover the truth."""

from __future__ import annotations

import csv
import itertools

import numpy as np
import polars as pl
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

import hushtable as ht
from dense_levels import Dense, random_axes, random_workload
from hushtable.cli.app import run
from hushtable.errors import SchemaError, UsageError, WorkloadError
from hushtable.marginals import Layout, sorted_sets
from hushtable.microdata import WantedTables, joint_table, whole_from_cells, whole_from_records
from hushtable.microdata.whole_loops import rounded_cells
from hushtable.microdata.whole_tables import _task
from hushtable.release.quality import grade_column
from hushtable.schema import PRESETS

SCHEMA = """\
attributes:
  place: {type: categorical, levels: [region, state, county],
          tree: {North: {N1: [a, b], N2: [c]}, South: {S1: [d, e, f]}, Isles: [g]}}
  age: {type: integer, bounds: [0, 29], levels: {decade: 10, year: 1}}
  sex: {type: categorical, values: [F, M]}
"""
TABLES = [("county", "decade"), ("state", "sex"), ("region", "decade", "sex"), ("region",)]


@pytest.fixture
def people() -> pl.DataFrame:
    chance, n = np.random.default_rng(3), 600
    place = chance.choice(list("abcdefg"), n, p=[0.5, 0.2, 0.2, 0.05, 0.03, 0.01, 0.01])
    return pl.DataFrame(
        {
            "place": place.astype(str).tolist(),
            "age": chance.integers(0, 30, n),
            "sex": chance.choice(["F", "M"], n).astype(str).tolist(),
        }
    )


def opened(people, tmp_path, text=SCHEMA) -> ht.Session:
    return ht.Session.open(people, schema=ht.Schema.loads(text), ledger=tmp_path / "l", budget=ht.ZCDP(10**6))


def require_consistent(layout: Layout, counts: np.ndarray) -> None:
    """Every pair of tables says the same of everything that both tell."""
    world = Dense(layout.axes)
    full = {s: world.marginal(s) for s in layout.axes.below(layout.axes.finest)}
    for one, other in itertools.combinations(layout.sets, 2):
        for shared in layout.axes.below(one):
            if layout.axes.tells(shared, other):
                told = []
                for s in (one, other):
                    sums = np.linalg.lstsq(full[s].T.astype(float), full[shared].T.astype(float), rcond=None)[
                        0
                    ]
                    told.append(np.rint(sums.T) @ layout.view(counts, s).ravel())
                assert np.array_equal(told[0], told[1])


def test_a_table_inside_a_published_one_is_its_sum_and_others_are_refused(people, tmp_path):
    release = opened(people, tmp_path).release(
        ht.Workload(TABLES), budget=ht.ZCDP("0.1"), strategy="residual-planner"
    )
    made = release.whole_numbers([("county", "decade")])
    finest = made.table("county", "decade")
    states = {"a": "N1", "b": "N1", "c": "N2", "d": "S1", "e": "S1", "f": "S1", "g": "g"}
    summed = finest.with_columns(pl.col("county").cast(pl.String).replace_strict(states).alias("state"))
    for names in (("state",), ("decade", "state"), ("decade",)):
        shown = made.table(*names)
        told = summed.group_by(*names).agg(pl.col("published").sum().alias("sum"))
        both = shown.select(*(pl.col(n).cast(pl.String) for n in names), pl.exclude(*names)).join(
            told.select(*(pl.col(n).cast(pl.String) for n in names), "sum"), on=list(names)
        )
        assert both.height == shown.height and both["published"].equals(both["sum"], check_names=False)
        assert (shown["published_lower"] <= shown["published"]).all()
        assert (shown["published"] <= shown["published_upper"]).all()
    assert made.counts([]).tolist() == [finest["published"].sum()]
    with pytest.raises(WorkloadError) as refused:
        made.table("state", "sex")
    assert refused.value.code == "whole.table"


@pytest.mark.parametrize("seed", range(25))
def test_numbers_on_random_trees_are_whole_and_add_up(seed):
    chance = np.random.default_rng(seed)
    axes = random_axes(chance)
    layout = Layout(axes, sorted_sets([(), *random_workload(axes, chance)]))
    values = chance.normal(3, 4, layout.cells)
    wanted = WantedTables(layout, values, chance.uniform(0.1, 3, layout.cells))
    start = joint_table(wanted, np.maximum(values, 0))
    made = whole_from_cells(wanted, start, np.ones(start.shape))
    assert made.finished and made.counts.dtype == np.int64 and (made.counts >= 0).all()
    require_consistent(layout, made.counts)
    leaves = [axes[a] for a in axes.finest]
    records = np.stack([chance.integers(0, n, 40) for n in leaves], axis=1)
    moved = whole_from_records(wanted, records)
    require_consistent(layout, moved.counts)
    assert layout.view(moved.counts, ())[()] == 40


@pytest.mark.parametrize("seed", range(12))
def test_what_is_found_is_about_as_near_as_the_nearest(seed):
    """Against the exact optimum of an integer program (absolute distances), on tables of two attributes."""
    chance = np.random.default_rng(seed)
    rows, columns = 4, 3
    layout = Layout((rows, columns), ((), (0,), (1,), (0, 1)))
    table = chance.gamma(0.7, 3, (rows, columns)) + chance.normal(0, 2, (rows, columns))
    values = np.concatenate([[table.sum()], table.sum(axis=1), table.sum(axis=0), table.ravel()])
    wanted = WantedTables(layout, values, np.ones(layout.cells))
    made = whole_from_cells(wanted, np.maximum(table, 0), np.ones(table.shape))
    found = np.abs(made.counts - values).sum()
    sums = np.concatenate(
        [np.ones((1, 12)), np.kron(np.eye(4), np.ones(3)), np.kron(np.ones(4), np.eye(3)), np.eye(12)]
    )
    m = len(values)
    best = milp(
        np.concatenate([np.zeros(12), np.ones(m)]),
        integrality=np.concatenate([np.ones(12), np.zeros(m)]),
        bounds=Bounds(0, np.inf),
        constraints=[
            LinearConstraint(np.hstack([sums, np.eye(m)]), lb=values),
            LinearConstraint(np.hstack([sums, -np.eye(m)]), ub=values),
        ],
    )
    assert found <= best.fun * 1.35 + 1.0


@pytest.mark.parametrize("strategy", ["residual-planner", "auto"])
def test_published_numbers_of_a_release_add_up_across_levels_and_tables(people, tmp_path, strategy):
    session = opened(people, tmp_path)
    release = session.release(ht.Workload(TABLES), budget=ht.ZCDP("0.05"), strategy=strategy)
    whole = release.whole_numbers()
    counties = whole.counts(("county", "decade")).reshape(7, 3)
    states = whole.counts(("state", "sex")).reshape(4, 2)
    three = whole.counts(("region", "decade", "sex")).reshape(3, 3, 2)
    assert min(counties.min(), states.min(), three.min()) >= 0
    assert np.array_equal(np.add.reduceat(counties, [0, 3, 6]), three.sum(axis=2))
    assert np.array_equal(np.add.reduceat(states, [0, 2, 3]), three.sum(axis=1))
    assert np.array_equal(np.add.reduceat(counties.sum(axis=1), [0, 2, 3, 6]), states.sum(axis=1))
    assert np.array_equal(three.sum(axis=(1, 2)), whole.counts(("region",)))
    table = whole.table("state", "sex")
    assert (table["published_lower"] <= table["published"]).all()
    assert (table["published"] <= table["published_upper"]).all()
    assert (table["published_lower"] <= table["lower"]).all() and (
        table["published_upper"] >= table["upper"]
    ).all()
    turned = whole.table("sex", "state").sort("state", "sex")["published"]
    assert turned.to_list() == table.sort("state", "sex")["published"].to_list()
    again = release.whole_numbers()
    assert np.array_equal(again.made.counts, whole.made.counts)


def test_numbers_with_little_noise_are_the_truth(people, tmp_path):
    release = opened(people, tmp_path).release(
        ht.Workload(TABLES), budget=ht.ZCDP(10**5), strategy="residual-planner"
    )
    found = release.whole_numbers().table("county", "decade")
    truth = people.with_columns((pl.col("age") // 10 * 10).alias("low")).group_by("place", "low").len()
    told = {(p, int(d.split("-")[0])): n for p, d, n in found.select("county", "decade", "published").rows()}
    assert all(told[p, low] == n for p, low, n in truth.rows())
    assert sum(told.values()) == 600


@pytest.mark.long
def test_many_attributes_are_published_by_records(tmp_path):
    chance = np.random.default_rng(1)
    names = [f"x{k}" for k in range(12)]
    frame = pl.DataFrame({n: chance.choice(["a", "b", "c", "d", "e"], 500).tolist() for n in names})
    schema = {"attributes": {n: {"type": "categorical", "values": list("abcde")} for n in names}}
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "m", budget=ht.ZCDP(100))
    release = session.release(ht.Workload.all_marginals(session.schema, 2), budget=ht.ZCDP(5))
    whole = release.whole_numbers()
    one = whole.counts(("x0", "x1")).reshape(5, 5).sum(axis=1)
    assert np.array_equal(one, whole.counts(("x0", "x7")).reshape(5, 5).sum(axis=1))
    apart = whole.distances().filter(pl.col("marginal") != "total")
    assert apart["mean_distance"].mean() < 3.0


def test_impossible_cells_stay_empty(people, tmp_path):
    text = SCHEMA + "impossible:\n  - {place: g, sex: F}\n"
    release = opened(people, tmp_path, text).release(
        ht.Workload([("county", "sex"), ("state", "decade")]), budget=ht.ZCDP("0.01")
    )
    table = release.whole_numbers().table("county", "sex")
    assert table.filter((pl.col("county") == "g") & (pl.col("sex") == "F"))["published"].to_list() == [0]


@pytest.mark.parametrize("seed", range(15))
def test_rounding_keeps_the_sums_of_all_tables(seed):
    """Every cell goes up or down; no sum of any table is off by more than rounding a few of its cells would be."""
    chance = np.random.default_rng(seed)
    axes = random_axes(chance)
    layout = Layout(axes, sorted_sets([(), *random_workload(axes, chance)]))
    wanted = WantedTables(layout, np.zeros(layout.cells), np.ones(layout.cells))
    shape, world = list(wanted.joint.shape), Dense(axes)
    joint = tuple(a for axis in wanted.joint.axes for a in axis.axes)
    real = chance.gamma(0.3, 2, int(np.prod(shape)))
    task = _task(wanted, wanted.joint, np.zeros(layout.cells, np.int64))
    counts = rounded_cells(real, np.array(shape), task)
    assert (np.abs(counts - real) < 1).all() and (counts >= 0).all()
    up = np.linalg.pinv(world.marginal(joint).astype(float)) if len(shape) else np.ones((1, 1))
    for k, s in enumerate(layout.sets):
        sums = world.marginal(s) @ up
        assert layout.at(task.sums, k) == pytest.approx(sums @ counts)
        assert np.abs(layout.at(task.sums, k) - sums @ real).max() < 3.0


def test_totals_stay_where_they_are_though_many_cells_cannot_go_below_zero(tmp_path):
    """Most of 2,400 cells are empty: their noise, cut at zero, must not be added to the tables above them."""
    chance = np.random.default_rng(4)
    tree = {f"r{k}": [f"r{k}d{m}" for m in range(20)] for k in range(10)}
    attributes = {
        "place": {"type": "categorical", "levels": ["region", "district"], "tree": tree},
        "job": {"type": "integer", "bounds": [0, 11]},
    }
    place = [f"r{k}d{m}" for k, m in chance.integers(0, (10, 20), (3000, 2))]
    frame = pl.DataFrame({"place": place, "job": np.minimum(chance.geometric(0.4, 3000) - 1, 11)})
    session = ht.Session.open(
        frame, schema={"attributes": attributes}, ledger=tmp_path / "s", budget=ht.ZCDP(1)
    )
    tables = ht.Workload([("district", "job"), ("region", "job"), ("district",), ("region",), ("job",)])
    release = session.release(tables, budget=ht.ZCDP("0.1"), strategy="residual-planner")
    whole = release.whole_numbers()
    assert release.table("district", "job").filter(pl.col("estimate") < 0).height > 500
    layout = whole.made.layout
    stds = release.columns(layout.sets, 0.05).stds
    apart = (whole.made.counts - whole.estimates) / stds
    assert abs(apart[0]) < 0.2
    for k in range(len(layout.sets)):
        assert np.sqrt(np.mean(layout.at(apart, k) ** 2)) < 1.3
    assert whole.finished and whole.made.passes < 60


@pytest.mark.long
def test_export_publishes_whole_numbers_with_grades(people, tmp_path, capsys):
    text = SCHEMA + "quality: letters\n"
    release = opened(people, tmp_path, text).release(
        ht.Workload(TABLES), budget=ht.ZCDP("0.2"), strategy="residual-planner"
    )
    release.save(tmp_path / "out")
    assert run(["export", str(tmp_path / "out"), "--format", "csv", "--publish"]) == 0
    folder = tmp_path / "out-csv"
    rows = list(csv.DictReader((folder / "tables" / "state-sex.csv").open()))
    assert [r["published"] for r in rows] == [
        str(n) for n in release.whole_numbers().counts(("state", "sex")).tolist()
    ]
    assert {r["grade"] for r in rows} <= set("ABCDEF") and "estimate" in rows[0] and "quality" in rows[0]
    readme = (folder / "README.txt").read_text()
    assert "add up on every level" in readme and "Grade F" in readme
    for name in ("json-stat", "px", "sdmx-csv", "parquet"):
        release.export(tmp_path / name, name, publish=True)


def test_an_attribute_called_published_is_refused(tmp_path):
    frame = pl.DataFrame({"published": ["a", "b"]})
    schema = {"attributes": {"published": {"type": "categorical", "values": ["a", "b"]}}}
    session = ht.Session.open(frame, schema=schema, ledger=tmp_path / "q", budget=ht.ZCDP(1))
    release = session.release(ht.Workload([("published",)]), budget=ht.ZCDP(1))
    with pytest.raises(UsageError) as refused:
        release.export(tmp_path / "x", publish=True)
    assert refused.value.code == "export.name-taken"
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("quality: nobody", "schema.quality"),
        ("quality: {A: 5%}", "schema.quality"),
        ("quality: {A: 10%, B: 5%, C: rest}", "schema.quality"),
        ("quality: {A: 5%, x: rest}", "schema.quality-mark"),
        ("quality: {A: 5%, \N{CYRILLIC SMALL LETTER HA}: rest}", "schema.quality-mark"),
        ("quality: {A: 5%, \N{SMALL ROMAN NUMERAL TEN}: rest}", "schema.quality-mark"),
        ("quality: {A: 5%, Suppressed*: rest}", "schema.quality-mark"),
        ("quality: {A: 5%, '(c)': rest}", "schema.quality-mark"),
        ("quality: {A: 5%, 'A ': rest}", "schema.quality"),
        ("quality: {good: 5%, C: rest, small: 0}", "schema.quality"),
    ],
)
def test_scales_that_cannot_be_used_are_refused(text, code):
    with pytest.raises(SchemaError) as refused:
        ht.Schema.loads(SCHEMA + text)
    assert refused.value.code == code


def test_a_scale_is_read_back_and_changes_no_version():
    plain = ht.Schema.loads(SCHEMA)
    for text in ("quality: stars", "quality: {good: 10%, fair: 0.3, poor: rest, small: 20}"):
        graded = ht.Schema.loads(SCHEMA + text)
        assert ht.Schema.loads(graded.to_yaml()) == graded and graded.version == plain.version


def test_grades_are_by_relative_error_and_by_half_width_near_zero():
    table = pl.DataFrame(
        {
            "estimate": [1000.0, 1000.0, 1000.0, 2.0, 2.0, 5.0],
            "lower": [990.0, 800.0, 100.0, 0.0, 0.0, 5.0],
            "upper": [1010.0, 1200.0, 1900.0, 8.0, 90.0, 5.0],
        }
    )
    letters = grade_column(PRESETS["letters"], table, "estimate", 0.05).to_list()
    assert letters == ["A", "C", "F", "A", "D", "A"]
    assert grade_column(PRESETS["u"], table, "estimate", 0.05).to_list() == ["", "", "u", "", "", ""]


@pytest.mark.parametrize("preset", PRESETS)
def test_a_narrower_interval_or_a_larger_number_never_has_a_worse_grade(preset):
    """Half-widths from next to nothing to far beyond the number, so that intervals reach zero on the way."""
    scale = PRESETS[preset]
    widths, numbers = (
        np.geomspace(0.01, 10_000, 400),
        np.array([-5, 0, 0.3, 7, 60, 99.9, 100, 101, 150, 4000]),
    )
    place = {mark: k for k, mark in enumerate(scale.marks)}
    grades = np.empty((len(numbers), len(widths)), int)
    for k, number in enumerate(numbers):
        frame = pl.DataFrame({"estimate": [number] * 400, "lower": number - widths, "upper": number + widths})
        grades[k] = [place[m] for m in grade_column(scale, frame, "estimate", 0.05)]
    assert (np.diff(grades, axis=1) >= 0).all() and (np.diff(grades, axis=0) <= 0).all()
    near = grades[np.searchsorted(numbers, [99.9, 100, 101])]
    assert (np.abs(np.diff(near, axis=0)) <= 1).all()
