"""All marginals of a layout in one pass over integer codes.

Records arrive in batches, wait in a small buffer, are counted by several threads and are forgotten.  The counts are
exact and confidential: nothing here adds noise, and nothing outside the kernel may see them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import UsageError
from hushtable.kernel.bitplanes import LANES, WORD, Planes, build_planes, expand, run_steps
from hushtable.kernel.counting_plan import CountingPlan, build_plan
from hushtable.kernel.histograms import count_tables
from hushtable.marginals import Layout

CountingTask = Callable[[], None]
CodeColumns = Sequence[NDArray[np.unsignedinteger[Any]]]

NARROW: type[np.signedinteger[Any]] = np.int32
NARROW_RECORDS = 2**31 - 1
"""Counters are narrow while no count can exceed this; the number of records bounds every count."""

LARGEST_BUFFER = 2**17
BUFFER_BYTES = 2**26
"""Records that wait to be counted together, and the bytes that they may take.  With a quarter of the records the tables
of the case ``wide`` of the benchmark took half as long again, with four times as many a fifth less; 45,760 small tables
did not care, and neither case for an eighth of the bytes."""
BLOCK_BYTES = 600_000
"""Bytes of planes that are gone over together: they share a second-level cache of 1 MB with the rest.  A quarter and
four times of it could not be told from noise."""
LINE = 64
"""Bytes of a cache line."""
PIECES_PER_THREAD = 8
"""Pieces of work, so that no thread waits long for the last one.  1 and 32 took the same time within noise on two
cores; with more of them more prefixes are joined twice."""


class Tabulator:
    """Counts batches of records into the marginals of a layout.

    >>> layout = Layout((2, 3), ((), (0, 1)))
    >>> tabulator = Tabulator(layout, threads=1)
    >>> tabulator.add([np.array([0, 1, 1], np.uint8), np.array([2, 0, 0], np.uint8)])
    >>> tabulator.counts().tolist()
    [3, 0, 0, 1, 2, 0, 0]
    """

    def __init__(self, layout: Layout, *, threads: int | None = None) -> None:
        self._plan = build_plan(layout)
        self._shape = _BufferShape(self._plan)
        self._threads = _threads(threads)
        self._jobs = _Jobs(self._plan, self._shape, self._threads)
        self._records = 0
        self._waiting = 0

    def add(self, codes: CodeColumns) -> None:
        """Count a batch: one array of codes per attribute, all of one length.

        A code that is not below its attribute's size counts as the last category; it never reaches another cell.
        """
        columns = checked_codes(codes, self._plan.layout.sizes)
        length = len(columns[0]) if columns else 0
        done = 0
        while done < length:
            taken = min(length - done, self._shape.records - self._waiting)
            self._jobs.store(columns, done, done + taken, self._waiting)
            self._waiting += taken
            done += taken
            if self._waiting == self._shape.records:
                self._flush()

    def counts(self) -> NDArray[np.int64]:
        """The marginals of everything added so far, flat, in the order of the layout."""
        self._flush()
        return self._jobs.tables(self._records)

    def _flush(self) -> None:
        if self._waiting:
            self._records += self._waiting
            self._jobs.count(self._waiting, self._records)
            self._waiting = 0


def tabulate(batches: Iterable[CodeColumns], layout: Layout) -> NDArray[np.int64]:
    """The marginals of all batches together."""
    tabulator = Tabulator(layout)
    for codes in batches:
        tabulator.add(codes)
    return tabulator.counts()


def _threads(requested: int | None) -> int:
    if requested is not None:
        return max(1, requested)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def checked_codes(codes: CodeColumns, sizes: tuple[int, ...]) -> list[NDArray[Any]]:
    """A batch of codes, refused unless it has one array of whole numbers per attribute, all of one length."""
    columns = [np.asarray(column) for column in codes]
    if len(columns) != len(sizes):
        raise UsageError(
            "tabulate.wrong-columns",
            f"A batch has {len(columns)} columns where the layout has {len(sizes)} attributes.",
            "Pass one array of codes per attribute, in the order of the schema.",
        )
    if any(column.ndim != 1 or column.dtype.kind not in "ui" for column in columns):
        raise UsageError(
            "tabulate.wrong-codes",
            "A column of codes is not a one-dimensional array of integers.",
            "Pass arrays of unsigned integers.",
        )
    if len({len(column) for column in columns}) > 1:
        raise UsageError(
            "tabulate.uneven-batch",
            "The columns of a batch have different lengths.",
            "Pass the same records in every column.",
        )
    return columns


def _aligned(words: int) -> NDArray[np.uint64]:
    """Zeros that begin at a cache line, so that no vector load crosses one."""
    raw = np.zeros(words * 8 + LINE, np.uint8)
    skip = -raw.ctypes.data % LINE
    return raw[skip : skip + words * 8].view(np.uint64)


class _BufferShape:
    """How many records wait before they are counted, and how their planes are cut into blocks that stay in cache."""

    def __init__(self, plan: CountingPlan) -> None:
        sizes = plan.layout.sizes
        self.axes = tuple(sorted({axis for attributes in plan.layout.sets for axis in attributes}))
        largest = max((sizes[axis] for axis in self.axes), default=1)
        self.dtype = np.min_scalar_type(largest - 1)
        self.planes = 0 if plan.program is None else plan.program.planes
        self.span = 512
        while self.span > 64 and self.span * 8 * self.planes > BLOCK_BYTES:
            self.span //= 2
        per_record = self.dtype.itemsize * max(1, len(self.axes)) + self.planes / 8
        block = self.span * WORD
        blocks = int(min(BUFFER_BYTES / per_record, LARGEST_BUFFER) // block)
        self.records = max(1, blocks) * block


class _Jobs:
    """The arrays of a tabulation, and its work cut into pieces that threads can do at the same time."""

    def __init__(self, plan: CountingPlan, shape: _BufferShape, threads: int) -> None:
        self._plan = plan
        self._shape = shape
        self._threads = threads
        self._row = np.full(len(plan.layout.sizes), -1, np.int64)
        self._row[list(shape.axes)] = np.arange(len(shape.axes))
        self._last = np.array([plan.layout.sizes[axis] - 1 for axis in shape.axes], shape.dtype)
        self._buffer = np.zeros((len(shape.axes), shape.records), shape.dtype)
        self._planes = _aligned(shape.planes * shape.records // WORD)
        self._plane_counters: NDArray[Any] = np.zeros(plan.plane_cells, NARROW)
        self._table_counters: NDArray[Any] = np.zeros(plan.histogram_cells, NARROW)
        self._pieces = [] if plan.program is None else plan.program.pieces(PIECES_PER_THREAD * threads)
        self._table_rows = plan.histograms
        if plan.histograms is not None:
            tables = plan.histograms
            self._table_rows = tables._replace(axis=self._row[tables.axis], last=self._row[tables.last])

    def store(self, columns: Sequence[NDArray[Any]], first: int, stop: int, at: int) -> None:
        """Copy records into the buffer; codes beyond an attribute's size become its last category."""
        for row, axis in enumerate(self._shape.axes):
            part = columns[axis][first:stop]
            if part.dtype.kind == "i":
                part = part.view(part.dtype.str.replace("i", "u"))
            target = self._buffer[row, at : at + len(part)]
            limit = self._plan.layout.sizes[axis] - 1
            if limit >= np.iinfo(part.dtype).max:
                target[:] = part
            else:
                np.minimum(part, part.dtype.type(limit), out=target, casting="unsafe")

    def count(self, waiting: int, records: int) -> None:
        """Count the waiting records; ``records`` is the number counted after that."""
        if records > NARROW_RECORDS and self._plane_counters.dtype != np.int64:
            self._plane_counters = self._plane_counters.astype(np.int64)
            self._table_counters = self._table_counters.astype(np.int64)
        words = -(-waiting // (WORD * LANES)) * LANES
        self._buffer[:, waiting : words * WORD] = self._last[:, None]
        self._run(self._building_jobs(words))
        self._run(self._plane_jobs(words) + self._table_jobs(waiting))

    def tables(self, records: int) -> NDArray[np.int64]:
        """All tables of the layout."""
        layout = self._plan.layout
        out = np.empty(layout.cells, np.int64)
        for position in self._plan.totals:
            out[layout.offsets[position]] = records
        self._run(self._expansion_jobs(records, out))
        first = 0
        for position in self._plan.histogram_positions:
            length = int(layout.lengths[position])
            layout.at(out, position)[:] = self._table_counters[first : first + length]
            first += length
        for total in self._plan.sums:
            target = layout.at(out, total.target).reshape(layout.shape(layout.sets[total.target]))
            np.sum(layout.view(out, layout.sets[total.source]), axis=total.axes, out=target)
        return out

    def _run(self, jobs: Sequence[CountingTask]) -> None:
        if self._threads == 1 or len(jobs) < 2:
            for job in jobs:
                job()
            return
        with ThreadPoolExecutor(min(self._threads, len(jobs))) as pool:
            for done in [pool.submit(job) for job in jobs]:
                done.result()

    def _building_jobs(self, words: int) -> list[CountingTask]:
        program, span = self._plan.program, self._shape.span
        if program is None:
            return []
        codes, starts = self._buffer.reshape(-1), self._row[list(program.axes)] * self._buffer.shape[1]
        given = codes, starts, program.first_plane, words, span
        stretches = _stretches(-(-words // span), self._threads)
        return [partial(build_planes, *given, *stretch, self._planes) for stretch in stretches]

    def _plane_jobs(self, words: int) -> list[CountingTask]:
        program, span = self._plan.program, self._shape.span
        if program is None:
            return []
        given = Planes(self._planes, program.planes, words, span), program.steps
        scratch = [_aligned(span * program.depth) for _ in self._pieces]
        pieces = zip(self._pieces, scratch, strict=True)
        return [partial(run_steps, *given, *piece, own, self._plane_counters) for piece, own in pieces]

    def _table_jobs(self, waiting: int) -> list[CountingTask]:
        tables = self._table_rows
        if tables is None:
            return []
        stretches = _stretches(len(tables.last), PIECES_PER_THREAD * self._threads)

        def job(first: int, stop: int) -> None:
            scratch = np.empty(waiting, np.uint32)
            count_tables(self._buffer, waiting, tables, first, stop, scratch, self._table_counters)

        return [partial(job, *stretch) for stretch in stretches]

    def _expansion_jobs(self, records: int, out: NDArray[np.int64]) -> list[CountingTask]:
        return [
            partial(expand, places, *stretch, self._plane_counters, records, out)
            for places in self._plan.expansions
            for stretch in _stretches(len(places.offset), self._threads)
        ]


def _stretches(length: int, number: int) -> list[tuple[int, int]]:
    """0 .. length cut into at most ``number`` stretches of about equal length."""
    bounds = [length * k // number for k in range(number + 1)]
    return [(a, b) for a, b in pairwise(bounds) if a < b]
