"""The plain loops over exact counts and gaps: compiled, over index arrays, one range of jobs per call.

A gap is a true count less its estimate, in units of the public grid.  Gaps saturate at a public bound: saturation never
moves two neighbouring tables further apart, so it costs no privacy.  Nothing here adds noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Ints = NDArray[np.int64]

LARGEST_NORM = 2**45
"""L1 norms saturate here: 2^36 rows on the grid of 2^-8, with room for the estimates."""

LARGEST_GAP = 2**44

ROUNDS = 1.5 * 2.0**52
BLOCK = 4096
"""Cells whose saturated sizes can be added without overflow."""


@njit(cache=True, nogil=True)
def subtract_rounded(delta: Any, limit: int, gaps: Any) -> int:
    """gaps -= round(delta), saturated at the limit; gives the saturated L1 norm.

    Adding and subtracting 1.5 2^52 rounds a float below 2^51 to the nearest whole number, ties to even.
    """
    reach = 2.0 * limit
    norm = np.int64(0)
    for first in range(0, delta.size, BLOCK):
        last = min(first + BLOCK, delta.size)
        part = np.int64(0)
        for cell in range(first, last):
            move = min(max(delta[cell], -reach), reach)
            gap = np.int64(gaps[cell]) - np.int64((move + ROUNDS) - ROUNDS)
            gap = min(max(gap, -limit), limit)
            gaps[cell] = gap
            part += abs(gap)
        norm = min(norm + part, LARGEST_NORM)
    return int(norm)


@njit(cache=True, nogil=True)
def subtract_changes(
    first: int,
    last: int,
    chosen: Ints,
    offsets: Ints,
    shapes: Ints,
    starts: Ints,
    members: Ints,
    masks: Ints,
    slots: Ints,
    change_offsets: Ints,
    changes: Any,
    grid: float,
    limit: int,
    gaps: Any,
    norms: Ints,
) -> None:
    """For each chosen set: gaps -= round(grid * change), and its L1 norm, in one pass.

    The change of a set is the sum over the residuals below it with ``slots[residual] >= 0`` of their centred change,
    repeated along the axes they lack and divided by those axes' lengths.
    """
    width = shapes.shape[1]
    position = np.zeros(width + 1, np.int64)
    stride = np.zeros(width + 1, np.int64)
    longest = 0
    for c in range(first, last):
        longest = max(longest, offsets[chosen[c] + 1] - offsets[chosen[c]])
    delta = np.empty(longest)
    for c in range(first, last):
        s = chosen[c]
        begin, cells = offsets[s], offsets[s + 1] - offsets[s]
        inner = shapes[s, width - 1] if width > 0 and shapes[s, width - 1] > 0 else 1
        delta[:cells] = 0.0
        for member in range(starts[s], starts[s + 1]):
            residual = members[member]
            if residual < 0 or slots[residual] < 0:
                continue
            mask = masks[member]
            step = np.int64(1)
            missing = 1.0
            for axis in range(width - 1, -1, -1):
                n = shapes[s, axis]
                position[axis] = 0
                stride[axis] = 0
                if n > 0:
                    if mask >> axis & 1:
                        stride[axis] = step
                        step *= n
                    else:
                        missing *= n
            factor = grid / missing
            along = width > 0 and stride[width - 1] == 1
            at = change_offsets[slots[residual]]
            cell = 0
            while cell < cells:
                if along:
                    for i in range(inner):
                        delta[cell + i] += changes[at + i] * factor
                else:
                    value = changes[at] * factor
                    for i in range(inner):
                        delta[cell + i] += value
                cell += inner
                for axis in range(width - 2, -1, -1):
                    n = shapes[s, axis]
                    if n == 0:
                        break
                    position[axis] += 1
                    at += stride[axis]
                    if position[axis] < n:
                        break
                    at -= stride[axis] * n
                    position[axis] = 0
        norms[s] = subtract_rounded(delta[:cells], limit, gaps[begin : begin + cells])


@njit(cache=True, nogil=True)
def fill_gaps(first: int, last: int, offsets: Ints, grid: int, limit: int, gaps: Any, norms: Ints) -> None:
    """In place: counts become gaps to the estimate zero, with their L1 norms."""
    for s in range(first, last):
        norm = np.int64(0)
        for cell in range(offsets[s], offsets[s + 1]):
            count = np.int64(gaps[cell])
            gap = limit if count > limit // grid else count * grid
            gaps[cell] = gap
            norm = min(norm + gap, LARGEST_NORM)
        norms[s] = norm


@njit(cache=True, nogil=True)
def selection_scores(
    candidates: Ints, weights: Ints, cells: Ints, penalty: float, most: float, norms: Ints, scores: Ints
) -> None:
    """scores = weight (norm - round(penalty cells)) of every candidate."""
    for c in range(candidates.size):
        s = candidates[c]
        scores[c] = weights[s] * (norms[s] - np.int64(np.rint(min(penalty * cells[s], most))))


@njit(cache=True, nogil=True)
def distances(first: int, last: int, offsets: Ints, counts: Any, tables: Any, grid: int, out: Ints) -> None:
    """L1 distance of each set's counts from a table of floats that is rounded to the grid."""
    for s in range(first, last):
        norm = np.int64(0)
        for cell in range(offsets[s], offsets[s + 1]):
            table = min(max(np.rint(tables[cell] * grid), -float(LARGEST_GAP)), float(LARGEST_GAP))
            gap = min(np.int64(counts[cell]) * grid, LARGEST_GAP) - np.int64(table)
            norm = min(norm + abs(gap), LARGEST_NORM)
        out[s] = norm
