"""Cells that no schema foresees follow the rule for nulls or for what is outside, in every kind of typed source."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushtable.kernel.sources import open_source
from hushtable.schema import Schema

LONG = 10**5000
NULL, OTHER = "null", "other"
RULES = {"null": "category", "outside": "other"}
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "categorical": {"type": "categorical", "values": ["a", "é", "\0", "\ufffd", 7, True]},
    "integer": {"type": "integer", "bounds": [0, 9]},
    "real": {"type": "real", "bounds": [0, 10], "bins": 10},
    "boolean": {"type": "boolean"},
    "date": {"type": "date", "bounds": ["2020-01-01", "2020-01-10"]},
}
# What each attribute reads, worked out by hand from the reference; everything else is OTHER.
CELLS: list[tuple[Any, dict[str, Any]]] = [
    *(
        (missing, dict.fromkeys(ATTRIBUTES, NULL))
        for missing in (None, float("nan"), np.float32("nan"), pd.NA, pd.NaT)
    ),
    *((missing, dict.fromkeys(ATTRIBUTES, NULL)) for missing in (Decimal("NaN"), np.datetime64("NaT"), "")),
    ("a", {"categorical": 0}),
    ("é", {"categorical": 1}),
    ("\0", {"categorical": 2}),
    ("\ud800", {}),
    ("\ufffd", {"categorical": 3}),
    (np.str_("a"), {"categorical": 0}),
    (7, {"categorical": 4, "integer": 7, "real": 7}),
    (np.uint8(7), {"categorical": 4, "integer": 7, "real": 7}),
    (7.0, {"categorical": 4, "integer": 7, "real": 7}),
    (np.float32(7.5), {"real": 7}),
    (Decimal("7.25"), {"real": 7}),
    (1, {"integer": 1, "real": 1, "boolean": 1}),
    (-0.0, {"integer": 0, "real": 0, "boolean": 0}),
    (True, {"categorical": 5, "boolean": 1}),
    (np.bool_(False), {"boolean": 0}),
    (LONG, {}),
    (-LONG, {}),
    (float("inf"), {}),
    (date(2020, 1, 3), {"date": 2}),
    (datetime(2020, 1, 3, 23, 59), {"date": 2}),
    (pd.Timestamp("2020-01-03 12:00"), {"date": 2}),
    (np.datetime64("2020-01-03T12:00"), {"date": 2}),
    *(
        (odd, {})
        for odd in (
            np.array([1, 2]),
            np.array(1),
            [1],
            (1,),
            {"a": 1},
            b"a",
            1j,
            object(),
            np.timedelta64(1, "D"),
        )
    ),
]


def schema(name: str, **rules: str) -> Schema:
    return Schema.from_dict({"attributes": {"x": ATTRIBUTES[name] | RULES | rules}})


def frame(values: list[Any]) -> pd.DataFrame:
    cells = np.empty(len(values), object)
    for row, value in enumerate(values):
        cells[row] = value
    return pd.DataFrame({"x": pd.Series(cells, dtype=object)})


def codes(data: Any, declared: Schema) -> list[int]:
    return [int(code) for batch in open_source(data, declared).batches() for code in batch[0]]


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_objects_are_read_as_the_reference_says(name: str) -> None:
    declared = schema(name)
    attribute = declared.attributes["x"]
    special = {NULL: attribute.null_code, OTHER: attribute.other_code}
    expected = [special.get(code, code) for code in (cell[1].get(name, OTHER) for cell in CELLS)]
    assert codes(frame([cell[0] for cell in CELLS]), declared) == expected


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_what_one_object_is_does_not_depend_on_the_others(name: str) -> None:
    declared = schema(name)
    together = codes(frame([cell[0] for cell in CELLS]), declared)
    alone = [code for cell in CELLS for code in codes(frame([cell[0]]), declared)]
    assert together == alone


@pytest.mark.parametrize("name", ["integer", "real"])
def test_numbers_of_any_length_are_clipped(name: str) -> None:
    values = [LONG, 5, -LONG, 10**400, 10**300, -(10**400), np.uint64(2**64 - 1), Decimal(LONG)]
    assert codes(frame(values), schema(name, outside="clip")) == [9, 5, 0, 9, 9, 0, 9, 9]


@pytest.mark.long
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_text_in_parquet_that_is_not_utf8_is_outside(name: str, coded: bool, tmp_path: Path) -> None:
    words = [b"a", b"\xff", b"7", b"a\xff", b"\xed\xa0\x80", b"2020-01-03", b"true"]
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int32)
    cells = pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(b"".join(words)))
    pq.write_table(pa.table({"x": cells}), tmp_path / "t.parquet", use_dictionary=coded)
    declared = schema(name)
    found = codes(tmp_path / "t.parquet", declared)
    other = declared.attributes["x"].other_code
    assert found == codes(pa.table({"x": cells}), declared)
    assert [found[1], found[3], found[4]] == [other] * 3
    good = [0, 2, 5, 6]
    assert [found[k] for k in good] == codes(pa.table({"x": [words[k].decode() for k in good]}), declared)


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("width", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8()], ids=str)
def test_a_parquet_column_that_was_a_dictionary_is_not_refused_for_one_bad_text(
    width: pa.DataType, coded: bool, tmp_path: Path
) -> None:
    words = [b"a", b"\xff", b"7"]
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int32)
    cells = pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(b"".join(words)))
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], width), cells)
    pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet", use_dictionary=coded)
    declared = schema("categorical")
    assert codes(tmp_path / "t.parquet", declared) == codes(pa.table({"x": cells}), declared)


def test_dictionaries_with_nulls_and_strange_entries_are_read_entry_by_entry() -> None:
    known = pa.array(["a", None, "zzz", "é"])
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), known)
    assert codes(pa.table({"x": cells}), schema("categorical")) == [0, 6, 7, 1, 6]
