"""Reading a bundle back: every file by its fixed name, under the limits that the bundle's own schema implies.

The order matters.  The manifest is bounded by constants; schema and workload follow from it; they say how many rows a
table has, how many integers were measured, how long a history may be, and so how much the other files may hold.
Whatever does not fit is one error, ``bundle.damaged``; what fits and is too much for this machine ``bundle.too-large``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import polars as pl
import pyarrow as pa
from pydantic import Field

from hushtable.arrays import Floats
from hushtable.axes import Axes
from hushtable.errors import BundleError
from hushtable.marginals import MAX_SETS, AttributeSet, is_attribute_set
from hushtable.measurement import Answers
from hushtable.microdata import Explanation
from hushtable.plain import Hash, PlainRecord, Text
from hushtable.planning import memory_limit
from hushtable.reconstruct import RECONSTRUCTIONS
from hushtable.release.bundle import EXPLANATION, HISTORY, MEASUREMENTS, README
from hushtable.release.bundle_files import (
    FORMAT,
    MANIFEST,
    SCHEMA,
    manifest_of,
    opened,
    read_json,
    require,
    total_file,
)
from hushtable.release.card import Card
from hushtable.release.data_packages import DATAPACKAGE
from hushtable.release.outline import stored_schema
from hushtable.release.parquet_check import (
    Leaf,
    ParquetPart,
    finite_column,
    float_column,
    refusing_damage,
    text_column,
)
from hushtable.release.spend_kinds import RELEASE
from hushtable.release.tables import table_columns
from hushtable.schema import MAX_STORED_BYTES, Schema, total_of

MOST_TEXT = 2**20
MOST_EXPLANATION = 256 * 2**20
MOST_PACKAGE = 64 * 2**20
REPEATS = 4096
"""How often one marginal may have been measured: far above what any number of rounds or reused releases does."""
ROUNDS_WITHOUT_ANSWER = 64
"""Rounds of a history that may have measured nothing; a strategy has at most a handful."""


class CellColumns(NamedTuple):
    """Numbers of all cells of some tables, flat."""

    estimate: Floats
    std: Floats
    lower: Floats
    upper: Floats


_BYTES_PER_VALUE = 32
"""An integer, its page, its estimate and a copy."""
_PARAMETER = 10_000
"""Letters of a noise parameter in a stranger's file: exact fractions have hundreds; more is read for nothing."""
_ORDER_FILE = re.compile(r"tables/order-(0|[1-9][0-9]{0,3})\.parquet")
_LISTS = {
    "attributes.list.element": Leaf("INT32", listed=True),
    "parameter": Leaf("BYTE_ARRAY"),
    "values.list.element": Leaf("INT64", listed=True),
}
_ROUNDS = {
    "round": Leaf("INT64"),
    "action": Leaf("BYTE_ARRAY"),
    "marginal": Leaf("BYTE_ARRAY"),
    "residuals": Leaf("INT64"),
    "sigma": Leaf("DOUBLE"),
    "epsilon": Leaf("DOUBLE"),
    "share": Leaf("DOUBLE"),
}


class Manifest(PlainRecord):
    """What the manifest of a release must look like before anything believes it."""

    card: Card
    alpha: Annotated[float, Field(gt=0, lt=1)]
    attributes: list[Text]
    workload: list[list[Annotated[int, Field(ge=0, lt=2**31)]]]
    files: dict[Text, Hash]

    @property
    def sets(self) -> tuple[AttributeSet, ...]:
        """The workload's marginals."""
        return tuple(tuple(s) for s in self.workload)


