"""Random rounding as plain loops: along cycles of a two-way table, in the null space of few sums, or cell by cell.

Every step moves the fractions f to f + up g or f - down g along a direction g with A g = 0 (the sums that are kept),
with probabilities down / (up + down) and up / (up + down), until a fraction reaches 0 or 1.  E f stays as it was, so
that all of it is unbiased.
"""

from __future__ import annotations

import numpy as np

from hushtable.arrays import Codes, Floats, Ints
from hushtable.compiled import njit
from hushtable.microdata.seeded import STATE, uniform

EDGE = 1e-9
"""Fractions this near to 0 or 1 count as reached: above the rounding of a walk, below what a sum would notice."""


@njit(cache=True, nogil=True)
def _settle(value: float) -> float:
    return 0.0 if value < EDGE else 1.0 if value > 1.0 - EDGE else value


@njit(cache=True, nogil=True)
def round_in_order(fractions: Floats, state: STATE) -> None:
    """Settle two open fractions at a time, in order (pivotal sampling); sums over any stretch stay within one."""
    held = -1
    for i in range(fractions.size):
        fractions[i] = _settle(fractions[i])
        if fractions[i] == 0.0 or fractions[i] == 1.0:
            continue
        if held < 0:
            held = i
            continue
        a, b = fractions[held], fractions[i]
        together = a + b
        if together <= 1.0:
            first = uniform(state) < a / together
            low, high = 0.0, together
        else:
            first = uniform(state) < (1.0 - b) / (2.0 - together)
            low, high = together - 1.0, 1.0
        fractions[held], fractions[i] = (high, low) if first else (low, high)
        fractions[held], fractions[i] = _settle(fractions[held]), _settle(fractions[i])
        if 0.0 < fractions[held] < 1.0:
            continue
        held = i if 0.0 < fractions[i] < 1.0 else -1
    if held >= 0:
        fractions[held] = 1.0 if uniform(state) < fractions[held] else 0.0


@njit(cache=True, nogil=True)
def _is_open(fraction: float) -> bool:
    return 0.0 < fraction < 1.0


@njit(cache=True, nogil=True)
def round_two_ways(
    fractions: Floats, left: Ints, right: Ints, left_count: int, right_count: int, state: STATE
) -> None:
    """Edges of a bipartite graph whose every node has a whole sum: each node keeps its sum exactly.

    Walks along open edges, leaving each node by another open edge than the one it came by, until a node repeats; the
    cycle is then shifted by alternating amounts.  A node with a whole sum never has exactly one open edge.
    """
    nodes = left_count + right_count
    start, end, incident = _open_edges(fractions, left, right, left_count, nodes)
    position = np.full(nodes, -1, np.int64)
    path_edge, path_node = np.empty(nodes + 1, np.int64), np.empty(nodes + 1, np.int64)
    for root in range(nodes):
        path_node[0] = root
        length = 1
        while length > 0:
            node = path_node[length - 1]
            position[node] = length - 1
            came = path_edge[length - 2] if length > 1 else -1
            chosen = _edge_out(fractions, start, end, incident, node, came)
            if chosen < 0:
                # Of a node that was walked to, only rounding errors lead here: its edge goes to the nearer side.
                if came >= 0:
                    fractions[came] = 1.0 if fractions[came] > 0.5 else 0.0
                position[node] = -1
                length -= 1
                continue
            path_edge[length - 1] = chosen
            other = left_count + right[chosen] if node < left_count else left[chosen]
            path_node[length] = other
            length += 1
            if position[other] >= 0:
                first = position[other]
                _shift_cycle(fractions, path_edge, first, length - 1, state)
                length = _cut(fractions, path_edge, path_node, position, first, length - 1)


@njit(cache=True, nogil=True)
def _open_edges(
    fractions: Floats, left: Ints, right: Ints, left_count: int, nodes: int
) -> tuple[Ints, Ints, Ints]:
    """Open edges by node, those of node v at start[v] to end[v]; settles those that are nearly whole."""
    start = np.zeros(nodes + 1, np.int64)
    for e in range(fractions.size):
        fractions[e] = _settle(fractions[e])
        if _is_open(fractions[e]):
            start[left[e] + 1] += 1
            start[left_count + right[e] + 1] += 1
    for v in range(nodes):
        start[v + 1] += start[v]
    end = start[:-1].copy()
    incident = np.empty(start[nodes], np.int64)
    for e in range(fractions.size):
        if _is_open(fractions[e]):
            for v in (left[e], left_count + right[e]):
                incident[end[v]] = e
                end[v] += 1
    return start, end, incident


