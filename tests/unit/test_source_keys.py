"""Two keys of the person column are one person exactly when their values are equal, whatever the source and type."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import SchemaError
from hushtable.kernel.sources import open_source
from hushtable.kernel.sources.objects import Objects
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {"person": "id", "attributes": {"row": {"type": "integer", "bounds": [0, 199_999], "width": 1}}}
)


class ByNumber:
    """Keeps the row with the smallest number in place of the smallest hash."""

    def ranks(self, names: object, words: Any) -> Any:
        return np.stack([words[:, 0], np.zeros_like(words[:, 0])], axis=1)


def kept(data: Any) -> list[int]:
    """Numbers of the rows that are counted, one of each person: the first."""
    source = open_source(data, SCHEMA)
    source._ranking = ByNumber()
    return sorted(int(row) for batch in source.batches() for row in batch[0])


def firsts(values: Sequence[Any], nobody: Callable[[Any], bool] = lambda value: value is None) -> list[int]:
    """Where each value occurs for the first time, by comparing every pair."""
    found: list[int] = []
    for row, value in enumerate(values):
        if not nobody(value) and not any(values[other] == value for other in found):
            found.append(row)
    return found


def table(ids: Any) -> pa.Table:
    return pa.table({"id": ids, "row": pa.array(range(len(ids)), pa.int64())})


# -- typed columns ------------------------------------------------------------------------------------------------

NEAR = [
    0,
    1,
    -1,
    2**31,
    2**53,
    2**53 + 1,
    2**62 - 1,
    2**62,
    2**62 + 1,
    2**63 - 2,
    2**63 - 1,
    -(2**62),
    -(2**63),
]
MOMENTS = [
    datetime(1970, 1, 1),
    datetime(2020, 2, 29, 12, 30, 1),
    datetime(2020, 2, 29),
    datetime(1890, 1, 1),
]


def decimals(digits: int, scale: int) -> list[Decimal | None]:
    top = 10**digits - 1
    numbers = (0, 1, -1, 10, top, top - 1, -top, 1, top)
    return [Decimal(f"{n}E-{scale}") for n in numbers] + [None, None]


TYPED: dict[str, tuple[Any, list[Any]]] = {
    "int64": (pa.int64(), [*NEAR, None, *NEAR]),
    "uint64": (pa.uint64(), [2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1, 2**62, 5, 0, None, 2**64 - 1, 5, 2**63]),
    "int8": (pa.int8(), [-128, 127, 0, None, -128]),
    "uint32": (pa.uint32(), [2**32 - 1, 0, None, 2**32 - 1]),
    "bool": (pa.bool_(), [True, False, None, True]),
    "string": (pa.string(), ["a", "A", "a ", "7", "007", "é", None, "", "a", "é"]),
    "large_string": (pa.large_string(), ["a", "a\0", "a", None]),
    "string_view": (pa.string_view(), ["a", "a long text of more than twelve bytes", "a", None]),
    "binary": (pa.binary(), [b"a", b"\xff", b"\xff\0", b"", None, b"\xff"]),
    "large_binary": (pa.large_binary(), [b"a", b"\xff", None, b"a"]),
    "binary_view": (pa.binary_view(), [b"a", b"b" * 40, None, b"b" * 40]),
    "fixed": (pa.binary(4), [b"aaaa", b"aaa\0", b"\0aaa", None, b"aaaa"]),
    "uuid": (pa.uuid(), [UUID(int=1), UUID(int=2), UUID(int=2**127), None, UUID(int=1)]),
    "decimal32": (pa.decimal32(9, 2), decimals(9, 2)),
    "decimal64": (pa.decimal64(18, 3), decimals(18, 3)),
    "decimal128": (pa.decimal128(38, 0), decimals(38, 0)),
    "decimal256": (pa.decimal256(76, 10), decimals(76, 10)),
    "date32": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), None, date(1, 1, 1)]),
    "date64": (pa.date64(), [date(1970, 1, 2), date(1969, 12, 31), None, date(1970, 1, 2)]),
    "seconds": (pa.timestamp("s"), [*MOMENTS, None, *MOMENTS]),
    "milliseconds": (pa.timestamp("ms"), [*MOMENTS, MOMENTS[1].replace(microsecond=1000), None, *MOMENTS]),
    "microseconds": (
        pa.timestamp("us", "UTC"),
        [*MOMENTS, MOMENTS[1].replace(microsecond=1), None, *MOMENTS],
    ),
    "nanoseconds": (pa.timestamp("ns", "Asia/Tokyo"), [*MOMENTS, None, *MOMENTS]),
    "null": (pa.null(), [None, None]),
}


def nobody(value: Any) -> bool:
    return value is None or value in ("", b"")


def as_parquet(made: pa.Table, folder: Path) -> Path:
    pq.write_table(made, folder / "t.parquet", row_group_size=4 if len(made) < 100 else None)
    return folder / "t.parquet"


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "arrow": lambda made, folder: made,
    "dictionary": lambda made, folder: made.set_column(0, "id", made["id"].dictionary_encode()),
    "chunks": lambda made, folder: pa.concat_tables([made[:3], made[3:]]),
    "parquet": as_parquet,
    "polars": lambda made, folder: pl.from_arrow(made),
    "polars lazy": lambda made, folder: pl.from_arrow(made).lazy(),
    "pandas": lambda made, folder: made.to_pandas(types_mapper=pd.ArrowDtype),
}
CANNOT = {  # what the other library cannot make of such a column, or makes something else of
    "dictionary": {"null", "uuid", "string_view", "binary_view", "decimal32", "decimal64"},
    "parquet": {"string_view", "binary_view", "decimal32", "decimal64"},
    "polars": {"uuid", "decimal256", "date64", "decimal32", "decimal64"},
    "polars lazy": {"uuid", "decimal256", "date64", "decimal32", "decimal64"},
}


@pytest.mark.long
@pytest.mark.parametrize("kind", TYPED)
@pytest.mark.parametrize("source", SOURCES)
def test_equal_values_of_a_typed_column_are_one_person(source: str, kind: str, tmp_path: Path) -> None:
    if kind in CANNOT.get(source, ()):
        return
    arrow_type, values = TYPED[kind]
    stored = [v.bytes if isinstance(v, UUID) else v for v in values]
    made = table(pa.array(stored, arrow_type))
    assert kept(SOURCES[source](made, tmp_path)) == firsts(values, nobody)


@pytest.mark.long
@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize("source", ["arrow", "parquet", "polars", "pandas"])
def test_every_random_number_is_a_person_of_its_own(source: str, kind: type, tmp_path: Path) -> None:
    limits = np.iinfo(kind)
    ids = np.random.default_rng(7).integers(limits.min, limits.max, 100_000, kind, endpoint=True)
    assert len(np.unique(ids)) == 100_000
    assert len(kept(SOURCES[source](table(pa.array(ids)), tmp_path))) == 100_000


def test_native_pandas_columns_are_keyed_like_arrow_ones() -> None:
    zone = "Europe/Berlin"
    columns = {
        "int64": pd.Series([2**62, 2**62 + 1, 2**62]),
        "nullable": pd.Series([2**62, 2**62 + 1, None, 2**62], dtype="Int64"),
        "uint64": pd.Series([2**64 - 1, 2**64 - 2, 2**64 - 1], dtype="uint64"),
        "text": pd.Series(["a", "b", None, "a"]),
        "text kept by Python": pd.Series(
            ["a", "\ud800", "\ud801", "?", None, "a"], dtype=pd.StringDtype("python")
        ),
        "categories": pd.Series(["a", "b", None, "a"], dtype="category"),
        "categories of numbers": pd.Series([2**62, 2**62 + 1, 2**62], dtype="category"),
        "mixed categories": pd.Series(["1", 1, UUID(int=3), "1"], dtype=object).astype("category"),
        "zones": pd.Series(pd.to_datetime(["2020-01-01 00:00", "2020-01-01 01:00"]).tz_localize(zone)),
        "booleans": pd.Series([True, False, True]),
    }
    for name, ids in columns.items():
        values = [None if pd.isna(value) else value for value in ids]
        assert kept(pd.DataFrame({"id": ids, "row": range(len(ids))})) == firsts(values), name


@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_keys_of_a_text_file_are_their_exact_text(ending: str, tmp_path: Path) -> None:
    ids = ["7", "007", '"7"', "7.0", " 7", '"a,b"', "", '""', '"say ""7"""', "7"]
    text = "id,row\n" + "".join(f"{key},{row}\n" for row, key in enumerate(ids))
    path = tmp_path / f"t.{ending}"
    path.write_bytes(gzip.compress(text.encode()) if ending == "csv.gz" else text.encode())
    assert kept(path) == [0, 1, 3, 4, 5, 8]


