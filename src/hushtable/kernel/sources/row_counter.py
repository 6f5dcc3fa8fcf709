"""Counts rows that stream past: what is asked for is added up batch by batch, and the rows are forgotten.

A pass is repeated for every table and every list of questions, and nothing of it is kept.  One who asks again and again
would wait for each of them: where all codes or all values of a table are few bytes, they stay in memory then, values
from the second list of questions on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import polars as pl
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.deciders import Question, Tally, columns_of
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.losses import LossCounter
from hushtable.kernel.sources.records import record_frames
from hushtable.kernel.sources.source import Source
from hushtable.kernel.sources.tallying import exact_tally
from hushtable.kernel.weighing import RowTabulator
from hushtable.marginals import COVERAGE, Counting, Layout

KEPT_BYTES = 2**28
"""Bytes of codes, and of values, that stay in memory: 20 million rows of a dozen small attributes.  With less, passes
after the first read more files again; results are the same."""

T = TypeVar("T")


class RowCounter:
    """The counter of a source that is read row by row; ``staged`` keeps codes."""

    def __init__(self, source: Source, *, keeps_codes: bool = False) -> None:
        self._source = source
        self._codes = _Kept(source.batches, _bytes_of_codes, KEPT_BYTES if keeps_codes else 0)
        self._frames = _Kept(lambda: record_frames(source), pl.DataFrame.estimated_size, 0)

    def probe(self) -> Sequence[Header]:
        """What was seen when the source was opened."""
        return self._source.headers

    def tabulate(self, layout: Layout) -> Ints:
        """One pass over the codes, each level by those of the finest."""
        return self.totals([Counting(layout)])[0]

    def totals(self, wanted: Sequence[Counting]) -> list[Ints]:
        """One pass for all of them, and one for what is left out of the rows."""
        kept = [one for one in wanted if one.of != COVERAGE]
        tabulator = RowTabulator(self._source.schema, kept)
        for batch in self._codes if kept else ():
            tabulator.add(batch)
        found = iter(tabulator.counts())
        return [self._lost() if one.of == COVERAGE else next(found) for one in wanted]

    def _lost(self) -> Ints:
        counter = LossCounter(self._source.schema)
        for marks in self._source.marked():
            counter.add(marks)
        return counter.counts()

    def tally(self, questions: Sequence[Question]) -> list[Tally]:
        """One pass over the values, a frame of records at a time."""
        columns = columns_of(self._source.schema)
        sums: list[Tally] = []
        for frame in self._frames if questions else ():
            found = [exact_tally(question, frame, columns) for question in questions]
            sums = [_added(*pair) for pair in zip(sums, found, strict=True)] if sums else found
        self._frames.most = KEPT_BYTES
        return sums

    def read_ahead(self) -> None:
        """Read all values now and keep them, if they are few: the first question then takes as long as any other."""
        self._frames.most = KEPT_BYTES
        for _ in self._frames:
            pass

    def keyed(self, ledger: str) -> RowCounter:
        """Reads the same table."""
        return RowCounter(self._source.keyed(ledger))

    def staged(self, again: int = 0) -> RowCounter:
        """A counter that reads its codes once, if they are few."""
        return RowCounter(self._source, keeps_codes=True)


def _added(one: Tally, other: Tally) -> Tally:
    return Tally(one.counts + other.counts, one.sums + other.sums)


def _bytes_of_codes(batch: Sequence[NDArray[Any]]) -> int:
    return sum(column.nbytes for column in batch)


class _Kept(Generic[T]):
    """What a pass gives, read again each time unless all of it is at most ``most`` bytes."""

    def __init__(self, read: Callable[[], Iterable[T]], size: Callable[[T], float], most: int) -> None:
        self._read, self._size, self.most = read, size, most
        self._all: list[T] | None = None

    def __iter__(self) -> Iterator[T]:
        if self._all is not None:
            yield from self._all
            return
        kept: list[T] = []
        left: float = self.most
        for item in self._read():
            left -= self._size(item)
            if left >= 0:
                kept.append(item)
            else:
                kept.clear()
            yield item
        if left >= 0:
            self._all = kept
