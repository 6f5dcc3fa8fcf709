"""What runs where the rows are: encode, bring people together, keep k rows of each, count, add up.

A task imports what reads and counts rows, and nothing that draws noise, spends or knows a ledger but by its id (an
import contract, and a test).  It raises nothing that quotes a row: engines log what tasks raise.

    without a person column     rows -> CountRows -> AddSums
    with one                    rows -> LabelRows -> by bucket -> KeepRows -> CountParcels -> AddSums
    when codes are kept         rows -> EncodeRows, or LabelRows and KeepRows, -> kept there -> CountParcels -> AddSums
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints, Words
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.engines.engine_frame import Place
from hushtable.kernel.sources.engines.parcels import (
    LAST,
    Arrivals,
    Parcel,
    PartialSums,
    bucket_facts,
    cut_parcels,
    parcel_batch,
    parcels_in,
)
from hushtable.kernel.sources.engines.row_sums import RowSum
from hushtable.kernel.sources.engines.versions import require_versions
from hushtable.kernel.sources.kept_rows import Held
from hushtable.kernel.sources.people import People
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock
from hushtable.kernel.sources.rows import Octets
from hushtable.kernel.sources.source import LabelledRows, RowView, Source
from hushtable.schema import Schema

FLUSH_ROWS = 1 << 20
"""Rows that wait until they are sent: about 50 MB in a task.  Fewer make smaller parcels."""
PARCEL_ROWS = 1 << 18
"""Rows that count which are handed on at once, in parcels."""
PARCEL_BYTES = 1 << 10
"""Of a parcel of rows that count.  Spark gives a task 65,536 of its own rows at once, whatever they have in bytes: of
parcels of 1 kB these are 64 MB, however large the table is.  With large parcels all that a task counts would lie in
memory; smaller ones take longer."""


@dataclass(frozen=True)
class PartReader:
    """How rows are read: all that a task needs to know of schema, ledger and keys."""

    schema: str
    ledger: str
    people_key: bytes
    print_key: bytes
    view: RowView
    versions: tuple[tuple[str, str], ...]
    buckets: int
    """Into which people are divided."""

    @cached_property
    def declared(self) -> Schema:
        """The schema."""
        return Schema.loads(self.schema)

    def source(self, batches: Iterable[Any]) -> Source:
        """The rows of one part."""
        require_versions(self.versions)
        return Source(_PartTable(batches), self.declared, threads=1, ledger=self.ledger)

    @cached_property
    def kinds(self) -> list[np.dtype[Any]]:
        """The types of the arrays of a batch."""
        return self.source(()).kinds(self.view)

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.__dataclass_fields__}


class _PartTable:
    """The batches of one part as blocks of about the size that encoding is quickest with; read once."""

    shown = "the table"
    block = TYPED_ROWS

    def __init__(self, batches: Iterable[Any]) -> None:
        self.headers = [Header("The table", [], [])]
        self._batches = batches

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows; the columns are those that were asked for when the task was made."""
        waiting: list[Any] = []
        for batch in self._batches:
            waiting.append(batch)
            if sum(map(len, waiting)) >= size:
                yield _joined(waiting)
                waiting = []
        if waiting:
            yield _joined(waiting)


def _joined(batches: list[Any]) -> ArrowBlock:
    if len(batches) == 1:
        return ArrowBlock(batches[0].columns)
    return ArrowBlock(
        [pa.concat_arrays(list(same)) for same in zip(*(b.columns for b in batches), strict=True)]
    )


@dataclass(frozen=True)
class CountRows:
    """Rows to one partial sum, where nobody's rows are counted."""

    reader: PartReader
    wanted: RowSum

    def __call__(self, batches: Iterator[Any], place: Place) -> Iterator[Any]:
        running = self.wanted.begin(self.reader.declared, self.reader.print_key)
        for arrays in _batches(self.reader, batches):
            running.add(arrays)
        sums = PartialSums()
        sums.add_own(place, running.flat(), np.empty(0, np.int64))
        yield from sums.batches()


