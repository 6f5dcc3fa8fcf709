"""The plain loops over exact counts and gaps: compiled, over index arrays, one range of jobs per call.

A gap is a true count less its estimate, mu_gamma - mu^_gamma, in units of the public grid; its L1 norm is what AIM's
score of a marginal is made of (aim-grem, app. F: w_gamma (|mu_gamma - mu^_gamma| - sqrt(2/pi) sigma n_gamma)).  Gaps
saturate at a public bound: saturation never moves two neighbouring tables further apart, so it costs no privacy.  Gaps
are whole numbers, kept in doubles (exact, being below 2^53) or in 32 bits.  Nothing here adds noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushtable.arrays import Ints
from hushtable.compiled import njit
from hushtable.marginals import SHORT, add_repeated, grouped, next_place

LARGEST_NORM = 2**45
"""L1 norms saturate here: 2^36 rows on the grid of 2^-8, with room for the estimates."""

LARGEST_GAP = 2**44
"""Gaps saturate here: 2^36 rows on the grid of 2^-8.  With more, doubles would not hold BLOCK of them added up."""

BLOCK = 512
"""Cells whose saturated sizes add up to at most 2^53: every partial sum is a whole number that a double holds."""

WHOLE = {"reassoc", "nnan", "nsz"}
"""What the compiler may assume: whole numbers that doubles hold add up alike in any order; none is missing."""


@njit(cache=True, nogil=True, fastmath=WHOLE)
def subtract_rounded(z: Any, factor: float, limit: float, gaps: Any) -> int:
    """gaps -= round(factor z), saturated at the limit; gives the saturated L1 norm.

    All numbers after the rounding are whole and at most 3 * 2^44, so doubles hold them and their sums exactly, in any
    order of adding.
    """
    reach = 2.0 * limit
    norm = np.int64(0)
    for first in range(0, gaps.size, BLOCK):
        part, some, moves = 0.0, gaps[first : first + BLOCK], z[first : first + BLOCK]
        for cell in range(some.size):
            gap = float(some[cell]) - np.rint(min(max(moves[cell] * factor, -reach), reach))
            gap = min(max(gap, -limit), limit)
            some[cell] = gap
            part += abs(gap)
        norm = min(norm + np.int64(part), LARGEST_NORM)
    return int(norm)


@njit(cache=True, nogil=True, fastmath=WHOLE)
def subtract_one(value: float, limit: float, gaps: Any) -> int:
    """The same with one number for all gaps."""
    move = np.rint(min(max(value, -2.0 * limit), 2.0 * limit))
    norm = np.int64(0)
    for first in range(0, gaps.size, BLOCK):
        part, some = 0.0, gaps[first : first + BLOCK]
        for cell in range(some.size):
            gap = min(max(float(some[cell]) - move, -limit), limit)
            some[cell] = gap
            part += abs(gap)
        norm = min(norm + np.int64(part), LARGEST_NORM)
    return int(norm)


@njit(cache=True, nogil=True)
def subtract_repeated(
    gaps: Any, shape: Ints, mask: int, scale: float, z: Any, limit: float, groups: Ints
) -> int:
    """gaps -= round of one residual's change, repeated along the axes it lacks; gives the saturated L1 norm."""
    count, missing = grouped(shape, mask, groups)
    factor = scale / missing
    inner, along, outer = groups[0, 0], groups[0, 1], groups[1, 0]
    rows = inner >= SHORT or outer == 1
    at, norm = np.int64(0), np.int64(0)
    for start in range(0, gaps.size, outer * inner):
        block = gaps[start : start + outer * inner]
        part = np.int64(0)
        if rows and along:
            for o in range(outer):
                row = block[o * inner : (o + 1) * inner]
                part = min(part + subtract_rounded(z[at : at + inner], factor, limit, row), LARGEST_NORM)
        elif rows:
            for o in range(outer):
                row = block[o * inner : (o + 1) * inner]
                part = min(part + subtract_one(z[at + o] * factor, limit, row), LARGEST_NORM)
        elif along:
            for i in range(inner):
                part = min(part + subtract_one(z[at + i] * factor, limit, block[i::inner]), LARGEST_NORM)
        else:
            for i in range(inner):
                column = block[i::inner]
                part = min(part + subtract_rounded(z[at : at + outer], factor, limit, column), LARGEST_NORM)
        norm = min(norm + part, LARGEST_NORM)
        at = next_place(groups, count, at)
    return int(norm)


class CentredChanges(NamedTuple):
    """Centred changes of some residuals: ``slots`` gives the place of each residual among them, -1 for no change."""

    slots: Ints
    offsets: Ints
    values: Any
    grid: float
    """What a change of 1 is on the grid of the gaps."""
    limit: float
    """Where gaps saturate."""


@njit(cache=True, nogil=True)
def subtract_changes(
    first: int, last: int, chosen: Ints, below: Any, changes: Any, gaps: Any, norms: Ints
) -> None:
    """For each chosen set: gaps -= round(grid * change), and its L1 norm.

    The change of a set is the sum over the residuals below it that change of their centred change, repeated along the
    axes they lack and divided by those axes' lengths.
    """
    offsets, shapes, flat = gaps
    starts, numbers, masks = below
    slots, change_offsets, values, grid, limit = changes
    groups = np.empty((shapes.shape[1] + 2, 3), np.int64)
    longest = 0
    for c in range(first, last):
        longest = max(longest, offsets[chosen[c] + 1] - offsets[chosen[c]])
    space = np.empty(longest)
    for c in range(first, last):
        s = chosen[c]
        active, only = 0, starts[s]
        for link in range(starts[s], starts[s + 1]):
            if numbers[link] >= 0 and slots[numbers[link]] >= 0:
                active, only = active + 1, link
        cells = flat[offsets[s] : offsets[s + 1]]
        if active == 1:
            z = values[change_offsets[slots[numbers[only]]] :]
            norms[s] = subtract_repeated(cells, shapes[s], masks[only], grid, z, limit, groups)
            continue
        delta = space[: cells.size]
        delta[:] = 0.0
        for link in range(starts[s], starts[s + 1]):
            if numbers[link] >= 0 and slots[numbers[link]] >= 0:
                z = values[change_offsets[slots[numbers[link]]] :]
                add_repeated(delta, shapes[s], masks[link], grid, z, groups)
        norms[s] = subtract_rounded(delta, 1.0, limit, cells)


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
def distances(
    first: int, last: int, numbers: Ints, offsets: Ints, counts: Any, tables: Any, grid: int, norms: Ints
) -> None:
    """For each numbered set the L1 distance of its counts from a table of floats that is rounded to the grid."""
    for j in range(first, last):
        s = numbers[j]
        norm = np.int64(0)
        for cell in range(offsets[s], offsets[s + 1]):
            table = min(max(np.rint(tables[cell] * grid), -float(LARGEST_GAP)), float(LARGEST_GAP))
            gap = min(np.int64(counts[cell]) * grid, LARGEST_GAP) - np.int64(table)
            norm = min(norm + abs(gap), LARGEST_NORM)
        norms[s] = norm
