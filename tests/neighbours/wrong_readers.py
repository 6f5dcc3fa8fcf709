"""Ways to read a table: the kernel's, the kernel's in tiny blocks, and wrong ones that the campaigns must catch.

A wrong reader changes the data as a careless reader would take them, and hands them to the kernel.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.kernel.sources import Source, open_source
from hushtable.schema import Schema
from hushtable.selftest.neighbours.pairs import TableRead, read

WIDE = Context(prec=100)
TINY = 53
"""Bytes or rows of a block: few enough that a person's rows fall into several."""


def _open_tiny(data: Any, schema: Schema, **options: Any) -> Source:
    source = open_source(data, schema, **options | {"threads": 2})
    source._size = TINY if isinstance(data, str | Path) else 3
    return source


read_in_tiny_blocks = partial(read, opening=_open_tiny)


# Wrong readers of text


def lines_changed(change: Callable[[bytes], bytes]) -> Callable[[Any, Schema], TableRead]:
    """Reads a text file after a change to everything behind its header."""

    def reader(data: Any, schema: Schema) -> TableRead:
        header, end, rest = data.read_bytes().partition(b"\n")
        other = data.with_name("changed.csv")
        other.write_bytes(header + end + change(rest))
        return read(other, schema)

    return reader


def over_several_lines(text: bytes) -> bytes:
    """A quote at the start of a field stays open over line breaks, which then belong to the field."""
    made, quoted, fresh = bytearray(), False, True
    for k in range(len(text)):
        c = text[k : k + 1]
        quoted ^= c == b'"' and (quoted or fresh)
        made += b" " if quoted and c == b"\n" else c
        fresh = c in b",\n"
    return bytes(made)


def unicode_line_breaks(text: bytes) -> bytes:
    """Every character that Python calls a line break ends a row."""
    lines = text.decode("utf-8", "surrogateescape").splitlines()
    return "\n".join(lines).encode("utf-8", "surrogateescape") + b"\n"


def numbers_if_all_are(text: bytes) -> bytes:
    """Signs and zeros that a number does not need are lost, unless something in the file is no number."""
    if re.fullmatch(rb"[0-9+\-.,\r\n]*", text) is None:
        return text
    return re.sub(rb"(?<![0-9.])[+0]+(?=[0-9])", b"", text)


def without_rows_after_nul(text: bytes) -> bytes:
    """The file ends at its first NUL."""
    return text.partition(b"\0")[0]


