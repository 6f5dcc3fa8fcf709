"""A fixed sequence of measurements (aim-grem, Table 2): lazy or full, conditional or equal noise, ours or plain.

Half the budget goes to one-way marginals, half to every three-way marginal in turn, epsilon 1.  Loops that would take
too long are stopped after their seconds and extrapolated; the others draw and update the whole sequence.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bench.adaptive.figures import Clock, Figures, Stopwatch
from bench.adaptive.plain import PlainLoop
from bench.adaptive.tables import DELTA, Rows, Table
from hushtable.kernel.draw import Confidential
from hushtable.kernel.select import Gaps
from hushtable.marginals import Incidence, Layout, assemble
from hushtable.measurement import Measure, Reply, ResidualPart
from hushtable.planning import State
from hushtable.planning.aim import SKIP
from hushtable.planning.exact_plans import round_down
from hushtable.planning.problem import prices
from hushtable.planning.round_loops import round_precisions
from hushtable.privacy import rho_from

PASS = 100_000_000
"""Cells that are assembled or tabulated at a time."""
WIDE = 100_000_000
"""Closures of more cells keep gaps in 32 bits."""
LOOPS = (
    ("lazy", "crp"),
    ("lazy", "iid"),
    ("full", "iid"),
    ("plain", "floats"),
    ("plain", "opendp"),
)


class Sequence:
    """One table's sequence with our own loop."""

    def __init__(self, table: Table, updating: str) -> None:
        self.table, self.layout, self.updating = table, table.layout, updating
        self.rho = Fraction(rho_from(epsilon=1, delta=DELTA))
        wide = self.layout.cells <= WIDE
        self.handle = Confidential(table.source, self.layout, wide=wide, scored=False)
        self.state = State.empty(self.layout)
        self.price = prices(self.layout)
        self.below = Incidence.between(self.layout.sets, self.layout)
        self.twice = float(self.rho) / len(table.workload.sets)
        self.counts = narrow_counts(table.source, self.layout, np.int64 if wide else np.int32)
        self.gaps = Gaps(self.layout, self.counts) if updating == "lazy" else None
        self.times = Stopwatch()

    def first(self) -> Measure:
        """Half the budget on all one-way marginals."""
        ones = [s for s in self.layout.sets if len(s) == 1]
        every = round_down(float(self.rho) / len(ones))
        total = sum((every / self.layout.sizes[s[0]] for s in ones), Fraction(0))
        return Measure(ResidualPart(self.layout.sizes, ((), *ones), (total, *(every for _ in ones))))

    def plan(self, gamma: tuple[int, ...], noise: str) -> Measure:
        """Residuals below ``gamma``, as the loop of ``aim`` plans them, or as equal noise in its cells."""
        layout, k = self.layout, self.layout.index[gamma]
        members = self.below.members[self.below.starts[k] : self.below.starts[k + 1]]
        members, cells, twice = members[self.price[members] > 0], float(layout.lengths[k]), self.twice
        if noise == "crp":
            known, error = self.state.precisions, self.price[members] * (layout.lengths[members] / cells) ** 2
            found = round_precisions(members, error, self.price, known, twice, SKIP, False)
            members, precisions = found
        else:
            precisions = layout.lengths[members] / cells * twice
        exact = tuple(round_down(x) for x in precisions.tolist())
        sets = tuple(layout.sets[k] for k in members.tolist())
        return Measure(ResidualPart(layout.sizes, sets, exact))

    def measure(self, request: Measure) -> None:
        """Draw, and bring the estimates or their gaps up to date."""
        changes = self.state.learn(Reply(request, self.handle.measure(request)()))
        with self.times:
            if self.gaps is not None:
                self.gaps.update(changes)
            else:
                self.distances()

    def distances(self) -> None:
        """L1 norms of all gaps, from all residuals."""
        for part in parts(self.layout):
            flat = assemble(self.layout, self.state.values, part)
            k = self.layout.index[part.sets[0]]
            counts = self.counts[self.layout.offsets[k] : self.layout.offsets[k] + part.cells]
            np.add.reduceat(np.abs(flat - counts), part.offsets[:-1])


def parts(layout: Layout) -> list[Layout]:
    """A layout in pieces of about ``PASS`` cells."""
    numbers = layout.offsets[:-1] // PASS
    cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(layout.sets)]
    return [Layout(layout.sizes, layout.sets[a:b]) for a, b in pairwise(cuts)]


def narrow_counts(source: Rows, layout: Layout, dtype: Any) -> np.ndarray:
    """Counts of a closure, a part at a time."""
    cells, filled = np.empty(layout.cells, dtype), 0
    for part in parts(layout):
        cells[filled : filled + part.cells] = source.tabulate(part)
        filled += part.cells
    return cells


def ours(table: Table, updating: str, noise: str, limit: float) -> dict[str, Any]:
    """Times of a sequence, and its error if it came to its end."""
    sequence = Sequence(table, updating)
    sets = table.workload.sets
    clock, done = Clock(limit), 0
    sequence.measure(sequence.first())
    for gamma in sets:
        if clock.over:
            break
        sequence.measure(sequence.plan(gamma, noise))
        done += 1
    found = {"elapsed": clock.elapsed, "processor": clock.processor, **sequence.times.row}
    if done == len(sets) and updating == "lazy":
        found |= table.errors(assemble(sequence.layout, sequence.state.values, table.answered))
    return found | {"measurements": done}


def plain(table: Table, noise: str, limit: float) -> dict[str, Any]:
    """The same with the plain loop."""
    flat = table.source.tabulate(table.layout)
    loop = PlainLoop(table.sizes, {s: table.layout.view(flat, s) for s in table.layout.sets}, noise)
    sets = table.workload.sets
    rho = rho_from(epsilon=1, delta=DELTA)
    clock, done = Clock(limit), 0
    loop.start(float(rho))
    for gamma in sets:
        if clock.over:
            break
        loop.measure(loop.plan(gamma, float(rho) / 2 / len(sets)))
        done += 1
    found = {"elapsed": clock.elapsed, "processor": clock.processor, **loop.times.row}
    if done == len(sets):
        read = [(loop.counts[s] - loop.gaps[s]).ravel() for s in table.answered.sets]
        found |= table.errors(np.concatenate(read))
    return found | {"measurements": done, "drawn": loop.drawn}


def run(figures: Figures, names: list[str], limits: dict[str, float]) -> None:
    """All loops on all tables; ``limits`` are seconds per loop."""
    compiled = False
    for name in names:
        table = Table.load(name)
        for updating, noise in LOOPS:
            key = f"{name}/{updating}/{noise}"
            if key in figures:
                continue
            row: dict[str, Any] = {"table": name, "loop": updating, "noise": noise}
            if updating == "plain" and table.layout.cells > WIDE:
                gigabytes = 24 * table.layout.cells / 2**30
                figures.put(key, **row, left_out=f"its arrays of floats would take {gigabytes:.0f} GB")
                continue
            if not compiled:
                ours(Table.load("titanic"), "lazy", "crp", 60.0)
                ours(Table.load("titanic"), "full", "iid", 5.0)
                compiled = True
            found = plain(table, noise, limits[name]) if updating == "plain" else None
            found = found or ours(table, updating, noise, limits[name])
            figures.put(key, **row, total=len(table.workload.sets), **found)
