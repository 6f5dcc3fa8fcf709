"""The nonnegative table of greatest likelihood under residuals with Gaussian noise.

Minimises  sum over tau of precision_tau/2 ||centre(x summed to tau) - z_tau||^2  over x >= 0 by projected gradients
with momentum and restarts.  Without the sign condition the minimum is the table that adds up all residuals.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, centre
from hushtable.microdata.program import too_much_work

MOST_STEPS = 5000
"""Steps of a fit, at most: tables of 64 to 1,000 cells took 150 to 360, sparser ones take thousands.  What is reached
is returned with its residual."""
LEAST_STEPS = 500
"""Steps that a fit must be able to afford to be begun; sparse tables take thousands."""
STRIDED = 64.0
"""What one cell of one residual's gradient counts for, in the unit of ``dual_loops``: 10 ns on 4,096 cells."""
ENOUGH = 1e-8
"""Where a fit ends: on tables of 64 to 1,000 cells, with counts up to 60, cells are then right to 3e-4 of a record.
With 1e-6 they are right to 0.02 after three quarters of the steps, with 1e-4 to some records."""


def likeliest(
    shape: tuple[int, ...],
    residuals: Sequence[tuple[AttributeSet, Floats, float]],
    start: Floats,
    possible: NDArray[np.bool_] | None = None,
    work: float = inf,
) -> tuple[Floats, float]:
    """The table and the largest move of a projected gradient step, relative to the largest cell.

    ``residuals`` has (attributes, centred estimate, precision) for each.  Refuses what takes more than ``work``
    multiplications.
    """
    affordable = work / (STRIDED * prod(shape) * max(1, len(residuals)))
    if affordable < LEAST_STEPS:
        raise too_much_work()
    steepest = max(p * prod(n for a, n in enumerate(shape) if a not in tau) for tau, _, p in residuals)
    allowed = np.ones(shape, np.bool_) if possible is None else possible.reshape(shape)
    x = np.where(allowed, np.maximum(start, 0.0), 0.0)
    point, momentum, residual = x, 1.0, np.inf
    for _ in range(int(min(MOST_STEPS, affordable))):
        moved = np.where(allowed, np.maximum(point - _gradient(point, shape, residuals) / steepest, 0.0), 0.0)
        residual = float(np.abs(moved - point).max() / max(1.0, float(moved.max())))
        if residual <= ENOUGH:
            return moved, residual
        if np.vdot(point - moved, moved - x) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        point = moved + (momentum - 1.0) / following * (moved - x)
        x, momentum = moved, following
    return x, residual


def _gradient(
    x: Floats, shape: tuple[int, ...], residuals: Sequence[tuple[AttributeSet, Floats, float]]
) -> Floats:
    total = np.zeros(shape)
    for tau, want, precision in residuals:
        gone = tuple(axis for axis in range(len(shape)) if axis not in tau)
        gap = precision * (centre(x.sum(axis=gone)) - want)
        total += gap.reshape([n if axis in tau else 1 for axis, n in enumerate(shape)])
    return total
