"""Samples: what intervals are said to cover, both parts of a coefficient of variation, and imputed values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.schema import DrawnSample

ATTRIBUTES: dict[str, Any] = {
    "sex": {"type": "categorical", "values": ["F", "M"]},
    "area": {"type": "categorical", "values": ["a", "b", "c"]},
}
WORKLOAD = ht.Workload([("sex", "area")])


def schema(**more: Any) -> ht.Schema:
    return ht.Schema.from_dict({**more, "attributes": ATTRIBUTES})


def released(declared: ht.Schema, folder: Path, rows: int = 3000, *, pay: bool = False) -> ht.Release:
    chance = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "sex": chance.choice(["F", "M"], rows).tolist(),
            "area": chance.choice(["a", "b", "c"], rows, p=[0.7, 0.29, 0.01]).tolist(),
        }
    )
    if pay:
        frame = frame.with_columns(pay=pl.Series(chance.integers(0, 101, rows) * 10.0))
    session = ht.Session.open(frame, schema=declared, ledger=folder / "l", budget=ht.ZCDP(9))
    return session.release(WORKLOAD, budget=ht.ZCDP(1), strategy="residual-planner")


def test_intervals_of_a_sample_are_said_to_cover_noise_alone(tmp_path: Path):
    release = released(schema(sample=True), tmp_path)
    assert "noise alone" in release.promise() and "noise alone" in release.card.sampling
    assert "cv_total" not in release.table("sex").columns
    release.save(tmp_path / "out")
    assert "noise alone" in (tmp_path / "out" / "README.txt").read_text()
    assert ht.Release.load(tmp_path / "out").promise() == release.promise()
    for number, census in enumerate((schema(), schema(sample=False))):
        folder = tmp_path / str(number)
        folder.mkdir()
        other = released(census, folder)
        assert other.card.sampling is None and "sample" not in other.promise()


def test_a_design_effect_gives_both_parts_of_the_coefficient_of_variation(tmp_path: Path):
    """By hand: noise is std over estimate, sampling sqrt(deff (1 - p) / (n p)), and squares add up."""
    release = released(schema(sample={"rows": 3000, "design_effect": 1.8}), tmp_path)
    table = release.table("sex", "area")
    total = float(release.table()["estimate"][0])
    for row in table.to_dicts():
        p = row["estimate"] / total
        assert row["cv_noise"] == pytest.approx(row["std"] / row["estimate"])
        assert row["cv_sampling"] == pytest.approx((1.8 * (1 - p) / (3000 * p)) ** 0.5)
        assert row["cv_total"] == pytest.approx((row["cv_noise"] ** 2 + row["cv_sampling"] ** 2) ** 0.5)
    assert release.table()["cv_sampling"][0] == 0.0
    assert "design effect 1.8" in release.promise()


def test_the_error_of_sampling_is_that_of_drawn_samples():
    """20,000 simple samples of 500: the relative deviation of a count, within 4% (5 standard errors are 2.5%)."""
    counts = np.random.default_rng(5).binomial(500, 0.1, 20_000)
    assert DrawnSample(500, 1.0).relative_error(0.1) == pytest.approx(counts.std() / counts.mean(), rel=0.04)


def test_means_totals_and_shares_have_the_largest_error_of_sampling_that_bounds_allow(tmp_path: Path):
    """By hand; and 4,000 drawn samples of two-point values, which have that very spread, within 5%."""
    sums = {"pay": {"bounds": [0, 1000], "resolution": 10}}
    declared = schema(sample={"rows": 3000, "design_effect": 1.8}, sums=sums)
    release = released(declared, tmp_path, pay=True)
    total = float(release.table()["estimate"][0])
    counts = release.table("sex", "area")["estimate"].to_list()
    for value in ("mean(pay)", "sum(pay)", "share(area)"):
        for row, count in zip(release.table("sex", "area", value=value).to_dicts(), counts, strict=True):
            n, p = 3000 * count / total, count / total
            mean = row["estimate"] if value == "mean(pay)" else row["estimate"] / count
            own = (1.8 * (1000 - mean) * mean / n) ** 0.5 / mean
            expected = {
                "mean(pay)": own,
                "sum(pay)": (own**2 + 1.8 * (1 - p) / n) ** 0.5,
                "share(area)": (1.8 * (1 - row["estimate"]) / n) ** 0.5,
            }[value]
            assert row["cv_sampling"] == pytest.approx(expected)
            assert row["cv_noise"] == pytest.approx(row["std"] / row["estimate"])
            assert row["cv_total"] == pytest.approx((row["cv_noise"] ** 2 + row["cv_sampling"] ** 2) ** 0.5)
    assert "cv_total" not in release.table("sex", value="rate(pay, pay)").columns
    chance = np.random.default_rng(8)
    means = [(1000.0 * (chance.random(400) < 0.3)).mean() for _ in range(4000)]
    found = DrawnSample(400, 1.0).mean_error(1.0, 300.0, 0.0, 1000.0)
    assert found == pytest.approx(np.std(means) / 300.0, rel=0.05)


def test_sums_of_cells_have_both_parts_where_their_cells_have_no_row_in_common(tmp_path: Path):
    """Areas and combinations by hand; sums over two marginals have the part of noise alone."""
    release = released(schema(sample={"rows": 3000, "design_effect": 1.8}), tmp_path)
    total = float(release.table()["estimate"][0])
    both = release.areas({"a": "city", "b": "land", "c": "land"}, "area", by=["sex"])
    for row in both.to_dicts():
        p = row["estimate"] / total
        assert row["cv_noise"] == pytest.approx(row["std"] / row["estimate"])
        assert row["cv_sampling"] == pytest.approx((1.8 * (1 - p) / (3000 * p)) ** 0.5)
        assert row["cv_total"] == pytest.approx((row["cv_noise"] ** 2 + row["cv_sampling"] ** 2) ** 0.5)
    assert release.area(["b", "c"], "area")["cv_total"].is_not_null().all()
    weights = pl.DataFrame(
        {
            "name": ["less", "less", "twice", "mixed", "mixed", "below"],
            "sex": ["F", "M", "F", "F", None, "F"],
            "area": [None, None, None, None, "a", None],
            "weight": [1.0, -0.5, 2.0, 1.0, 1.0, -1.0],
        }
    )
    single = {"name": ["F", "M"], "sex": ["F", "M"], "weight": [1.0, 1.0]}
    found = {row["name"]: row for row in release.combine(weights).to_dicts()}
    f, m = (x / total for x in release.combine(single)["estimate"])
    expected = (1.8 * (f + m / 4 - (f - m / 2) ** 2) / 3000) ** 0.5 / (f - m / 2)
    assert found["less"]["cv_sampling"] == pytest.approx(expected)
    assert found["twice"]["cv_sampling"] == pytest.approx((1.8 * (1 - f) / (3000 * f)) ** 0.5)
    assert found["mixed"]["cv_sampling"] is None and found["mixed"]["cv_noise"] > 0
    assert found["below"]["cv_total"] is None and found["below"]["cv_noise"] is None


def test_the_error_of_a_weighted_sum_is_that_of_drawn_samples():
    """20,000 multinomial samples of 500, within 4% (5 standard errors are 2.5%)."""
    shares, weights = np.array([0.2, 0.3, 0.1]), np.array([1.0, 2.0, -0.5])
    drawn = np.random.default_rng(6).multinomial(500, [*shares, 0.4], 20_000)[:, :3] @ weights
    assert DrawnSample(500, 1.0).sum_error(shares, weights) == pytest.approx(
        drawn.std() / drawn.mean(), rel=0.04
    )


def test_exports_report_and_command_show_both_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
):
    monkeypatch.chdir(tmp_path)
    sums = {"pay": {"bounds": [0, 1000], "resolution": 10}}
    declared = schema(sample={"rows": 3000, "design_effect": 1.8}, sums=sums)
    release = released(declared, tmp_path, pay=True)
    release.save(tmp_path / "out")
    table = release.table("sex")
    for form in ("csv", "parquet", "json-stat", "sdmx-csv", "px"):
        release.export(tmp_path / form, form)
    shown = pl.read_csv(next((tmp_path / "csv").rglob("sex-area.csv")))
    assert shown["cv_total"].to_list() == pytest.approx(release.table("sex", "area")["cv_total"].to_list())
    assert "cv_sampling" in (tmp_path / "csv" / "README.txt").read_text()
    for value, there in {"mean(pay)": True, "share(area)": True, "rate(pay, pay)": False}.items():
        folder = tmp_path / value.replace(", ", "-")
        release.export(folder, "csv", value=value)
        heads = next(folder.rglob("sex-area.csv")).read_text().splitlines()[0]
        assert ("cv_total" in heads) is there
    assert run(["table", "out", "sex"]) == 0
    printed = capsys.readouterr().out
    assert "cv_noise" in printed and "... sampling" in printed and "... total" in printed
    assert all(f"{cv:.1%}" in printed for cv in table["cv_total"])
    assert run(["report", "out"]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Relative errors by group" in page and "design effect 1.8" in page
    assert ht.Release.load(tmp_path / "out").table("sex").equals(table)


def test_quantiles_and_comparisons_say_that_rows_are_a_sample(tmp_path: Path, capsys: Any):
    attributes = {"age": {"type": "integer", "bounds": [0, 99], "width": 10}}
    frame = pl.DataFrame({"age": [k % 100 for k in range(500)]})
    releases: list[ht.Release] = []
    for name, sample in {"one": True, "two": True, "census": False}.items():
        declared = ht.Schema.from_dict({"attributes": attributes, "sample": sample})
        session = ht.Session.open(frame, schema=declared, ledger=tmp_path / name, budget=ht.ZCDP(9))
        releases.append(session.release(ht.Workload([("age",)]), budget=ht.ZCDP(1), strategy="identity"))
        releases[-1].save(tmp_path / f"{name}-out")
    told = [ht.release.quantiles_of(r, "age", [0.5], (), 0.05).promise for r in releases]
    assert "noise alone" in told[0] and "sample" not in told[2]
    assert all(
        text.startswith("Each interval holds the true quantile with probability 0.95") for text in told
    )
    assert "not the error of sampling" in ht.compare(releases[0], releases[1]).note
    page = ht.report.write_comparison_report(ht.compare(releases[0], releases[2]), tmp_path / "c.html").path
    assert "not the error of sampling" in page.read_text()
    assert run(["compare", str(tmp_path / "one-out"), str(tmp_path / "two-out")]) == 0
    assert "not the error of sampling" in " ".join(capsys.readouterr().out.split())


def test_what_is_imputed_is_taken_as_fixed_and_said(tmp_path: Path):
    attributes = {**ATTRIBUTES, "sex": {**ATTRIBUTES["sex"], "imputed": True}}
    declared = ht.Schema.from_dict({"attributes": attributes})
    assert ht.Schema.loads(declared.to_yaml()) == declared and declared.version != schema().version
    release = released(declared, tmp_path)
    assert "sex" in release.card.fixed and "as fixed" in release.card.fixed
    sums = {"x": {"bounds": [0, 9], "resolution": 1, "imputed": True}}
    assert schema(sums=sums).imputed == ("x",) and schema().imputed == ()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("maybe", "schema.wrong-type"),
        ({"rows": 5}, "schema.missing-field"),
        ({"rows": 5, "design_effect": 0}, "schema.wrong-type"),
        ({"rows": 5, "design_effect": 2, "clusters": 3}, "schema.unknown-field"),
        ({"rows": 100, "replicates": {"columns": ["w1", "w2"]}}, "schema.replicate-weights"),
    ],
)
def test_what_cannot_be_said_of_a_sample_is_refused_by_name(given: Any, code: str):
    with pytest.raises(HushtableError) as refused:
        schema(sample=given)
    assert refused.value.code == code


def test_a_sample_is_read_back_and_is_the_same_domain():
    declared = schema(sample={"rows": 3000, "design_effect": 1.8})
    assert ht.Schema.loads(declared.to_yaml()) == declared
    assert declared.version == schema().version and declared != schema()
