"""Records of a large domain from released tables alone: drawn column by column, then moved until the tables agree.

Nonnegative and whole by nature.  The draw (``column_draws``) starts at the tree of two-way tables with the most mutual
information (Chow and Liu); then each value of each record is changed, in random order, whenever this brings the
records' tables nearer to the released ones.  Cells of a table too small to be told from zero weigh little one by one
and in full through the smaller tables that contain them, so that thousands of them cannot outvote a total.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from itertools import combinations, pairwise
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Codes, Floats
from hushtable.errors import RefusedError
from hushtable.marginals import AttributeSet, Layout
from hushtable.microdata import column_draws, generator_loops, seeded
from hushtable.schema import Schema
from hushtable.watching import Progress, silent

# Look-ups that tables of more than two attributes may cost: those of the highest order are left out beyond.  With more,
# records follow finer tables and take longer.
MOST_WORK = 1e10
# Tables of more than three attributes that are made, each in about 5 ms; those of the highest order are left out
# beyond.  With more of them records follow finer tables, and take longer.
MOST_LARGE = 1_500
# Sweeps over all values of all records after the draw.  On adult_full one takes 3 s and the error of three-way tables
# from 1.02 to 0.99 times that of the released ones; more change little (ADR 11).
SWEEPS = 1
# A sweep that changes fewer than this share of the values is the last.  Not tuned: with less
# there are more sweeps, each of which moves less.
STILL = 0.002
# Parts of a sweep, so that a bar moves; all of a part's records are visited before the next.
PARTS = 20
# Counts added to a target before its inverse becomes the weight of its cell: chosen, not tuned.  With less, cells near
# zero are met more closely at the price of large ones; 0 would divide by it.
FLOOR = 2.0


class Targets(NamedTuple):
    """Marginals to be met: flat, in the order of ``layout``, each with the same total."""

    layout: Layout
    values: Floats


def sweep_work(sets: Iterable[AttributeSet], sizes: Sequence[int], rows: int) -> float:
    """Look-ups of a sweep: every value of every attribute of every table, for each record."""
    return rows * float(sum(sizes[axis] for s in sets for axis in s))


def affordable(sets: Sequence[AttributeSet], sizes: Sequence[int], rows: int) -> tuple[AttributeSet, ...]:
    """The sets that records follow: whole orders, from the smallest up.

    Up to two attributes always, so that work grows with the rows; larger ones while a sweep stays below ``MOST_WORK``
    and few of them are large.
    """
    kept: list[AttributeSet] = []
    large = 0
    for order in sorted({len(s) for s in sets if s}):
        chosen = [s for s in sets if len(s) == order]
        large += len(chosen) if order > 3 else 0
        beyond = large > MOST_LARGE or sweep_work([*kept, *chosen], sizes, rows) > MOST_WORK
        if kept and order > 2 and beyond:
            break
        kept += chosen
    return tuple(kept)


def foreseen_work(sets: Sequence[AttributeSet], sizes: Sequence[int], rows: int) -> float:
    """Look-ups of :func:`generate`, before it starts: about five hundred million a second of one core.

    A draw touches the values of one attribute of each table, twice; the sample that it is scaled on takes at most as
    much as ``column_draws.SAMPLE`` records; sweeps are left out where they would take more than ``MOST_WORK``.
    """
    largest = sum(max(sizes[axis] for axis in s) for s in sets)
    scaled = sum(max(sizes[axis] for axis in s) for s in sets if len(s) <= column_draws.SCALED_ORDER)
    draw = 2.0 * rows * largest + 2.0 * column_draws.CYCLES * min(rows, column_draws.SAMPLE) * scaled
    sweep = sweep_work(sets, sizes, rows)
    return draw + (SWEEPS * sweep if sweep <= MOST_WORK else 0.0)


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
    report = progress or silent
    rules = _rules(schema, schema.record_rules)
    records = _drawn(targets, schema, rows, state, report)
    if len(rules[0]) > 1:
        sizes = np.array(targets.layout.sizes, np.int64)
        if generator_loops.repair(records, rules, sizes, state) > 0:
            raise RefusedError(
                "microdata.impossible",
                "No records were found that obey every rule under impossible.",
                "Remove rules that leave almost nothing possible.",
            )
    layout = targets.layout
    if rows == 0 or not layout.sets or sweep_work(layout.sets, layout.sizes, rows) > MOST_WORK:
        return records, 0
    return records, _move(records, targets, rules, state, sweeps, report)


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
    bounds = np.linspace(0, len(records), 1 + min(PARTS, len(records))).astype(np.int64).tolist()
    for done in range(1, sweeps + 1):
        changed = 0
        for low, high in pairwise(bounds):
            progress("moving records", (done - 1) * len(records) + low, sweeps * len(records))
            part = records[low:high]
            changed += generator_loops.improve(part, price, weight, addresses, members, sizes, rules, state)
        if changed < STILL * records.size:
            return done
    return sweeps


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


def _drawn(targets: Targets, schema: Schema, rows: int, state: seeded.STATE, progress: Progress) -> Codes:
    """Records drawn column by column, along the tree of most mutual information."""
    targets = _completed(targets)
    layout = targets.layout
    width = len(layout.sizes)
    order = _tree(width, {s: _information(_table(targets, s)) for s in layout.sets if len(s) == 2})
    ending: list[list[Rule]] = [[] for _ in range(width)]
    for rule in schema.record_rules:
        ending[max((axis for axis, _ in rule), key=order.index)].append(rule)
    rules = [_rules(schema, own) for own in ending]
    if rows == 0:
        return np.zeros((0, width), np.int32)
    return column_draws.draw_columns(layout, _scaled(targets, rows), order, rules, rows, state, progress)


def _completed(targets: Targets) -> Targets:
    """The targets with all that lies in them: a table is met at its last column only if those before it agree."""
    layout = targets.layout
    known = set(layout.sets)
    parts, sets = [targets.values], [*layout.sets]
    for s in sorted(layout.sets, key=len, reverse=True):
        for lower in combinations(s, len(s) - 1) if len(s) > 1 else ():
            if lower not in known:
                (gone,) = (k for k, axis in enumerate(s) if axis not in lower)
                made = Targets(Layout(layout.sizes, (lower,)), _table(targets, s).sum(axis=gone).ravel())
                below = _completed(made)
                fresh = [k for k in below.layout.sets if k not in known]
                known.update(fresh)
                sets += fresh
                parts += [below.layout.view(below.values, k).ravel() for k in fresh]
    if len(sets) == len(layout.sets):
        return targets
    return Targets(Layout(layout.sizes, tuple(sets)), np.concatenate(parts))


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


def _tree(width: int, gains: dict[AttributeSet, float]) -> list[int]:
    """Attributes in the order in which a tree of largest gain reaches them (Prim)."""
    order: list[int] = []
    nearest = np.full(width, -1.0)
    gain = np.zeros((width, width))
    for (a, b), value in gains.items():
        gain[a, b] = gain[b, a] = value
    left = np.ones(width, np.bool_)
    for _ in range(width):
        chosen = int(np.argmax(np.where(left, nearest, -2.0)))
        order.append(chosen)
        left[chosen] = False
        nearest = np.maximum(nearest, gain[chosen])
    return order


Rule = Sequence[tuple[int, Sequence[int]]]
"""An impossible combination: attributes, and the codes of each that complete it."""


def _rules(schema: Schema, rules: Sequence[Rule]) -> generator_loops.Rules:
    """Impossible combinations: for each, its axes and a mask of the codes that complete it."""
    entries = [entry for rule in rules for entry in rule]
    masks = [np.isin(np.arange(schema.record_sizes[axis]), codes) for axis, codes in entries]
    start, first = _ends(rules), _ends(masks)[:-1]
    axes = np.array([axis for axis, _ in entries], np.int64)
    return start, axes, first, np.concatenate([np.zeros(0, np.bool_), *masks])
