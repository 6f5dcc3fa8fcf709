"""Many tables of the same columns as one frame of an engine: each job counts all of them, each by itself.

Rows carry the number of their table through every verb, and a task runs once for each table that a part has rows of.
What one table gives is asked for by ``at``: the first that asks pays for the job.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.engines import Place, Task
from hushtable.kernel.sources.engines.spark import SparkFrame

NUMBER = "number of the table"


class ManyTables:
    """A DataFrame whose column ``NUMBER`` says which table a row belongs to; seen as one of these tables.

    What Spark is asked for is made only for the table that asks first: making it takes as long as a small job.
    """

    def __init__(
        self,
        whole: SparkFrame,
        make: Callable[[], SparkFrame] | None = None,
        verbs: tuple[Any, ...] = (),
        answers: dict[Any, Any] | None = None,
    ) -> None:
        self._whole, self._verbs = whole, verbs
        self._make = (lambda: whole) if make is None else make
        self._answers: dict[Any, Any] = {} if answers is None else answers
        self._table = 0

    def at(self, table: int) -> ManyTables:
        """The same rows, seen as one of the tables."""
        found = ManyTables(self._whole, self._make, self._verbs, self._answers)
        found._table = table
        return found

    @property
    def header(self) -> Header:
        whole = self._whole.header
        columns = [pair for pair in zip(whole.names, whole.types, strict=True) if pair[0] != NUMBER]
        return Header(
            whole.shown, [name for name, _ in columns], [kind for _, kind in columns], whole.rounded
        )

    @property
    def workers(self) -> int:
        return self._whole.workers

    @property
    def places(self) -> int:
        return self._whole.places

    def chosen(self, columns: Sequence[str]) -> ManyTables:
        return self._with(lambda frame: frame.chosen([NUMBER, *columns]), "chosen", *columns)

    def mapped(self, task: Task, columns: Any) -> ManyTables:
        numbered = pa.schema([("table_number", pa.int32()), *columns])
        return self._with(lambda frame: frame.mapped(each_table(task), numbered), "mapped", task)

    def gathered(self, column: str) -> ManyTables:
        def move(frame: SparkFrame) -> SparkFrame:
            return SparkFrame(frame._frame.repartition("table_number", column))

        return self._with(move, "gathered", column)

    def fewer(self, parts: int) -> ManyTables:
        return self._with(lambda frame: frame.fewer(parts), "fewer", parts)

    def held(self) -> ManyTables:
        return self

    def collected(self, step: str) -> Any:
        if self._verbs not in self._answers:
            self._answers[self._verbs] = self._make().collected(step)
        found = self._answers[self._verbs]
        return found.filter(pa.compute.equal(found.column(0), self._table)).drop_columns(["table_number"])

    def _with(self, verb: Callable[[SparkFrame], SparkFrame], *said: Any) -> ManyTables:
        make = self._make
        found = ManyTables(self._whole, lambda: verb(make()), (*self._verbs, said), self._answers)
        found._table = self._table
        return found


def each_table(task: Task) -> Callable[[Iterator[Any], Place], Iterator[Any]]:
    """The task for each table by itself; a function in a function travels with its code."""

    def run(batches: Iterator[Any], place: Place) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.compute as pc

        parts: dict[int, list[Any]] = {}
        for batch in batches:
            numbers = batch.column(0)
            rest = batch.select(batch.schema.names[1:])
            for number in pc.unique(numbers).to_pylist():
                parts.setdefault(number, []).append(rest.filter(pc.equal(numbers, number)))
        for number, own in parts.items():
            for made in task(iter(own), place):
                column = pa.array([number] * made.num_rows, pa.int32())
                names = ["table_number", *made.schema.names]
                yield pa.RecordBatch.from_arrays([column, *made.columns], names=names)

    return run
