"""How confidential rows fit a schema, in exact numbers: for the curator's own eyes, before anything is spent.

Nothing here is charged, because nothing here may be published; no release, ledger or exit code of a release knows
any of it.  Rows are read by the readers of a release, one block after the other, and what they do in silence (leave
out, drop, clip, cap) is counted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.addresses import name_of
from hushtable.arrays import Words
from hushtable.errors import HushtableError
from hushtable.kernel.file_hints import refused
from hushtable.kernel.hints import SeenColumn, hints_of, unit_hint
from hushtable.kernel.identifying import tells_people_apart
from hushtable.kernel.sources import open_table
from hushtable.kernel.sources.arrow import pa, pc
from hushtable.kernel.sources.assign import Codes
from hushtable.kernel.sources.defects import LONG, REASONS, faults_of
from hushtable.kernel.sources.delimited import TextBlock
from hushtable.kernel.sources.encode import Encoder
from hushtable.kernel.sources.files import Guard
from hushtable.kernel.sources.keys import as_keys
from hushtable.kernel.sources.objects import CodedObjects, Objects
from hushtable.kernel.sources.parse import NULL, OTHER, VALUE, gather
from hushtable.kernel.sources.people import hash_fields
from hushtable.kernel.sources.row_tables import Block, Table, require_fit
from hushtable.kernel.sources.text import Texts, Values
from hushtable.kernel.sources.typed import as_texts, family
from hushtable.ledger import Address, KnownData, PreflightNotes
from hushtable.schema import (
    Attribute,
    Binned,
    ColumnFindings,
    Malformed,
    Offender,
    PeopleFindings,
    Preflight,
    Real,
    Schema,
)

SHOWN = 10
"""Offenders and line numbers that are listed: a screen's worth."""
MOST_TEXTS = 100_000
"""Different texts that do not fit, of one column, which are counted exactly: about 10 MB.  Beyond, those seen once are
forgotten, and counts may be too small."""
LONGEST = 100
"""Bytes of an offender that are told apart and shown: with more, columns of long texts take more memory."""
_MERGED = 1 << 22
"""People's rows, 16 bytes each, that wait before they are counted by person: more take memory, fewer are sorted more
often."""
NO_VALUE, BELOW, ABOVE = "no value", "below", "above"


def run_preflight(data: Any, schema: Schema, ledger: Address | None = None) -> Preflight:
    """Read all rows as a release would, and count what would become of them; note beside a ledger that it was done."""
    try:
        table = open_table(data, schema)
        require_fit(table.headers, schema)
    except HushtableError as error:
        raise refused(error, data, schema) from None
    tally = _RowTally(table, schema)
    guard = Guard(table.shown)
    with guard:
        for block in table.blocks(schema.columns, table.block):
            tally.add(block)
    guard.raise_failure()
    found = tally.found(data)
    if schema.person is None and (doubted := _repeating(table, found.unused)):
        found = replace(found, hints=(unit_hint(doubted, schema), *found.hints))
    if ledger is not None:
        PreflightNotes(ledger).remember(data, schema)
        KnownData(ledger).remember(data)
    return found


def _repeating(table: Table, unused: tuple[str, ...]) -> list[str]:
    """Unused columns that seem to tell people apart, and in which some person has several rows."""
    names = [
        name
        for name in unused
        if tells_people_apart(name, 2, 2)
        and all(name in h.names and family(h.type_of(name)) is not None for h in table.headers)
    ]
    found: list[str] = []
    for name in names:
        people, guard, rows = _PeopleTally(), Guard(table.shown), 0
        with guard:
            for block in table.blocks([name], table.block):
                keys = as_keys(block.columns()[0])
                known = keys.take(np.flatnonzero(keys.starts != keys.ends))
                people.add(known)
                rows += len(known)
        guard.raise_failure()
        seen, _ = people.found(1)
        if seen.most > 1 and tells_people_apart(name, seen.persons, rows):
            found.append(name)
    return found


