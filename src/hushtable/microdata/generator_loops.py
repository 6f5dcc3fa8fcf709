"""Moving records towards target marginals, one attribute of one record at a time, as plain loops.

Every cell of every target marginal has a weight w and a gap e = count - target; the energy is the sum of w e^2.  Kept
per cell is ``price = w (2 e + 1)``, the change of energy when a record enters; leaving changes it by ``2 w - price``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Codes, Floats, Ints
from hushtable.compiled import njit
from hushtable.microdata.seeded import STATE, uniform

MOST_REDRAWS = 1000
"""Values of a record that are redrawn to make it possible; a record that still is not is counted as failed.  It bounds
the time where rules leave hardly anything; more find rarer possibilities.  Not tuned."""


class Addresses(NamedTuple):
    """Where the cells of each marginal lie: its first cell, its order, and per attribute the axis and the stride."""

    offsets: Ints
    axes: Ints
    strides: Ints
    orders: Ints


class Members(NamedTuple):
    """For each attribute i, at ``start[i]`` to ``start[i + 1]``: the marginals that contain it and its stride there."""

    tables: Ints
    start: Ints
    strides: Ints


Rules = tuple[Ints, Ints, Ints, NDArray[np.bool_]]
"""Impossible combinations: where each starts, its attributes, where their masks start, and the masks themselves."""


@njit(cache=True, nogil=True)
def count_cells(records: Codes, addresses: Addresses, cells: int) -> Ints:
    """Counts of all marginals, flat."""
    offsets, axes, strides, orders = addresses
    counts = np.zeros(cells, np.int64)
    for r in range(records.shape[0]):
        for t in range(offsets.size):
            cell = offsets[t]
            for k in range(orders[t]):
                cell += records[r, axes[t, k]] * strides[t, k]
            counts[cell] += 1
    return counts


@njit(cache=True, nogil=True)
def broken(record: Codes, rules: Rules, axis: int, value: int) -> int:
    """The number of a rule that the record with ``value`` at ``axis`` breaks, -1 if there is none."""
    start, axes, first, completes = rules
    for q in range(start.size - 1):
        hit = True
        for p in range(start[q], start[q + 1]):
            code = value if axes[p] == axis else record[axes[p]]
            if not completes[first[p] + code]:
                hit = False
                break
        if hit:
            return q
    return -1


@njit(cache=True, nogil=True)
def improve(
    records: Codes,
    price: Floats,
    weight: Floats,
    addresses: Addresses,
    members: Members,
    sizes: Ints,
    rules: Rules,
    state: STATE,
) -> int:
    """One sweep over all records and attributes in random order; returns the number of changes.

    A value that its cells can spare is changed to the one of least energy when that lowers the energy.
    """
    offsets, axes, strides, orders = addresses
    member_tables, member_start, stride_of = members
    count, width = int(records.shape[0]), int(records.shape[1])
    changes = 0
    order = np.arange(width)
    largest = 0
    for n in sizes:
        largest = max(largest, n)
    score = np.empty(largest)
    start = np.empty(offsets.size, np.int64)
    ruled = rules[0].size > 1
    step = coprime(count, state)
    r = int(uniform(state) * count)
    for _ in range(count):
        r = (r + step) % count
        _shuffle(order, state)
        for i in order:
            n = sizes[i]
            if n < 2:
                continue
            old = records[r, i]
            leave = 0.0
            for m in range(member_start[i], member_start[i + 1]):
                t = member_tables[m]
                base = offsets[t]
                own = stride_of[m]
                for k in range(orders[t]):
                    if axes[t, k] != i:
                        base += records[r, axes[t, k]] * strides[t, k]
                start[m - member_start[i]] = base
                leave += 2.0 * weight[base + old * own] - price[base + old * own]
            if leave >= 0.0:
                continue
            score[:n] = 0.0
            for m in range(member_start[i], member_start[i + 1]):
                base = start[m - member_start[i]]
                own = stride_of[m]
                if own == 1:
                    for v in range(n):
                        score[v] += price[base + v]
                else:
                    for v in range(n):
                        score[v] += price[base + v * own]
            best, least = old, -leave - 1e-9 * abs(leave)
            for v in range(n):
                if v != old and score[v] < least and not (ruled and broken(records[r], rules, i, v) >= 0):
                    best, least = v, score[v]
            if best == old:
                continue
            changes += 1
            records[r, i] = best
            for m in range(member_start[i], member_start[i + 1]):
                base, own = start[m - member_start[i]], stride_of[m]
                price[base + old * own] -= 2.0 * weight[base + old * own]
                price[base + best * own] += 2.0 * weight[base + best * own]
    return changes


@njit(cache=True, nogil=True)
def _shuffle(order: Ints, state: STATE) -> None:
    """All orders with the same chance, in place."""
    for k in range(order.size - 1, 0, -1):
        other = int(uniform(state) * (k + 1))
        order[k], order[other] = order[other], order[k]


@njit(cache=True, nogil=True)
def coprime(count: int, state: STATE) -> int:
    """A step that visits every number below ``count``."""
    while True:
        step = 1 + int(uniform(state) * count)
        a, b = count, step
        while b:
            a, b = b, a % b
        if a == 1:
            return step


@njit(cache=True, nogil=True)
def repair(records: Codes, rules: Rules, sizes: Ints, state: STATE) -> int:
    """Redraw values that make a record impossible until it is possible; returns how many records still are not."""
    start, axes, _, _ = rules
    failed = 0
    for r in range(records.shape[0]):
        for _ in range(MOST_REDRAWS):
            q = broken(records[r], rules, -1, 0)
            if q < 0:
                break
            i = axes[start[q] + int(uniform(state) * (start[q + 1] - start[q]))]
            records[r, i] = int(uniform(state) * sizes[i])
        failed += broken(records[r], rules, -1, 0) >= 0
    return failed