def repaired(text: bytes) -> bytes:
    """All bytes beyond ASCII are replaced as soon as one of them is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return re.sub(rb"[\x80-\xff]+", b"?", text)
    return text


# Wrong readers of tables


def clipped_keys(data: pa.Table, schema: Schema) -> TableRead:
    """Whole numbers saturate at 2^62, keys too."""
    if schema.person is not None and pa.types.is_integer(data.schema.field(schema.person).type):
        place = data.schema.get_field_index(schema.person)
        clipped = [None if key is None else max(min(key, 2**62), -(2**62)) for key in data[place].to_pylist()]
        data = data.set_column(place, schema.person, pa.array(clipped, pa.int64()))
    return read(data, schema)


def keys_as_floats(data: pa.Table, schema: Schema) -> TableRead:
    """Large decimal keys pass through floating point."""
    if schema.person is not None and pa.types.is_decimal(data.schema.field(schema.person).type):
        place = data.schema.get_field_index(schema.person)
        rounded = [None if key is None else str(float(key)) for key in data[place].to_pylist()]
        data = data.set_column(place, schema.person, pa.array(rounded, pa.string()))
    return read(data, schema)


def keys_in_seconds(data: pa.Table, schema: Schema) -> TableRead:
    """Instants that are keys lose what is below a second."""
    if schema.person is not None and pa.types.is_timestamp(data.schema.field(schema.person).type):
        place = data.schema.get_field_index(schema.person)
        data = data.set_column(place, schema.person, data[place].cast(pa.timestamp("s"), safe=False))
    return read(data, schema)


def narrow_decimals(data: pa.Table, schema: Schema) -> TableRead:
    """Decimal keys keep their lowest 64 bits."""
    if schema.person is not None and pa.types.is_decimal(data.schema.field(schema.person).type):
        place = data.schema.get_field_index(schema.person)
        scale = data.schema.field(place).type.scale
        wide = [None if key is None else int(key.scaleb(scale, WIDE)) for key in data[place].to_pylist()]
        keys = [None if key is None else key % 2**64 for key in wide]
        data = data.set_column(place, schema.person, pa.array(keys, pa.uint64()))
    return read(data, schema)


def paths_before_contents(path: Path, schema: Schema) -> TableRead:
    """A folder named ``column=value`` says what every row of its files holds."""
    table = pq.read_table(path)
    column = next(iter(schema.attributes.values())).column
    place = table.schema.get_field_index(column)
    first = table[place].combine_chunks()[:1] if len(table) else table[place].combine_chunks()
    if len(table):
        table = table.set_column(place, column, pa.concat_arrays([first] * len(table)))
    return read(table, schema)


def refused_text(path: Path, schema: Schema) -> TableRead:
    """One text that is not UTF-8 refuses the whole file."""
    try:
        for column in pq.read_table(path).columns:
            column.validate(full=True)
    except pa.ArrowInvalid as error:
        return TableRead(words=(str(error),))
    return read(path, schema)


def one_text_of_all_uuids(frame: pd.DataFrame, schema: Schema) -> TableRead:
    """Every key that is a UUID has the same text."""
    if schema.person is not None:
        keys = [uuid.UUID(int=0) if type(key) is uuid.UUID else key for key in frame[schema.person]]
        frame = frame.assign(**{schema.person: pd.Series(_objects(keys), dtype=object)})
    return read(frame, schema)


def keys_without_fractions(frame: pd.DataFrame, schema: Schema) -> TableRead:
    """A decimal key is its whole part."""
    if schema.person is not None:
        keys = [int(key) if type(key) is Decimal and key.is_finite() else key for key in frame[schema.person]]
        frame = frame.assign(**{schema.person: pd.Series(_objects(keys), dtype=object)})
    return read(frame, schema)


def texts_of_keys(frame: pd.DataFrame, schema: Schema) -> TableRead:
    """A key is what it shows itself as."""
    if schema.person is not None:
        keys = [
            str(key) if isinstance(key, int) and abs(key) < 10**99 else key for key in frame[schema.person]
        ]
        frame = frame.assign(**{schema.person: pd.Series(_objects(keys), dtype=object)})
    return read(frame, schema)


def truth_of_every_cell(frame: pd.DataFrame, schema: Schema) -> TableRead:
    """Asks each cell of a column that is read whether it differs from itself; pd.NA and arrays have no answer."""
    try:
        for attribute in schema.attributes.values():
            any(bool(value != value) for value in frame[attribute.column].tolist())
    except Exception as error:
        return TableRead(words=(str(error),))
    return read(frame, schema)


def digits_of_every_number(frame: pd.DataFrame, schema: Schema) -> TableRead:
    """Writes each whole number in decimal, which Python refuses beyond 4,300 digits."""
    try:
        for column in frame:
            [str(value) for value in frame[column].tolist() if type(value) is int]
    except ValueError as error:
        return TableRead(words=(str(error),))
    return read(frame, schema)


def warned_of_infinity(frame: pl.DataFrame, schema: Schema) -> TableRead:
    """Mentions that a column holds a number beyond all bounds."""
    found = read(frame, schema)
    infinite = any(frame[name].is_infinite().any() for name in frame.columns if frame[name].dtype.is_float())
    return TableRead(found.rows, ("a value is infinite",)) if infinite else found


def column_scaled(frame: pl.DataFrame, schema: Schema) -> TableRead:
    """Clips numbers to what the column holds beside its largest value."""
    for name in {a.column for a in schema.attributes.values() if a.kind == "real"}:
        if frame[name].dtype.is_float() and len(frame):
            frame = frame.with_columns(pl.col(name).clip(upper_bound=pl.col(name).fill_nan(None).max() / 2))
    return read(frame, schema)


def few_people(table: pa.Table, schema: Schema) -> TableRead:
    """Keys are hashed to three bits."""
    if schema.person is not None:
        place = table.schema.get_field_index(schema.person)
        keys = [sum(repr(cell).encode()) % 8 if cell.is_valid else None for cell in table[place]]
        table = table.set_column(place, schema.person, pa.array(keys, pa.int64()))
    return read(table, schema)


def _objects(cells: list[Any]) -> np.ndarray:
    made = np.empty(len(cells), object)
    for place, cell in enumerate(cells):
        made[place] = cell
    return made
