"""The plain loops that bring whole counts near to many tables at once: compiled, over flat arrays.

The distance is a sum over all cells of all tables of ``w (s - e)^2``, s the sum of the counts, e what is wanted.  A
move adds d records to a cell, takes d from one cell to another, or d around a rectangle of four, which leaves the sums
along both its sides.  The distance is a parabola in d, and d its best whole number that leaves no count below zero: so
no move ever makes it worse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushtable.compiled import njit
from hushtable.microdata.seeded import uniform

MOST_STEP = 2**40
"""Records that one move adds to a cell at most: far more than any table has."""


class WholeTask(NamedTuple):
    """Tables over one joint table: where each category of a joint axis lies in each table, and what is wanted there."""

    maps: Any
    """For each table and joint axis a stretch of ``steps``: what a category adds to the number of the table's cell."""
    steps: Any
    offsets: Any
    """Where the cells of each table begin."""
    wanted: Any
    weights: Any
    sums: Any
    """Sums of the counts, moved with them."""


@njit(cache=True, nogil=True)
def place(task: Any, codes: Any, table: int) -> int:
    """The cell of a table that holds a joint cell."""
    maps, steps, offsets = task[0], task[1], task[2]
    at = offsets[table]
    for k in range(codes.size):
        at += steps[maps[table, k] + codes[k]]
    return at


@njit(cache=True, nogil=True)
def next_cell(codes: Any, shape: Any) -> None:
    """Go on to the next joint cell, in C order."""
    k = codes.size - 1
    codes[k] += 1
    while codes[k] == shape[k]:
        codes[k] = 0
        k -= 1
        codes[k] += 1


@njit(cache=True, nogil=True)
def rounded_cells(real: Any, shape: Any, task: Any) -> Any:
    """Every cell of a real table rounded up or down, whichever leaves the sums of all tables nearer to the real ones.

    Cells come one after the other and see what those before them left over, so no table drifts.  ``task.sums`` are set
    to the sums.
    """
    tables, sums = task[2].size - 1, task[5]
    counts, over = np.empty(real.size, np.int64), np.zeros(sums.size)
    codes, here = np.zeros(shape.size, np.int64), np.empty(tables, np.int64)
    for c in range(real.size):
        if c > 0:
            next_cell(codes, shape)
        below = np.floor(real[c])
        left = real[c] - below
        slope = 0.0
        for t in range(tables):
            here[t] = place(task, codes, t)
            slope += 2.0 * (over[here[t]] - left) + 1.0
        up = left > 0.0 and slope < 0.0
        counts[c] = int(below) + (1 if up else 0)
        for t in range(tables):
            over[here[t]] += counts[c] - real[c]
            sums[here[t]] += counts[c]
    return counts


@njit(cache=True, nogil=True)
def best_step(slope: float, curve: float, least: int, most: int) -> int:
    """The whole number between two that minimises ``curve d^2 + slope d``."""
    if curve <= 0.0:
        return 0
    step = np.rint(-slope / (2.0 * curve))
    step = min(max(step, float(least)), float(most))
    return int(step) if curve * step * step + slope * step < 0.0 else 0


@njit(cache=True, nogil=True)
def another(code: int, size: int, state: Any) -> int:
    """The next category, which is mostly of the same block, or any; perhaps the same."""
    if uniform(state) < 0.5:
        return code + 1 if code + 1 < size else 0
    return min(int(uniform(state) * size), size - 1)


@njit(cache=True, nogil=True)
def fill_or_empty(c: int, counts: Any, here: Any, task: Any) -> float:
    """Add to a cell, or take from it; gives what was gained."""
    wanted, weights, sums = task[3], task[4], task[5]
    slope, curve = 0.0, 0.0
    for t in range(here.size):
        a = here[t]
        slope += 2.0 * weights[a] * (sums[a] - wanted[a])
        curve += weights[a]
    step = best_step(slope, curve, -counts[c], MOST_STEP)
    if step != 0:
        counts[c] += step
        for t in range(here.size):
            sums[here[t]] += step
    return -(curve * step * step + slope * step)


@njit(cache=True, nogil=True)
def even_out(c: int, partner: int, counts: Any, here: Any, along: Any, task: Any) -> float:
    """Take from a cell to its partner, which lies ``along[t]`` further in table t, or back."""
    wanted, weights, sums = task[3], task[4], task[5]
    slope, curve = 0.0, 0.0
    for t in range(here.size):
        if along[t] != 0:
            a, b = here[t], here[t] + along[t]
            slope += 2.0 * weights[b] * (sums[b] - wanted[b]) - 2.0 * weights[a] * (sums[a] - wanted[a])
            curve += weights[a] + weights[b]
    step = best_step(slope, curve, -counts[partner], counts[c])
    if step != 0:
        counts[c] -= step
        counts[partner] += step
        for t in range(here.size):
            if along[t] != 0:
                sums[here[t]] -= step
                sums[here[t] + along[t]] += step
    return -(curve * step * step + slope * step)


@njit(cache=True, nogil=True)
def turn_around(corners: Any, counts: Any, here: Any, along: Any, across: Any, task: Any) -> float:
    """Take from two opposite corners of a rectangle to the other two, or back."""
    wanted, weights, sums = task[3], task[4], task[5]
    slope, curve = 0.0, 0.0
    for t in range(here.size):
        if along[t] != 0 and across[t] != 0:
            for corner in range(4):
                at = here[t] + (along[t] if corner & 1 else 0) + (across[t] if corner & 2 else 0)
                sign = 1.0 if corner in (1, 2) else -1.0
                slope += sign * 2.0 * weights[at] * (sums[at] - wanted[at])
                curve += weights[at]
    least = -min(counts[corners[1]], counts[corners[2]])
    step = best_step(slope, curve, least, min(counts[corners[0]], counts[corners[3]]))
    if step != 0:
        for corner in range(4):
            counts[corners[corner]] += step if corner in (1, 2) else -step
        for t in range(here.size):
            if along[t] != 0 and across[t] != 0:
                sums[here[t]] -= step
                sums[here[t] + along[t]] += step
                sums[here[t] + across[t]] += step
                sums[here[t] + along[t] + across[t]] -= step
    return -(curve * step * step + slope * step)


