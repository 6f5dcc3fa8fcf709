"""The plain loops behind ``fused``: compiled, over index arrays, one range of jobs per call.

In the symbols of aim-grem, with a residual as its centred table c_tau = Recon(zeta_tau, tau, tau): ``lift_sets`` gives
n_tau c_tau from the counts of tau, in whole numbers; ``centre_sets`` c_tau from that; ``assemble_sets`` mu_gamma = sum
over tau below gamma of c_tau, repeated and divided by the lengths of gamma's other axes; ``accumulate_sets`` the
transpose of these sums.  Each kernel writes only the cells of its own jobs; others call ``fused``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushtable.arrays import Ints
from hushtable.compiled import njit

SHORT = 8
"""Runs of fewer cells are passed over the other way round.  Eight doubles fill a vector of 512 bits; not tuned."""


@njit(cache=True, nogil=True)
def lift_sets(first: int, last: int, offsets: Ints, shapes: Ints, blocks: Any, flat: Ints) -> None:
    """In place, for each set, each of its axes and each block: n x - sum(x).  Rows of ``shapes`` are right-aligned."""
    rows, begins, starts = blocks
    for s in range(first, last):
        inner = 1
        cells = offsets[s + 1] - offsets[s]
        for axis in range(shapes.shape[1] - 1, -1, -1):
            if shapes[s, axis] == 0:
                continue
            own = begins[starts[rows[s, axis]] : starts[rows[s, axis] + 1]]
            outer = cells // (shapes[s, axis] * inner)
            for o in range(outer):
                for b in range(own.size - 1):
                    n = own[b + 1] - own[b]
                    base = offsets[s] + (o * shapes[s, axis] + own[b]) * inner
                    for i in range(inner):
                        total = np.int64(0)
                        for k in range(n):
                            total += flat[base + k * inner + i]
                        for k in range(n):
                            flat[base + k * inner + i] = n * flat[base + k * inner + i] - total
            inner *= shapes[s, axis]


@njit(cache=True, nogil=True)
def centre_sets(
    first: int, last: int, offsets: Ints, shapes: Ints, blocks: Any, scale: Any, flat: Any
) -> None:
    """In place: x / scale[set], then x - mean(x) along each axis of each set, block by block."""
    rows, begins, starts = blocks
    for s in range(first, last):
        for c in range(offsets[s], offsets[s + 1]):
            flat[c] /= scale[s]
        inner = 1
        cells = offsets[s + 1] - offsets[s]
        for axis in range(shapes.shape[1] - 1, -1, -1):
            if shapes[s, axis] == 0:
                continue
            own = begins[starts[rows[s, axis]] : starts[rows[s, axis] + 1]]
            outer = cells // (shapes[s, axis] * inner)
            for o in range(outer):
                for b in range(own.size - 1):
                    n = own[b + 1] - own[b]
                    base = offsets[s] + (o * shapes[s, axis] + own[b]) * inner
                    for i in range(inner):
                        total = 0.0
                        for k in range(n):
                            total += flat[base + k * inner + i]
                        mean = total / n
                        for k in range(n):
                            flat[base + k * inner + i] -= mean
            inner *= shapes[s, axis]


@njit(cache=True, nogil=True)
def grouped(shape: Ints, mask: int, groups: Ints) -> tuple[int, float]:
    """Neighbouring axes that a residual has (bits of ``mask``), or lacks, joined, the last ones first.

    Rows of ``groups`` become (length, step in the residual, 0); gives their number, at least two, and the cells of axes
    that are lacking.
    """
    count, step, missing, before = 0, np.int64(1), 1.0, np.int64(-1)
    for axis in range(shape.size - 1, -1, -1):
        n = shape[axis]
        if n <= 1:
            continue
        there = mask >> axis & 1
        if there != before:
            groups[count, 0], groups[count, 1], groups[count, 2] = 1, step if there else 0, 0
            count, before = count + 1, there
        groups[count - 1, 0] *= n
        if there:
            step *= n
        else:
            missing *= n
    while count < 2:
        groups[count, 0], groups[count, 1], groups[count, 2] = 1, 0, 0
        count += 1
    return count, missing


@njit(cache=True, nogil=True)
def next_place(groups: Ints, count: int, at: int) -> int:
    """Where in the residual the next block of the two last groups begins."""
    for g in range(2, count):
        groups[g, 2] += 1
        at += groups[g, 1]
        if groups[g, 2] < groups[g, 0]:
            break
        at -= groups[g, 1] * groups[g, 0]
        groups[g, 2] = 0
    return at


@njit(cache=True, nogil=True)
def add_repeated(flat: Any, shape: Ints, mask: int, scale: float, z: Any, groups: Ints) -> None:
    """flat += scale z, repeated along the axes of ``shape`` that are not in ``mask``, over their lengths.

    The last two groups of axes are two plain loops, the longer one inside.  ``groups`` is working space with two rows
    more than there are axes.
    """
    count, missing = grouped(shape, mask, groups)
    factor = scale / missing
    inner, along, outer, jump = groups[0, 0], groups[0, 1], groups[1, 0], groups[1, 1]
    at, start = np.int64(0), np.int64(0)
    while start < flat.size:
        if along == 0:
            _add_runs(flat[start : start + outer * inner], z[at : at + outer * jump + 1], factor, inner)
        elif inner >= SHORT:
            for o in range(outer):
                row = start + o * inner
                for i in range(inner):
                    flat[row + i] += z[at + i] * factor
        else:
            for i in range(inner):
                value = z[at + i] * factor
                for o in range(outer):
                    flat[start + o * inner + i] += value
        start += outer * inner
        at = next_place(groups, count, at)


@njit(cache=True, nogil=True)
def _add_runs(flat: Any, z: Any, factor: float, inner: Any) -> None:
    """Each run of ``inner`` cells += its z times the factor."""
    outer = flat.size // inner
    if inner >= SHORT or outer == 1:
        for o in range(outer):
            value = z[o] * factor
            for i in range(o * inner, (o + 1) * inner):
                flat[i] += value
    else:
        for i in range(inner):
            for o in range(outer):
                flat[o * inner + i] += z[o] * factor


@njit(cache=True, nogil=True, fastmath={"reassoc"})
def add_sums(table: Any, shape: Ints, mask: int, weight: float, below: Any, groups: Ints) -> None:
    """below += weight times the table summed to the axes of ``mask``: the transpose of ``add_repeated``."""
    count, _ = grouped(shape, mask, groups)
    inner, along, outer, jump = groups[0, 0], groups[0, 1], groups[1, 0], groups[1, 1]
    at, start = np.int64(0), np.int64(0)
    while start < table.size:
        for o in range(outer):
            row = table[start + o * inner : start + (o + 1) * inner]
            if along == 0:
                below[at + o * jump] += row.sum() * weight
            else:
                for i in range(inner):
                    below[at + i] += row[i] * weight
        start += outer * inner
        at = next_place(groups, count, at)


@njit(cache=True, nogil=True)
def assemble_sets(first: int, last: int, residuals: Any, below: Any, target: Any) -> None:
    """For each target set: the sum over its residuals of z, repeated along the axes it lacks, over their lengths.

    ``below`` links target sets to residuals; the number -1 stands for one that is not there.
    """
    offsets, shapes, cells = target
    starts, numbers, masks = below
    residual_offsets, _, values = residuals
    groups = np.empty((shapes.shape[1] + 2, 3), np.int64)
    for s in range(first, last):
        flat = cells[offsets[s] : offsets[s + 1]]
        flat[:] = 0.0
        for link in range(starts[s], starts[s + 1]):
            if numbers[link] >= 0:
                z = values[residual_offsets[numbers[link]] :]
                add_repeated(flat, shapes[s], masks[link], 1.0, z, groups)


@njit(cache=True, nogil=True)
def accumulate_sets(first: int, last: int, marginals: Any, weights: Any, above: Any, target: Any) -> None:
    """For each target set: the sum over the marginals above it of weight times that marginal summed to the set.

    The transpose of ``assemble_sets``: ``above`` links target sets to marginals.
    """
    offsets, shapes, values = marginals
    starts, numbers, masks = above
    target_offsets, _, cells = target
    groups = np.empty((shapes.shape[1] + 2, 3), np.int64)
    for t in range(first, last):
        flat = cells[target_offsets[t] : target_offsets[t + 1]]
        flat[:] = 0.0
        for link in range(starts[t], starts[t + 1]):
            s = numbers[link]
            add_sums(values[offsets[s] : offsets[s + 1]], shapes[s], masks[link], weights[s], flat, groups)


@njit(cache=True, nogil=True)
def add_spread(flat: Any, shape: Ints, ways: Ints, spreads: Any, scale: float, z: Any) -> None:
    """flat += scale z, spread along the way of each axis of ``shape``: the case of ``add_repeated`` for levels.

    ``spreads`` are starts and lengths of all ways, and of every category its place and its weight.
    """
    starts, lengths, codes, weights = spreads
    width = shape.size
    first = 0
    while first < width and shape[first] == 0:
        first += 1
    if first == width:
        flat[0] += scale * z[0]
        return
    steps = np.ones(width, np.int64)
    for axis in range(width - 2, first - 1, -1):
        steps[axis] = steps[axis + 1] * lengths[ways[axis + 1]]
    index = np.zeros(width, np.int64)
    inner, last = shape[width - 1], starts[ways[width - 1]]
    for row in range(0, flat.size, inner):
        at, weight = np.int64(0), scale
        for axis in range(first, width - 1):
            place = starts[ways[axis]] + index[axis]
            at += codes[place] * steps[axis]
            weight *= weights[place]
        for i in range(inner):
            flat[row + i] += weight * weights[last + i] * z[at + codes[last + i]]
        for axis in range(width - 2, first - 1, -1):
            index[axis] += 1
            if index[axis] < shape[axis]:
                break
            index[axis] = 0


@njit(cache=True, nogil=True)
def spread_sets(first: int, last: int, residuals: Any, below: Any, spreads: Any, target: Any) -> None:
    """``assemble_sets`` for axes that are levels; ``below`` links target sets to residuals by their ways."""
    offsets, shapes, cells = target
    starts, numbers, ways = below
    residual_offsets, _, values = residuals
    for s in range(first, last):
        flat = cells[offsets[s] : offsets[s + 1]]
        flat[:] = 0.0
        for link in range(starts[s], starts[s + 1]):
            if numbers[link] >= 0:
                z = values[residual_offsets[numbers[link]] :]
                add_spread(flat, shapes[s], ways[link], spreads, 1.0, z)