@dataclass(frozen=True)
class EncodeRows:
    """Rows to parcels of codes."""

    reader: PartReader

    def __call__(self, batches: Iterator[Any], place: Place) -> Iterator[Any]:
        packing, sent = _RowBytes(self.reader.kinds), 0
        for arrays in _batches(self.reader, batches):
            if len(arrays[0]):
                made = cut_parcels(packing.packed(arrays), PARCEL_BYTES, Parcel(0, place, sent, 0, b""))
                yield made
                sent += made.num_rows
        yield parcel_batch([Parcel(0, place, LAST, sent, b"")])


def _batches(reader: PartReader, batches: Iterator[Any]) -> Iterator[Sequence[NDArray[Any]]]:
    return reader.source(batches).viewed(reader.view)


class _RowBytes:
    """Rows as bytes: what arrays hold for a row lies beside each other.  So they are moved several times as fast."""

    def __init__(self, kinds: Sequence[np.dtype[Any]]) -> None:
        self.names = [str(k) for k in range(len(kinds))]
        self.kind = np.dtype(list(zip(self.names, kinds, strict=True)))

    def packed(self, arrays: Sequence[NDArray[Any]]) -> Octets:
        """One row of bytes for each."""
        rows = np.empty(len(arrays[0]), self.kind)
        for name, array in zip(self.names, arrays, strict=True):
            rows[name] = array
        return rows.view(np.uint8).reshape(len(rows), self.kind.itemsize)

    def arrays(self, data: Sequence[Any]) -> list[NDArray[Any]]:
        """The arrays of rows that came in several pieces."""
        rows = np.frombuffer(b"".join(data), self.kind)
        return [np.ascontiguousarray(rows[name]) for name in self.names]


class _Labelled(_RowBytes):
    """Rows as bytes, with their person and rank in front."""

    def __init__(self, kinds: Sequence[np.dtype[Any]]) -> None:
        super().__init__(kinds)
        words = [(name, np.dtype(np.uint64)) for name in ("high", "low", "rank", "below")]
        self.kind = np.dtype([*words, *zip(self.names, kinds, strict=True)])

    def labelled(self, found: LabelledRows) -> Octets:
        """One row of bytes for each."""
        rows = self.packed(found.arrays)
        front = rows.reshape(-1).view(self.kind)
        front["high"], front["low"] = found.people.T
        front["rank"], front["below"] = found.ranks.T
        return rows


def buckets_of(high: Words, buckets: int) -> NDArray[np.uint16]:
    """The bucket of each person: the hash says it, and nothing else about the table."""
    return (high % np.uint64(buckets)).astype(np.uint16)


@dataclass(frozen=True)
class LabelRows:
    """Rows to parcels by bucket, for whoever will hold all rows of a person."""

    reader: PartReader

    def __call__(self, batches: Iterator[Any], place: Place) -> Iterator[Any]:
        key = np.frombuffer(self.reader.people_key, np.uint64).copy()
        labelled = _Labelled(self.reader.kinds)
        sent, waiting, rows = np.zeros(self.reader.buckets, np.int64), list[Octets](), 0
        for found in self.reader.source(batches).labelled(key, self.reader.view):
            waiting.append(labelled.labelled(found))
            rows += len(found.people)
            if rows >= FLUSH_ROWS:
                yield _by_bucket(np.concatenate(waiting), place, sent)
                waiting, rows = [], 0
        if rows:
            yield _by_bucket(np.concatenate(waiting), place, sent)
        yield parcel_batch(Parcel(k, place, LAST, int(sent[k]), b"") for k in range(len(sent)))


def _by_bucket(rows: Octets, place: Place, sent: Ints) -> Any:
    buckets = buckets_of(np.ascontiguousarray(rows[:, :8]).view(np.uint64)[:, 0], len(sent))
    order = np.argsort(buckets, kind="stable")
    ends = np.cumsum(np.bincount(buckets, minlength=len(sent)))
    parcels: list[Parcel] = []
    for bucket, part in enumerate(np.split(np.take(rows, order, axis=0), ends[:-1])):
        if len(part):
            parcels.append(Parcel(bucket, place, int(sent[bucket]), len(part), part.tobytes()))
            sent[bucket] += 1
    return parcel_batch(parcels)


