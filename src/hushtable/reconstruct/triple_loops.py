"""The loops over many three-way tables at once: compiled, over one flat array, one range of tables per call.

``shapes`` has three lengths per table; ``faces`` the numbers of its pairs (a, b), (a, c), (b, c) in the flat array of
pairs.  What they compute is said in ``triples``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushtable.compiled import njit
from hushtable.reconstruct.maxent_loops import (
    dispersion_likelihood,
    scale_to_faces,
    scale_to_margins,
    shrink_cells,
)


@njit(cache=True, nogil=True)
def multiply_ones(
    first: int, last: int, axes: Any, ones: Any, starts: Any, total: float, offsets: Any, tables: Any
) -> None:
    """Every table of independent attributes."""
    for t in range(first, last):
        f = ones[starts[axes[t, 0]] : starts[axes[t, 0] + 1]]
        g = ones[starts[axes[t, 1]] : starts[axes[t, 1] + 1]]
        h = ones[starts[axes[t, 2]] : starts[axes[t, 2] + 1]]
        cell = offsets[t]
        for a in range(f.size):
            for b in range(g.size):
                both = f[a] * g[b] / (total * total)
                for c in range(h.size):
                    tables[cell] = both * h[c]
                    cell += 1


@njit(cache=True, nogil=True)
def fit_faces(
    first: int,
    last: int,
    numbers: Any,
    shapes: Any,
    offsets: Any,
    faces: Any,
    pairs: Any,
    pair_offsets: Any,
    sweeps: int,
    tables: Any,
) -> None:
    """Iterative proportional fitting of the chosen tables to their pairs."""
    for j in range(first, last):
        t = numbers[j]
        n1, n2, n3 = shapes[t, 0], shapes[t, 1], shapes[t, 2]
        p = tables[offsets[t] : offsets[t + 1]].reshape((n1, n2, n3))
        ab = pairs[pair_offsets[faces[t, 0]] : pair_offsets[faces[t, 0] + 1]].reshape((n1, n2))
        ac = pairs[pair_offsets[faces[t, 1]] : pair_offsets[faces[t, 1] + 1]].reshape((n1, n3))
        bc = pairs[pair_offsets[faces[t, 2]] : pair_offsets[faces[t, 2] + 1]].reshape((n2, n3))
        scale_to_faces(p, ab, ac, bc, sweeps)


@njit(cache=True, nogil=True)
def departure(flat: Any, shape: Any, z: Any) -> Any:
    """The residual ``z`` less that of a flat table of three attributes."""
    n1, n2, n3 = shape[0], shape[1], shape[2]
    p, move = flat.reshape((n1, n2, n3)), np.empty(flat.size)
    ab, ac, bc = np.zeros((n1, n2)), np.zeros((n1, n3)), np.zeros((n2, n3))
    for a in range(n1):
        for b in range(n2):
            for c in range(n3):
                ab[a, b] += p[a, b, c] / n3
                ac[a, c] += p[a, b, c] / n2
                bc[b, c] += p[a, b, c] / n1
    fa, fb, fc, mean = np.zeros(n1), np.zeros(n2), np.zeros(n3), 0.0
    for a in range(n1):
        for b in range(n2):
            fa[a] += ab[a, b] / n2
            fb[b] += ab[a, b] / n1
        mean += fa[a] / n1
    for b in range(n2):
        for c in range(n3):
            fc[c] += bc[b, c] / n2
    cell = 0
    for a in range(n1):
        for b in range(n2):
            for c in range(n3):
                centred = p[a, b, c] - ab[a, b] - ac[a, c] - bc[b, c] + fa[a] + fb[b] + fc[c] - mean
                move[cell] = z[cell] - centred
                cell += 1
    return move


@njit(cache=True, nogil=True)
def departure_likelihoods(
    first: int,
    last: int,
    numbers: Any,
    shapes: Any,
    offsets: Any,
    values: Any,
    value_offsets: Any,
    noise: Any,
    grid: Any,
    tables: Any,
    out: Any,
) -> None:
    """For each measured table the likelihood of every dispersion of its residual around the table."""
    for j in range(first, last):
        flat = tables[offsets[numbers[j]] : offsets[numbers[j] + 1]]
        move = departure(flat, shapes[numbers[j]], values[value_offsets[j] : value_offsets[j] + flat.size])
        dispersion_likelihood(move, flat, noise[j], grid, out[j])


@njit(cache=True, nogil=True)
def move_tables(
    first: int,
    last: int,
    numbers: Any,
    shapes: Any,
    offsets: Any,
    values: Any,
    value_offsets: Any,
    strength: Any,
    tables: Any,
) -> None:
    """Move each measured table towards its residual, cell by cell."""
    for j in range(first, last):
        flat = tables[offsets[numbers[j]] : offsets[numbers[j] + 1]]
        move = departure(flat, shapes[numbers[j]], values[value_offsets[j] : value_offsets[j] + flat.size])
        shrink_cells(flat, move, strength[j])


@njit(cache=True, nogil=True)
def relax_pairs(
    first: int,
    last: int,
    numbers: Any,
    axes: Any,
    ones: Any,
    starts: Any,
    offsets: Any,
    mean: Any,
    step: float,
    least: float,
    pairs: Any,
) -> None:
    """pair += step (mean - pair), never below ``least`` of the smaller of the two, then fitted to its margins."""
    for j in range(first, last):
        k = numbers[j]
        for cell in range(offsets[k], offsets[k + 1]):
            q, m = pairs[cell], mean[cell]
            pairs[cell] = max(q + step * (m - q), least * min(q, m))
        rows = ones[starts[axes[k, 0]] : starts[axes[k, 0] + 1]]
        columns = ones[starts[axes[k, 1]] : starts[axes[k, 1] + 1]]
        table = pairs[offsets[k] : offsets[k + 1]].reshape((rows.size, columns.size))
        scale_to_margins(table, rows, columns, 3)


@njit(cache=True, nogil=True)
def set_totals(first: int, last: int, offsets: Any, total: float, tables: Any) -> None:
    """Scale every table to the total."""
    for t in range(first, last):
        summed = 0.0
        for cell in range(offsets[t], offsets[t + 1]):
            summed += tables[cell]
        if summed > 0.0:
            for cell in range(offsets[t], offsets[t + 1]):
                tables[cell] *= total / summed
