"""Numbers adjusted to official figures: by hand, beside the unadjusted ones everywhere, and intervals that hold."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.axes import Axes
from hushtable.cli.app import run
from hushtable.errors import SchemaError
from hushtable.kernel.draw import noisy
from hushtable.kernel.sources import open_counter
from hushtable.marginals import Counting, Layout
from hushtable.measurement import Answers
from hushtable.reconstruct import margins_of, raked

OFFICIAL = {"source": "census of 2025", "kind": "benchmark"}
PLACES = {"North": ["a", "b", "c"], "South": ["d"]}
ATTRIBUTES: dict[str, Any] = {
    "place": {"type": "categorical", "levels": ["region", "district"], "tree": PLACES},
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "age": {"type": "integer", "bounds": [0, 29], "width": 10},
}
PAY = {"pay": {"bounds": [-200, 1000], "resolution": 10}}
BY_DISTRICT_AND_SEX = {
    "attributes": ["district", "sex"], "figures": [9000, 9100, 800, 700, 50.5, 49.5, 400, 900], **OFFICIAL
}  # fmt: skip
BY_AGE = {"attributes": ["age"], "figures": [7000, 8000, 6000], **OFFICIAL}
BY_REGION = {"attributes": ["region"], "figures": [19700, 1300], **OFFICIAL}
EVERYBODY = {"attributes": [], "figures": [21000], **OFFICIAL}
TRIPLE = ht.Workload([("district", "sex", "age")])


def schema(*known: dict[str, Any], **more: Any) -> ht.Schema:
    return ht.Schema.from_dict({"known": list(known), "sums": PAY, "attributes": ATTRIBUTES, **more})


def people(seed: int = 1) -> pl.DataFrame:
    """Groups of district, sex and age with 5, 50 and 5,000 rows among them."""
    chance = np.random.default_rng(seed)
    sizes = {"a": 5000, "b": 50, "c": 5, "d": 300}
    keys = [(d, s, age) for d in sizes for s in "FM" for age in (5, 15, 25)]
    rows = [key for key in keys for _ in range(sizes[key[0]])]
    frame = pl.DataFrame(rows, schema=["place", "sex", "age"], orient="row")
    return frame.with_columns(pay=pl.Series(chance.integers(-20, 101, len(rows)) * 10.0))


def opened(frame: pl.DataFrame, declared: ht.Schema, folder: Path) -> ht.Session:
    return ht.Session.open(frame, schema=declared, ledger=folder / "l", budget=ht.ZCDP(99))


def adjusted(declared: ht.Schema, table: np.ndarray, *names: str) -> np.ndarray:
    """A table raked to the benchmarks, by the definition: every margin met in turn, 500 times."""
    axes, key = Axes.of(declared.sizes), tuple(declared.axes(names))
    made = np.array(np.maximum(table.reshape([axes[a] for a in key]), 0.0))
    margins = margins_of(axes, key, declared.benchmarks)
    for _ in range(500):
        for margin in margins:
            for cell in np.ndindex(margin.figures.shape):
                inside = np.ones(made.shape, bool)
                for axis, code in zip(margin.axes, cell, strict=True):  # whose category holds the cell
                    place = next(k for k, a in enumerate(key) if axis in axes.chains[a])
                    along = axes.codes_above(key[place], axis) == code
                    inside &= along.reshape([-1 if k == place else 1 for k in range(len(key))])
                made[inside] *= margin.figures[cell] / made[inside].sum()
        if len(margins) == 1:
            break
    return made


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["residual-planner", "auto", "identity"])
@pytest.mark.parametrize(
    "known", [[EVERYBODY], [BY_REGION], [BY_DISTRICT_AND_SEX], [BY_DISTRICT_AND_SEX, BY_AGE]]
)
def test_adjusted_tables_are_the_released_ones_times_factors_of_their_margins(
    known: list[dict[str, Any]], strategy: str, tmp_path: Path
):
    declared = schema(*known)
    plain = {"a": 5000, "d": 300}
    frame = people().filter(pl.col("place").is_in(list(plain)))  # so that no estimate is below 0
    more = frame.with_columns(pl.col("place").replace({"a": "b", "d": "c"}))
    session = opened(pl.concat([frame, more]), declared, tmp_path)
    release = session.release(TRIPLE, budget=ht.ZCDP("0.5"), strategy=strategy)
    for names in (("district", "sex", "age"), ("district", "age"), ("region", "sex"), ("age",), ()):
        table = release.table(*names)
        expected = adjusted(declared, table["estimate"].to_numpy(), *names)
        assert np.allclose(table["benchmarked"], expected.ravel(), rtol=1e-6)
        assert (table["benchmarked_lower"] <= table["benchmarked"]).all()
        assert (table["benchmarked"] <= table["benchmarked_upper"]).all()
        for margin in margins_of(Axes.of(declared.sizes), tuple(declared.axes(names)), declared.benchmarks):
            assert table["benchmarked"].sum() == pytest.approx(margin.figures.sum())
    sums = release.table("district", "sex", value="sum(pay)")
    counts = release.table("district", "sex")
    factors = counts["benchmarked"].to_numpy() / counts["estimate"].to_numpy()
    assert np.allclose(sums["benchmarked"], sums["estimate"].to_numpy() * factors)
    assert "benchmarked" not in release.table("sex", value="mean(pay)").columns
    first = declared.benchmarks[0]
    assert release.table(*first.names)["benchmarked"].to_list() == pytest.approx(list(first.figures))
    if len(known) == 1:
        own = release.table(*first.names)
        assert own["benchmarked_lower"].to_list() == own["benchmarked_upper"].to_list()


def test_a_group_of_which_nothing_was_found_gets_its_figure_and_says_nothing_of_its_cells(tmp_path: Path):
    declared = schema(BY_DISTRICT_AND_SEX)
    frame = people().filter(pl.col("place") != "c")
    release = opened(frame, declared, tmp_path).release(TRIPLE, budget=ht.ZCDP("0.001"))
    table = release.table("district", "sex", "age").filter(pl.col("district") == "c", pl.col("sex") == "F")
    assert table["benchmarked"].sum() == pytest.approx(50.5)
    assert table["benchmarked_lower"].to_list() == [0.0] * 3
    assert (table["benchmarked_upper"] > 25).all() and (table["benchmarked_upper"] <= 50.5).all()


def drawn_again(release: ht.Release, exact: dict[str, np.ndarray]) -> ht.Release:
    def drawn(of: str, answers: Answers) -> Answers:
        return Answers(answers.part, noisy(exact[of], answers.part.noise))

    others = {of: drawn(of, answers) for of, answers in release.quantities.items()}
    return replace(release, answers=drawn("rows", release.answers), quantities=others)


def held(runs: int, folder: Path, known: list[dict[str, Any]], strategy: str) -> dict[str, np.ndarray]:
    """How often adjusted intervals hold what the exact table gives, adjusted alike; by rows of a group."""
    frame = people()
    declared = schema(*known, weight={"column": "w", "bounds": [0, 3]})
    frame = frame.with_columns(w=pl.Series(np.random.default_rng(3).integers(1, 4, frame.height)))
    release = opened(frame, declared, folder).release(TRIPLE, budget=ht.ZCDP("0.2"), strategy=strategy)
    counter, exact = open_counter(frame, declared), dict[str, np.ndarray]()
    for of, answers in {"rows": release.answers, **release.quantities}.items():
        (counts,) = counter.totals([Counting(answers.part.layout, of)])
        exact[of] = answers.part.exact(counts)
    names = ("district", "sex", "age")
    cells = frame.group_by(*("place", "sex", "age")).agg(
        pl.col("w").sum(), (pl.col("w") * pl.col("pay")).sum().alias("pay"), pl.len()
    )
    cells = cells.sort("place", "sex", "age")
    weights = cells["w"].to_numpy().astype(float)
    count = adjusted(declared, weights, *names).ravel()
    axes, key = Axes.of(declared.sizes), tuple(declared.axes(names))
    again = raked(axes, weights.reshape(4, 2, 3), key, margins_of(axes, key, declared.benchmarks))
    assert np.allclose(count, again.ravel(), rtol=1e-6)
    true = {"count": count, "sum(pay)": cells["pay"].to_numpy() * count / weights}
    rows, found = cells["len"].to_numpy(), {}
    for value, at in true.items():
        inside = np.zeros(len(at))
        for _ in range(runs):
            table = drawn_again(release, exact).table(*names, value=value)
            lower, upper = (table[f"benchmarked_{end}"].to_numpy() for end in ("lower", "upper"))
            inside += (lower - 1e-6 <= at) & (at <= upper + 1e-6)
        for size in (5, 50, 5000):
            found[f"{value}, groups of {size}"] = float(inside[rows == size].mean() / runs)
    return found


ONE_OFF = {**BY_DISTRICT_AND_SEX, "figures": [1.01 * x for x in BY_DISTRICT_AND_SEX["figures"]]}
HELD = {
    "ratio": ([BY_DISTRICT_AND_SEX], "residual-planner"),
    "ratio, figures 1% off": ([ONE_OFF], "residual-planner"),
    "ratio to a level": ([BY_REGION], "identity"),
    "raking": ([BY_DISTRICT_AND_SEX, BY_AGE], "residual-planner"),
    "ratio, not normal": ([BY_DISTRICT_AND_SEX], "auto"),
}


def least_held(runs: int) -> float:
    """95% less four standard errors of groups of six cells that share noise: a run counts as two."""
    return 0.95 - 4 * (0.05 * 0.95 / (2 * runs)) ** 0.5


@pytest.mark.long
@pytest.mark.parametrize("case", HELD)
def test_adjusted_intervals_hold(case: str, tmp_path: Path):
    known, strategy = HELD[case]
    if strategy == "auto":
        pytest.skip("its rounds are drawn anew in the slow suite of coverage alone")
    found = held(40, tmp_path, known, strategy)
    assert min(found.values()) >= least_held(40), found


@pytest.mark.slow
@pytest.mark.parametrize("case", HELD)
def test_adjusted_intervals_hold_in_2000_runs(case: str, tmp_path: Path):
    known, strategy = HELD[case]
    found = held(2000, tmp_path, known, strategy)
    print(case, {value: round(share, 4) for value, share in found.items()})
    assert min(found.values()) >= 0.95 - 3 * (0.05 * 0.95 / 2000) ** 0.5, found


def test_too_short_an_interval_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from hushtable.release import benchmarked

    spread = benchmarked.normal_spread
    monkeypatch.setattr(benchmarked, "normal_spread", lambda alpha: 0.7 * spread(alpha))
    assert min(held(40, tmp_path, [BY_DISTRICT_AND_SEX], "residual-planner").values()) < least_held(40)


def test_records_have_a_weight_that_meets_the_figures(tmp_path: Path):
    declared = schema(BY_DISTRICT_AND_SEX, BY_AGE)
    release = opened(people(), declared, tmp_path).release(TRIPLE, budget=ht.ZCDP(1))
    made = ht.release.make_microdata(release)
    records = made.frame
    by_cell = records.group_by("place", "sex").agg(pl.col("benchmark_weight").sum()).sort("place", "sex")
    assert by_cell["benchmark_weight"].to_list() == pytest.approx(BY_DISTRICT_AND_SEX["figures"], rel=1e-6)
    ages = records.group_by(pl.col("age") // 10).agg(pl.col("benchmark_weight").sum()).sort("age")
    assert ages["benchmark_weight"].to_list() == pytest.approx(BY_AGE["figures"], rel=1e-6)
    assert abs(records.height - people().height) < 200  # unweighted they are as many as the file has
    assert any("benchmark_weight" in note for note in made.explanation.notes)
    assert "benchmark_weight" in made.dictionary["column"].to_list()


def test_adjusted_numbers_stand_beside_the_others_in_bundle_export_report_and_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    people().write_parquet("people.parquet")
    figures = pl.DataFrame({"district": list("aabbccdd"), "sex": list("FM") * 4}).with_columns(
        persons=pl.Series(BY_DISTRICT_AND_SEX["figures"], dtype=pl.Float64, strict=False)
    )
    figures.write_csv("population.csv")
    known = {"table": "population.csv", "column": "persons", **OFFICIAL}
    ht.Schema.from_dict({"known": [known], "sums": PAY, "attributes": ATTRIBUTES}).save("s.yaml")
    assert run(["ledger", "create", "l", "--budget", "rho=1"]) == 0
    made = ["release", "people.parquet", "--schema", "s.yaml", "--ledger", "l", "--budget", "rho=0.1"]
    assert run([*made, "--order", "2", "--out", "out"]) == 0
    capsys.readouterr()
    release = ht.Release.load("out")
    table = release.table("district", "age")
    stored = pl.read_parquet("out/tables/order-2.parquet").filter(
        pl.col("attribute_1") == "district", pl.col("attribute_2") == "age"
    )
    for name in ("estimate", "benchmarked", "benchmarked_lower", "benchmarked_upper"):
        assert stored[name].to_list() == pytest.approx(table[name].to_list())
    assert "no error of these figures" in release.card.benchmarks[0]
    assert "no error of these figures" in release.promise()
    assert "no error of these figures" in " ".join(Path("out/README.txt").read_text().split())
    assert "benchmarked" in Path("out/datapackage.json").read_text()
    assert run(["table", "out", "district", "age"]) == 0
    printed = capsys.readouterr().out
    assert "benchmarked" in printed and "no error of these figures" in " ".join(printed.split())
    assert run(["table", "out", "district", "age", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["benchmarked"] == pytest.approx(
        table["benchmarked"][0]
    )
    for form in ("csv", "parquet", "json-stat", "sdmx-csv", "px"):
        assert run(["export", "out", "--format", form, "--out", form]) == 0
    assert "benchmarked_upper" in next(Path("csv").rglob("district-age.csv")).read_text().splitlines()[0]
    assert run(["export", "out", "--format", "csv", "--value", "sum(pay)", "--out", "sums"]) == 0
    assert "benchmarked" in next(Path("sums").rglob("district-age.csv")).read_text()
    assert run(["export", "out", "--format", "csv", "--value", "mean(pay)", "--out", "means"]) == 0
    assert "benchmarked" not in next(Path("means").rglob("district-age.csv")).read_text()
    assert run(["export", "out", "--format", "csv", "--publish", "--out", "whole"]) == 0
    assert run(["microdata", "out", "--out", "records.csv"]) == 0
    assert "benchmark_weight" in Path("records.csv").read_text().splitlines()[0]
    assert run(["report", "out", "--microdata", "records.csv"]) == 0
    page = Path("out/report.html").read_text()
    assert "Official totals" in page and "adjusted to official figures" in page


REFUSED = {
    "a figure of 0": ({"figures": [0, 21000, 500]}, "schema.known-zero"),
    "a figure below 0": ({"figures": [-1, 21000, 500]}, "schema.known-table"),
    "too few": ({"figures": [21000]}, "schema.known-table"),
    "no such attribute": ({"attributes": ["ages"]}, "schema.known-attribute"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_nothing_can_be_adjusted_to_is_refused_by_name(case: str):
    changed, code = REFUSED[case]
    with pytest.raises(SchemaError) as refused:
        schema({**BY_AGE, **changed})
    assert refused.value.code == code and "known" in str(refused.value)


def test_benchmarks_that_disagree_are_refused_and_cells_without_a_category_need_a_figure(tmp_path: Path):
    with pytest.raises(SchemaError) as refused:
        schema(BY_DISTRICT_AND_SEX, {**BY_AGE, "figures": [7000, 8000, 6001]})
    assert refused.value.code == "schema.known-disagree"
    (tmp_path / "k.csv").write_text("sex,count\nF,10\nM,12\n")
    sex = {"type": "categorical", "values": ["F", "M"], "null": "category"}
    known = {"table": "k.csv", **OFFICIAL}
    (tmp_path / "s.yaml").write_text(json.dumps({"known": [known], "attributes": {"sex": sex}}))
    with pytest.raises(SchemaError) as refused:
        ht.Schema.load(tmp_path / "s.yaml")
    assert "without a category in sex" in str(refused.value)


def test_a_name_that_is_taken_leaves_the_adjusted_columns_out(tmp_path: Path):
    declared = ht.Schema.from_dict(
        {
            "known": [{"attributes": [], "figures": [100], **OFFICIAL}],
            "attributes": {"benchmarked": {"type": "categorical", "values": ["F", "M"]}},
        }
    )
    frame = pl.DataFrame({"benchmarked": ["F", "M"] * 20})
    release = opened(frame, declared, tmp_path).release(ht.Workload([("benchmarked",)]), budget=ht.ZCDP(1))
    assert release.table("benchmarked")["benchmarked"].to_list() == ["F", "M"]
    release.save(tmp_path / "out")
    assert ht.Release.load(tmp_path / "out").table().height == 1


def test_benchmarks_do_not_move_what_is_measured(tmp_path: Path):
    with_one, without = schema(BY_AGE), schema()
    plans = [ht.release.plan_release(one, TRIPLE, ht.ZCDP("0.1")) for one in (with_one, without)]
    assert plans[0].table_errors() == plans[1].table_errors() and plans[0].cost == plans[1].cost
    assert Layout(with_one.sizes, ((1,),)).cells == 4