@njit(cache=True, nogil=True)
def _edge_out(fractions: Floats, start: Ints, end: Ints, incident: Ints, node: int, came: int) -> int:
    """An open edge of a node other than the one it was reached by, -1 if there is none; forgets settled ones."""
    k = end[node] - 1
    while k >= start[node]:
        e = incident[k]
        if not _is_open(fractions[e]):
            end[node] -= 1
            incident[k] = incident[end[node]]
            k = min(k, end[node]) - 1
        elif e != came:
            return int(e)
        else:
            k -= 1
    return -1


@njit(cache=True, nogil=True)
def _cut(fractions: Floats, path_edge: Ints, path_node: Ints, position: Ints, first: int, length: int) -> int:
    """Leave the cycle that begins at ``first``, and go back over edges that are settled; gives the new length."""
    for p in range(first + 1, length):
        position[path_node[p]] = -1
    length = first + 1
    while length > 1 and not _is_open(fractions[path_edge[length - 2]]):
        length -= 1
        position[path_node[length]] = -1
    return length


@njit(cache=True, nogil=True)
def _shift_cycle(fractions: Floats, path_edge: Ints, first: int, last: int, state: STATE) -> None:
    up, down = 1.0, 1.0
    for p in range(first, last):
        f = fractions[path_edge[p]]
        if (p - first) % 2 == 0:
            up, down = min(up, 1.0 - f), min(down, f)
        else:
            up, down = min(up, f), min(down, 1.0 - f)
    move = up if uniform(state) < down / (up + down) else -down
    for p in range(first, last):
        e = path_edge[p]
        fractions[e] = _settle(fractions[e] + (move if (p - first) % 2 == 0 else -move))


@njit(cache=True, nogil=True)
def round_in_null_space(fractions: Floats, start: Ints, row: Codes, rows: int, state: STATE) -> int:
    """Walk in the null space of a 0/1 matrix (columns ``start``, ``row``) while it has one; returns the open count.

    The flight phase of the cube method: a window of rows + 1 open columns always has a direction that keeps all sums.
    """
    cells = fractions.size
    window = np.empty(rows + 1, np.int64)
    used = 0
    following = 0
    while True:
        kept = 0
        for k in range(used):
            if 0.0 < fractions[window[k]] < 1.0:
                window[kept] = window[k]
                kept += 1
        used = kept
        while used < rows + 1 and following < cells:
            fractions[following] = _settle(fractions[following])
            if 0.0 < fractions[following] < 1.0:
                window[used] = following
                used += 1
            following += 1
        if used == 0:
            return 0
        direction, found = _null_vector(window[:used], start, row, rows)
        if not found:
            return used
        up, down = np.inf, np.inf
        for k in range(used):
            f, g = fractions[window[k]], direction[k]
            if g > 0.0:
                up, down = min(up, (1.0 - f) / g), min(down, f / g)
            elif g < 0.0:
                up, down = min(up, -f / g), min(down, (f - 1.0) / g)
        move = up if uniform(state) < down / (up + down) else -down
        for k in range(used):
            fractions[window[k]] = _settle(fractions[window[k]] + move * direction[k])


@njit(cache=True, nogil=True)
def _null_vector(window: Ints, start: Ints, row: Codes, rows: int) -> tuple[Floats, bool]:
    """A vector v with A[:, window] v = 0, by elimination with pivoting; False when there is none."""
    n = window.size
    matrix = np.zeros((rows, n))
    for k in range(n):
        for p in range(start[window[k]], start[window[k] + 1]):
            matrix[row[p], k] = 1.0
    pivots = np.empty(n, np.int64)
    rank = 0
    vector = np.zeros(n)
    for column in range(n):
        best = rank
        for r in range(rank, rows):
            if abs(matrix[r, column]) > abs(matrix[best, column]):
                best = r
        if rank == rows or abs(matrix[best, column]) < 1e-9:
            vector[column] = 1.0
            for r in range(rank):
                vector[pivots[r]] = -matrix[r, column]
            return vector, True
        if best != rank:
            for c in range(n):
                matrix[best, c], matrix[rank, c] = matrix[rank, c], matrix[best, c]
        scale = matrix[rank, column]
        for c in range(column, n):
            matrix[rank, c] /= scale
        for r in range(rows):
            factor = matrix[r, column]
            if r != rank and factor != 0.0:
                for c in range(column, n):
                    matrix[r, c] -= factor * matrix[rank, c]
        pivots[rank] = column
        rank = rank + 1
    return vector, False