@njit(cache=True, nogil=True)
def polish_cells(
    counts: Any, shape: Any, possible: Any, task: Any, state: Any, limits: tuple[int, int, float]
) -> tuple[int, bool]:
    """Passes over all cells, each move of a cell with others that are drawn anew.

    ``limits``: passes at most, how many in a row must gain next to nothing to be the last ones, and how much that is.
    Gives the passes made, and whether they ended that way.
    """
    passes, quiet, tolerance = limits
    tables, axes = task[2].size - 1, shape.size
    strides = np.ones(axes, np.int64)
    for k in range(axes - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    here, along, across = np.empty(tables, np.int64), np.empty(tables, np.int64), np.empty(tables, np.int64)
    codes, corners, calm = np.zeros(axes, np.int64), np.empty(4, np.int64), 0
    for done in range(passes):
        gained = 0.0
        codes[:] = 0
        for c in range(counts.size):
            if c > 0:
                next_cell(codes, shape)
            if not possible[c]:
                continue
            for t in range(tables):
                here[t] = place(task, codes, t)
            gained += fill_or_empty(c, counts, here, task)
            if axes == 0:
                continue
            k = min(int(uniform(state) * axes), axes - 1)
            other = another(codes[k], shape[k], state)
            partner = c + (other - codes[k]) * strides[k]
            if partner == c or not possible[partner]:
                continue
            for t in range(tables):
                along[t] = steps_of(task, t, k, other) - steps_of(task, t, k, codes[k])
            gained += even_out(c, partner, counts, here, along, task)
            m = min(int(uniform(state) * axes), axes - 1)
            second = another(codes[m], shape[m], state)
            move = (second - codes[m]) * strides[m]
            if m == k or move == 0 or not (possible[c + move] and possible[partner + move]):
                continue
            for t in range(tables):
                across[t] = steps_of(task, t, m, second) - steps_of(task, t, m, codes[m])
            corners[0], corners[1], corners[2], corners[3] = c, partner, c + move, partner + move
            gained += turn_around(corners, counts, here, along, across, task)
        calm = calm + 1 if gained <= tolerance else 0
        if calm >= quiet:
            return done + 1, True
    return passes, False


@njit(cache=True, nogil=True)
def steps_of(task: Any, table: int, axis: int, code: int) -> int:
    """What a category adds to the number of a table's cell."""
    return task[1][task[0][table, axis] + code]


@njit(cache=True, nogil=True)
def is_ruled_out(codes: Any, rules: Any) -> bool:
    """Whether a rule names the categories of a joint cell on all axes; ``rules[r, k, code]``."""
    for r in range(rules.shape[0]):
        k = 0
        while k < codes.size and rules[r, k, codes[k]]:
            k += 1
        if k == codes.size:
            return True
    return False


@njit(cache=True, nogil=True)
def polish_records(
    records: Any, shape: Any, task: Any, state: Any, limits: tuple[int, int, float], rules: Any
) -> tuple[int, bool]:
    """The same over records, each of which may take another category of one attribute.

    Where there are ``rules`` it may take one of two at once, or it could not get from one side of a rule to another;
    none moves to where a rule forbids.
    """
    passes, quiet, tolerance = limits
    wanted, weights, sums = task[3], task[4], task[5]
    tables, axes, calm = task[2].size - 1, shape.size, 0
    here, there = np.empty(tables, np.int64), np.empty(tables, np.int64)
    for done in range(passes):
        gained = 0.0
        for r in range(records.shape[0]):
            k = min(int(uniform(state) * axes), axes - 1)
            before, other = records[r, k], min(int(uniform(state) * shape[k]), shape[k] - 1)
            m, second, kept = k, other, before
            if rules.shape[0] > 0:
                if axes > 1 and uniform(state) < 0.5:
                    m = (k + 1 + min(int(uniform(state) * (axes - 1)), axes - 2)) % axes
                    kept, second = records[r, m], min(int(uniform(state) * shape[m]), shape[m] - 1)
                records[r, k], records[r, m] = other, second
                forbidden = is_ruled_out(records[r], rules)
                records[r, k], records[r, m] = before, kept
                if forbidden:
                    continue
            if other == before and second == kept:
                continue
            change = 0.0
            for t in range(tables):
                move = steps_of(task, t, k, other) - steps_of(task, t, k, before)
                if m != k:
                    move += steps_of(task, t, m, second) - steps_of(task, t, m, kept)
                here[t] = there[t] = 0
                if move != 0:
                    here[t] = place(task, records[r], t)
                    there[t] = here[t] + move
                    a, b = here[t], there[t]
                    change += weights[b] * (2.0 * (sums[b] - wanted[b]) + 1.0)
                    change += weights[a] * (1.0 - 2.0 * (sums[a] - wanted[a]))
            if change < 0.0:
                gained -= change
                records[r, k], records[r, m] = other, second
                for t in range(tables):
                    if there[t] != here[t]:
                        sums[here[t]] -= 1
                        sums[there[t]] += 1
        calm = calm + 1 if gained <= tolerance else 0
        if calm >= quiet:
            return done + 1, True
    return passes, False
