"""Worlds as pandas frames: columns of typed arrays, and columns of Python objects, which may be anything.

pandas is an extra, and slow to load: it is loaded with the first frame.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from hushtable.schema import text_of
from hushtable.selftest.neighbours.hostile import FLOATS, TEXTS, WHOLE
from hushtable.selftest.neighbours.layouts import MadeRow, SourceLayout
from hushtable.selftest.neighbours.typed_tables import Flags, Reals, TypedLayout, Whole, pa
from hushtable.selftest.neighbours.worlds import OUTSIDE, MadeColumn, World

INSTALLED = find_spec("pandas") is not None


class _Pandas:
    """pandas, from the first use on."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("pandas"), name)


pd: Any = _Pandas()


class TypedFrameLayout(TypedLayout):
    """Each column as pandas holds it by itself, or as an Arrow array inside the frame."""

    def __init__(self, world: World, chance: Random, **options: Any) -> None:
        super().__init__(world, chance, **options)
        self._own = {column.name: chance.random() < 0.5 for column in world.columns}

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        table = self.tables(rows)[0]
        return pd.DataFrame(
            {name: self._series(name, table[name].combine_chunks()) for name in table.column_names}
        )

    def _series(self, name: str, array: Any) -> Any:
        store = self.stores[name]
        if self._own[name] and isinstance(store, Whole | Flags):
            nullable = (
                str(store.type).replace("uint", "UInt").replace("int", "Int").replace("bool", "boolean")
            )
            return pd.Series(pd.array(array.to_pylist(), dtype=nullable))
        if self._own[name] and (isinstance(store, Reals) or str(store.type).startswith("timestamp")):
            return array.to_pandas()
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


class ObjectFrameLayout(SourceLayout):
    """Columns of Python objects; some are pandas' categories of text."""

    def __init__(self, world: World, chance: Random) -> None:
        super().__init__(world, chance)
        self._coded = {column.name: chance.random() < 0.15 for column in world.columns}
        self._kinds = chance.sample(range(len(_keys(0))), 4)  # so few that a table has several people of each

    def holds(self, column: MadeColumn, value: Any) -> bool:
        return True

    def cell(self, column: MadeColumn, value: Any) -> Any:
        if value is None:
            return self.chance.choice((None, float("nan")))
        forms: tuple[Any, ...] = (text_of(value) if isinstance(value, bool | int) else str(value), value)
        if value is OUTSIDE:
            forms = (self.chance.choice(("zzz", "99", "0.5")), 99, 0.5)
        elif isinstance(value, date):
            forms = (*forms, datetime(value.year, value.month, value.day, 23, 59))
        return forms[0] if self._coded[column.name] else self.chance.choice(forms)

    def key(self, number: int) -> Any:
        person = self.world.schema.person or ""
        return f"k{number}" if self._coded[person] else _keys(number // 4)[self._kinds[number % 4]]

    def odd_keys(self, number: int) -> Sequence[Any]:
        if self._coded[self.world.schema.person or ""]:
            return [f"odd\ud800{number}"]
        if self.chance.random() < 0.2:
            return self.chance.choice(_same_keys(number))
        return [self.chance.choice(_odd_keys(number))]

    def odd_cell(self, column: MadeColumn) -> Any:
        return self.chance.choice(TEXTS) if self._coded[column.name] else _odd_object(self.chance)

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        columns: dict[str, Any] = {}
        for k, column in enumerate(self.world.columns):
            cells = np.empty(len(rows), object)
            for place, row in enumerate(rows):
                cells[place] = row.cells[k]
            coded = self._coded[column.name]
            columns[column.name] = _coded(cells) if coded else pd.Series(cells, dtype=object)
        return pd.DataFrame(columns).set_axis([7] * len(rows))  # labels of rows mean nothing


def _coded(cells: Any) -> Any:
    """Texts as categories of objects; what is no text is missing."""
    known = list(dict.fromkeys(cell for cell in cells if isinstance(cell, str)))
    places = {cell: place for place, cell in enumerate(known)}
    codes = [places[cell] if isinstance(cell, str) else -1 for cell in cells]
    return pd.Series(pd.Categorical.from_codes(codes, pd.Index(known, dtype=object)))


def _refuse(*_: Any, **__: Any) -> Any:
    raise RuntimeError("This object answers nothing.")


class _Mute:
    """An object that raises whatever it is asked."""

    __eq__ = __ne__ = __hash__ = __bool__ = __len__ = __iter__ = __str__ = __repr__ = _refuse  # type: ignore[assignment]
    __int__ = __float__ = __index__ = __array__ = __lt__ = __format__ = _refuse  # type: ignore[assignment]


class _SlyText(str):
    """Text that says it is another."""

    __slots__ = ()
    encode = __str__ = _refuse  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class _SlyNumber(int):
    """A whole number that shows itself as a small one."""

    def __str__(self) -> str:
        return "1000"

    __repr__ = __str__


class _SlyFloat(float):
    """A number whose text is none."""

    def __repr__(self) -> str:
        return "k1000"


class _SlyDay(date):
    """A day whose text is none."""

    def isoformat(self) -> str:
        raise RuntimeError("This day has no text.")


class _Unsure:
    """An object whose comparisons have no truth value."""

    def __eq__(self, other: object) -> Any:
        return np.zeros(2)

    __ne__ = __eq__
    __hash__ = object.__hash__


def _keys(n: int) -> list[Any]:
    """Keys of ordinary people, one of each kind: text, numbers of any size, bytes, UUIDs, days and instants."""
    texts = [f"k{n}", f"k{n} ", f"\ud800k{n}", b"k%d" % n, b"\0k%d" % n]
    machine = [2**62 + n, n - 2**63, 1_000_000 + n, np.int64(3_000_000 + n)]
    large = [10**5000 + n, Decimal(f"0.{n + 1}1")]
    early = datetime(1900, 1, 1, microsecond=n)
    instants = [early, early.replace(tzinfo=UTC), pd.Timestamp(1900, 1, 2, nanosecond=n)]
    others = [uuid.UUID(int=2**100 + n), date.fromordinal(600_000 + n), np.datetime64(n - 10**15, "ps")]
    return [*texts, *machine, *large, *instants, *others]


def _same_keys(n: int) -> list[list[Any]]:
    """Several objects that are equal, so that they are one person."""
    whole, day, known = 5_000_000 + n, -30_000 - n, uuid.UUID(int=2**90 + n)
    return [
        [whole, np.int64(whole), Decimal(whole), Decimal(f"{whole}.00")],
        [f"same{n}", np.str_(f"same{n}")],
        [b"same%d" % n, np.bytes_(b"same%d" % n)],
        [datetime(1950, 1, 1) + timedelta(n), pd.Timestamp("1950-01-01") + pd.Timedelta(days=n)],
        [np.datetime64(day, "D"), np.datetime64(24 * day, "h")],
        [known, uuid.UUID(str(known))],
    ]


def _odd_keys(n: int) -> list[Any]:
    """Hostile keys, each of its own person or of nobody."""
    missing = [None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), Decimal("sNaN"), "", b""]
    liars = [_Mute(), _Unsure(), _SlyNumber(7_000_000 + n), _SlyText(f"sly{n}"), _SlyFloat(n + 0.5)]
    several = [[n, "list"], (n, "pair"), frozenset({f"odd{n}"}), {"odd": n}, np.array([n, n])]
    texts = [f"odd\0{n}", f"\udfff{n}", f"{n}" + "x" * 9000, np.str_(f"np{n}")]
    octets = [b"\xff%d" % n, np.bytes_(b"n%d" % n), memoryview(b"view%d" % n), bytearray(b"array%d" % n)]
    numbers = [-(10**5000) - n, np.uint64(2**63 + n), Decimal(9_000_000 + n), Fraction(n, 10**9 + 7), n + 1j]
    others = [date.fromordinal(700_000 + n), datetime(2000, 1, 1) + timedelta(n), uuid.UUID(int=n)]
    return [*missing, *liars, *several, *texts, *octets, *numbers, *others]


