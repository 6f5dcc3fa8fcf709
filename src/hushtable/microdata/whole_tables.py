"""Whole nonnegative numbers for many tables that add up everywhere, near to what is wanted of each.

They are the sums of one whole table over all attributes of the tables, each on the finest level that is asked for, or,
where that is too large, of whole records.  So they agree on every level and wherever they overlap, by construction;
also tables of attributes that read one column, of which only such combinations are counted as a value can have.
The whole table starts from a real one that has the sums wanted, as far as they agree.  Its cells are rounded one after
the other, up or down by what keeps the sums of all tables right so far: they end up a record or two from where they
were.  It is then moved nearer to all tables at once (``whole_loops``), until passes gain next to nothing or the limit
on work is reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Ints
from hushtable.marginals import Layout
from hushtable.microdata import seeded
from hushtable.microdata.joint_cells import JointCells
from hushtable.microdata.whole_loops import WholeTask, polish_cells, polish_records, rounded_cells
from hushtable.schema import SharedColumn

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
    """What is wanted: numbers of all cells of ``layout``, flat, and what a squared difference from each counts.

    ``shared``: which categories go together, of attributes that read one column.
    """

    layout: Layout
    values: Floats
    weights: Floats
    shared: tuple[SharedColumn, ...] = ()

    @cached_property
    def joint(self) -> JointCells:
        """Every attribute of the tables on the finest level that one of them has."""
        axes, finest = self.layout.axes, dict[int, int]()
        for axis in sorted(self.layout.used_axes):
            finest[axes.owners[axis]] = axis
        return JointCells.of(axes, tuple(finest.values()), self.shared)


@dataclass(frozen=True, eq=False)
class WholeTables:
    """Whole numbers of all cells of a layout, flat; ``finished``: no pass gained anything to speak of any more."""

    layout: Layout
    counts: Ints
    passes: int
    finished: bool


def whole_from_cells(wanted: WantedTables, start: Floats, possible: Floats, seed: object = 0) -> WholeTables:
    """From a real nonnegative table over ``wanted.joint``; cells that are not ``possible`` stay empty."""
    shape = np.array(wanted.joint.shape, np.int64)
    allowed = np.ascontiguousarray(possible, np.float64).reshape(-1) > 0
    real = np.where(allowed, start.reshape(-1), 0.0)
    real *= min(1.0, LARGEST / max(float(real.sum()), 1.0))
    task = _task(wanted, wanted.joint, np.zeros(wanted.layout.cells, np.int64))
    counts = rounded_cells(real, shape, task)
    state = seeded.seeded("whole", seed)
    done, finished = polish_cells(counts, shape, allowed, task, state, _limits(wanted, counts.size))
    return WholeTables(wanted.layout, task.sums, done, bool(finished))


def whole_from_records(
    wanted: WantedTables, records: Ints, rules: NDArray[np.bool_] | None = None, seed: object = 0
) -> WholeTables:
    """From whole records, by the codes of every attribute's finest level; none is moved to where a rule forbids.

    ``rules[r, k, code]``: whether rule r names a category of joint axis k.
    """
    held = wanted.joint.places(np.asarray(records, np.int64))
    task = _task(wanted, wanted.joint, np.zeros(wanted.layout.cells, np.int64))
    _count(task, held)
    if not len(held):
        return WholeTables(wanted.layout, task.sums, 0, False)
    shape, state = np.array(wanted.joint.shape, np.int64), seeded.seeded("whole", seed)
    given = np.zeros((0, len(shape), 0), np.bool_) if rules is None else rules
    done, finished = polish_records(held, shape, task, state, _limits(wanted, len(held)), given)
    return WholeTables(wanted.layout, task.sums, done, bool(finished))


def joint_table(wanted: WantedTables, nonnegative: Floats) -> Floats:
    """A table over ``wanted.joint`` with the sums of nonnegative tables over the layout, nearly.

    It is the one that was asked for, or the most random one.  Coarse tables are fitted last and hold best.
    """
    layout, joint = wanted.layout, wanted.joint
    faces = {s: layout.view(nonnegative, s) for s in layout.sets}
    total = max((float(face.sum()) for face in faces.values()), default=0.0)
    table = np.full(joint.shape, total / max(joint.cells, 1))
    every = tuple(sorted(a for axis in joint.axes for a in axis.axes))
    if every in faces and faces[every].size == joint.cells:
        table = joint.spread(faces.pop(every), every).copy()
    fitted = sorted(faces, key=lambda s: faces[s].size, reverse=True)
    for _ in range(SWEEPS):
        apart = 0.0
        for s in fitted:
            own = joint.summed(table, s)
            apart = max(apart, float(np.abs(faces[s] - own).max()))
            factor = np.divide(faces[s], own, out=np.zeros_like(own), where=own > 0.0)
            table *= joint.spread(factor, s)
        if apart <= CLOSE:
            break
    return table


def _limits(wanted: WantedTables, cells: int) -> tuple[int, int, float]:
    """Passes at most, how many must be quiet, and what that means."""
    passes = max(PASSES, MOVES // max(cells, 1))
    return passes, QUIET[cells >= LARGE], TOLERANCE * len(wanted.layout.sets)


def _count(task: WholeTask, held: Ints) -> None:
    """Set the sums of all tables to those of whole records."""
    for t, (begin, end) in enumerate(pairwise(task.offsets)):
        at = np.zeros(len(held), np.int64)
        for k, start in enumerate(task.maps[t]):
            at += task.steps[start + held[:, k]]
        task.sums[begin:end] = np.bincount(at, minlength=end - begin)


def _task(wanted: WantedTables, joint: JointCells, sums: Ints) -> WholeTask:
    maps, steps = joint.steps(wanted.layout)
    values = np.ascontiguousarray(wanted.values), np.ascontiguousarray(wanted.weights)
    return WholeTask(maps, steps, wanted.layout.offsets, *values, np.ascontiguousarray(sums))
