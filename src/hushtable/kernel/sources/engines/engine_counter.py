"""Counts on an engine: our tasks run where the rows are, the engine moves bytes and integers, the driver gets sums.

A table is one job per pass.  A pass that comes back in two versions (a task was run again and gave something else, or
parts of it were lost on the way) is run again, and refused the third time; rows that change between two passes are
found by their fingerprint and refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hushtable.arrays import Ints
from hushtable.deciders import Question, Tally
from hushtable.errors import SourceError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.engines.engine_frame import EngineFrame, RowFrame
from hushtable.kernel.sources.engines.parcels import BUCKET_FACTS, PARCEL, PARTIAL, PartialSums
from hushtable.kernel.sources.engines.row_sums import PRINT, LossSum, RowSum, TableSum, TallySum
from hushtable.kernel.sources.engines.tasks import (
    AddSums,
    CountParcels,
    CountRows,
    EncodeRows,
    KeepRows,
    LabelRows,
    PartReader,
)
from hushtable.kernel.sources.engines.versions import own_versions
from hushtable.kernel.sources.source import RowView
from hushtable.kernel.sources.tallying import Asked
from hushtable.marginals import COVERAGE, Counting, Layout
from hushtable.schema import Schema
from hushtable.watching import tell_note

PASS_CELLS = 1 << 24
"""Cells that are counted in one pass: 64 MB of counters in a task, and 128 MB while they are handed over.  More would
not fit an executor as it comes; fewer read the rows more often."""
DIRECT_BYTES = 1 << 25
"""Bytes of all partial sums up to which they go to the driver as they are: another round of tasks, which would add them
up before, takes a third of a second."""
GATHERED_BYTES = 1 << 28
"""Bytes of partial sums that one part gets on average while they are added up; the fullest has three times as much, and
Spark hands them over at once.  Where there would be more, fewer tasks count."""
BUCKETS, MOST_BUCKETS = 512, 1 << 15
"""Into which people are divided.  More divide work more evenly among more tasks, and make more and smaller parcels: of
a part of a million rows, parcels of 2,000.  Where an engine gathers rows into many parts there are more, so that as
many parts have rows: what a task holds is bounded by the number of parts.  A bucket's number has 16 bits."""
BUCKETS_OF_A_PART = 4
"""By chance a part gets more than its mean: the fullest of a thousand has three times as much with 4, five with 1."""
TRIES = 3
"""How often a pass is run that comes back in two versions: twice is bad luck, and a third time it will go on."""


@dataclass
class _Prints:
    """The fingerprints of the first passes, of each view of the rows; one for all counters of a table."""

    keys: tuple[bytes, bytes] = field(default_factory=lambda: (os.urandom(16), os.urandom(16)))
    seen: dict[tuple[RowView, str], Ints] = field(default_factory=dict[tuple[RowView, str], Ints])


