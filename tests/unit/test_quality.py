"""Quality flags: what a number of this interval is called, and that nothing but published numbers decides."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

import hushtable as ht
from hushtable.release import QUALITY_FLAGS, quality_codes, quality_column

COUNTS = st.floats(0, 1e9, allow_nan=False)


def word(estimate: float, lower: float, upper: float, alpha: float) -> str:
    """By the text of the page, one number at a time."""
    if lower == upper:
        return "reliable"
    if lower < 0.5 or estimate <= 0:  # a lower end that is printed as 0
        return "near-zero"
    error = (upper - lower) / 2 / NormalDist().inv_cdf(1 - alpha / 2) / estimate
    return "reliable" if error <= 0.166 else "caution" if error <= 0.333 else "unreliable"


@given(
    st.lists(st.tuples(st.floats(-50, 1e9), COUNTS, COUNTS), min_size=1, max_size=30),
    st.sampled_from([0.01, 0.05, 0.1, 0.5]),
)
def test_the_word_of_a_number_is_that_of_the_page(
    cells: list[tuple[float, float, float]], alpha: float
) -> None:
    ends = [(estimate, min(a, b), max(a, b)) for estimate, a, b in cells]
    estimate, lower, upper = (np.array(values) for values in zip(*ends, strict=True))
    found = [QUALITY_FLAGS[code].name for code in quality_codes(estimate, lower, upper, alpha)]
    assert found == [word(*cell, alpha) for cell in ends]


def test_a_normal_interval_gives_back_its_relative_standard_error() -> None:
    sigma = np.array([1.0, 16.0, 17.0, 33.0, 34.0, 50.0, 52.0])
    z = NormalDist().inv_cdf(0.975)
    lower = np.maximum(100 - z * sigma, 0)
    estimate = np.full(7, 100.0)
    codes = quality_codes(estimate, lower, 100 + z * sigma, 0.05)
    assert codes.tolist() == [0, 0, 1, 1, 2, 2, 3]  # 100 / 1.96 = 51: beyond it zero cannot be ruled out


def test_a_structural_zero_is_exact_and_an_unknown_small_count_is_not() -> None:
    zeros = np.zeros(2)
    assert quality_codes(zeros, zeros, np.array([0.0, 3.0]), 0.05).tolist() == [0, 3]


def test_a_released_table_has_a_word_for_every_cell(
    small_schema: ht.Schema, small_frame: pl.DataFrame, tmp_path: object
) -> None:
    session = ht.Session.open(
        small_frame, schema=small_schema, ledger=f"{tmp_path}/x.ledger", budget=ht.ZCDP(1)
    )
    workload = ht.Workload([("age", "sex")])
    release = session.release(workload, budget=ht.ZCDP("0.05"), strategy="residual-planner")
    table = release.table("age", "sex")
    rows = zip(table["estimate"], table["lower"], table["upper"], strict=True)
    assert quality_column(table, 0.05).to_list() == [word(*row, 0.05) for row in rows]


def test_marks_names_and_states_differ() -> None:
    for field in ("name", "mark", "status", "meaning"):
        assert len({getattr(flag, field) for flag in QUALITY_FLAGS}) == len(QUALITY_FLAGS)


@given(
    st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).map(sorted),
    st.sampled_from([0.01, 0.05, 0.5]),
)
def test_the_word_of_a_value_is_the_same_with_the_other_sign(cell: list[float], alpha: float) -> None:
    """Of means and totals; what reaches zero is near it, and nothing else is."""
    lower, estimate, upper = (np.array([x]) for x in cell)
    (code,) = quality_codes(estimate, lower, upper, alpha, counts=False)
    (other,) = quality_codes(-estimate, -upper, -lower, alpha, counts=False)
    assert code == other
    hidden = QUALITY_FLAGS[code].name == "near-zero"
    assert hidden == bool(upper[0] > lower[0] and lower[0] <= 0 <= upper[0])
