"""An engine of one process that does what engines do, and what they should not: for tests of what counts on one.

Rows lie in several parts.  Between tasks everything is pickled, as it would be on its way to another machine.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from random import Random
from typing import Any

import pyarrow as pa

from hushtable.kernel import Counter
from hushtable.kernel.sources import Header, Opener
from hushtable.kernel.sources.engines import EngineCounter, Place, Task
from hushtable.schema import Schema

Parts = list[list[pa.RecordBatch]]
Fault = Callable[["Engine", str, Parts], Parts]
"""What happens to rows after a verb: "mapped", "gathered" or "collected"."""


@dataclass
class Engine:
    """Chance, attempts and faults of one engine."""

    chance: Random
    faults: tuple[Fault, ...] = ()
    workers: int = 3
    attempts: Iterator[int] = field(default_factory=lambda: count(100))
    jobs: int = 0

    def after(self, verb: str, parts: Parts) -> Parts:
        for fault in self.faults:
            parts = fault(self, verb, parts)
        return parts


@dataclass(frozen=True)
class PieceFrame:
    """A table in parts, computed anew whenever it is collected."""

    engine: Engine
    header: Header
    compute: Callable[[], Parts]

    @property
    def workers(self) -> int:
        return self.engine.workers

    @property
    def places(self) -> int:
        return 2

    def chosen(self, columns: Sequence[str]) -> PieceFrame:
        return self._after(
            "chosen", lambda parts: [[batch.select(list(columns)) for batch in part] for part in parts]
        )

    def mapped(self, task: Task, columns: pa.Schema) -> PieceFrame:
        travelled = pickle.dumps(task)

        def run(parts: Parts) -> Parts:
            return [self.attempt(pickle.loads(travelled), number, part) for number, part in enumerate(parts)]

        return self._after("mapped", run)

    def attempt(self, task: Task, number: int, part: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
        return list(task(iter(part), Place(number, next(self.engine.attempts))))

    def gathered(self, column: str) -> PieceFrame:
        def move(parts: Parts) -> Parts:
            homes: Parts = [[] for _ in range(4)]
            for part in parts:
                for row in rows_of(part):
                    homes[hash((row.column(column)[0].as_py(), "home")) % 4].append(row)
            return homes

        return self._after("gathered", move)

    def fewer(self, parts: int) -> PieceFrame:
        return self._after(
            "fewer", lambda found: [list(chain(*found[k::parts])) for k in range(min(parts, len(found)))]
        )

    def held(self) -> PieceFrame:
        kept: list[Parts] = []

        def once() -> Parts:
            if not kept:
                kept.append(self.compute())
            return kept[0]

        return replace(self, compute=once)

    def collected(self, step: str) -> pa.Table:
        self.engine.jobs += 1
        found = self.engine.after("collected", self.compute())
        return pa.Table.from_batches([batch for part in found for batch in part])

    def _after(self, verb: str, change: Callable[[Parts], Parts]) -> PieceFrame:
        return replace(self, compute=lambda: self.engine.after(verb, change(self.compute())))


def rows_of(part: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in part:
        for k in range(batch.num_rows):
            yield batch.slice(k, 1)


@dataclass
class Pieces:
    """A table in so many parts of an engine."""

    table: pa.Table
    parts: int = 5
    engine: Engine = field(default_factory=lambda: Engine(Random(1)))

    def frame(self) -> PieceFrame:
        def compute() -> Parts:
            size = -(-len(self.table) // self.parts) or 1
            cuts = [self.table.slice(k * size, size) for k in range(self.parts)]
            return [cut.to_batches(max_chunksize=7) for cut in cuts]

        types = list(self.table.schema.types)
        return PieceFrame(self.engine, Header("The table", self.table.column_names, types), compute)


class PiecesOpener(Opener):
    name = "pieces"
    what = "a table in pieces"

    def takes(self, data: object) -> bool:
        return isinstance(data, Pieces)

    def open(self, data: Pieces, schema: Schema) -> Counter:
        return EngineCounter(data.frame(), schema)


# -- what engines do, and what they should not ----------------------------------------------------------------------


def shuffled(engine: Engine, verb: str, parts: Parts) -> Parts:
    """Rows of a part in any order, in batches of any size."""
    if verb == "chosen":
        return parts
    found: Parts = []
    for part in parts:
        rows = list(rows_of(part))
        engine.chance.shuffle(rows)
        found.append(rows)
    return found


def _some(engine: Engine, share: float, parts: Parts, change: Callable[[Any], list[Any]]) -> Parts:
    return [
        [made for row in rows_of(part) for made in (change(row) if engine.chance.random() < share else [row])]
        for part in parts
    ]


def sent_twice(engine: Engine, verb: str, parts: Parts) -> Parts:
    """What a task has sent arrives again: the first time was thought to be lost."""
    return _some(engine, 0.3, parts, lambda row: [row, row]) if verb in ("mapped", "collected") else parts


def lost(engine: Engine, verb: str, parts: Parts) -> Parts:
    """Some of what tasks have sent never arrives."""
    return _some(engine, 0.02, parts, lambda row: []) if verb == "gathered" else parts


def misled(engine: Engine, verb: str, parts: Parts) -> Parts:
    """Some rows come to a task that is not theirs."""
    if verb != "gathered":
        return parts
    moved: Parts = [[] for _ in parts]
    for number, part in enumerate(parts):
        for row in rows_of(part):
            home = engine.chance.randrange(len(parts)) if engine.chance.random() < 0.05 else number
            moved[home].append(row)
    return moved


def tried_twice(engine: Engine, verb: str, parts: Parts) -> Parts:
    """Two attempts at one part both count as done: the numbers of attempts differ, the rest does not."""
    if verb != "mapped" or not parts or engine.chance.random() < 0.5:
        return parts
    chosen = engine.chance.randrange(len(parts))
    again = [_other_attempt(row, next(engine.attempts)) for row in rows_of(parts[chosen])]
    return [part + again if k == chosen else part for k, part in enumerate(parts)]


def _other_attempt(row: pa.RecordBatch, attempt: int) -> pa.RecordBatch:
    import numpy as np

    if "attempt" in row.schema.names:
        return row.set_column(
            row.schema.get_field_index("attempt"), "attempt", pa.array([attempt], pa.int64())
        )
    senders = np.frombuffer(row.column("senders")[0].as_buffer(), np.int64).copy()
    senders[1::2] = attempt
    return row.set_column(1, "senders", pa.array([senders.tobytes()], pa.binary()))


ORDER_ONLY: tuple[Fault, ...] = (shuffled, sent_twice)
FAULTS: dict[str, tuple[Fault, ...]] = {
    "shuffled": (shuffled,),
    "sent twice": (sent_twice,),
    "lost": (lost,),
    "misled": (misled,),
    "tried twice": (tried_twice,),
    "all": (shuffled, sent_twice, lost, misled, tried_twice),
}
