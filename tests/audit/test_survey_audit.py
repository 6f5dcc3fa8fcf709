"""Weighted counts and totals through a session with a real ledger, at worst-case neighbours: nobody, and one person.

The person has the largest weight and a value at the upper bound.  With independent noise per cell, one release of a
table with many blocks holds one run per block.  Mutants pay for a largest weight, or for bounds, that are
10% too small.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lower_bounds import always_exceeds, gaussian_excess, normal_curve

import hushtable as ht
from hushtable.kernel.weighing import RowTabulator
from hushtable.schema.row_weight import RowWeight
from hushtable.schema.summed import SummedColumn

BLOCKS, RUNS = 500, 20_000
WEIGHT, HALF = 10, 20
"""The largest weight, and half the width of the bounds in steps of the grid."""
COUNTED: dict[str, Any] = {
    "weight": {"column": "w", "bounds": [0, WEIGHT]},
    "attributes": {"block": {"type": "integer", "bounds": [0, BLOCKS - 1]}, "member": {"type": "boolean"}},
}
GRID = 0.25
FINE = {**COUNTED, "weight": {"column": "w", "bounds": [0, WEIGHT * GRID], "resolution": GRID}}
"""The same integers of a grid finer than whole numbers."""
SUMMED = {**COUNTED, "sums": {"pay": {"bounds": [-300, 100], "resolution": 10}}}


def batch_of(folder: Path, declared: dict[str, Any]) -> Callable[[], float]:
    """One cell of each block: the weighted count, or the total about the middle where the schema sums.

    Each is paid with rho 1/2, so that a person moves it by one standard deviation.
    """
    totals = "sums" in declared
    budget, moved = ht.ZCDP(1 if totals else "0.5"), float(WEIGHT * (HALF if totals else 1))
    workload = ht.Workload([("block", "member")])
    types = {"block": pl.Int64, "member": pl.Boolean, "w": pl.Float64, "pay": pl.Float64}
    sessions = [
        ht.Session.open(
            pl.DataFrame(
                {
                    "block": blocks,
                    "member": [True] * len(blocks),
                    "w": [1e9] * len(blocks),
                    "pay": [1e9] * len(blocks),
                },
                schema=types,
            ),
            schema=declared,
            ledger=folder / f"{len(blocks)}.ledger",
            budget=ht.ZCDP(10**6),
        )
        for blocks in ([], list(range(BLOCKS)))
    ]

    def one(people: int) -> np.ndarray:
        release = sessions[people].release(workload, budget=budget, strategy="identity")
        answers = release.quantities["sum(pay)"] if totals else release.answers
        return answers.of((0, 1))[:, 1].astype(float)

    def batch() -> float:
        absent, present = (np.concatenate([one(k) for _ in range(RUNS // BLOCKS)]) for k in (0, 1))
        return gaussian_excess(absent, present, normal_curve(1.0), middle=moved / 2, deviation=moved)

    return batch


@pytest.mark.long
@pytest.mark.parametrize("declared", [COUNTED, FINE, SUMMED], ids=["weighted counts", "fine", "totals"])
def test_a_release_hides_the_heaviest_person_as_well_as_its_charge_says(
    declared: dict[str, Any], memory_path: Path
):
    assert not always_exceeds(batch_of(memory_path, declared))


@pytest.mark.long
@pytest.mark.parametrize("case", ["largest weight", "largest fine weight", "bounds"])
def test_what_is_paid_for_ten_percent_too_small_is_caught(
    case: str, memory_path: Path, monkeypatch: pytest.MonkeyPatch
):
    if case == "bounds":
        monkeypatch.setattr(SummedColumn, "largest", property(lambda self: HALF * 9 // 10))
        # The tables themselves hold a row to what is paid for, and would hide this fault.
        monkeypatch.setattr(RowTabulator, "_limit", lambda self, column: WEIGHT * HALF)
    else:
        monkeypatch.setattr(RowWeight, "per_row", property(lambda self: WEIGHT * 9 // 10))
    declared = {"bounds": SUMMED, "largest weight": COUNTED, "largest fine weight": FINE}[case]
    assert always_exceeds(batch_of(memory_path, declared), 2)
