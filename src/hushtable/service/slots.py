"""When answers appear: a job's slot is fixed when it is handed in, from public facts alone.

Slots of a kind of job follow each other on a fixed grid of time.  How long one is depends on the kind, the schema's
cells that the job touches and the rows that the dataset declares it may have, never on the rows it has.  A job belongs
to the first slot that begins after it was handed in, still has room, and has room for its person; its answer or
refusal is shown when that slot ends.  If a job is not done by then, the slots of its kind become longer for everybody,
for good: an overrun says something once, about a job, and then no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

BASE = 1.0
"""Seconds of the shortest slot: the time of a check on a small table many times over, and what a person waits for
without minding."""
PER_ROW = 4e-7
"""Seconds for a row of the table: four times what reading and counting one takes (bench/history), because slots must
hold on a busy machine."""
PER_KEPT_ROW, KEPT_ROWS = 2e-8, 10_000_000
"""Seconds for a row that a worker has in memory, as it has those of checks of a table of at most so many rows: more
than twice what a question about one takes (a check of a million rows takes 15 milliseconds of the processor in all),
and a slot is planned to be idle for three quarters."""
PER_CELL = 2e-5
"""Seconds for a cell of the answers: several times what drawing, fitting and writing one takes."""
LEAST = 0.01
"""Seconds that any job takes: counting, planning and its share of durable writes, which jobs that are done side by side
have in common."""
EASE = 0.25
"""The share of a slot that its jobs are planned to take; the rest is for bad luck."""
SHARE = 4
"""A person has at most this part of a slot (one in so many jobs), so that others find room in it."""
LONGER = 2.0
"""How much longer slots become after an overrun."""


@dataclass(frozen=True)
class SlotFacts:
    """What decides about a slot: all of it is public."""

    kind: str
    cells: int
    largest_rows: int
    workers: int = 1

    def seconds(self, factor: float) -> float:
        """The length of the slot, a power of two of the shortest, so that grids of different lengths meet."""
        needed = factor * (self.work + BASE * EASE) / EASE
        return BASE * 2.0 ** math.ceil(math.log2(max(1.0, needed / BASE)))

    @property
    def work(self) -> float:
        """Seconds that one job is planned to take."""
        kept = self.kind == "check" and self.largest_rows <= KEPT_ROWS
        return self.largest_rows * (PER_KEPT_ROW if kept else PER_ROW) + self.cells * PER_CELL + LEAST

    def room(self, seconds: float) -> int:
        """How many jobs a slot of this length holds."""
        return max(1, int(self.workers * seconds * EASE / self.work))


def first_slot(
    now: float, facts: SlotFacts, factor: float, taken: Callable[[float], tuple[int, int]]
) -> tuple[float, float]:
    """The end and the length of the slot of a job that is handed in now.

    ``taken`` tells how many jobs the slot that ends at a time has, and how many of them are this person's.
    """
    seconds = facts.seconds(factor)
    room = facts.room(seconds)
    own = max(1, room // SHARE)
    ends = (math.floor(now / seconds) + 2) * seconds
    while True:
        jobs, mine = taken(ends)
        if jobs < room and mine < own:
            return ends, seconds
        ends += seconds
