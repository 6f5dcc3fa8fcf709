"""Whole nonnegative numbers for many tables that add up everywhere, near to what is wanted of each.

They are the sums of one whole table over all attributes of the tables, each on the finest level that is asked for, or,
where that is too large, of whole records.  So they agree on every level and wherever they overlap, by construction.
The whole table starts from a real one that has the sums wanted, as far as they agree.  Its cells are rounded one after
the other, up or down by what keeps the sums of all tables right so far: they end up a record or two from where they
were.  It is then moved nearer to all tables at once (``whole_loops``), until passes gain next to nothing or the limit
on work is reached.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, Layout, repeated_along, summed_to
from hushtable.microdata import seeded
from hushtable.microdata.whole_loops import WholeTask, polish_cells, polish_records, rounded_cells

MOST_JOINT = 2**23
"""Cells of the joint table, 64 MB; beyond it records are moved.  A pass over a cell and twenty tables takes a
microsecond: larger tables would not end in minutes."""
PASSES = 60
"""Passes at most over a large table: the limit on work, at a second or two each for a million cells."""
MOVES = 500_000
"""Small tables have as many passes as make so many moves: a second or less."""
QUIET = (12, 2)
"""Passes in a row that gain next to nothing, after which the search ends: of small tables, where a pass draws few
moves, and of large ones."""
LARGE = 100_000
"""Cells from which on a table is large."""
TOLERANCE = 1e-3
"""Next to nothing: this for each table, where 1 means that its numbers are off by a standard error.  It is no part of
the distance that is left, which is next to nothing itself where tables are nonnegative and agree.  With 1e-4 four times
the passes, and numbers that differ by a record here and there."""
SWEEPS = 12
"""Rounds of proportional fitting of a joint table to the others: a start, which is moved anyway."""
CLOSE = 0.5
"""Records by which a sum of the start may be off for the fitting to end: what rounding moves it by."""
LARGEST = 2**52
"""Counts stay below this, so that sums of them are exact in doubles and in 64 bits."""


@dataclass(frozen=True, eq=False)
class WantedTables:
    """What is wanted: numbers of all cells of ``layout``, flat, and what a squared difference from each counts."""

    layout: Layout
    values: Floats
    weights: Floats

    @property
    def joint(self) -> AttributeSet:
        """Every attribute of the tables on the finest level that one of them has."""
        axes, finest = self.layout.axes, dict[int, int]()
        for axis in sorted(self.layout.used_axes):
            finest[axes.owners[axis]] = axis
        return tuple(sorted(finest.values()))


@dataclass(frozen=True, eq=False)
class WholeTables:
    """Whole numbers of all cells of a layout, flat; ``finished``: no pass gained anything to speak of any more."""

    layout: Layout
    counts: Ints
    passes: int
    finished: bool


def whole_from_cells(wanted: WantedTables, start: Floats, possible: Floats, seed: object = 0) -> WholeTables:
    """From a real nonnegative table over ``wanted.joint``; cells that are not ``possible`` stay empty."""
    joint, axes = wanted.joint, wanted.layout.axes
    shape = np.array([axes[a] for a in joint], np.int64)
    allowed = np.ascontiguousarray(possible, np.float64).reshape(-1) > 0
    real = np.where(allowed, start.reshape(-1), 0.0)
    real *= min(1.0, LARGEST / max(float(real.sum()), 1.0))
    task = _task(wanted, joint, np.zeros(wanted.layout.cells, np.int64))
    counts = rounded_cells(real, shape, task)
    state = seeded.seeded("whole", seed)
    done, finished = polish_cells(counts, shape, allowed, task, state, _limits(wanted, counts.size))
    return WholeTables(wanted.layout, task.sums, done, bool(finished))


def whole_from_records(
    wanted: WantedTables, records: Ints, *, still: bool = False, seed: object = 0
) -> WholeTables:
    """From whole records, by the codes of every attribute's finest level; with ``still`` none is moved."""
    axes = wanted.layout.axes
    joint, held = axes.finest, np.ascontiguousarray(records, np.int64)
    sums = np.concatenate([_counted(axes, held, s) for s in wanted.layout.sets])
    task = _task(wanted, joint, sums)
    if still or not len(held):
        return WholeTables(wanted.layout, sums, 0, False)
    shape, state = np.array([axes[a] for a in joint], np.int64), seeded.seeded("whole", seed)
    done, finished = polish_records(held, shape, task, state, _limits(wanted, len(held)))
    return WholeTables(wanted.layout, task.sums, done, bool(finished))


def joint_table(wanted: WantedTables, nonnegative: Floats) -> Floats:
    """A table over ``wanted.joint`` with the sums of nonnegative tables over the layout, nearly.

    It is the one that was asked for, or the most random one.  Coarse tables are fitted last and hold best.
    """
    layout, joint = wanted.layout, wanted.joint
    axes = layout.axes
    faces = {s: layout.view(nonnegative, s) for s in layout.sets}
    total = max((float(face.sum()) for face in faces.values()), default=0.0)
    table = np.full([axes[a] for a in joint], total / prod(axes[a] for a in joint))
    table = faces.pop(joint, table).copy()
    fitted = sorted(faces, key=lambda s: faces[s].size, reverse=True)
    for _ in range(SWEEPS):
        apart = 0.0
        for s in fitted:
            own = summed_to(axes, table, joint, s)
            apart = max(apart, float(np.abs(faces[s] - own).max()))
            factor = np.divide(faces[s], own, out=np.zeros_like(own), where=own > 0.0)
            table *= repeated_along(axes, factor, s, joint)
        if apart <= CLOSE:
            break
    return table


def _limits(wanted: WantedTables, cells: int) -> tuple[int, int, float]:
    """Passes at most, how many must be quiet, and what that means."""
    passes = max(PASSES, MOVES // max(cells, 1))
    return passes, QUIET[cells >= LARGE], TOLERANCE * len(wanted.layout.sets)


def _counted(axes: Axes, records: Ints, attributes: AttributeSet) -> Ints:
    at = np.zeros(len(records), np.int64)
    for axis in attributes:
        owner = axes.owners[axis]
        at = at * axes[axis] + axes.codes_above(axes.finest[owner], axis)[records[:, owner]]
    return np.bincount(at, minlength=prod(axes[a] for a in attributes)).astype(np.int64)


def _task(wanted: WantedTables, joint: Sequence[int], sums: Ints) -> WholeTask:
    layout = wanted.layout
    maps = np.zeros((len(layout.sets), len(joint)), np.int64)
    steps: list[Ints] = []
    begun = 0
    for t, s in enumerate(layout.sets):
        for k, axis in enumerate(joint):
            level = layout.axes.level_in(s, axis)
            stride = prod(layout.sizes[a] for a in s if a > level)
            codes = (
                layout.axes.codes_above(axis, level) if level >= 0 else np.zeros(layout.sizes[axis], np.int64)
            )
            maps[t, k], begun = begun, begun + len(codes)
            steps.append(codes * (stride if level >= 0 else 0))
    flat = np.concatenate([np.empty(0, np.int64), *steps])
    values = np.ascontiguousarray(wanted.values), np.ascontiguousarray(wanted.weights)
    return WholeTask(maps, flat, layout.offsets, *values, np.ascontiguousarray(sums))