class _RowTally:
    """What was seen so far."""

    def __init__(self, table: Table, schema: Schema) -> None:
        self._table, self._schema = table, schema
        self._columns = list(schema.columns)
        self._attributes = [_AttributeTally(a, schema) for a in schema.row_fields]
        self._lines = _LineTally(table, schema)
        self._people = None if schema.person is None else _PeopleTally()
        self._rows = self._dropped = self._nobody = 0

    def add(self, block: Block) -> None:
        if isinstance(block, TextBlock):
            self._lines.add(block)
        columns = block.columns()
        verdicts = [tally.add(columns[self._columns.index(tally.column)]) for tally in self._attributes]
        reasons = np.sum(verdicts, axis=0, dtype=np.int64)
        for tally, dropped in zip(self._attributes, verdicts, strict=True):
            tally.alone += int(np.count_nonzero(dropped & (reasons == 1)))
        keep: NDArray[np.bool_] = reasons == 0
        self._rows += len(keep)
        self._dropped += int(np.count_nonzero(~keep))
        if self._people is not None and self._schema.person is not None:
            keys = as_keys(columns[self._columns.index(self._schema.person)])
            known = keys.starts != keys.ends
            self._nobody += int(np.count_nonzero(keep & ~known))
            self._people.add(keys.take(np.flatnonzero(keep & known)))

    def found(self, data: Any) -> Preflight:
        people, cut = None, 0
        if self._people is not None:
            people, cut = self._people.found(self._schema.max_rows_per_person)
        malformed = self._lines.found()
        result = Preflight(
            data=name_of(data),
            rows=self._rows + sum(kind.rows for kind in malformed),
            malformed=malformed,
            dropped=self._dropped,
            nobody=self._nobody,
            cut=cut,
            columns=tuple(tally.found() for tally in self._attributes),
            people=people,
            unused=self._unused(),
            look=None,
        )
        seen = [SeenColumn(tally.attribute, tally.filled, tally.counts) for tally in self._attributes]
        return hints_of(result, self._table, self._schema, seen)

    def _unused(self) -> tuple[str, ...]:
        names = dict.fromkeys(name for header in self._table.headers for name in header.names if name)
        return tuple(name for name in names if name not in self._columns)