def _odd_object(chance: Random) -> Any:
    luck = chance.random()
    if luck < 0.35:
        return chance.choice(TEXTS)
    if luck < 0.45:
        return chance.choice(FLOATS)
    return chance.choice(WHOLE if luck < 0.5 else _objects())


@cache
def _objects() -> list[Any]:
    """What else a cell may hold."""
    loop: list[Any] = []
    loop.append(loop)
    missing = [None, pd.NA, pd.NaT, float("nan"), np.float32("nan"), np.datetime64("NaT"), Decimal("NaN")]
    nested = [loop, [1, [2, [3]]], {"a": {"b": 1}}, (x for x in "ab")]
    several: list[Any] = [[], {}, {1, 2}, (1, "x"), frozenset({1})]
    arrays = [np.array([1, 2]), np.array(5), np.array([]), np.zeros((2, 2)), pd.Series([1, 2]), pd.Series([])]
    tables = [pd.DataFrame({"a": [1]}), pd.Interval(0, 1)]
    whole = [10**5000, -(10**5000), 10**4299, True, np.True_, np.int8(-1), np.uint64(2**64 - 1)]
    decimals = [Decimal(text) for text in ("1e5000", "sNaN", "Infinity", "-0")]
    numbers = [Fraction(1, 3), 1 + 2j, np.float16(1.5), np.longdouble("1e400"), Decimal(10) ** 4000]
    texts = ["\ud800", "F\udfff", np.str_("F")]
    octets = [b"F", b"\xff", bytearray(b"1"), memoryview(b"1"), np.bytes_(b"F")]
    liars = [_Mute(), _Unsure(), _SlyText("F"), _SlyNumber(5), _SlyFloat(5.5), _SlyDay(1995, 1, 1)]
    days = [date.min, date.max, np.datetime64("2000-01-01"), pd.Timestamp("1995-05-05"), pd.Period("2000-01")]
    instants = [datetime.max, pd.Timestamp.max, datetime(1995, 1, 1, tzinfo=timezone(timedelta(hours=14)))]
    others = [timedelta(1), np.timedelta64(1), uuid.UUID(int=1), object(), Ellipsis, NotImplemented, int, len]
    values = [*whole, *decimals, *numbers, *texts, *octets, *liars, *days, *instants, *others]
    return [*missing, *nested, *several, *arrays, *tables, *values]