def test_texts_that_are_not_utf8_are_told_apart(tmp_path: Path) -> None:
    words = [b"\xff", b"\xfe", b"a\xff", b"\xff"]
    offsets = np.cumsum([0, *map(len, words)]).astype(np.int32)
    ids = pa.StringArray.from_buffers(4, pa.py_buffer(offsets), pa.py_buffer(b"".join(words)))
    assert kept(table(ids)) == kept(as_parquet(table(ids), tmp_path)) == [0, 1, 2]


REFUSED = {
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "dictionary of floats": pa.dictionary(pa.int32(), pa.float64()),
    "list": pa.list_(pa.int64()),
    "struct": pa.struct([("secret name", pa.int64())]),
    "map": pa.map_(pa.string(), pa.int64()),
    "time": pa.time64("us"),
    "duration": pa.duration("s"),
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.parametrize("rows", [0, 2])
def test_a_type_that_cannot_be_keyed_exactly_is_refused_by_column_and_type(
    kind: str, rows: int, tmp_path: Path
) -> None:
    made = table(pa.nulls(rows, REFUSED[kind]))
    sources: list[Any] = [made]
    if kind not in ("dictionary of floats", "duration"):
        sources.append(as_parquet(made, tmp_path))
    if kind in ("float32", "float64", "list", "struct", "time", "duration"):
        sources += [pl.from_arrow(made), pl.from_arrow(made).lazy()]
    if kind.startswith("float"):
        sources.append(pd.DataFrame({"id": np.zeros(rows, kind), "row": range(rows)}))
    for data in sources:
        with pytest.raises(SchemaError) as caught:
            open_source(data, SCHEMA)
        assert caught.value.code == "source.column-type"
        assert "'id'" in caught.value.message and "secret" not in str(caught.value)


def test_old_timestamps_whose_nanoseconds_are_rounded_are_no_keys(tmp_path: Path) -> None:
    table = pa.table({"who": pa.array([1, 2, 3], pa.timestamp("ns")), "x": [1, 1, 1]})
    pq.write_table(table, tmp_path / "old.parquet", use_deprecated_int96_timestamps=True)
    schema = {"attributes": {"x": {"type": "integer", "bounds": [0, 1]}}, "person": "who"}
    with pytest.raises(SchemaError, match="'who' has type INT96") as caught:
        open_source(tmp_path / "old.parquet", Schema.from_dict(schema))
    assert caught.value.code == "source.column-type"


def test_columns_that_arrow_cannot_hold_are_refused_only_when_they_are_wanted() -> None:
    odd = {
        "Object": pl.DataFrame({"id": pl.Series([object()], dtype=pl.Object), "row": [0]}),
        "Int128": pl.DataFrame({"id": pl.Series([1], dtype=pl.Int128), "row": [0]}),
        "Sparse": pd.DataFrame({"id": pd.Series([1], dtype="Sparse[int]"), "row": [0]}),
        "complex128": pd.DataFrame({"id": pd.Series([1j]), "row": [0]}),
        "struct": pd.DataFrame({"id": pd.Series(pd.interval_range(0, 1)), "row": [0]}),
    }
    alone = Schema.from_dict({"attributes": {"row": {"type": "integer", "bounds": [0, 9]}}})
    for name, frame in odd.items():
        with pytest.raises(SchemaError, match=f"'id' has type {name},") as caught:
            open_source(frame, SCHEMA)
        assert caught.value.code == "source.column-type", name
        assert len(list(open_source(frame, alone).batches())) == 1, name


# -- several files ------------------------------------------------------------------------------------------------

PAIRS: dict[str, tuple[Any, Any, bool]] = {
    "whole numbers of two widths": (pa.array([1, 2], pa.int8()), pa.array([2, 1], pa.uint64()), True),
    "a dictionary": (pa.array(["a", "b"]), pa.array(["b", "a"]).dictionary_encode(), True),
    "bytes": (pa.array([b"a"], pa.binary(1)), pa.array([b"a"], pa.large_binary()), True),
    "decimals of two widths": (
        pa.array([Decimal("-1.5")], pa.decimal128(9, 1)),
        pa.array([Decimal("-1.5")], pa.decimal256(60, 1)),
        True,
    ),
    "units": (pa.array([MOMENTS[1]], pa.timestamp("ms")), pa.array([MOMENTS[1]], pa.timestamp("ns")), True),
    "zones": (
        pa.array([MOMENTS[1]], pa.timestamp("us", "UTC")),
        pa.array([MOMENTS[1]], pa.timestamp("us", "Asia/Tokyo")),
        True,
    ),
    "nothing": (pa.array(["a"]), pa.nulls(2), True),
    "scales": (
        pa.array([Decimal(1)], pa.decimal128(9, 1)),
        pa.array([Decimal(1)], pa.decimal128(9, 2)),
        False,
    ),
    "number and text": (pa.array([1]), pa.array(["1"]), False),
    "number and decimal": (pa.array([1]), pa.array([Decimal(1)], pa.decimal128(5, 0)), False),
    "text and bytes": (pa.array(["a"]), pa.array([b"a"]), False),
    "date and timestamp": (pa.array([date(2020, 1, 1)]), pa.array([datetime(2020, 1, 1)]), False),
    "with a zone and without": (
        pa.array([MOMENTS[1]], pa.timestamp("us", "UTC")),
        pa.array([MOMENTS[1]], pa.timestamp("us")),
        False,
    ),
}


@pytest.mark.parametrize("case", PAIRS)
def test_files_of_different_types_agree_on_people_or_are_refused(case: str, tmp_path: Path) -> None:
    first, second, agree = PAIRS[case]
    for name, ids in (("a", first), ("b", second)):
        pq.write_table(table(ids), tmp_path / f"{name}.parquet")
    files = str(tmp_path / "*.parquet")
    if agree:
        assert len(kept(files)) == len(first)
        return
    with pytest.raises(SchemaError) as caught:
        open_source(files, SCHEMA)
    assert caught.value.code == "source.person-types"


# -- columns of Python objects ------------------------------------------------------------------------------------

EAST = timezone(timedelta(hours=2))
OBJECTS: list[Any] = [
    *(0, 1, 2, 10, -1, 2**62, 2**62 + 1, 2**64, 10**5000, 10**5000 + 1, -(10**5000), True, False),
    *(np.int8(1), np.uint64(2**64 - 1), np.int64(-1), np.bool_(True), 2**64 - 1),
    *(
        Decimal("1"),
        Decimal("1.0"),
        Decimal("1E+1"),
        Decimal("0.5"),
        Decimal("0.50"),
        Decimal("-0"),
        Decimal("0.05"),
    ),
    *(
        Decimal(10**5000),
        Decimal("1E+5000"),
        Decimal("12345678901234567890.5"),
        Decimal("12345678901234567890.6"),
    ),
    *("1", "1.0", "True", "a", "\ud800", "\ud801", "?", "\0", "\0\0", np.str_("a")),
    *(b"1", b"a", b"\xff", b"\0", np.bytes_(b"a")),
    *(UUID(int=1), UUID(int=2**127), str(UUID(int=1))),
    *(date(2020, 1, 1), date(2020, 1, 2), datetime(2020, 1, 1), datetime(2020, 1, 1, 0, 0, 0, 1)),
    *(
        datetime(2020, 1, 1, tzinfo=UTC),
        datetime(2020, 1, 1, 2, tzinfo=EAST),
        datetime(2020, 1, 1, 3, tzinfo=EAST),
    ),
    *(
        pd.Timestamp("2020-01-01"),
        pd.Timestamp("2020-01-01 00:00:00.000000001"),
        pd.Timestamp("2020-01-01", tz="UTC"),
    ),
    *(np.datetime64("2020-01-01T00:00:00.000001"), np.datetime64("2020-01-01T00", "h")),
    *(
        np.datetime64(text, unit)
        for text in ("2020-01-01", "1969-12-31")
        for unit in ("Y", "M", "W", "D", "s")
    ),
]
NO_KEYS: list[Any] = [
    *(None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("NaN"), Decimal("sNaN"), "", b""),
    *(1.0, 0.1, float("inf"), np.float64(1), np.float32(1), 1j, Decimal("Infinity"), Decimal("1E+999999999")),
    *(
        (1, 2),
        [1],
        {1},
        {"a": 1},
        frozenset(),
        np.array([1, 2]),
        np.array(1),
        object(),
        type,
        bytearray(b"a"),
    ),
    *(timedelta(1), np.timedelta64(1, "D"), np.timedelta64("NaT"), range(3), pd.Interval(0, 1)),
]


def objects(values: Sequence[Any]) -> pd.DataFrame:
    ids = np.empty(len(values), object)
    for row, value in enumerate(values):
        ids[row] = value
    return pd.DataFrame({"id": pd.Series(ids, dtype=object), "row": range(len(values))})


def equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.datetime64) or isinstance(other, np.datetime64):
        one, other = (pd.Timestamp(v) if isinstance(v, np.datetime64) else v for v in (one, other))
    one, other = (v.item() if isinstance(v, np.integer | np.bool_) else v for v in (one, other))
    return bool(one == other)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(OBJECTS) + len(NO_KEYS) - 1), max_size=40))