class _AttributeTally:
    """One attribute's column."""

    def __init__(self, attribute: Attribute, schema: Schema) -> None:
        self.attribute, self.column = attribute, attribute.column
        self._encoder = Encoder(attribute, schema.csv.encoding)
        self._encoding = schema.csv.encoding
        self.counts: Counter[tuple[str, str]] = Counter()
        self.nulls = self.unreadable = self.below = self.above = self.dropped = self.alone = self.filled = 0
        self._exact = True

    def add(self, column: Any) -> NDArray[np.bool_]:
        """Takes in a block; gives the rows that are dropped because of it."""
        values = self._encoder.values(column)
        below, above = self._beyond(values)
        nulls, unreadable = values.states == NULL, values.states == OTHER
        self.nulls += int(np.count_nonzero(nulls))
        self.filled += len(nulls) - int(np.count_nonzero(nulls))
        self.unreadable += int(np.count_nonzero(unreadable))
        self.below += int(np.count_nonzero(below))
        self.above += int(np.count_nonzero(above))
        for what, rows in ((NO_VALUE, unreadable), (BELOW, below), (ABOVE, above)):
            self._list(column, np.flatnonzero(rows), what)
        codes: Codes = self._encoder.assign(values)
        dropped: NDArray[np.bool_] = codes < 0
        self.dropped += int(np.count_nonzero(dropped))
        return dropped

    def _beyond(self, values: Values) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Numbers below and above the bounds."""
        none = np.zeros(len(values.states), np.bool_)
        if not isinstance(self.attribute, Binned):
            return none, none
        edges, read = self.attribute.edges, values.states == VALUE
        high = edges[-1] if isinstance(self.attribute, Real) else edges[-1] - 1
        return read & (values.numbers < edges[0]), read & (values.numbers > high)

    def _list(self, column: Any, rows: NDArray[np.int64], what: str) -> None:
        if not len(rows):
            return
        texts = _texts_at(column, rows)
        encoding = self._encoding if isinstance(column, Texts) else "utf-8"
        for text, times in _counted(texts, encoding):
            self.counts[what, text] += times
        if len(self.counts) > MOST_TEXTS:
            self._exact = False
            kept = self.counts.most_common(MOST_TEXTS // 2)
            self.counts = Counter(dict(kept))

    def found(self) -> ColumnFindings:
        top = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
        clips = self.attribute.outside == "clip"
        return ColumnFindings(
            attribute=self.attribute.name,
            column=self.column,
            nulls=self.nulls,
            unreadable=self.unreadable,
            below=self.below,
            above=self.above,
            dropped=self.dropped,
            alone=self.alone,
            clipped=self.below + self.above if clips else 0,
            offenders=tuple(Offender(text, rows, what) for (what, text), rows in top),
            different=len(self.counts) if self._exact else None,
        )


@dataclass
class _LineTally:
    """Malformed rows of text files; empty for every other kind of table."""

    table: Table
    schema: Schema
    rows: Counter[int] = field(default_factory=Counter[int])
    first: dict[int, list[str]] = field(default_factory=dict[int, list[str]])
    part: int = -1
    line: int = 0

    def add(self, block: TextBlock) -> None:
        if block.part != self.part:
            self.part, self.line = block.part, 2 if self.schema.csv.header else 1
        self._note(LONG, (self.line + k for k in range(block.skipped)), block.skipped)
        self.line += block.skipped
        faults = faults_of(block.data, block.marks, block.slots, block.wanted)
        for fault in REASONS:
            places = np.flatnonzero(faults == fault)
            self._note(fault, (self.line + int(place) for place in places[:SHOWN]), len(places))
        self.line += len(faults)

    def _note(self, fault: int, lines: Iterator[int], rows: int) -> None:
        if not rows:
            return
        self.rows[fault] += rows
        several = len(self.table.headers) > 1
        known = self.first.setdefault(fault, [])
        known += [f"{line} of file {self.part + 1}" if several else str(line) for line in lines]
        del known[SHOWN:]

    def found(self) -> tuple[Malformed, ...]:
        kinds = sorted(self.rows.items(), key=lambda item: -item[1])
        return tuple(Malformed(REASONS[fault], rows, tuple(self.first[fault])) for fault, rows in kinds)


class _PeopleTally:
    """How many rows each person has, known by a keyed hash of 128 bits that means nothing afterwards."""

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(16), np.uint64).copy()
        self._waiting: list[Words] = []
        self._people: Words = np.empty((0, 2), np.uint64)
        self._rows: NDArray[np.int64] = np.empty(0, np.int64)

    def add(self, keys: Texts) -> None:
        hashes = np.empty((len(keys), 2), np.uint64)
        hash_fields(keys.data, keys.starts, keys.ends, self._key, hashes)
        self._waiting.append(hashes)
        if sum(map(len, self._waiting)) >= _MERGED:
            self._merge()

    def _merge(self) -> None:
        hashes = np.concatenate([self._people, *self._waiting])
        rows = np.concatenate([self._rows, np.ones(len(hashes) - len(self._rows), np.int64)])
        order = np.lexsort((hashes[:, 1], hashes[:, 0]))
        hashes, rows = hashes[order], rows[order]
        fresh = np.ones(len(hashes), np.bool_)
        fresh[1:] = (hashes[1:] != hashes[:-1]).any(axis=1)
        self._people, self._waiting = hashes[fresh], []
        self._rows = np.add.reduceat(rows, np.flatnonzero(fresh)) if len(rows) else rows

    def found(self, cap: int) -> tuple[PeopleFindings, int]:
        """What was found, and the rows beyond the cap."""
        self._merge()
        rows = self._rows
        sizes, people = np.unique(rows, return_counts=True)
        spread = tuple(zip(map(int, sizes[:SHOWN]), map(int, people[:SHOWN]), strict=True))
        over = rows[rows > cap]
        most = int(rows.max()) if len(rows) else 0
        return PeopleFindings(len(rows), most, len(over), spread), int((over - cap).sum())


def _texts_at(column: Any, rows: NDArray[np.int64]) -> Texts:
    """Some fields of a column as text."""
    if isinstance(column, Texts | Objects | CodedObjects):
        return (column if isinstance(column, Texts) else column.texts).take(rows)
    return as_texts(column.take(pa.array(rows)))


def _counted(texts: Texts, encoding: str) -> Iterator[tuple[str, int]]:
    """Different fields and how often each occurs; of long ones the beginning."""
    ends = np.minimum(texts.ends, texts.starts + LONGEST)
    data, offsets = gather(texts.data, texts.starts, ends, np.arange(len(texts)))
    array = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    found, times = (part.to_pylist() for part in pc.value_counts(array).flatten())
    for text, number in zip(found, times, strict=True):
        yield text.decode(encoding, "replace") + ("…" if len(text) == LONGEST else ""), number
