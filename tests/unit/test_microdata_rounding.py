"""Rounding: totals exact, marginals within one, expectations unchanged."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hushtable.errors import HushtableError
from hushtable.microdata import round_table
from thresholds import Z

CASES = [
    ((30,), [(0,)]),
    ((6, 7), []),
    ((6, 7), [(0,)]),
    ((6, 7), [(0,), (1,)]),
    ((4, 3, 5), [(0, 1), (1, 2)]),
    ((4, 3, 5), [(0,), (1,), (2,)]),
    ((3, 3, 4), list(combinations(range(3), 2))),
    ((4, 3, 5), [(), (0,), (0, 1)]),
    ((2, 3, 2, 3), list(combinations(range(4), 2))),
]


def largest_change(counts, table, axes):
    gone = tuple(k for k in range(table.ndim) if k not in axes)
    return np.abs((counts - table).sum(axis=gone)).max()


@pytest.mark.long
@pytest.mark.parametrize("shape, marginals", CASES)
def test_totals_are_exact_and_marginals_within_one(shape, marginals):
    rng = np.random.default_rng(len(shape))
    for run in range(112):
        table = np.where(rng.random(shape) < 0.4, 0.0, rng.gamma(0.5, 4.0, shape))
        total = round(table.sum())
        scaled = table * (total / table.sum()) if table.sum() else table
        made = round_table(table, marginals, seed=run)
        assert made.counts.sum() == total
        assert (np.abs(made.counts - scaled) < 1 + 1e-6).all()
        assert (made.counts[table == 0] == 0).all()
        for axes in marginals:
            assert largest_change(made.counts, scaled, axes) < 1 + 1e-6
        assert made.worst < 1 + 1e-6


@pytest.mark.long
@pytest.mark.parametrize("shape, marginals", [c for c in CASES if c[0] != (3, 3, 4)])
def test_rounding_is_unbiased(shape, marginals):
    """Mean of each rounded cell over seeds; Z standard errors, false-alarm rate 1e-9 per cell."""
    rng = np.random.default_rng(4)
    table = rng.random(shape)
    table *= round(table.sum()) / table.sum()
    few = sum(len(s) == 1 or len(s) == 2 for s in marginals) >= 3
    runs = 150 if few else 800
    mean = np.mean([round_table(table, marginals, seed=k).counts for k in range(runs)], axis=0)
    low = table - np.floor(table)
    spread = np.sqrt(np.maximum(low * (1 - low), 1e-9) / runs)
    room = (
        0.06 if few else 0.0
    )  # the integer program settles what the walk leaves open; its bias is below 0.06
    assert (np.abs(mean - table) <= Z * spread + room).all()
    wrong = np.floor(table + 0.5)
    assert not (np.abs(wrong - table) <= Z * spread + room).all()


def test_a_large_table_is_rounded_with_its_marginals():
    rng = np.random.default_rng(9)
    table = rng.gamma(0.3, 2.0, (400, 300))
    made = round_table(table, [(0,), (1,)], seed=1)
    scaled = table * (round(table.sum()) / table.sum())
    assert made.counts.sum() == round(table.sum()) and made.worst < 1 + 1e-6
    assert largest_change(made.counts, scaled, (0,)) < 1 + 1e-6


def test_the_same_seed_gives_the_same_records():
    table = np.random.default_rng(1).random((5, 5))
    first, second, other = (round_table(table, [(0,)], seed=s).counts for s in ("a", "a", "b"))
    assert (first == second).all() and (first != other).any()


def test_another_total_scales_the_table():
    assert round_table([2.0, 6.0], total=4).counts.tolist() == [1, 3]
    assert round_table([0.0, 0.0], total=4).counts.sum() == 4
    assert round_table([3.0], total=0).counts.tolist() == [0]


@pytest.mark.parametrize("rows", [-1, 2.5, True, "3"])
def test_rows_that_are_no_number_of_records_are_refused(rows):
    with pytest.raises(HushtableError) as caught:
        round_table([1.0], total=rows)
    assert caught.value.code == "microdata.rows"


def test_weights_below_zero_are_refused():
    with pytest.raises(HushtableError) as caught:
        round_table([1.0, -1.0])
    assert caught.value.code == "microdata.weights"
