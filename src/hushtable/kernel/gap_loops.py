"""The plain loops over exact counts and gaps: compiled, over index arrays, one range of jobs per call.

A gap is a true count less its estimate, in units of the public grid.  Gaps saturate at a public bound: saturation never
moves two neighbouring tables further apart, so it costs no privacy.  Gaps are whole numbers, kept in doubles (exact,
being below 2^53) or in 32 bits.  Nothing here adds noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushtable.marginals.kernels import add_repeated

Ints = NDArray[np.int64]

LARGEST_NORM = 2**45
"""L1 norms saturate here: 2^36 rows on the grid of 2^-8, with room for the estimates."""

LARGEST_GAP = 2**44

BLOCK = 512
"""Cells whose saturated sizes add up to at most 2^53: every partial sum is a whole number that a double holds."""


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def subtract_rounded(delta: Any, limit: float, gaps: Any) -> int:
    """gaps -= round(delta), saturated at the limit; gives the saturated L1 norm.

    All numbers after the rounding are whole and at most 3 * 2^44, so doubles hold them and their sums exactly, in any
    order of adding.
    """
    reach = 2.0 * limit
    norm = np.int64(0)
    for first in range(0, delta.size, BLOCK):
        last = min(first + BLOCK, delta.size)
        part = 0.0
        for cell in range(first, last):
            gap = float(gaps[cell]) - np.rint(min(max(delta[cell], -reach), reach))
            gap = min(max(gap, -limit), limit)
            gaps[cell] = gap
            part += abs(gap)
        norm = min(norm + np.int64(part), LARGEST_NORM)
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
    limit: float,
    gaps: Any,
    norms: Ints,
) -> None:
    """For each chosen set: gaps -= round(grid * change), and its L1 norm.

    The change of a set is the sum over the residuals below it with ``slots[residual] >= 0`` of their centred change,
    repeated along the axes they lack and divided by those axes' lengths.
    """
    groups = np.empty((shapes.shape[1] + 1, 3), np.int64)
    longest = 0
    for c in range(first, last):
        longest = max(longest, offsets[chosen[c] + 1] - offsets[chosen[c]])
    space = np.empty(longest)
    for c in range(first, last):
        s = chosen[c]
        delta = space[: offsets[s + 1] - offsets[s]]
        delta[:] = 0.0
        for member in range(starts[s], starts[s + 1]):
            residual = members[member]
            if residual >= 0 and slots[residual] >= 0:
                at = change_offsets[slots[residual]]
                add_repeated(delta, shapes[s], masks[member], grid, changes[at:], groups)
        norms[s] = subtract_rounded(delta, limit, gaps[offsets[s] : offsets[s + 1]])


@njit(cache=True, nogil=True)
def supersets_of(numbers: Ints, starts: Ints, owners: Ints, marks: Any, found: Ints) -> int:
    """The distinct owners of some numbers, written to ``found``; ``marks`` is all False before and after."""
    count = 0
    for k in numbers:
        for j in range(starts[k], starts[k + 1]):
            owner = owners[j]
            if not marks[owner]:
                marks[owner] = True
                found[count] = owner
                count += 1
    for j in range(count):
        marks[found[j]] = False
    return count


@njit(cache=True, nogil=True)
def fill_gaps(
    first: int, last: int, offsets: Ints, grid: int, limit: float, counts: Any, gaps: Any, norms: Ints
) -> None:
    """Counts become gaps to the estimate zero, with their L1 norms; both arrays may be the same memory."""
    most = np.int64(limit) // grid
    for s in range(first, last):
        norm = np.int64(0)
        for cell in range(offsets[s], offsets[s + 1]):
            count = np.int64(counts[cell])
            gap = limit if count > most else float(count * grid)
            gaps[cell] = gap
            norm = min(norm + np.int64(gap), LARGEST_NORM)
        norms[s] = norm


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
