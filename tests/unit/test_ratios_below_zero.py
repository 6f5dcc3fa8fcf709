"""Shares and rates whose divisor is a total below 0, or of either sign."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.release.ratios import ratios_of_intervals

SCHEMA = """
sums:
  debt:    {bounds: [-100, 0], resolution: 1}
  balance: {bounds: [-100, 100], resolution: 1}
  pay:     {bounds: [0, 1000], resolution: 10}
  fee:     {bounds: [-9, -1], resolution: 1}
attributes:
  area: {type: categorical, values: [a, b, c, d]}
  sex:  {type: categorical, values: [F, M]}
"""
DIVIDED = {
    "share(area, debt)": ("debt", None),
    "share(area, balance)": ("balance", None),
    "rate(debt, pay)": ("debt", "pay"),
    "rate(pay, debt)": ("pay", "debt"),
    "rate(pay, balance)": ("pay", "balance"),
    "rate(balance, debt)": ("balance", "debt"),
    "rate(pay, fee)": ("pay", "fee"),
    "rate(debt, fee)": ("debt", "fee"),
}


def people() -> pl.DataFrame:
    """Balances of area a are above 0, of b below, of c add up to 10; nobody lives in d."""
    chance = np.random.default_rng(5)
    area = np.repeat([0, 1, 2], [3000, 2500, 2000])
    return pl.DataFrame(
        {
            "area": np.array(["a", "b", "c"])[area].tolist(),
            "sex": chance.choice(["F", "M"], area.size).tolist(),
            "debt": -chance.integers(0, 90, area.size),
            "balance": np.select([area == 0, area == 1], [30, -40], np.where(np.arange(area.size) % 2, 20, -20))
            + np.where(np.arange(area.size) % 1000 == 7, 5, 0),
            "pay": 10 * chance.integers(0, 90, area.size),
            "fee": -chance.integers(1, 10, area.size),
        }
    )  # fmt: skip


def exact(frame: pl.DataFrame, first: str, second: str | None) -> list[float]:
    """The ratios of the rows themselves, by area."""
    sums = frame.group_by("area").agg(pl.col("debt", "balance", "pay", "fee").sum()).sort("area")
    whole = sums[second].to_list() if second else [frame[first].sum()] * sums.height
    return [x / y for x, y in zip(sums[first].to_list(), whole, strict=True)]


@pytest.mark.parametrize("strategy", ["residual-planner", "auto"])
def test_estimates_and_intervals_of_ratios_to_a_total_below_zero(strategy: str, tmp_path: Path) -> None:
    """At 1 - 10^-6 every interval holds; estimates are near, and only what may be 0 is said to be."""
    frame = people()
    (tmp_path / "s.yaml").write_text(SCHEMA)
    session = ht.Session.open(frame, schema=tmp_path / "s.yaml", ledger=tmp_path / "l", budget=ht.ZCDP(100))
    release = session.release(ht.Workload([("area", "sex")]), budget=ht.ZCDP(20), strategy=strategy)
    for value, (first, second) in DIVIDED.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = release.table("area", value=value, alpha=1e-6).sort("area")
        for place, true in enumerate(exact(frame, first, second)):
            row = table.row(place, named=True)
            assert row["lower"] <= true <= row["upper"], (value, row)
            if second == "balance" and row["area"] == "c":
                assert row["note"] == "divisor may be 0"
                continue
            assert row["note"] == "", (value, row)
            assert abs(row["estimate"] - true) <= 6 * row["std"], (value, row)
            assert row["upper"] - row["lower"] < 1.0 + abs(true), (value, row)
        nobody = table.row(3, named=True)
        assert (nobody["note"] == "divisor may be 0") == (second is not None), (value, nobody)


def test_a_rate_to_a_column_below_zero_keeps_to_the_declared_range(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    session = ht.Session.open(people(), schema=tmp_path / "s.yaml", ledger=tmp_path / "l", budget=ht.ZCDP(1))
    release = session.release(ht.Workload([("area",)]), budget=ht.ZCDP("0.1"), strategy="residual-planner")
    fees = release.table("area", value="rate(pay, fee)", alpha=1e-9).sort("area").row(3, named=True)
    assert -1000 <= fees["lower"] <= fees["upper"] <= 0
    debts = release.table("area", value="rate(debt, fee)", alpha=1e-9)
    assert debts["lower"].min() >= 0 and debts["upper"].max() <= 100  # type: ignore[operator]
    shares = release.table("area", value="share(area, debt)", alpha=1e-9)
    assert shares["lower"].min() >= 0 and shares["upper"].max() <= 1  # type: ignore[operator]


@settings(max_examples=300, deadline=None)
@given(st.floats(-9, 9), st.floats(0, 9), st.floats(-9, 9), st.floats(0, 9), st.floats(0, 1), st.floats(0, 1))
def test_ratios_of_signed_intervals_hold_every_ratio(
    a: float, wide: float, c: float, high: float, s: float, t: float
) -> None:
    part, whole = (np.array([a]), np.array([a + wide])), (np.array([c]), np.array([c + high]))
    (lower,), (upper,) = ratios_of_intervals(part, whole, -np.inf, np.inf, signed=True)
    numerator, denominator = a + s * wide, c + t * high
    if abs(denominator) > 1e-6:
        ratio = numerator / denominator
        assert lower - 1e-9 * abs(ratio) - 1e-9 <= ratio <= upper + 1e-9 * abs(ratio) + 1e-9
