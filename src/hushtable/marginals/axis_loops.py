"""Every axis of one array at once: less its first slice, or padded with a zero and less its mean.

``subtract_first`` is ``sub`` along every axis (Decomp of aim-grem, alg. 1, for gamma = tau), ``centre_padded`` is
Recon (alg. 2) for gamma = tau.  The first axes are taken apart slice by slice, each slice into a buffer of its own
size, so that all but the first difference is formed in the processor's cache; the last two axes are done in one pass
over each of their tables.  Arrays are flat, in C order, with at least two axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushtable.arrays import Ints
from hushtable.compiled import njit


@njit(cache=True, nogil=True)
def _buffers(sizes: Ints) -> Any:
    """Where the slice of each depth begins in one buffer, and how long it is; depth 0 is the array itself."""
    depths = sizes.size - 1
    lengths = np.ones(depths, np.int64)
    starts = np.zeros(depths + 1, np.int64)
    for depth in range(depths):
        for axis in range(depth, sizes.size):
            lengths[depth] *= sizes[axis]
        starts[depth + 1] = starts[depth] + (lengths[depth] if depth > 0 else 0)
    return starts, lengths


@njit(cache=True, nogil=True)
def _subtract_table(table: Any, rows: int, columns: int, out: Any) -> None:
    """The last two axes: ``x[i, j] - x[0, j] - x[i, 0] + x[0, 0]`` for i, j > 0."""
    head = table[1:columns]
    corner = table[0]
    for i in range(1, rows):
        row = table[i * columns + 1 : (i + 1) * columns]
        shift = table[i * columns] - corner
        made = out[(i - 1) * (columns - 1) : i * (columns - 1)]
        for j in range(columns - 1):
            made[j] = row[j] - head[j] - shift


@njit(cache=True, nogil=True)
def subtract_first(array: Any, sizes: Ints, out: Any) -> None:
    """Every axis less its first slice, which is dropped."""
    outer = sizes.size - 2
    rows, columns = sizes[outer], sizes[outer + 1]
    starts, lengths = _buffers(sizes)
    buffer = np.empty(starts[outer + 1], array.dtype)
    index = np.zeros(outer + 1, np.int64)
    made = (rows - 1) * (columns - 1)
    depth = 0
    for done in range(0, out.size, made):
        while depth < outer:
            source = array if depth == 0 else buffer[starts[depth] : starts[depth + 1]]
            length = lengths[depth + 1]
            first = source[:length]
            here = source[(index[depth] + 1) * length : (index[depth] + 2) * length]
            slot = buffer[starts[depth + 1] : starts[depth + 1] + length]
            for cell in range(length):
                slot[cell] = here[cell] - first[cell]
            depth += 1
            index[depth] = 0
        table = array if outer == 0 else buffer[starts[outer] : starts[outer + 1]]
        _subtract_table(table, rows, columns, out[done : done + made])
        while depth > 0:
            depth -= 1
            index[depth] += 1
            if index[depth] < sizes[depth] - 1:
                break


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _negative_mean(source: Any, slices: int, length: int, out: Any) -> None:
    """Minus the sum of ``slices`` slices, over one more than their number."""
    out[:] = 0.0
    for i in range(slices):
        here = source[i * length : (i + 1) * length]
        for cell in range(length):
            out[cell] += here[cell]
    scale = -1.0 / (slices + 1)
    for cell in range(length):
        out[cell] *= scale


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def _centre_table(table: Any, rows: int, columns: int, head: Any, out: Any) -> None:
    """The last two axes: a row and a column of zeros in front, then less the means along both."""
    _negative_mean(table, rows, columns, head)
    mean = 0.0
    for j in range(columns):
        mean += head[j]
    mean /= columns + 1
    out[0] = -mean
    for j in range(columns):
        out[j + 1] = head[j] - mean
    for i in range(rows):
        row = table[i * columns : (i + 1) * columns]
        made = out[(i + 1) * (columns + 1) : (i + 2) * (columns + 1)]
        total = 0.0
        for j in range(columns):
            total += row[j] + head[j]
        total /= columns + 1
        made[0] = -total
        rest = made[1:]
        for j in range(columns):
            rest[j] = row[j] + head[j] - total


@njit(cache=True, nogil=True)
def centre_padded(array: Any, sizes: Ints, out: Any) -> None:
    """Every axis with a zero slice in front, less its mean; ``sizes`` are without that slice."""
    outer = sizes.size - 2
    rows, columns = sizes[outer], sizes[outer + 1]
    starts, lengths = _buffers(sizes)
    buffer = np.empty(starts[outer + 1], out.dtype)
    heads = np.empty(starts[outer + 1], out.dtype)
    last_head = np.empty(columns, out.dtype)
    index = np.zeros(outer + 1, np.int64)
    made = (rows + 1) * (columns + 1)
    depth = 0
    for done in range(0, out.size, made):
        while depth < outer:
            source = array if depth == 0 else buffer[starts[depth] : starts[depth + 1]]
            length = lengths[depth + 1]
            head = heads[starts[depth + 1] : starts[depth + 1] + length]
            slot = buffer[starts[depth + 1] : starts[depth + 1] + length]
            if index[depth] == 0:
                _negative_mean(source, sizes[depth], length, head)
                slot[:] = head
            else:
                here = source[(index[depth] - 1) * length : index[depth] * length]
                for cell in range(length):
                    slot[cell] = here[cell] + head[cell]
            depth += 1
            index[depth] = 0
        table = array if outer == 0 else buffer[starts[outer] : starts[outer + 1]]
        _centre_table(table, rows, columns, last_head, out[done : done + made])
        while depth > 0:
            depth -= 1
            index[depth] += 1
            if index[depth] < sizes[depth] + 1:
                break