def test_objects_are_one_person_exactly_when_python_calls_them_equal(places: list[int]) -> None:
    expected: list[int] = []
    values = [(OBJECTS + NO_KEYS)[place] for place in places]
    for row, place in enumerate(places):
        known = place < len(OBJECTS)
        if known and not any(equal(values[row], values[other]) for other in expected):
            expected.append(row)
    assert kept(objects(values)) == expected


def test_all_pairs_of_objects_are_told_apart_as_python_does() -> None:
    keys = Objects(OBJECTS).keys
    found = [keys.data[keys.starts[row] : keys.ends[row]].tobytes() for row in range(len(OBJECTS))]
    assert all(found)
    for one, one_key in zip(OBJECTS, found, strict=True):
        for other, other_key in zip(OBJECTS, found, strict=True):
            assert (one_key == other_key) == equal(one, other), (type(one), type(other))


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-3000, 3000), st.sampled_from(["Y", "M", "W", "D", "3D", "h", "12h", "s"]))
    )
)
def test_instants_of_any_two_units_are_one_person_exactly_when_numpy_calls_them_equal(
    given: list[tuple[int, str]],
) -> None:
    values = [np.datetime64(count, unit) for count, unit in given]
    values += [v.astype("datetime64[s]") for v in values] + [v.astype("datetime64[D]") for v in values]
    keys = Objects(values).keys
    found = [keys.data[keys.starts[row] : keys.ends[row]].tobytes() for row in range(len(values))]
    for one, one_key in zip(values, found, strict=True):
        for other, other_key in zip(values, found, strict=True):
            assert (one_key == other_key) == bool(one == other)


