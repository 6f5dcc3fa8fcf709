"""A small confidential table, its neighbours, and the same rows as CSV, Parquet, Arrow, polars and pandas.

A row is a dict of Python values, or bytes: a line that only a text file can hold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any] | bytes
KINDS = ("csv", "parquet", "arrow", "polars", "pandas")
HOSTILE = {
    "age": 'a"; DROP TABLE t; --',
    "sex": "../../{0} %s ${HOME} `id`",
    "income": "estimate",
    "member": "=cmd|' /C calc'!A0\t\u202eлицо",
}
"""Names that a careless program would run, format, resolve or confuse with its own."""
TYPES = {"age": pa.int64(), "sex": pa.string(), "income": pa.float64(), "member": pa.bool_()}


def declared(names: dict[str, str]) -> dict[str, Any]:
    """The schema, with the given column names, which are the attributes' names too where they may be."""
    attributes = {
        "age": {"type": "integer", "bounds": [0, 79], "width": 20, "null": "category"},
        "sex": {"type": "categorical", "values": ["F", "M"], "outside": "other"},
        "income": {"type": "real", "bounds": [0, 1000], "bins": 3, "outside": "clip", "null": "category"},
        "member": {"type": "boolean"},
    }
    return {
        "attributes": {
            name if name.isprintable() and name != "estimate" else key: attributes[key] | {"column": name}
            for key, name in names.items()
        }
    }


def table() -> list[Row]:
    """Forty records in a fixed pattern."""
    return [
        {"age": 7 * k % 80, "sex": "FMFX"[k % 4], "income": 97.5 * k % 1000, "member": k % 3 == 0}
        for k in range(40)
    ]


PLAIN: dict[str, Any] = {"age": 33, "sex": "F", "income": 250.0, "member": True}
ADDED: dict[str, Row] = {
    "a row like any other": PLAIN,
    "a row of nulls": dict.fromkeys(PLAIN),
    "values out of range": PLAIN | {"age": -5, "income": 1e300, "sex": "Xq7Secret"},
    "a value that is not a number": PLAIN | {"income": float("nan")},
    "an infinite value": PLAIN | {"income": float("-inf")},
    "a huge integer": PLAIN | {"age": 2**63 - 1},
    "a very long text": PLAIN | {"sex": "Xq7Secret" * 5000},
    "a line with too many fields": b"1,F,2,true,Xq7Secret,Xq7Secret",
    "a line with an open quote": b'"33,Xq7Secret,250,true',
    "a line that is not UTF-8": b"33,F\xff\xfe,250,true",
    "a line with a NUL": b"33,F\0Xq7Secret,250,true",
    "an integer of a thousand digits": b"9" * 1000 + b",F,1e9999,true",
}
SECRET = "Xq7Secret"


def neighbours(kind: str) -> dict[str, list[Row]]:
    """Tables that differ from ``table()`` by one row, as far as a kind of file can hold them."""
    added = {name: row for name, row in ADDED.items() if kind == "csv" or not isinstance(row, bytes)}
    return {
        "the first row removed": table()[1:],
        "the last row removed": table()[:-1],
        **{name: [*table(), row] for name, row in added.items()},
        **{f"{name}, first": [row, *table()] for name, row in added.items() if isinstance(row, bytes)},
    }


def written(kind: str, rows: list[Row], names: dict[str, str], folder: Path) -> Any:
    """The rows as a file in ``folder``, or as a frame."""
    if kind == "csv":
        return _csv(rows, names, folder / "data.csv")
    columns = {key: [row[key] for row in rows if isinstance(row, dict)] for key in TYPES}
    arrow = pa.table({names[key]: pa.array(columns[key], TYPES[key]) for key in TYPES})
    if kind == "parquet":
        pq.write_table(arrow, folder / "data.parquet")
        return folder / "data.parquet"
    if kind == "polars":
        return pl.from_arrow(arrow)
    if kind == "pandas":
        types = {"age": "Int64", "sex": object, "income": "float64", "member": "boolean"}
        return pd.DataFrame({names[key]: pd.Series(columns[key], dtype=types[key]) for key in TYPES})
    return arrow


def _csv(rows: list[Row], names: dict[str, str], path: Path) -> Path:
    header = ",".join('"' + names[key].replace('"', '""') + '"' for key in TYPES)
    lines = [header.encode(), *(row if isinstance(row, bytes) else _line(row) for row in rows)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def _line(row: dict[str, Any]) -> bytes:
    texts = (
        "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
        for value in row.values()
    )
    return ",".join(texts).encode()
