"""Kinds of data that the package does not know: a table of SQLite by URL, a cluster that counts by itself, and an
engine that runs our tasks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import parse_qs, urlsplit
from zlib import crc32

import numpy as np
import pyarrow as pa
from engine_in_pieces import PiecesOpener

from hushtable.deciders import Question, Tally
from hushtable.kernel import Counter
from hushtable.kernel.sources import (
    OPENERS,
    TYPED_ROWS,
    ArrowBlock,
    Header,
    Opener,
    TableOpener,
    open_counter,
    register,
)
from hushtable.marginals import Counting, Layout
from hushtable.schema import Schema


@contextmanager
def known_openers() -> Iterator[None]:
    """These kinds are known for a while."""
    openers = (SqliteOpener(), ClusterOpener(), PiecesOpener())
    for opener in openers:
        register(opener)
    yield
    for opener in openers:
        del OPENERS[opener.name]


TYPES = {"TEXT": pa.string(), "INTEGER": pa.int64(), "REAL": pa.float64()}


class SqliteTable:
    """One table, in one transaction: what is written later is not seen."""

    shown = "the database"
    block = TYPED_ROWS

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._name = parse_qs(parts.query)["table"][0]
        self._link = sqlite3.connect(parts.path, check_same_thread=False, isolation_level=None)
        self._link.execute("BEGIN")
        columns = self._link.execute(f"PRAGMA table_info({self._name})").fetchall()
        names, kinds = [column[1] for column in columns], [column[2] for column in columns]
        self.headers = [Header("The table", names, [TYPES[kind] for kind in kinds])]
        self._link.execute(f"SELECT 1 FROM {self._name} LIMIT 1").fetchall()

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        quoted = ", ".join(f'"{column}"' for column in columns)
        types = [self.headers[0].type_of(column) for column in columns]
        rows = self._link.execute(f"SELECT {quoted} FROM {self._name}")
        while batch := rows.fetchmany(size):
            cells = zip(*batch, strict=True)
            yield ArrowBlock([pa.array(column, kind) for column, kind in zip(cells, types, strict=True)])


class SqliteOpener(TableOpener):
    name = "sqlite"
    what = "sqlite:///FILE?table=NAME"
    schemes = ("sqlite",)

    def table(self, data: str, schema: Schema | None) -> SqliteTable:
        return SqliteTable(data)


def as_sqlite(table: pa.Table, path: Any) -> str:
    """The table as a database, and its URL; days and booleans are texts."""
    names = {pa.int64(): "INTEGER", pa.int32(): "INTEGER", pa.float64(): "REAL"}
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as link:
        columns = ", ".join(f'"{field.name}" {names.get(field.type, "TEXT")}' for field in table.schema)
        link.execute("PRAGMA journal_mode=WAL")
        link.execute(f"CREATE TABLE people ({columns})")
        cells = [[_plain(cell) for cell in column.to_pylist()] for column in table.columns]
        marks = ", ".join("?" * len(cells))
        link.executemany(f"INSERT INTO people VALUES ({marks})", list(zip(*cells, strict=True)))
    link.close()
    return f"sqlite://{path}?table=people"


def _plain(cell: Any) -> Any:
    return str(cell) if isinstance(cell, bool | date) else cell


@dataclass
class Cluster:
    """An Arrow table that lies in several places."""

    table: pa.Table
    places: int = 3


class ClusterCounter:
    """Each place counts the people who belong to it; the sums travel."""

    def __init__(self, cluster: Cluster, schema: Schema) -> None:
        whole = cluster.table
        keys = range(len(whole)) if schema.person is None else whole[schema.person].to_pylist()
        homes = np.array([crc32(repr(key).encode()) % cluster.places for key in keys], np.int64)
        parts = [whole.filter(pa.array(homes == place)) for place in range(cluster.places)]
        self._counters = [open_counter(part, schema) for part in parts]

    def probe(self) -> Sequence[Header]:
        return self._counters[0].probe()

    def tabulate(self, layout: Layout) -> Any:
        return np.sum([counter.tabulate(layout) for counter in self._counters], axis=0)

    def totals(self, wanted: Sequence[Counting]) -> list[Any]:
        return [
            np.sum(same, axis=0) for same in zip(*(c.totals(wanted) for c in self._counters), strict=True)
        ]

    def tally(self, questions: Sequence[Question]) -> list[Tally]:
        found = zip(*(counter.tally(questions) for counter in self._counters), strict=True)
        return [Tally(sum(t.counts for t in same), sum(t.sums for t in same)) for same in found]

    def keyed(self, ledger: str) -> Counter:
        self._counters = [counter.keyed(ledger) for counter in self._counters]
        return self

    def staged(self, again: int = 0) -> Counter:
        return self


class ClusterOpener(Opener):
    name = "cluster"
    what = "a cluster"

    def takes(self, data: object) -> bool:
        return isinstance(data, Cluster)

    def open(self, data: Cluster, schema: Schema) -> Counter:
        return ClusterCounter(data, schema)
