"""Which step of a fractional grid a summed value counts as: that of its decimal, halves upward."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest

import hushtable as ht
from hushtable.schema import SummedColumn


def column(low: float, high: float, resolution: float) -> SummedColumn:
    sums = {"pay": {"bounds": [low, high], "resolution": resolution}}
    sexes = {"sex": {"type": "categorical", "values": ["F", "M"]}}
    return ht.Schema.from_dict({"sums": sums, "attributes": sexes}).sums["pay"]


@pytest.mark.parametrize("written", ["0.01", "0.05", "0.1", "0.25", "0.3", "2.5"])
def test_every_half_between_two_steps_goes_up_below_zero_too(written: str) -> None:
    grid = Fraction(written)
    low, high = -4000 * grid, 6000 * grid
    summed = column(float(low), float(high), float(written))
    halves = [(2 * k + 1) * grid / 2 for k in range(-4000, 6000)]
    wanted = [int((floor(x / grid + Fraction(1, 2)) * grid - summed.middle) / summed.unit) for x in halves]
    assert summed.whole(np.array([float(x) for x in halves])).tolist() == wanted


def test_what_is_out_of_bounds_or_no_number_counts_inside_them() -> None:
    summed = column(-1.5, 2.5, 0.1)
    found = summed.whole(np.array([np.inf, 1e300, 2.6, -np.inf, -1e300, -1.6, np.nan]))
    assert found.tolist() == [20] * 3 + [-20] * 3 + [-5]
    tiny = column(0, 5e-300, 1e-300)
    assert np.abs(tiny.whole(np.array([0.0, 2e-300, 1.0]))).max() <= tiny.largest
