"""The loops over many three-way tables at once: compiled, over one flat array, one range of tables per call.

A table p over attributes (a, b, c) is the one of greatest entropy with pairs q_ab, q_ac, q_bc, then moved towards its
noisy residual z_abc: argmin |x - p - (z - R p)|^2 / 2 + s KL(x || p), where R p is its own residual (``departure``).
``faces`` are the numbers of a table's pairs (a, b), (a, c), (b, c) among all pairs.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hushtable.compiled import njit
from hushtable.marginals import put_free
from hushtable.reconstruct.maxent_loops import (
    Margins,
    dispersion_likelihood,
    scale_to_faces,
    scale_to_margins,
    shrink_cells,
)

AGREE_STEP = 3.0
"""Over-relaxation of a pair's step to the mean of the tables above it (ADR 10 has what six rounds of it reach)."""

AGREE_LEAST = 0.2
"""A cell of a pair falls in one round to no less than this part of itself."""


class Ones(NamedTuple):
    """One-way tables, flat; ``starts`` says where each axis begins."""

    cells: Any
    starts: Any


class MeasuredResiduals(NamedTuple):
    """Numbers of the tables whose residual was measured, where each residual begins, and all their values."""

    numbers: Any
    starts: Any
    values: Any


@njit(cache=True, nogil=True)
def one_way(ones: Any, axis: int) -> Any:
    """The table of one attribute."""
    return ones.cells[ones.starts[axis] : ones.starts[axis + 1]]


@njit(cache=True, nogil=True)
def table_of(tables: Any, t: int) -> Any:
    """The cells of one table."""
    return tables.cells[tables.offsets[t] : tables.offsets[t + 1]]


@njit(cache=True, nogil=True)
def multiply_ones(first: int, last: int, axes: Any, ones: Any, total: float, tables: Any) -> None:
    """Every table of independent attributes."""
    for t in range(first, last):
        f, g, h = one_way(ones, axes[t, 0]), one_way(ones, axes[t, 1]), one_way(ones, axes[t, 2])
        table = table_of(tables, t)
        cell = 0
        for a in range(f.size):
            for b in range(g.size):
                both = f[a] * g[b] / (total * total)
                for c in range(h.size):
                    table[cell] = both * h[c]
                    cell += 1


@njit(cache=True, nogil=True)
def fit_faces(first: int, last: int, numbers: Any, faces: Any, pairs: Any, sweeps: int, tables: Any) -> None:
    """Iterative proportional fitting of the chosen tables to their pairs."""
    for j in range(first, last):
        t = numbers[j]
        n1, n2, n3 = tables.shapes[t, 0], tables.shapes[t, 1], tables.shapes[t, 2]
        ab = table_of(pairs, faces[t, 0]).reshape((n1, n2))
        ac = table_of(pairs, faces[t, 1]).reshape((n1, n3))
        bc = table_of(pairs, faces[t, 2]).reshape((n2, n3))
        scale_to_faces(table_of(tables, t).reshape((n1, n2, n3)), ab, ac, bc, sweeps)


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
def measured_departure(measured: Any, j: int, tables: Any) -> Any:
    """The j-th measured residual less that of its table."""
    t = measured.numbers[j]
    flat, at = table_of(tables, t), measured.starts[j]
    return departure(flat, tables.shapes[t], measured.values[at : at + flat.size])


@njit(cache=True, nogil=True)
def departure_likelihoods(
    first: int, last: int, measured: Any, noise: Any, grid: Any, tables: Any, out: Any
) -> None:
    """For each measured table the likelihood of every dispersion of its residual around the table."""
    for j in range(first, last):
        move = measured_departure(measured, j, tables)
        price = 1.0
        for n in tables.shapes[measured.numbers[j]]:
            price *= 1.0 - 1.0 / n
        free = np.empty(move.size)
        put_free(table_of(tables, measured.numbers[j]), tables.shapes[measured.numbers[j]], free)
        dispersion_likelihood(move, free, noise[j], price, grid, out[j])


@njit(cache=True, nogil=True)
def move_tables(first: int, last: int, measured: Any, strength: Any, tables: Any) -> None:
    """Move each measured table towards its residual, cell by cell."""
    for j in range(first, last):
        move = measured_departure(measured, j, tables)
        shrink_cells(table_of(tables, measured.numbers[j]), move, strength[j])


@njit(cache=True, nogil=True)
def relax_pairs(first: int, last: int, numbers: Any, axes: Any, ones: Any, mean: Any, pairs: Any) -> None:
    """pair += AGREE_STEP (mean - pair), never below AGREE_LEAST of the smaller one, then fitted to its margins."""
    for j in range(first, last):
        k = numbers[j]
        pair, target = table_of(pairs, k), mean[pairs.offsets[k] : pairs.offsets[k + 1]]
        for cell in range(pair.size):
            q, m = pair[cell], target[cell]
            pair[cell] = max(q + AGREE_STEP * (m - q), AGREE_LEAST * min(q, m))
        rows, columns = one_way(ones, axes[k, 0]), one_way(ones, axes[k, 1])
        scale_to_margins(pair.reshape((rows.size, columns.size)), Margins(rows, columns), 3)


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
