"""Worlds as pandas frames: columns of typed arrays, and columns of Python objects, which may be anything.

pandas is an extra, and slow to load: it is loaded with the first frame.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from hushtable.schema import text_of
from hushtable.selftest.neighbours.hostile import BYTES, FLOATS, TEXTS, WHOLE
from hushtable.selftest.neighbours.layouts import Layout, Row
from hushtable.selftest.neighbours.typed_tables import Flags, Reals, TypedLayout, Whole, pa
from hushtable.selftest.neighbours.worlds import OUTSIDE, Column, World

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

    def data(self, rows: Sequence[Row], folder: Path) -> Any:
        table = self.tables(rows)[0]
        return pd.DataFrame(
            {name: self._series(name, table[name].combine_chunks()) for name in table.column_names}
        )

    def _series(self, name: str, array: Any) -> Any:
        store = self.stores[name]
        if self._own[name] and isinstance(store, Whole):
            return pd.Series(
                pd.array(array.to_pylist(), dtype=str(store.type).replace("ui", "UI").replace("i", "I", 1))
            )
        if self._own[name] and isinstance(store, Flags):
            return pd.Series(pd.array(array.to_pylist(), dtype="boolean"))
        if self._own[name] and (isinstance(store, Reals) or str(store.type).startswith("timestamp")):
            return array.to_pandas()
        return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array])))


class ObjectFrameLayout(Layout):
    """Columns of Python objects; some are pandas' categories of text."""

    def __init__(self, world: World, chance: Random) -> None:
        super().__init__(world, chance)
        self._coded = {column.name: chance.random() < 0.15 for column in world.columns}
        self._keys = chance.sample(_KEYS, 4)  # so few that a table has several people of each kind

    def holds(self, column: Column, value: Any) -> bool:
        return True

    def cell(self, column: Column, value: Any) -> Any:
        if value is None:
            return self.chance.choice((None, float("nan")))
        if value is OUTSIDE:
            return self._as_held(column, self.chance.choice(("zzz", 99, 0.5)))
        if isinstance(value, date):
            instant = datetime(value.year, value.month, value.day, 23, 59)
            forms: tuple[Any, ...] = (value.isoformat(), value, instant)
        else:
            forms = (text_of(value) if isinstance(value, bool | int) else str(value), value)
        return forms[0] if self._coded[column.name] else self.chance.choice(forms)

    def key(self, number: int) -> Any:
        person = self.world.schema.person or ""
        return f"k{number}" if self._coded[person] else self._keys[number % 4](number // 4)

    def odd_keys(self, number: int) -> Sequence[Any]:
        if self._coded[self.world.schema.person or ""]:
            return [f"odd\ud800{number}"]
        if self.chance.random() < 0.2:
            return self.chance.choice(_SAME_KEYS)(number)
        return [self.chance.choice(_ODD_KEYS)(number)]

    def odd_cell(self, column: Column) -> Any:
        return self.chance.choice(TEXTS) if self._coded[column.name] else _odd_object(self.chance)

    def data(self, rows: Sequence[Row], folder: Path) -> Any:
        columns: dict[str, Any] = {}
        for k, column in enumerate(self.world.columns):
            cells = np.empty(len(rows), object)
            for place, row in enumerate(rows):
                cells[place] = row.cells[k]
            columns[column.name] = (
                _coded(cells) if self._coded[column.name] else pd.Series(cells, dtype=object)
            )
        return pd.DataFrame(columns).set_axis([7] * len(rows))  # labels of rows mean nothing

    def _as_held(self, column: Column, cell: Any) -> Any:
        return str(cell) if self._coded[column.name] else cell


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


_KEYS: tuple[Callable[[int], Any], ...] = (
    lambda n: f"k{n}",
    lambda n: f"k{n} ",
    lambda n: 2**62 + n,
    lambda n: -(2**63) + n,
    lambda n: 1_000_000 + n,
    lambda n: uuid.UUID(int=2**100 + n),
    lambda n: b"k%d" % n,
    lambda n: b"\0k%d" % n,
    lambda n: np.int64(3_000_000 + n),
    lambda n: 10**5000 + n,
    lambda n: "\ud800" + f"k{n}",
    lambda n: Decimal(f"0.{n + 1}1"),
    lambda n: date.fromordinal(600_000 + n),
    lambda n: datetime(1900, 1, 1, microsecond=n),
    lambda n: datetime(1900, 1, 1, microsecond=n, tzinfo=UTC),
    lambda n: pd.Timestamp(1900, 1, 2, nanosecond=n),
    lambda n: np.datetime64(-(10**15) + n, "ps"),
)
"""Keys of ordinary people: text, numbers of any size, bytes, UUIDs, days and instants."""

_SAME_KEYS: tuple[Callable[[int], list[Any]], ...] = (
    lambda n: [
        5_000_000 + n,
        np.int64(5_000_000 + n),
        Decimal(5_000_000 + n),
        Decimal(f"{5_000_000 + n}.00"),
    ],
    lambda n: [f"same{n}", np.str_(f"same{n}")],
    lambda n: [b"same%d" % n, np.bytes_(b"same%d" % n)],
    lambda n: [datetime(1950, 1, 1) + timedelta(n), pd.Timestamp("1950-01-01") + pd.Timedelta(days=n)],
    lambda n: [np.datetime64(-30_000 - n, "D"), np.datetime64(24 * (-30_000 - n), "h")],
    lambda n: [uuid.UUID(int=2**90 + n), uuid.UUID(str(uuid.UUID(int=2**90 + n)))],
)
"""Several objects that are equal, so that they are one person."""

_ODD_KEYS: tuple[Callable[[int], Any], ...] = (
    *(
        lambda n: None,
        lambda n: float("nan"),
        lambda n: _Mute(),
        lambda n: _Unsure(),
        lambda n: pd.NA,
        lambda n: pd.NaT,
    ),
    *(
        lambda n: "",
        lambda n: b"",
        lambda n: Decimal("sNaN"),
        lambda n: np.datetime64("NaT"),
        lambda n: [n, "list"],
    ),
    *(lambda n: _SlyNumber(7_000_000 + n), lambda n: _SlyText(f"sly{n}"), lambda n: _SlyFloat(n + 0.5)),
    *(
        lambda n: (n, "pair"),
        lambda n: frozenset({f"odd{n}"}),
        lambda n: {"odd": n},
        lambda n: np.array([n, n]),
    ),
    *(lambda n: f"odd\0{n}", lambda n: f"\udfff{n}", lambda n: f"{n}" + "x" * 9000, lambda n: b"\xff%d" % n),
    *(
        lambda n: -(10**5000) - n,
        lambda n: np.uint64(2**63 + n),
        lambda n: np.str_(f"np{n}"),
        lambda n: np.bytes_(b"n%d" % n),
    ),
    *(lambda n: Decimal(9_000_000 + n), lambda n: Fraction(n, 10**9 + 7), lambda n: complex(n, 1)),
    *(lambda n: date.fromordinal(700_000 + n), lambda n: datetime(2000, 1, 1) + timedelta(days=n)),
    *(lambda n: uuid.UUID(int=n), lambda n: memoryview(b"view%d" % n), lambda n: bytearray(b"array%d" % n)),
)


def _odd_object(chance: Random) -> Any:
    luck = chance.random()
    if luck < 0.35:
        return chance.choice(TEXTS)
    if luck < 0.45:
        return chance.choice(FLOATS)
    return chance.choice(WHOLE) if luck < 0.5 else chance.choice(_OBJECTS)()


def _nested() -> list[Any]:
    """A list that contains itself."""
    found: list[Any] = []
    found.append(found)
    return found


_OBJECTS: tuple[Callable[[], Any], ...] = (
    *(
        lambda: None,
        lambda: pd.NA,
        lambda: pd.NaT,
        lambda: float("nan"),
        lambda: np.float32("nan"),
        lambda: Ellipsis,
    ),
    *(
        lambda: np.datetime64("NaT"),
        lambda: np.datetime64("2000-01-01"),
        lambda: np.timedelta64(1),
        lambda: NotImplemented,
    ),
    *(lambda: np.array([1, 2]), lambda: np.array(5), lambda: np.array([]), lambda: np.zeros((2, 2)), _nested),
    *(
        lambda: [1, [2, [3]]],
        lambda: {"a": {"b": 1}},
        lambda: {1, 2},
        lambda: (1, "x"),
        lambda: frozenset({1}),
        list,
        dict,
    ),
    *(
        lambda: 10**5000,
        lambda: -(10**5000),
        lambda: 10**4299,
        lambda: Decimal("1e5000"),
        lambda: Decimal(10) ** 4000,
    ),
    *(
        lambda: Decimal("NaN"),
        lambda: Decimal("sNaN"),
        lambda: Decimal("Infinity"),
        lambda: Decimal("-0"),
        lambda: Fraction(1, 3),
    ),
    *(
        lambda: "\ud800",
        lambda: "F\udfff",
        lambda: b"F",
        lambda: b"\xff",
        lambda: bytearray(b"1"),
        lambda: memoryview(b"1"),
    ),
    *(
        lambda: BYTES[0],
        lambda: 1 + 2j,
        lambda: True,
        lambda: np.True_,
        lambda: np.int8(-1),
        lambda: np.uint64(2**64 - 1),
    ),
    *(
        lambda: np.float16(1.5),
        lambda: np.longdouble("1e400"),
        lambda: np.str_("F"),
        lambda: np.bytes_(b"F"),
        object,
    ),
    *(
        lambda: _Mute(),
        lambda: _Unsure(),
        lambda: _SlyText("F"),
        lambda: _SlyNumber(5),
        lambda: _SlyFloat(5.5),
    ),
    *(
        lambda: _SlyDay(1995, 1, 1),
        lambda: date.min,
        lambda: date.max,
        lambda: datetime.max,
        lambda: timedelta(1),
    ),
    *(
        lambda: datetime(1995, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        lambda: uuid.UUID(int=1),
        lambda: int,
        lambda: len,
    ),
    *(
        lambda: pd.Timestamp("1995-05-05"),
        lambda: pd.Timestamp.max,
        lambda: pd.Period("2000-01"),
        lambda: pd.Interval(0, 1),
    ),
    *(
        lambda: pd.Series([1, 2]),
        lambda: pd.DataFrame({"a": [1]}),
        lambda: pd.Series([]),
        lambda: (x for x in "ab"),
    ),
)
