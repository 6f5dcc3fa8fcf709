"""What travels between tasks, and how each one is counted once: told apart by who sent it, never by what it holds.

*Parcels* are rows on their way to the task that holds their bucket.  Each has the part and the attempt that sent it and
a number; the last one from a sender to a bucket is empty and says how many there were.  A parcel that arrives twice
counts once.  A bucket that lacks one, or has two attempts at one part, is found not to be whole.

*Partial sums* are integers on their way to the driver, in stretches of one flat array.  Each says whose sums are in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from hushtable.arrays import Ints
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.engines.engine_frame import Place
from hushtable.kernel.sources.rows import Octets

PARCEL = pa.schema(
    [
        ("bucket", pa.int32()),
        ("part", pa.int32()),
        ("attempt", pa.int64()),
        ("number", pa.int32()),
        ("rows", pa.int32()),
        ("data", pa.binary()),
    ]
)
PARTIAL = pa.schema([("stretch", pa.int32()), ("senders", pa.binary()), ("data", pa.binary())])
LAST = -1
"""The number of the parcel that ends what one sender has for a bucket; its ``rows`` say how many came before."""
BUCKETS_HELD = -1
"""The stretch that says which buckets were held and what was found of each, in place of sums."""
STRETCH = 1 << 14
"""Integers of a stretch, 128 kB: many of them can be summed in different places, each with about as much to do, and few
make few rows."""


@dataclass(frozen=True)
class Parcel:
    """Some rows as bytes."""

    bucket: int
    place: Place
    number: int
    rows: int
    data: Any

    @property
    def sender(self) -> tuple[int, int]:
        """Who sent it."""
        return self.place.part, self.place.attempt


def parcel_batch(parcels: Iterable[Parcel]) -> Any:
    """Parcels as an Arrow batch."""
    rows = [(p.bucket, p.place.part, p.place.attempt, p.number, p.rows, p.data) for p in parcels]
    columns = list(zip(*rows, strict=True)) or [()] * len(PARCEL)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PARCEL, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PARCEL)


def cut_parcels(rows: Octets, size: int, start: Parcel) -> Any:
    """Rows as an Arrow batch of parcels of at most ``size`` bytes, or of one row; ``start`` has the first number."""
    each = max(1, size // rows.shape[1])
    cuts = np.append(np.arange(0, len(rows), each), len(rows))
    many = len(cuts) - 1
    data = [None, pa.py_buffer((cuts * rows.shape[1]).astype(np.int32)), pa.py_buffer(rows)]
    columns = {
        "bucket": np.full(many, start.bucket),
        "part": np.full(many, start.place.part),
        "attempt": np.full(many, start.place.attempt),
        "number": start.number + np.arange(many),
        "rows": np.diff(cuts),
    }
    arrays = [pa.array(columns[field.name], field.type) for field in list(PARCEL)[:-1]]
    arrays.append(pa.BinaryArray.from_buffers(pa.binary(), many, data))
    return pa.RecordBatch.from_arrays(arrays, schema=PARCEL)


def parcels_in(batch: Any) -> Iterator[Parcel]:
    """The parcels of an Arrow batch."""
    *numbers, data = (batch.column(name) for name in PARCEL.names)
    rows = zip(*(column.to_numpy().tolist() for column in numbers), strict=True)
    for k, (bucket, part, attempt, number, size) in enumerate(rows):
        yield Parcel(bucket, Place(part, attempt), number, size, data[k].as_buffer())


@dataclass
class _Numbers:
    """Which numbers of one sender came: all below ``next``, and those ahead of it; nearly always they come in order."""

    next: int = 0
    ahead: set[int] = field(default_factory=set[int])

    def is_new(self, number: int) -> bool:
        if number < self.next or number in self.ahead:
            return False
        self.ahead.add(number)
        while self.next in self.ahead:
            self.ahead.remove(self.next)
            self.next += 1
        return True


@dataclass
class Arrivals:
    """Which parcels came to one bucket."""

    _seen: dict[tuple[int, int], _Numbers] = field(default_factory=dict[tuple[int, int], _Numbers])
    _sent: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])

    def is_new(self, parcel: Parcel) -> bool:
        """Whether it holds rows that have not come before; remembers it."""
        if parcel.number == LAST:
            self._sent[parcel.sender] = parcel.rows
            return False
        if parcel.sender not in self._seen:
            self._seen[parcel.sender] = _Numbers()
        return self._seen[parcel.sender].is_new(parcel.number)

    @property
    def whole(self) -> bool:
        """Whether all that was sent has come, and from one attempt at each part."""
        came = {sender: found.next for sender, found in self._seen.items() if not found.ahead}
        parts = {part for part, _ in self._sent}
        sent = {sender: number for sender, number in self._sent.items() if number}
        return len(parts) == len(self._sent) and len(came) == len(self._seen) and sent == came

    def digest(self) -> Ints:
        """The same for two buckets exactly when the same senders sent to both."""
        senders = np.array(sorted(self._sent), np.int64)
        return np.frombuffer(blake2b(senders.tobytes(), digest_size=16).digest(), np.int64)


class PartialSums:
    """Flat arrays that are added up stretch by stretch, each sender once."""

    def __init__(self) -> None:
        self._sums: dict[int, Ints] = {}
        self._senders: dict[int, list[tuple[int, int]]] = {}

    def add_own(self, place: Place, flat: Ints, buckets: Ints) -> None:
        """Take in what one task has counted, and what it says of the buckets that it held."""
        for stretch, start in enumerate(range(0, len(flat), STRETCH)):
            self._add(stretch, [(place.part, place.attempt)], flat[start : start + STRETCH])
        self._add(BUCKETS_HELD, [(place.part, place.attempt)], buckets.reshape(-1))

    def add(self, batch: Any) -> None:
        """Take in partial sums; those whose senders are all there already came twice."""
        stretches, senders, data = (batch.column(name) for name in PARTIAL.names)
        for k in range(batch.num_rows):
            sent = np.frombuffer(senders[k].as_buffer(), np.int64).reshape(-1, 2).tolist()
            numbers = np.frombuffer(data[k].as_buffer(), np.int64)
            self._add(stretches[k].as_py(), [(part, attempt) for part, attempt in sent], numbers)

    def _add(self, stretch: int, senders: list[tuple[int, int]], numbers: Ints) -> None:
        known = self._senders.setdefault(stretch, [])
        if senders and set(senders) <= set(known):
            return
        known.extend(senders)
        before = self._sums.get(stretch)
        if before is None:
            self._sums[stretch] = numbers.copy()
        elif stretch == BUCKETS_HELD:
            self._sums[stretch] = np.concatenate([before, numbers])
        else:
            before += numbers

    def batches(self) -> Iterator[Any]:
        """All sums as Arrow batches, one stretch each."""
        for stretch, numbers in self._sums.items():
            senders = np.array(self._senders[stretch], np.int64).tobytes()
            arrays = [pa.array([stretch], pa.int32()), pa.array([senders], pa.binary())]
            yield pa.RecordBatch.from_arrays(
                [*arrays, pa.array([numbers.tobytes()], pa.binary())], schema=PARTIAL
            )

    def total(self, length: int, buckets: int) -> Ints | None:
        """The whole array, of a job that brought rows into so many buckets; None if anything came in two versions.

        All stretches must come from the same senders, one attempt at each part, each bucket must have been held once
        and be whole, and the same senders must have sent to all of them.
        """
        if not self._sums:
            return np.zeros(length, np.int64)  # no part had a row
        wanted = {*range(-(-length // STRETCH)), BUCKETS_HELD}
        senders = [sorted(found) for found in self._senders.values()]
        parts = [part for part, _ in senders[0]]
        if set(self._sums) != wanted or any(s != senders[0] for s in senders) or len(set(parts)) < len(parts):
            return None
        if not _whole(self._sums[BUCKETS_HELD].reshape(-1, BUCKET_FACTS), buckets):
            return None
        flat = np.concatenate([self._sums[stretch] for stretch in range(len(wanted) - 1)])
        return flat if len(flat) == length else None


BUCKET_FACTS = 4
"""What is said of a bucket: its number, 1 if it is whole, and the digest of who sent to it."""


def bucket_facts(bucket: int, whole: bool, digest: Ints) -> Ints:
    """What is said of a bucket."""
    return np.array([bucket, whole, *digest.tolist()], np.int64)


def _whole(facts: Ints, buckets: int) -> bool:
    if not facts[:, 1].all():
        return False
    held = np.sort(facts[:, 0])
    if buckets == 0 or not len(held):
        return not len(held)
    return np.array_equal(held, np.arange(buckets)) and len(np.unique(facts[:, 2:], axis=0)) == 1