def test_years_beyond_the_days_that_numpy_can_count_are_told_apart() -> None:
    """In days 2^63 years overflow; 400 years have 20,871 weeks, whatever the year."""
    far = 400 * 10**15
    values = [np.datetime64(far + n, "Y") for n in range(-1000, 1000)]
    keys = Objects(values).keys
    found = [keys.data[keys.starts[row] : keys.ends[row]].tobytes() for row in range(len(values))]
    assert len(set(found)) == len(values)
    weeks = Objects([np.datetime64(400 * 10**12, "Y"), np.datetime64(20_871 * 10**12, "W")]).keys
    one, other = (weeks.data[weeks.starts[k] : weeks.ends[k]].tobytes() for k in (0, 1))
    assert one == other


@pytest.mark.parametrize("make", [lambda n: UUID(int=n), lambda n: b"%d" % n, np.int64, lambda n: f"{n}"])
def test_thousands_of_objects_are_as_many_people(make: Callable[[int], Any]) -> None:
    numbers = random.Random(5).sample(range(2**62), 3000)
    assert kept(objects([make(n) for n in numbers] * 2)) == list(range(3000))


class Hostile:
    """Fails whenever it is looked at."""

    def _fail(self, *_: Any) -> Any:
        raise RuntimeError("a secret")

    __str__ = __repr__ = __hash__ = __bool__ = __len__ = __iter__ = __eq__ = __ne__ = __int__ = __float__ = (
        _fail
    )
    __class__ = property(_fail)  # pyright: ignore