class EngineCounter:
    """The counter of a table that an engine holds."""

    def __init__(self, frame: RowFrame, schema: Schema) -> None:
        self._frame, self._schema, self._ledger = frame, schema, ""
        self._prints = _Prints()
        self._keeps_codes = False
        self._codes: EngineFrame | None = None

    def probe(self) -> Sequence[Header]:
        """What the engine says of the columns."""
        return [self._frame.header]

    def tabulate(self, layout: Layout) -> Ints:
        """One pass, or several over codes that the engine keeps for them."""
        return self.totals([Counting(layout)])[0]

    def totals(self, wanted: Sequence[Counting]) -> list[Ints]:
        """As many tables in a pass as fit; what is left out of the rows is a pass of its own."""
        passes = _passes(wanted)
        lost = any(one.of == COVERAGE for one in wanted)
        jobs, cells = len(passes) + lost, sum(one.layout.cells for one in wanted)
        if jobs > 1:
            tell_note(f"Counting {cells:,} cells takes {jobs} jobs on the engine, a pass each.")
        counter = self if self._keeps_codes or len(passes) < 2 else self.staged()
        found = [np.empty(one.layout.cells, np.int64) for one in wanted]
        for number, parts in enumerate(passes, start=1):
            step = "counting" if jobs == 1 else f"counting, pass {number} of {jobs}"
            tables = tuple((part.layout.sets, wanted[part.number].of) for part in parts)
            flat = counter._summed(TableSum(parts[0].layout.sizes, tables), step)
            for part in parts:
                found[part.number][part.where], flat = np.split(flat, [part.layout.cells])
        if lost:
            losses = self._summed(LossSum(len(self._schema.losses)), f"counting, pass {jobs} of {jobs}")
            found = [losses if one.of == COVERAGE else flat for one, flat in zip(wanted, found, strict=True)]
        return found

    def tally(self, questions: Sequence[Question]) -> list[Tally]:
        """One pass over the values."""
        if not questions:
            return []
        wanted = TallySum(tuple(map(Asked.of, questions)))
        return wanted.tallies(self._summed(wanted, "checking"))

    def keyed(self, ledger: str) -> EngineCounter:
        """The same rows."""
        found = copy(self)
        found._ledger, found._codes = ledger, None
        return found

    def staged(self, again: int = 0) -> EngineCounter:
        """A counter whose codes the engine keeps, where it has room, from the first pass on."""
        if again:
            tell_note(
                f"Rounds that measure tables of more than two attributes have them counted: at most {again:,} jobs "
                "on the engine after the first, over codes that it keeps."
            )
        found = copy(self)
        found._keeps_codes = True
        return found

    def _summed(self, wanted: RowSum, step: str) -> Ints:
        """The integers of one pass, if nothing came in two versions and the rows are those of the first pass."""
        reader = self._reader(wanted)
        for _ in range(TRIES):
            found = self._run(reader, wanted, step)
            if found is not None:
                self._require_same_rows(wanted, found[-PRINT:])
                return found[:-PRINT]
        fix = "Nothing more was spent; check that the table gives the same rows each time, and type the command again."
        raise SourceError("source.two-versions", "The engine gave a part of the table in two versions.", fix)

    def _run(self, reader: PartReader, wanted: RowSum, step: str) -> Ints | None:
        capped = self._schema.person is not None
        rows, workers = self._frame.chosen(self._schema.columns), self._workers(wanted)
        buckets = reader.buckets if capped else 0
        if self._keeps_codes and wanted.view is RowView.CODES:
            counted = self._kept_codes(reader).fewer(workers).mapped(CountParcels(reader, wanted), PARTIAL)
        elif capped:
            counted = self._kept(rows, reader).fewer(workers).mapped(CountParcels(reader, wanted), PARTIAL)
        else:
            counted = rows.fewer(workers).mapped(CountRows(reader, wanted), PARTIAL)
        length = wanted.length + PRINT
        if 8 * workers * (length + buckets * BUCKET_FACTS) > DIRECT_BYTES:
            counted = counted.gathered("stretch").mapped(AddSums(), PARTIAL)
        sums = PartialSums()
        for batch in counted.collected(step).to_batches():
            sums.add(batch)
        return sums.total(length, buckets)

    def _kept(self, rows: RowFrame, reader: PartReader) -> EngineFrame:
        """Parcels of rows that count.

        Each task sends to all buckets, if only to say that it has nothing, and Spark opens a file for each: a quarter
        of a second of processor, whether the part has a hundred rows or a million.  So small parts are read in one
        task, one after another.
        """
        labelled = rows.fewer(self._frame.workers).mapped(LabelRows(reader), PARCEL)
        return labelled.gathered("bucket").mapped(KeepRows(reader), PARCEL)

    def _workers(self, wanted: RowSum) -> int:
        most = self._frame.places * GATHERED_BYTES // (8 * (wanted.length + PRINT))
        return max(1, min(self._frame.workers, most))

    def _kept_codes(self, reader: PartReader) -> EngineFrame:
        if self._codes is None:
            rows = self._frame.chosen(self._schema.columns)
            capped = self._schema.person is not None
            self._codes = (
                self._kept(rows, reader) if capped else rows.mapped(EncodeRows(reader), PARCEL)
            ).held()
        return self._codes

    def _reader(self, wanted: RowSum) -> PartReader:
        keys = self._prints.keys
        buckets = max(BUCKETS, min(MOST_BUCKETS, BUCKETS_OF_A_PART * self._frame.places))
        return PartReader(self._schema.to_yaml(), self._ledger, *keys, wanted.view, own_versions(), buckets)

    def _require_same_rows(self, wanted: RowSum, found: Ints) -> None:
        first = self._prints.seen.setdefault((wanted.view, self._ledger), found)
        if not np.array_equal(first, found):
            raise SourceError(
                "source.changed", "The table gives other rows than it gave before.", "Open it again."
            )


@dataclass(frozen=True)
class _TablesOfPass:
    """Some of the tables that were wanted: where they lie in which of the results."""

    number: int
    where: Any
    layout: Layout


def _passes(wanted: Sequence[Counting]) -> list[list[_TablesOfPass]]:
    """All tables of rows and their columns in order, as many to a pass as it has cells for."""
    passes: list[list[_TablesOfPass]] = []
    room = 0
    for number, one in enumerate(wanted):
        if one.of == COVERAGE:
            continue
        for where, layout in one.layout.pieces(PASS_CELLS):
            if layout.cells > room or not passes:
                passes.append([])
                room = PASS_CELLS
            passes[-1].append(_TablesOfPass(number, where, layout))
            room -= layout.cells
    return passes
