"""A table with all that a source may get wrong: nulls, NaN, Unicode, decimals, dates and time zones."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

import hushtable as ht

SECRET = "planted-Zyzzyva"
"""A value that no log and no message may hold."""

SCHEMA = {
    "coverage": "2%",
    "attributes": {
        "sex": {"type": "categorical", "values": ["F", "M", "é ☃"], "null": "category", "outside": "other"},
        "age": {"type": "integer", "bounds": [0, 99], "width": 25},
        "income": {"type": "real", "bounds": [0, 10], "bins": 4, "null": "category", "resolution": 0.01},
        "cost": {"type": "real", "bounds": [-5, 5], "bins": 3, "outside": "clip", "null": "category"},
        "member": {"type": "boolean", "null": "category"},
        "born": {"type": "date", "bounds": ["1990-01-01", "1999-12-31"], "bins": 4, "null": "category"},
        "seen": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"], "bins": 4, "null": "category"},
        "left": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"], "bins": 4, "null": "category"},
    },
}


def schema(limit: int | None = None) -> ht.Schema:
    capped = {} if limit is None else {"person": "Who is it?", "max_rows_per_person": limit}
    return ht.Schema.from_dict(SCHEMA | capped)


def weighed(limit: int | None = None) -> ht.Schema:
    """The same with a row's age as its weight, totals of its cost, and three columns as replicate weights."""
    sums = {"cost": {"bounds": [-5, 5], "resolution": 0.01}}
    replicates = {"columns": ["age", "income", "cost"], "kind": "brr", "by": "member"}
    sample = {"rows": 300, "replicates": replicates}
    more = {"weight": {"column": "age", "bounds": [0, 99]}, "sums": sums, "sample": sample}
    return ht.Schema.from_dict(schema(limit).to_dict() | more)


def people(rows: int, seed: int = 1) -> pa.Table:
    """Rows with nulls, NaN, Unicode, decimals, dates and time zones; about three of each person."""
    chance = np.random.default_rng(seed)

    def some(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(
            [None if chance.random() < 0.1 else values[chance.integers(len(values))] for _ in range(rows)],
            kind,
        )

    numbers = [0.0, -0.0, 0.1, 3.75, 10.0, float("nan"), float("inf"), -1.0, 1e300, 9.999]
    first = datetime(2020, 6, 30, 23, 30, 0, 123456)
    moments = [first + timedelta(hours=7 * k) for k in range(40)]
    days = [
        date(1989, 12, 31),
        date(1990, 1, 1),
        date(1995, 6, 1),
        date(2031, 1, 1),
        date(1, 1, 1),
        date(9999, 12, 31),
    ]
    return pa.table(
        {
            "Who is it?": some(list(range(-5, rows // 3)), pa.int64()),
            "sex": some(["F", "M", "é ☃", "e\u0301 ☃", SECRET, " F"], pa.string()),
            "age": some([*range(-3, 120)], pa.int32()),
            "income": some(numbers, pa.float64()),
            "cost": some(
                [Decimal("-1.50"), Decimal("0.07"), Decimal("9999999.99"), Decimal("3.33")],
                pa.decimal128(9, 2),
            ),
            "member": some([True, False], pa.bool_()),
            "born": some(days, pa.date32()),
            "seen": some(moments, pa.timestamp("us")),
            "left": some([m.replace(tzinfo=UTC) for m in moments], pa.timestamp("us", "UTC")),
        }
    )


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(len(table))))