class HostileText(str):
    """Text whose methods lie."""

    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("a secret")

    __str__ = __len__ = __eq__ = __hash__ = encode  # pyright: ignore


class HostileKind(type):
    """A class that cannot be compared or put into a set."""

    def __hash__(cls) -> int:
        raise RuntimeError("a secret")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("a secret")


class Unhashable(metaclass=HostileKind):
    """Of such a class."""


@pytest.mark.parametrize("place", range(len(NO_KEYS) + 3))
def test_no_object_raises_or_changes_another_row(place: int) -> None:
    value = (*NO_KEYS, Hostile(), Unhashable(), HostileText("x"))[place]
    others = ["a", 1, UUID(int=5), b"x", "a"]
    assert [row for row in kept(objects([*others[:2], value, *others[2:]])) if row != 2] == [0, 1, 3, 4]
    schema = Schema.from_dict(
        {
            "attributes": {
                "c": {
                    "type": "categorical",
                    "column": "id",
                    "values": ["a", "\0"],
                    "outside": "other",
                    "null": "category",
                },
                "i": {
                    "type": "integer",
                    "column": "id",
                    "bounds": [0, 9],
                    "outside": "other",
                    "null": "category",
                },
                "r": {
                    "type": "real",
                    "column": "id",
                    "bounds": [0, 9],
                    "bins": 9,
                    "outside": "other",
                    "null": "category",
                },
                "b": {"type": "boolean", "column": "id", "outside": "other", "null": "category"},
                "d": {
                    "type": "date",
                    "column": "id",
                    "bounds": ["2020-01-01", "2020-01-09"],
                    "outside": "other",
                    "null": "category",
                },
            }
        }
    )

    def codes(values: list[Any]) -> list[list[int]]:
        return [column.tolist() for column in next(iter(open_source(objects(values), schema).batches()))]

    with_it, without = codes([*others, value]), codes(others)
    assert [column[:-1] for column in with_it] == without


class Disguised(int):
    """A number that is converted to another one than it equals."""

    def __int__(self) -> int:
        return 42


def test_a_number_that_converts_to_another_is_the_one_it_equals() -> None:
    column = Objects([Disguised(7), 7, 42])
    for texts in (column.keys, column.texts):
        first, same, other = (bytes(texts.data[a:b]) for a, b in zip(texts.starts, texts.ends, strict=True))
        assert first == same != other


def test_the_key_of_a_text_does_not_depend_on_what_else_the_column_holds() -> None:
    texts: list[Any] = ["a", "é", "", None, float("nan"), "\0", "s", "a"]

    def keys(values: list[Any]) -> list[bytes]:
        found = Objects(values).keys
        return [found.data[found.starts[row] : found.ends[row]].tobytes() for row in range(len(values))]

    assert keys(texts) == keys([*texts, 1, "\ud800"])[:-2]
    assert kept(objects(texts * 9000 + [1])) == [0, 1, 5, 6, 72_000]
