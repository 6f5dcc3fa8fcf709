"""The plain loop that brings tables together on a sub-table they share: compiled, over flat arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from hushtable.compiled import njit
from hushtable.marginals.kernels import add_sums, grouped, next_place

NEAR = 1.5
"""Steps are over-relaxed where the ratio of mean and own sums lies within this factor of 1."""


@njit(cache=True, nogil=True)
def multiply_repeated(table: Any, shape: Any, mask: int, below: Any, groups: Any) -> None:
    """table *= below, repeated along the axes of ``shape`` that are not in ``mask``."""
    count, _ = grouped(shape, mask, groups)
    inner, along, outer, jump = groups[0, 0], groups[0, 1], groups[1, 0], groups[1, 1]
    at, start = np.int64(0), np.int64(0)
    while start < table.size:
        for o in range(outer):
            row = table[start + o * inner : start + (o + 1) * inner]
            if along == 0:
                factor = below[at + o * jump]
                for i in range(inner):
                    row[i] *= factor
            else:
                for i in range(inner):
                    row[i] *= below[at + i]
        start += outer * inner
        at = next_place(groups, count, at)


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
    groups = np.empty((shapes.shape[1] + 2, 3), np.int64)
    for j in range(first, last):
        shared = numbers[j]
        begin, count, size = starts[shared], starts[shared + 1] - starts[shared], cells[shared]
        sums, mean = np.zeros((count, size)), np.empty(size)
        for k in range(count):
            t = owners[begin + k]
            table = tables[offsets[t] : offsets[t + 1]]
            add_sums(table, shapes[t], masks[begin + k], 1.0, sums[k], groups)
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
            table = tables[offsets[t] : offsets[t + 1]]
            multiply_repeated(table, shapes[t], masks[begin + k], sums[k], groups)
