"""Pairs of neighbouring tables: one person's rows come or go, and everybody else's codes stay exactly as they were.

A campaign draws a table, compares what is read with what was meant, and then adds and removes people one at a time;
every step is a pair.  What a step may change is the number of rows that one person may count for, all on one side.
"""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl

from hushtable.deciders import Query, columns_of, grid_values
from hushtable.errors import HushtableError
from hushtable.kernel.sources import Source, open_source, record_frames
from hushtable.schema import Binned, Schema
from hushtable.selftest.neighbours.kinds import SourceKind
from hushtable.selftest.neighbours.layouts import MadeRow, Person
from hushtable.selftest.neighbours.worlds import RowCodes

STEPS = 16
"""Pairs per table: drawing a schema costs as much as a few pairs, and many tables have more shapes than few."""

_PEOPLE = (0, 1, 4, 12)
"""Ordinary people in a table, from none: an empty table has neighbours too."""


@dataclass(frozen=True)
class TableRead:
    """Everything that reading a table gave: multisets of rows by what reads them, and all that was said meanwhile."""

    rows: Mapping[str, Counter[Any]] = field(default_factory=dict[str, Counter[Any]])
    words: tuple[str, ...] = ()
    weighed: Mapping[str, int] = field(default_factory=dict[str, int])
    """What one row may count as at most, where that is not 1."""

    @property
    def codes(self) -> Counter[RowCodes]:
        """Codes of every row that counts."""
        return self.rows.get("codes", Counter())


Read = Callable[[Any, Schema], TableRead]
ReadTogether = Callable[[Iterator[Any], Schema], Iterable[TableRead]]
"""Reads all tables of a campaign, in order: for engines to which ten tables cost no more than one."""


@dataclass(frozen=True)
class Finding:
    """A pair whose difference is not one person's."""

    kind: str
    seed: int
    step: int
    what: str

    def __str__(self) -> str:
        return f"{self.kind}, table {self.seed}, step {self.step}: {self.what}"


def read(data: Any, schema: Schema, *, opening: Callable[..., Source] = open_source) -> TableRead:
    """Both passes over the data: codes, as releases count them, and values and grid integers, as checks read them."""
    rows: dict[str, Counter[Any]] = {}
    with _listening() as words:
        try:
            source = opening(data, schema, threads=1)
            rows["codes"] = Counter()
            for batch in source.batches():
                stacked = np.stack([column.astype(np.int64) for column in batch], axis=1)
                rows["codes"].update(map(tuple, stacked.tolist()))
            frame = pl.concat(record_frames(source))
            rows["values"] = Counter(frame.rows())
            for query in _grid_queries(schema):
                values = grid_values(query, frame, columns_of(schema))
                rows[f"{query.column} on its grid"] = Counter(values.tolist())
        except HushtableError as error:
            words.append(f"{error.code}: {error}")
        except Exception as error:
            words.append(f"{type(error).__name__}: {error}")
    return TableRead(rows, tuple(words))


@contextmanager
def _listening() -> Generator[list[str]]:
    """Everything that is said meanwhile: warnings, log records, prints."""
    words: list[str] = []
    printed, handler = StringIO(), logging.Handler()
    handler.emit = lambda record: words.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    try:
        with (
            warnings.catch_warnings(record=True) as caught,
            redirect_stdout(printed),
            redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            yield words
    finally:
        logging.getLogger().removeHandler(handler)
    words += [str(warning.message) for warning in caught]
    words += printed.getvalue().splitlines()


def _grid_queries(schema: Schema) -> Iterator[Query]:
    """A sum of every attribute that has one."""
    for name, attribute in schema.attributes.items():
        if isinstance(attribute, Binned) and attribute.resolution is not None:
            yield Query("SUM", name, None)


def campaign(
    kind: SourceKind,
    seed: int,
    folder: Path,
    *,
    steps: int = STEPS,
    read: Read = read,
    together: ReadTogether | None = None,
) -> Iterator[Finding | None]:
    """One table and its neighbours: None for each pair that is as it must be.

    Tables are written one after another, each when the one before has been read; ``together`` may ask for all of them
    first.
    """
    chance = Random(f"{kind.name} {seed}")
    layout = kind.draw(chance)
    schema, table = layout.world.schema, _Table(chance)
    ordinary = [layout.ordinary(number) for number in range(chance.choice(_PEOPLE))]
    for person in ordinary:
        table.add(person)
    changes: list[tuple[Person, bool]] = []

    def tables() -> Iterator[Any]:
        yield layout.data(table.rows, folder)
        for step in range(1, steps + 1):
            leaves = bool(table.people) and chance.random() < 0.35
            changes.append((table.remove() if leaves else table.add(layout.stranger(100 + step)), leaves))
            yield layout.data(table.rows, folder)

    found = iter(
        (read(data, schema) for data in tables()) if together is None else together(tables(), schema)
    )
    before = next(found)
    wrong = _unlike(before, ordinary)
    if wrong:
        yield Finding(kind.name, seed, 0, wrong)
    for step, after in enumerate(found, start=1):
        person, leaves = changes[step - 1]
        wrong = _difference(*((before, after) if leaves else (after, before)), person)
        yield Finding(kind.name, seed, step, wrong) if wrong else None
        before = after


class _Table:
    """Rows in order, each with its person; a person's rows lie among those of others."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance
        self._rows: list[tuple[int, MadeRow]] = []
        self.people: dict[int, Person] = {}
        self._next = 0

    @property
    def rows(self) -> list[MadeRow]:
        return [row for _, row in self._rows]

    def add(self, person: Person) -> Person:
        """Anywhere, but often before everybody else or at the end, where readers begin and stop."""
        for row in person.rows:
            places = (0, len(self._rows), self._chance.randint(0, len(self._rows)))
            self._rows.insert(self._chance.choice(places), (self._next, row))
        self.people[self._next] = person
        self._next += 1
        return person

    def remove(self) -> Person:
        number = self._chance.choice(list(self.people))
        self._rows = [(owner, row) for owner, row in self._rows if owner != number]
        return self.people.pop(number)


def _unlike(found: TableRead, people: Sequence[Person]) -> str:
    """What is wrong with a table of ordinary people; empty when nothing is."""
    if found.words:
        return f"an ordinary table is not read silently: {found.words[0]}"
    meant: Counter[RowCodes] = Counter()
    for person in people:
        meant.update(person.codes or {})
    return "" if found.codes == meant else "codes of ordinary rows are not what they mean"


def _difference(more: TableRead, fewer: TableRead, person: Person) -> str:
    """What is wrong with a pair; empty when one person explains all of it."""
    if more.words != fewer.words:
        return f"a message depends on one person: {(more.words or fewer.words)[0]}"
    for what, larger in more.rows.items():
        smaller = fewer.rows[what]
        if smaller - larger:
            return f"{what} of somebody else changed"
        added = larger - smaller
        most = person.most * more.weighed.get(what, 1)
        if added.total() > most:
            return f"{what} of one person count {added.total()} times, at most {most} are allowed"
        if what == "codes" and person.codes is not None and added != person.codes:
            return "codes of an ordinary person are not what they mean"
    return ""
