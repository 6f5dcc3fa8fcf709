"""Neighbour fuzzing over PostgreSQL: one person's rows, whatever they hold, change nobody else's codes or messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain
from math import ceil
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from servers import Server

from hushtable.kernel.sources import open_source
from hushtable.selftest.neighbours import SourceKind, campaign, read
from hushtable.selftest.neighbours.layouts import MadeRow
from hushtable.selftest.neighbours.pairs import STEPS
from hushtable.selftest.neighbours.typed_tables import PolarsLayout, Whole, key_stores, stores
from hushtable.selftest.neighbours.worlds import World

PAIRS, MANY_PAIRS = 48, 2_000
TYPES = {
    "string": "text",
    "int16": "smallint",
    "int32": "integer",
    "int64": "bigint",
    "float": "real",
    "double": "double precision",
    "bool": "boolean",
    "date32[day]": "date",
    "timestamp[us]": "timestamp",
    "timestamp[us, tz=UTC]": "timestamptz",
    "decimal128(38, 0)": "numeric(38,0)",
    "decimal128(38, 4)": "numeric(38,4)",
    "decimal128(20, 2)": "numeric(20,2)",
    "binary": "bytea",
    "extension<arrow.uuid>": "uuid",
}
DAY = 86_400_000_000
JULIAN = 2_440_588  # of 1970-01-01


class PostgresLayout(PolarsLayout):
    """A table of a database; only the types that it has."""

    def __init__(self, world: World, chance: Random, *, server: Server, database: str) -> None:
        every = chain(key_stores(valid=True), *(stores(column, valid=True) for column in world.columns))
        super().__init__(world, chance, without=frozenset(str(s.type) for s in every) - TYPES.keys())
        who = world.schema.person
        if who is not None and pa.types.is_timestamp(self.stores[who].type):
            self.stores[who] = Whole(pa.int64())  # moments that are keys lie before the server's first day
        self._server, self._database = server, database

    def data(self, rows: Sequence[MadeRow], folder: Path) -> str:
        (table,) = self.tables(rows)
        columns = ", ".join(f'"{field.name}" {TYPES[str(field.type)]}' for field in table.schema)
        with self._server.connect(self._database) as link:
            link.execute(f"DROP TABLE IF EXISTS people; CREATE TABLE people ({columns})")
            with link.cursor().copy("COPY people FROM STDIN") as copy:
                for row in zip(*(written(column) for column in table.columns), strict=True):
                    copy.write_row(row)
        return self._server.url(self._database, table="people")


def written(column: pa.ChunkedArray) -> list[str | None]:
    """Cells as the server reads them; it has no NUL in texts, and an end of time."""
    kind = column.type
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        per_day = 1 if pa.types.is_date32(kind) else DAY
        cells = column.cast(pa.int32() if per_day == 1 else pa.int64()).to_pylist()
        return [None if cell is None else moment(*divmod(cell, per_day)) for cell in cells]
    if isinstance(kind, pa.UuidType):
        return [
            None if cell is None else str(UUID(bytes=cell)) for cell in column.cast(pa.binary(16)).to_pylist()
        ]
    return [None if cell is None else plain(cell) for cell in column.to_pylist()]


def moment(day: int, rest: int) -> str:
    if not -JULIAN <= day < 106_000_000:
        return "infinity" if day > 0 else "-infinity"
    seconds, small = divmod(rest, 1_000_000)
    return f"J{day + JULIAN} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{small:06}+00"


def plain(cell: Any) -> str:
    return "\\x" + cell.hex() if isinstance(cell, bytes) else str(cell).replace("\0", "\u2400")


def findings(server: Server, database: str, pairs: int, folder: Path) -> None:
    kind = SourceKind("postgresql", partial(PostgresLayout, server=server, database=database))
    made = 0
    for seed in range(ceil(pairs / STEPS)):
        for found in campaign(kind, seed, folder, read=partial(read, opening=open_source)):
            assert found is None, str(found)
            made += 1
    assert made >= pairs


def test_one_person_changes_nothing_for_everybody_else(server: Server, database: str, tmp_path: Path) -> None:
    findings(server, database, PAIRS, tmp_path)


@pytest.mark.slow
def test_one_person_changes_nothing_in_many_tables(server: Server, database: str, tmp_path: Path) -> None:
    findings(server, database, MANY_PAIRS, tmp_path)