@dataclass(frozen=True, eq=False)
class Bundle:
    """A bundle on disk whose files all have the hashes of its manifest; its contents are read, its tables are not."""

    place: Path
    manifest: Manifest
    schema: Schema
    answers: Answers
    history: pl.DataFrame | None
    quantities: Mapping[str, Answers]
    """What was measured of other quantities than rows."""

    @classmethod
    def open(cls, folder: str | PathLike[str]) -> Bundle:
        """Open a bundle; damaged or foreign folders are refused."""
        place = Path(folder)
        raw = manifest_of(place, FORMAT)
        with refusing_damage(place):
            manifest = Manifest.from_dict(raw)
            files = manifest.files
            with opened(place, SCHEMA, most=MAX_STORED_BYTES, digest=files[SCHEMA]) as file:
                schema = stored_schema(file.read())
            _check_names(manifest, schema)
            with opened(place, README, most=MOST_TEXT, digest=files[README]):
                pass
            answers = _read_answers(place, manifest, schema, MEASUREMENTS)
            totals = [name for name in schema.sums if total_file(name) in files]
            others = {total_of(n): _read_answers(place, manifest, schema, total_file(n)) for n in totals}
            history = _read_history(place, manifest, schema, len(answers.layout.sets))
            found = cls(place, manifest, schema, answers, history, others)
            found._check_hashes()
        if manifest.card.reconstruct not in RECONSTRUCTIONS:
            raise BundleError(
                "bundle.reconstruction",
                f"The tables of {place} are read by {manifest.card.reconstruct!r}, which is not registered here.",
                "Import what registers it, in Python; the files in `tables` can be read without it.",
            )
        return found

    @property
    def files(self) -> tuple[str, ...]:
        """Names of its manifest and other files below its place; nothing else that lies there."""
        return MANIFEST, *self.manifest.files

    @property
    def orders(self) -> tuple[int, ...]:
        """Orders whose tables the bundle holds."""
        matches = [_ORDER_FILE.fullmatch(name) for name in self.manifest.files]
        return tuple(sorted(int(m[1]) for m in matches if m))

    def numbers(self, order: int) -> CellColumns:
        """Estimate, std, lower and upper of all cells of the tables of one order, in the order of the workload."""
        with refusing_damage(self.place), self._table(order) as file:
            sets = self._sets(order)
            part = ParquetPart(file, *table_columns(order))
            rows = sum(self._cells(s) for s in sets)
            require(part.rows == rows, "rows")
            names = CellColumns._fields
            table = part.read(names, most_bytes=32 * rows * len(names))
            numbers = CellColumns(*(float_column(table[name], nulls=name == "std") for name in names))
            require(not (numbers.std < 0).any(), "std")
            require(not (numbers.lower > numbers.upper).any(), "ends")
        return numbers

    def explanation(self) -> Explanation | None:
        """What ``hush microdata --explain`` kept in the bundle."""
        digest = self.manifest.files.get(EXPLANATION)
        if digest is None:
            return None
        with refusing_damage(self.place):
            kept = read_json(self.place, EXPLANATION, most=MOST_EXPLANATION, digest=digest)
            return Explanation.from_dict(kept)

    def _sets(self, order: int) -> list[AttributeSet]:
        return [s for s in self.manifest.sets if len(s) == order]

    def _cells(self, attributes: AttributeSet) -> int:
        return prod(self.schema.sizes[i] for i in attributes)

    def _table(self, order: int) -> Any:
        """The open file of one order; labels and pages may take 64 bytes for each of its columns and rows."""
        cells = sum(self._cells(s) for s in self._sets(order))
        most = 2**26 + 64 * cells * (2 * order + 8)
        name = f"tables/order-{order}.parquet"
        return opened(self.place, name, most=most, digest=self.manifest.files[name])

    def _check_hashes(self) -> None:
        for order in self.orders:
            with self._table(order):
                pass
        for name, most in ((EXPLANATION, MOST_EXPLANATION), (DATAPACKAGE, MOST_PACKAGE)):
            digest = self.manifest.files.get(name)
            if digest is not None:
                with opened(self.place, name, most=most, digest=digest):
                    pass


