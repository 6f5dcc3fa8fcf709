"""Samples: what intervals are said to cover, both parts of a coefficient of variation, and imputed values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import hushtable as ht
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