@dataclass(frozen=True)
class KeepRows:
    """Parcels of labelled rows to parcels of those rows that count; says of each bucket whether all of it came."""

    reader: PartReader

    def __call__(self, batches: Iterator[Any], place: Place) -> Iterator[Any]:
        arrivals: defaultdict[int, Arrivals] = defaultdict(Arrivals)
        waiting: defaultdict[int, list[Any]] = defaultdict(list)
        for batch in batches:
            for parcel in parcels_in(batch):
                if arrivals[parcel.bucket].is_new(parcel):
                    waiting[parcel.bucket].append(bytes(parcel.data))
        for bucket, came in arrivals.items():
            yield from self._bucket(bucket, waiting.pop(bucket, []), came, place)

    def _bucket(self, bucket: int, data: list[bytes], came: Arrivals, place: Place) -> Generator[Any]:
        labelled, packing = _Labelled(self.reader.kinds), _RowBytes(self.reader.kinds)
        rows = np.frombuffer(b"".join(data), labelled.kind)
        own = bool((buckets_of(rows["high"], self.reader.buckets) == bucket).all())
        arrays = _kept_rows(rows, labelled.names, self.reader.declared.max_rows_per_person)
        sent = 0
        for start in range(0, len(arrays[0]), PARCEL_ROWS):
            part = packing.packed([array[start : start + PARCEL_ROWS] for array in arrays])
            made = cut_parcels(part, PARCEL_BYTES, Parcel(bucket, place, sent, 0, b""))
            yield made
            sent += made.num_rows
        facts = bucket_facts(bucket, came.whole and own, came.digest())
        yield parcel_batch([Parcel(bucket, place, LAST, sent, facts.tobytes())])


def _kept_rows(rows: NDArray[Any], names: Sequence[str], limit: int) -> list[NDArray[Any]]:
    """Of each person the k rows with the smallest hashes, as one array per column."""
    people = People(limit)
    hashes = np.stack([rows["high"], rows["low"]], axis=1)
    people.add(hashes)
    crowded = people.crowded()
    arrays = [np.ascontiguousarray(rows[name]) for name in names]
    if not crowded.size:
        return arrays
    numbers = crowded.find_hashed(hashes)
    some = np.flatnonzero(numbers >= 0)
    held = Held(crowded.size, limit, [array.dtype for array in arrays])
    ranks = np.stack([rows["rank"][some], rows["below"][some]], axis=1)
    held.add(numbers[some], ranks, [array[some] for array in arrays])
    few = numbers < 0
    return [np.concatenate([array[few], more]) for array, more in zip(arrays, held.arrays(), strict=True)]


@dataclass(frozen=True)
class CountParcels:
    """Parcels of rows that count to one partial sum."""

    reader: PartReader
    wanted: RowSum

    def __call__(self, batches: Iterator[Any], place: Place) -> Iterator[Any]:
        require_versions(self.reader.versions)
        running = self.wanted.begin(self.reader.declared, self.reader.print_key)
        packing, waiting, rows = _RowBytes(self.reader.kinds), list[Any](), 0
        arrivals: defaultdict[int, Arrivals] = defaultdict(Arrivals)
        facts: dict[int, Ints] = {}
        for batch in batches:
            for parcel in parcels_in(batch):
                if arrivals[parcel.bucket].is_new(parcel):
                    waiting.append(parcel.data)
                    rows += parcel.rows
                if parcel.number == LAST and len(parcel.data):
                    facts[parcel.bucket] = np.frombuffer(parcel.data, np.int64)
                if rows >= TYPED_ROWS:
                    running.add(packing.arrays(waiting))
                    waiting, rows = [], 0
        running.add(packing.arrays(waiting))
        yield from self._sums(place, running.flat(), arrivals, facts).batches()

    def _sums(
        self, place: Place, flat: Ints, arrivals: dict[int, Arrivals], facts: dict[int, Ints]
    ) -> PartialSums:
        """A bucket of whose parcels some are missing here is not whole, whatever was said of it before."""
        said = list(facts.values())
        said += [
            bucket_facts(bucket, False, came.digest()) for bucket, came in arrivals.items() if not came.whole
        ]
        sums = PartialSums()
        sums.add_own(place, flat, np.concatenate([np.empty(0, np.int64), *said]))
        return sums


@dataclass(frozen=True)
class AddSums:
    """Partial sums to fewer."""

    def __call__(self, batches: Iterator[Any], place: Place) -> Iterator[Any]:
        sums = PartialSums()
        for batch in batches:
            sums.add(batch)
        yield from sums.batches()
