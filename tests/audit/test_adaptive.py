"""The questions of an adaptive release at worst-case neighbours on two attributes of two values, with mutants.

One person is added to an empty table.  The estimates are such that this raises the gap of one marginal and closes that
of the other, so that the two scores of a selection move in opposite directions: it loses all that it is charged for.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from lower_bounds import always_exceeds, gaussian_excess, normal_curve, range_bound

from bit_sources import SeededBits
from hushtable.kernel import select
from hushtable.kernel.draw import Confidential
from hushtable.marginals import Layout
from hushtable.measurement import GRID, Compare, Select
from simulation import CodesInMemory

EPSILON = Fraction(1)
RHO = Fraction(1, 2)
SIZES = (2, 2)
LAYOUT = Layout(SIZES, ((), (0,), (1,)))
WEIGHTS = np.array([0, 1, 1])


class People(CodesInMemory):
    """So many records, all in the first cell."""

    def __init__(self, count: int) -> None:
        self.codes = [np.zeros(count, np.uint8)] * 2


def selecting(people: int, bits: SeededBits) -> Confidential:
    """A handle whose estimates expect one person in the second marginal and none in the first."""
    handle = Confidential(People(people), LAYOUT, bits=bits)
    handle.update(Select(((2, np.array([1.0, 0.0])),), WEIGHTS, 0.0, EPSILON))
    return handle


def selecting_by_tables(people: int, bits: SeededBits) -> Confidential:
    """The same with tables in place of residuals: they expect what the residuals of ``selecting`` add up to."""
    handle = Confidential(People(people), LAYOUT, scored=False, bits=bits)
    tables = np.zeros(LAYOUT.cells)
    LAYOUT.view(tables, LAYOUT.sets[2])[...] = (1.0, 0.0)
    handle.update(Select((), WEIGHTS, 0.0, EPSILON, np.arange(len(LAYOUT.sets)), tables))
    return handle


def selection_batch(
    runs: int, bits: SeededBits, made: Callable[[int, SeededBits], Confidential] = selecting
) -> Callable[[], float]:
    """How far the certified range of log ratios lies above the charged epsilon."""
    handles = [made(people, bits) for people in (0, 1)]
    request = Select((), WEIGHTS, 0.0, EPSILON)

    def batch() -> float:
        chosen = [[int(handle.select(request)()[0]) == 1 for _ in range(runs)] for handle in handles]
        return range_bound(*chosen) - float(EPSILON)

    return batch


def comparison_batch(variance: Fraction, runs: int, bits: SeededBits) -> Callable[[], float]:
    """How far noisy distances lie below the trade-off curve that their price allows."""
    handles = [Confidential(People(people), LAYOUT, scored=False, bits=bits) for people in (0, 1)]
    request = Compare(SIZES, ((0,), (1,)), np.zeros(4), variance)
    deviation = GRID * float(2 * variance) ** 0.5

    def batch() -> float:
        sums = [np.array([h.compare(request)().sum() * float(GRID) for _ in range(runs)]) for h in handles]
        middle = float(GRID**2)
        return gaussian_excess(*sums, normal_curve(float(2 * RHO) ** 0.5), middle=middle, deviation=deviation)

    return batch


def test_a_selection_loses_no_more_than_its_epsilon() -> None:
    assert not always_exceeds(selection_batch(4_000, SeededBits(1)))
    assert not always_exceeds(selection_batch(4_000, SeededBits(5), selecting_by_tables))


def test_a_selection_at_twice_its_epsilon_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = select.selection_factor
    monkeypatch.setattr(
        select, "selection_factor", lambda epsilon, sensitivity: 2 * honest(epsilon, sensitivity)
    )
    assert always_exceeds(selection_batch(4_000, SeededBits(2)), 1)
    assert always_exceeds(selection_batch(4_000, SeededBits(6), selecting_by_tables), 1)


def test_distances_lose_no_more_than_their_rho() -> None:
    variance = Fraction(2 * GRID**2) / (2 * RHO)
    assert Compare(SIZES, ((0,), (1,)), np.zeros(4), variance).rho == RHO
    assert not always_exceeds(comparison_batch(variance, 2_000, SeededBits(3)))


def test_distances_with_half_the_noise_are_caught() -> None:
    variance = Fraction(2 * GRID**2) / (2 * RHO)
    assert always_exceeds(comparison_batch(variance / 4, 4_000, SeededBits(4)), 1)