def _check_names(manifest: Manifest, schema: Schema) -> None:
    """Files, attributes and workload that fit together, and an account that adds up."""
    orders = {len(s) for s in manifest.sets}
    known = {SCHEMA, README, DATAPACKAGE, MEASUREMENTS, HISTORY, EXPLANATION, *map(total_file, schema.sums)}
    for name in manifest.files.keys() - known:
        match = _ORDER_FILE.fullmatch(name)
        require(match is not None and int(match[1]) in orders, "files")
    require(tuple(manifest.attributes) == schema.names, "attributes")
    axes = Axes.of(schema.sizes)
    require(all(is_attribute_set(s, len(axes)) and axes.is_set(s) for s in manifest.sets), "workload")
    require(0 < len(set(manifest.sets)) == len(manifest.sets), "workload")
    require(sum(axes.number_below(s) for s in manifest.sets) <= 8 * MAX_SETS, "workload")
    card = manifest.card
    require(card.l1_bounds is None or len(card.l1_bounds.records) == len(manifest.sets), "bounds")
    account = card.ledger.account
    if account is not None:
        account.left  # noqa: B018  (refuses an account beyond its limit)
        require(card.charged <= (account.spent_on(RELEASE) or card.charged), "account")


def _read_answers(place: Path, manifest: Manifest, schema: Schema, name: str) -> Answers:
    """The noisy integers: sets and noise first, then as many integers as they imply."""
    memory = memory_limit(None)
    with opened(place, name, most=memory, digest=manifest.files[name]) as file:
        part = ParquetPart(file, _LISTS)
        below = sum(map(Axes.of(schema.sizes).number_below, manifest.sets))
        require(part.rows <= min(MAX_SETS, REPEATS * below), "rows")
        most = part.rows * max(1, len(schema.names))
        require(part.values("attributes.list.element") <= most, "attributes")
        head = ["attributes.list.element", "parameter"]
        described = part.read(head, most_bytes=part.rows * (1024 + 16 * len(schema.names)))
        text_column(described["parameter"], _PARAMETER)
        sets: list[tuple[int, ...]] = [tuple(s) for s in described["attributes"].to_pylist()]
        axes = Axes.of(schema.sizes)
        require(all(is_attribute_set(s, len(axes)) and axes.is_set(s) for s in sets), "sets")
        cells = sum(prod(schema.sizes[i] for i in s) for s in sets)
        require(cells == part.values("values.list.element"), "values")
        if (needed := cells * _BYTES_PER_VALUE) > memory:
            raise BundleError(
                "bundle.too-large",
                f"Reading {place} would take about {needed / 2**30:.1f} GiB, more than this machine has to spare.",
                "Open it on a machine with more memory, or read its files in tables/ one by one.",
            )
        values = part.read(["values.list.element"], most_bytes=32 * cells)
        header = json.loads(part.metadata[b"hushtable"])
    require(tuple(header["sizes"]) == tuple(schema.sizes), "sizes")
    table = described.append_column("values", values["values"])
    told = table.replace_schema_metadata({b"hushtable": json.dumps(header).encode()})
    return Answers.from_table(told, schema.sizes)


def _read_history(place: Path, manifest: Manifest, schema: Schema, measured: int) -> pl.DataFrame | None:
    """The rounds: no more than answers allow, with labels no longer than the attributes' names."""
    if HISTORY not in manifest.files:
        return None
    longest = 256 + sum(4 + len(name.encode()) for name in schema.names)
    most_rows = 2 * measured + ROUNDS_WITHOUT_ANSWER
    most = 2**24 + most_rows * (64 + 2 * longest)
    with opened(place, HISTORY, most=most, digest=manifest.files[HISTORY]) as file:
        part = ParquetPart(file, _ROUNDS)
        require(part.rows <= most_rows, "rows")
        table = part.read(list(_ROUNDS), most_bytes=part.rows * (256 + 2 * longest))
    texts = {name: text_column(table[name], longest) for name in ("action", "marginal")}
    columns = {name: texts.get(name, table[name]) for name in _ROUNDS}
    for name, column in columns.items():
        require(name == "marginal" or not column.null_count, name)
        if pa.types.is_floating(column.type):
            finite_column(column)
    frame = pl.DataFrame(pl.from_arrow(pa.table(columns)))
    negative = frame.select((pl.col("residuals", "sigma", "epsilon", "share") < 0).any())
    require(negative.row(0) == (False,) * 4, "rounds")
    return frame.with_columns(pl.col("action", "marginal").cast(pl.String))
