"""The plain loop that brings tables together on a sub-table they share: compiled, over flat arrays.

For tables p_1 .. p_m over sets that contain sigma, with sums p_k(sigma) and their mean q(sigma) scaled to the total,
each p_k is multiplied by (q / p_k(sigma)) ^ step: for step 1 the projection of iterative proportional fitting.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushtable.compiled import njit
from hushtable.marginals import add_sums, grouped, next_place

NEAR = 1.5
"""Steps are over-relaxed where the ratio of mean and own sums lies within this factor of 1; farther off they may
overshoot.  Not tuned finely."""


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


class Shared(NamedTuple):
    """Sub-tables that several tables share: at ``starts[s]`` to ``starts[s + 1]`` the tables, and the axes they share.

    ``sizes`` are the cells of each sub-table.
    """

    starts: Any
    owners: Any
    masks: Any
    sizes: Any


@njit(cache=True, nogil=True)
def bring_together(
    first: int, last: int, numbers: Any, shared: Any, total: float, step: float, tables: Any, worst: Any
) -> None:
    """Multiply the tables above each shared sub-table by (mean / own sums) ^ step.

    The mean is scaled to ``total``; ``worst`` is the largest difference before the step.
    """
    offsets, shapes, cells = tables
    starts, owners, masks, sizes = shared
    groups = np.empty((shapes.shape[1] + 2, 3), np.int64)
    for j in range(first, last):
        s = numbers[j]
        begin, count, size = starts[s], starts[s + 1] - starts[s], sizes[s]
        sums, mean = np.zeros((count, size)), np.empty(size)
        for k in range(count):
            t = owners[begin + k]
            add_sums(cells[offsets[t] : offsets[t + 1]], shapes[t], masks[begin + k], 1.0, sums[k], groups)
        away, whole = 0.0, 0.0
        for cell in range(size):
            low, high, summed = sums[0, cell], sums[0, cell], 0.0
            for k in range(count):
                low, high = min(low, sums[k, cell]), max(high, sums[k, cell])
                summed += sums[k, cell]
            away = max(away, high - low)
            mean[cell] = summed / count
            whole += mean[cell]
        worst[s] = away
        for k in range(count):
            t = owners[begin + k]
            for cell in range(size):
                if sums[k, cell] > 0.0:
                    ratio = mean[cell] * (total / whole) / sums[k, cell]
                    sums[k, cell] = ratio**step if 1.0 / NEAR < ratio < NEAR else ratio
            multiply_repeated(
                cells[offsets[t] : offsets[t + 1]], shapes[t], masks[begin + k], sums[k], groups
            )
