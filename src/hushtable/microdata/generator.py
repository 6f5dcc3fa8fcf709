"""Records of a large domain from released tables alone: drawn along a tree, then moved until the tables agree.

Nonnegative and whole by nature.  The start is a draw from the tree of two-way tables with the most mutual information
(Chow and Liu); then each value of each record is changed, in random order, whenever this brings the records' tables
nearer to the released ones.  Cells of a table too small to be told from zero weigh little one by one and in full
through the smaller tables that contain them, so that thousands of them cannot outvote a total.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Codes, Floats
from hushtable.errors import RefusedError
from hushtable.marginals import AttributeSet, Layout
from hushtable.microdata import generator_loops, seeded
from hushtable.schema import Schema
from hushtable.watching import Progress, silent

# Table look-ups of one sweep; tables of the highest order are left out beyond.  With more, records follow finer tables
# and take longer.
MOST_WORK = 1e10
# Tables of more than three attributes that are made, each in about 5 ms; those of the highest order are left out
# beyond.  With more of them records follow finer tables, and take longer.
MOST_LARGE = 1_500
# Sweeps over tables of up to two attributes, at most.  On adult_full they leave 1.05 times the error of the tables.
SWEEPS = 4
# Sweeps over larger tables after them: 0.98 times, as after four over all at once, in 16 s instead of 49 (ADR 11).
LAST_SWEEPS = 1
# A sweep that changes fewer than this share of the values is the last.  Not tuned: with less
# there are more sweeps, each of which moves less.
STILL = 0.002
# Counts added to a target before its inverse becomes the weight of its cell: chosen, not tuned.  With less, cells near
# zero are met more closely at the price of large ones; 0 would divide by it.
FLOOR = 2.0


class Targets(NamedTuple):
    """Marginals to be met: flat, in the order of ``layout``, each with the same total."""

    layout: Layout
    values: Floats


def affordable(sets: Sequence[AttributeSet], sizes: Sequence[int], rows: int) -> tuple[AttributeSet, ...]:
    """The sets whose every sweep stays below ``MOST_WORK``, few of them large: whole orders, from the smallest up."""
    kept: list[AttributeSet] = []
    work, large = 0.0, 0
    for order in sorted({len(s) for s in sets if s}):
        chosen = [s for s in sets if len(s) == order]
        work += rows * float(sum(sizes[axis] for s in chosen for axis in s))
        large += len(chosen) if order > 3 else 0
        if kept and (work > MOST_WORK or large > MOST_LARGE):
            break
        kept += chosen
    return tuple(kept)


def generate(
    targets: Targets,
    schema: Schema,
    rows: int,
    *,
    seed: object = 0,
    sweeps: int = SWEEPS,
    progress: Progress | None = None,
) -> tuple[Codes, int]:
    """``rows`` records (codes, one row each) near the targets that no ``impossible`` rule forbids, and the sweeps."""
    state = seeded.seeded("generate", seed)
    rules = _rules(schema)
    records = _start(targets, rows, state)
    if len(rules[0]) > 1:
        sizes = np.array(targets.layout.sizes, np.int64)
        if generator_loops.repair(records, rules, sizes, state) > 0:
            raise RefusedError(
                "microdata.impossible",
                "No records were found that obey every rule under impossible.",
                "Remove rules that leave almost nothing possible.",
            )
    done = 0
    if rows > 0:
        report = progress or silent
        small = _up_to_pairs(targets)
        if small.layout.sets:
            done += _move(records, small, rules, state, sweeps, report)
        if len(small.layout.sets) < len(targets.layout.sets):
            done += _move(records, targets, rules, state, min(sweeps, LAST_SWEEPS), report)
    return records, done


def _move(
    records: Codes,
    targets: Targets,
    rules: generator_loops.Rules,
    state: seeded.STATE,
    sweeps: int,
    progress: Progress,
) -> int:
    """Sweeps over all values of all records, in place; returns how many there were."""
    layout = targets.layout
    sizes = np.array(layout.sizes, np.int64)
    addresses, members = _addresses(layout), _members(layout)
    counts = generator_loops.count_cells(records, addresses, layout.cells)
    goal = _scaled(targets, len(records))
    weight = (1.0 / (goal + FLOOR)).astype(np.float32)
    price = (weight * (2.0 * (counts - goal) + 1.0)).astype(np.float32)
    for done in range(1, sweeps + 1):
        progress("moving records", done - 1, sweeps)
        changed = generator_loops.improve(records, price, weight, addresses, members, sizes, rules, state)
        if changed < STILL * records.size:
            return done
    return sweeps


def _up_to_pairs(targets: Targets) -> Targets:
    """The targets of at most two attributes."""
    layout = targets.layout
    kept = [s for s in layout.sets if len(s) <= 2]
    parts = [layout.view(targets.values, s).ravel() for s in kept]
    return Targets(Layout(layout.sizes, tuple(kept)), np.concatenate(parts) if parts else np.zeros(0))


def count_records(records: Codes, layout: Layout) -> NDArray[np.int64]:
    """The counts of all marginals of a layout, flat."""
    return generator_loops.count_cells(records, _addresses(layout), layout.cells)


def _scaled(targets: Targets, rows: int) -> Floats:
    """Every table at least 0 and of total ``rows``."""
    goal = np.maximum(targets.values, 0.0)
    layout = targets.layout
    totals = np.add.reduceat(goal, layout.offsets[:-1]) if layout.sets else np.zeros(0)
    factor = np.where(totals > 0.0, rows / np.maximum(totals, 1e-300), 0.0)
    return goal * np.repeat(factor, layout.lengths)


def _addresses(layout: Layout) -> generator_loops.Addresses:
    widest = max((len(s) for s in layout.sets), default=0)
    axes = np.zeros((len(layout.sets), widest), np.int64)
    strides = np.zeros_like(axes)
    for t, s in enumerate(layout.sets):
        axes[t, : len(s)], strides[t, : len(s)] = s, _strides(layout, s)
    orders = np.array([len(s) for s in layout.sets], np.int64)
    return generator_loops.Addresses(layout.offsets[:-1].copy(), axes, strides, orders)


def _strides(layout: Layout, attributes: AttributeSet) -> list[int]:
    return [prod(layout.sizes[a] for a in attributes[k + 1 :]) for k in range(len(attributes))]


def _members(layout: Layout) -> generator_loops.Members:
    lists: list[list[tuple[int, int]]] = [[] for _ in layout.sizes]
    for t, s in enumerate(layout.sets):
        for axis, stride in zip(s, _strides(layout, s), strict=True):
            lists[axis].append((t, stride))
    flat = np.array([pair for entry in lists for pair in entry], np.int64).reshape(-1, 2)
    tables, strides = (np.ascontiguousarray(column) for column in flat.T)
    return generator_loops.Members(tables, _ends(lists), strides)


def _start(targets: Targets, rows: int, state: seeded.STATE) -> Codes:
    """A draw along the tree of most mutual information."""
    layout = targets.layout
    sizes = np.array(layout.sizes, np.int64)
    width = len(sizes)
    pairs = {s: _table(targets, s) for s in layout.sets if len(s) == 2}
    ones = {s[0]: _table(targets, s) for s in layout.sets if len(s) == 1}
    for (a, b), table in pairs.items():
        ones.setdefault(a, table.sum(axis=1))
        ones.setdefault(b, table.sum(axis=0))
    parents, order = _tree(width, {s: _information(t) for s, t in pairs.items()})
    blocks: list[Floats] = []
    for i in range(width):
        own = ones[i] if i in ones else np.ones(sizes[i])
        if parents[i] < 0:
            block = own[None, :]
        else:
            joint = pairs[(min(i, parents[i]), max(i, parents[i]))]
            block = (joint if parents[i] < i else joint.T) + 1e-9 * own[None, :] + 1e-300
        blocks.append(np.cumsum(np.where(block.sum() > 0, block, 1.0), axis=1).ravel())
    tables, ends = np.concatenate(blocks), _ends(blocks)
    return generator_loops.draw_conditionally(parents, order, tables, ends, sizes, rows, state)


def _ends(parts: Iterable[Sized]) -> NDArray[np.int64]:
    """Where each of several parts begins when they follow each other, and where the last ends."""
    return np.cumsum([0, *map(len, parts)], dtype=np.int64)


def _table(targets: Targets, s: AttributeSet) -> Floats:
    return np.maximum(targets.layout.view(targets.values, s), 0.0)


def _information(table: Floats) -> float:
    """Mutual information of a two-way table, in nats."""
    total = table.sum()
    if total <= 0.0:
        return 0.0
    p = table / total
    free = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
    inside = p > 0.0
    return float((p[inside] * np.log(p[inside] / free[inside])).sum())


def _tree(width: int, gains: dict[AttributeSet, float]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Parent of each attribute (-1 for roots) and an order in which parents come first (Prim)."""
    parents = np.full(width, -1, np.int64)
    order: list[int] = []
    left = set(range(width))
    while left:
        options = [
            (gain, child, parent)
            for (a, b), gain in gains.items()
            for child, parent in ((a, b), (b, a))
            if child in left and parent not in left
        ]
        if options:
            _, child, parent = max(options)
            parents[child] = parent
        else:
            child = min(left)
        order.append(child)
        left.remove(child)
    return parents, np.array(order, np.int64)


def _rules(schema: Schema) -> generator_loops.Rules:
    """The impossible combinations: for each, its axes and a mask of the codes that complete it."""
    entries = [entry for rule in schema.record_rules for entry in rule]
    masks = [np.isin(np.arange(schema.record_sizes[axis]), codes) for axis, codes in entries]
    start, first = _ends(schema.record_rules), _ends(masks)[:-1]
    axes = np.array([axis for axis, _ in entries], np.int64)
    return start, axes, first, np.concatenate([np.zeros(0, np.bool_), *masks])
