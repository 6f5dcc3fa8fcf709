"""The plain loop that brings tables together on a sub-table they share: compiled, over flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

NEAR = 1.5
"""Steps are over-relaxed where the ratio of mean and own sums lies within this factor of 1."""


@njit(cache=True, nogil=True, fastmath=True)
def walk(table: Any, shape: Any, mask: int, below: Any, scale: bool) -> None:
    """Sum a flat table to the axes of ``mask``, or multiply it by a table over these axes.

    ``shape`` is right-aligned, 0 where there is no axis; bit k of ``mask`` is axis k.
    """
    width = shape.size
    position, stride = np.zeros(width + 1, np.int64), np.zeros(width + 1, np.int64)
    step = 1
    for axis in range(width - 1, -1, -1):
        if shape[axis] > 0 and mask >> axis & 1:
            stride[axis] = step
            step *= shape[axis]
    inner = shape[width - 1] if width > 0 and shape[width - 1] > 0 else 1
    along = width > 0 and stride[width - 1] == 1
    cell, at = 0, 0
    while cell < table.size:
        if scale:
            if along:
                for i in range(inner):
                    table[cell + i] *= below[at + i]
            else:
                factor = below[at]
                for i in range(inner):
                    table[cell + i] *= factor
        elif along:
            for i in range(inner):
                below[at + i] += table[cell + i]
        else:
            summed = 0.0
            for i in range(inner):
                summed += table[cell + i]
            below[at] += summed
        cell += inner
        for axis in range(width - 2, -1, -1):
            n = shape[axis]
            if n == 0:
                break
            position[axis] += 1
            at += stride[axis]
            if position[axis] < n:
                break
            at -= stride[axis] * n
            position[axis] = 0


@njit(cache=True, nogil=True)
def bring_together(
    first: int,
    last: int,
    numbers: Any,
    starts: Any,
    owners: Any,
    masks: Any,
    cells: Any,
    shapes: Any,
    offsets: Any,
    total: float,
    step: float,
    tables: Any,
    worst: Any,
) -> None:
    """Multiply the tables above each shared sub-table by (mean / own sums) ^ step.

    The mean is scaled to ``total``; ``worst`` is the largest difference before the step.
    """
    for j in range(first, last):
        shared = numbers[j]
        begin, count, size = starts[shared], starts[shared + 1] - starts[shared], cells[shared]
        sums, mean = np.zeros((count, size)), np.empty(size)
        for k in range(count):
            t = owners[begin + k]
            walk(tables[offsets[t] : offsets[t + 1]], shapes[t], masks[begin + k], sums[k], False)
        away, whole = 0.0, 0.0
        for cell in range(size):
            low, high, summed = sums[0, cell], sums[0, cell], 0.0
            for k in range(count):
                low, high = min(low, sums[k, cell]), max(high, sums[k, cell])
                summed += sums[k, cell]
            away = max(away, high - low)
            mean[cell] = summed / count
            whole += mean[cell]
        worst[shared] = away
        for k in range(count):
            t = owners[begin + k]
            for cell in range(size):
                if sums[k, cell] > 0.0:
                    ratio = mean[cell] * (total / whole) / sums[k, cell]
                    sums[k, cell] = ratio**step if 1.0 / NEAR < ratio < NEAR else ratio
            walk(tables[offsets[t] : offsets[t + 1]], shapes[t], masks[begin + k], sums[k], True)
