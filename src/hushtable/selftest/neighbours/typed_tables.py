"""Worlds as columns with declared types: Arrow tables, Parquet files and polars frames.

A store is a column type with its cells: bytes for text (which Arrow does not check), whole numbers for days and
instants (which reach beyond any calendar), and what Arrow takes for everything else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Context, Decimal
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, cast

import polars
import pyarrow
import pyarrow.parquet

from hushtable.schema import Binned, Categorical
from hushtable.selftest.neighbours.hostile import FLOATS, near_key, odd_bytes, odd_whole
from hushtable.selftest.neighbours.layouts import MadeRow, SourceLayout
from hushtable.selftest.neighbours.worlds import OUTSIDE, MadeColumn, World

pa: Any = pyarrow
pq: Any = pyarrow.parquet
pl: Any = polars

NULL_ENTRY = pa.dictionary(pa.int16(), pa.large_string())
"""A dictionary whose nulls are an entry, and not an index that is null."""

_EXACT = Context(prec=100)
_ZERO_DAY = date(1970, 1, 1).toordinal()
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class ColumnStore(ABC):
    """A column type."""

    def __init__(self, type_: Any) -> None:
        self.type = type_

    def cell(self, value: Any) -> Any:
        """A cell that means the value; None where this type has none."""
        return None

    @abstractmethod
    def odd(self, chance: Random) -> Any:
        """A hostile cell."""

    def array(self, cells: Sequence[Any]) -> Any:
        """Cells as an array."""
        return pa.array(cells, self.type)


class KeyStore(ColumnStore):
    """A column type that can tell many people apart."""

    @abstractmethod
    def key(self, number: int) -> Any:
        """A person's key."""

    def odd_key(self, number: int, chance: Random) -> Any:
        """A hostile key that nobody else has."""
        return self.key(number)


class TextKeys(KeyStore):
    """Text of any width, plain or as a dictionary; ``valid`` keeps it UTF-8."""

    def __init__(self, type_: Any, *, valid: bool) -> None:
        super().__init__(type_)
        self._valid = valid

    def cell(self, value: Any) -> bytes:
        if value is OUTSIDE:
            return b"zzz"
        if isinstance(value, bool):
            return b"yes" if value else b"No"
        return str(value).encode()

    def odd(self, chance: Random) -> bytes:
        return odd_bytes(chance, valid=self._valid)

    def key(self, number: int) -> bytes:
        return near_key(number, nul=True).encode()

    def odd_key(self, number: int, chance: Random) -> bytes:
        return self.odd(chance) + b"!%d!" % number

    def array(self, cells: Sequence[Any]) -> Any:
        if pa.types.is_dictionary(self.type):
            distinct = list(dict.fromkeys(cell for cell in cells if cell is not None))
            places = {cell: k for k, cell in enumerate(distinct)}
            entries, missing = _unchecked(distinct, self.type.value_type), None
            if self.type == NULL_ENTRY:
                entries, missing = _unchecked([*distinct, None], self.type.value_type), len(distinct)
            indices = [missing if cell is None else places[cell] for cell in cells]
            return pa.DictionaryArray.from_arrays(pa.array(indices, self.type.index_type), entries)
        return _unchecked(cells, self.type)


class ByteKeys(KeyStore):
    """Keys of bytes, all of one length or not."""

    def odd(self, chance: Random) -> bytes:
        return chance.randbytes(16)

    def key(self, number: int) -> bytes:
        """Keys that differ in zeros at one end, or in the last byte of sixteen."""
        if pa.types.is_fixed_size_binary(self.type):
            return number.to_bytes(16, "big" if number % 2 else "little")
        return b"\0" * (number % 3) + b"k%d" % (number // 9) + b"\0" * (number // 3 % 3)


class Uuids(ByteKeys):
    """Keys of Arrow's own type for them."""

    def key(self, number: int) -> bytes:
        return number.to_bytes(16, "big")

    def array(self, cells: Sequence[Any]) -> Any:
        return pa.ExtensionArray.from_storage(self.type, pa.array(cells, pa.binary(16)))


class Nested(ColumnStore):
    """Lists, which no attribute reads."""

    def odd(self, chance: Random) -> list[Any]:
        return [None, *chance.choices(FLOATS, k=chance.randint(0, 3))]


class Whole(KeyStore):
    """Whole numbers of a machine type."""

    def __init__(self, type_: Any) -> None:
        super().__init__(type_)
        self._low = -(1 << type_.bit_width - 1) if pa.types.is_signed_integer(type_) else 0
        self._high = self._low + (1 << type_.bit_width) - 1

    def cell(self, value: Any) -> int | None:
        whole = isinstance(value, bool | int) or (isinstance(value, float) and value.is_integer())
        number = 99 if value is OUTSIDE else int(value) if whole else self._high + 1
        return number if self._low <= number <= self._high else None

    def odd(self, chance: Random) -> int:
        return odd_whole(chance, self._low, self._high)

    def key(self, number: int) -> int:
        """Keys at both ends of the type, beyond 62 and 53 bits, and small ones."""
        starts = (self._low, 1000, 1 << 53, 1 << 62, 1 << 63)
        step, place = divmod(number, len(starts) + 1)
        near = starts[place] + step if place < len(starts) else self._high - step
        return near if self._low <= near <= self._high else 10_000 + number


class Reals(ColumnStore):
    """Floating point."""

    def cell(self, value: Any) -> float | None:
        if value is OUTSIDE:
            return 99.0
        number = float(value) if isinstance(value, bool | int | float) else None
        return number if number is not None and (self.type == pa.float64() or abs(number) < 1e6) else None

    def odd(self, chance: Random) -> float:
        return chance.choice(FLOATS)


class Decimals(KeyStore):
    """Decimal numbers of up to 76 digits."""

    def cell(self, value: Any) -> Decimal | None:
        numeric = isinstance(value, int | float) and not isinstance(value, bool)
        return Decimal(str(value)) if numeric else None

    def odd(self, chance: Random) -> Decimal:
        exotic = (Decimal(self._largest), Decimal(-self._largest), Decimal(0), Decimal(2**52))
        return chance.choice(exotic if self.type.scale < 2 else (*exotic, Decimal("-0.25")))

    def key(self, number: int) -> Decimal:
        """Keys at both ends of the type, and keys that differ in their highest bits or lowest digits alone."""
        step = number // 4
        high = (step + 1) << self._largest.bit_length() - 8
        low = Decimal(1000 * 10**self.type.scale + step).scaleb(-self.type.scale, _EXACT)
        return (Decimal(self._largest - step), Decimal(step - self._largest), Decimal(high), low)[number % 4]

    @property
    def _largest(self) -> int:
        return 10 ** (self.type.precision - self.type.scale) - 1


class Flags(ColumnStore):
    """True and false."""

    def cell(self, value: Any) -> bool | None:
        return value if isinstance(value, bool) else {"true": True, "false": False}.get(value)

    def odd(self, chance: Random) -> bool:
        return chance.random() < 0.5


class Days(KeyStore):
    """Days and instants, as counts since 1970."""

    def cell(self, value: Any) -> int | None:
        day = date.fromisoformat(value) if isinstance(value, str) else value
        if value is OUTSIDE:
            return 0
        return (day.toordinal() - _ZERO_DAY) * self._per_day if isinstance(day, date) else None

    def odd(self, chance: Random) -> int:
        beyond = 1 << self.type.bit_width - 1
        return odd_whole(chance, -beyond, beyond - 1)

    def key(self, number: int) -> int:
        """Days one after another; instants as near to each other as their unit allows, today and far from it."""
        step = number // 3
        if not pa.types.is_timestamp(self.type):
            return (number - 50) * self._per_day
        return (step, (1 << 62) + step, step - (1 << 62))[number % 3]

    def array(self, cells: Sequence[Any]) -> Any:
        return pa.array(cells, pa.int32() if self.type.bit_width == 32 else pa.int64()).view(self.type)

    @property
    def _per_day(self) -> int:
        return 1 if self.type.bit_width == 32 else _PER_DAY[getattr(self.type, "unit", "ms")]


def _unchecked(cells: Sequence[Any], type_: Any) -> Any:
    """Bytes as text of any width, without a look at them."""
    under = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(type_, pa.binary_view())
    return pa.array(cells, under).view(type_)


class TypedLayout(SourceLayout):
    """One store per column; ``without`` names types that a kind of table cannot hold, ``valid`` keeps text UTF-8."""

    valid = False

    def __init__(
        self, world: World, chance: Random, *, parts: int = 1, without: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(world, chance, parts=parts)
        self.stores: dict[str, ColumnStore] = {}
        for column in world.columns:
            every = key_stores if column.name == world.schema.person else partial(stores, column)
            self.stores[column.name] = chance.choice(
                [s for s in every(valid=self.valid) if str(s.type) not in without]
            )

    def holds(self, column: MadeColumn, value: Any) -> bool:
        return value is None or self.stores[column.name].cell(value) is not None

    def cell(self, column: MadeColumn, value: Any) -> Any:
        return None if value is None else self.stores[column.name].cell(value)

    def key(self, number: int) -> Any:
        return self._keys.key(number)

    def odd_keys(self, number: int) -> Sequence[Any]:
        return [None if self.chance.random() < 0.1 else self._keys.odd_key(number, self.chance)]

    def odd_cell(self, column: MadeColumn) -> Any:
        return None if self.chance.random() < 0.1 else self.stores[column.name].odd(self.chance)

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        """A table of two chunks, the second of which begins in the middle of its arrays."""
        table, cut = self.tables(rows)[0], self.chance.randint(0, len(rows))
        return pa.concat_tables([table[:cut], table[cut:]])

    def tables(self, rows: Sequence[MadeRow]) -> list[Any]:
        """An Arrow table for each part."""
        return [self._table([row.cells for row in rows if row.part == part]) for part in range(self.parts)]

    def _table(self, rows: Sequence[Sequence[Any]]) -> Any:
        columns = list(zip(*rows, strict=True)) or [()] * len(self.world.columns)
        pairs = zip(self.world.columns, columns, strict=True)
        return pa.table({column.name: self.stores[column.name].array(cells) for column, cells in pairs})

    @property
    def _keys(self) -> KeyStore:
        return cast("KeyStore", self.stores[self.world.schema.person or ""])


class ParquetLayout(TypedLayout):
    """Parquet files, with small row groups."""

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        for part, table in enumerate(self.tables(rows)):
            pq.write_table(table, folder / f"part{part}.parquet", row_group_size=7)
        return str(folder / "part*.parquet") if self.parts > 1 else folder / "part0.parquet"


class PolarsLayout(TypedLayout):
    """A polars frame."""

    valid = True

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        return pl.from_arrow(self.tables(rows)[0])


class LazyLayout(PolarsLayout):
    """A polars frame that is computed when it is read."""

    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        return super().data(rows, folder).lazy().filter(pl.lit(True))


def key_stores(*, valid: bool) -> list[KeyStore]:
    """Every type that may identify more than two people."""
    binary = [pa.binary(), pa.large_binary(), pa.binary(16)]
    decimals = [pa.decimal128(38, 0), pa.decimal128(20, 2), pa.decimal256(76, 0)]
    whole = [pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
    numbers = [*map(Whole, whole), *map(Decimals, decimals)]
    return [*_texts(valid), *map(ByteKeys, binary), Uuids(pa.uuid()), *numbers, *_days()]


def stores(column: MadeColumn, *, valid: bool) -> list[ColumnStore]:
    """Every type that a column of a world may have, by the attribute that reads it."""
    whole = [Whole(getattr(pa, f"{sign}int{bits}")()) for sign in ("", "u") for bits in (8, 16, 32, 64)]
    numbers: list[ColumnStore] = [*whole, Reals(pa.float32()), Reals(pa.float64())]
    texts, attribute = _texts(valid), column.attributes[0] if column.attributes else None
    if attribute is None:
        nested = [Nested(pa.list_(pa.float64())), Nested(pa.large_list(pa.float64()))]
        days = [Days(pa.date32()), Days(pa.timestamp("us"))]
        return [*texts, *numbers, *nested, *days, Flags(pa.bool_())]
    if isinstance(attribute, Categorical):
        return [*texts, *_category_stores(attribute, numbers)]
    if not isinstance(attribute, Binned):
        return [*texts, *numbers, Flags(pa.bool_())]
    if attribute.kind == "date":
        return [*texts, *_days()]
    decimals = map(Decimals, (pa.decimal128(38, 4), pa.decimal128(20, 2), pa.decimal256(76, 2)))
    return [*texts, *_holding(attribute.bounds, numbers), *decimals]


def _texts(valid: bool) -> list[TextKeys]:
    plain = [pa.string(), pa.large_string(), pa.string_view()]
    encoded = [pa.dictionary(pa.int32(), pa.string()), NULL_ENTRY]
    return [TextKeys(type_, valid=valid) for type_ in (*plain, *encoded)]


def _days() -> list[Days]:
    types = [pa.date32(), pa.date64(), pa.timestamp("us", tz="UTC"), *map(pa.timestamp, _PER_DAY)]
    return [Days(type_) for type_ in types]


def _holding(values: Iterable[Any], types: list[ColumnStore]) -> list[ColumnStore]:
    """Those that have a cell for each of the values."""
    return [store for store in types if all(store.cell(value) is not None for value in values)]


def _category_stores(attribute: Categorical, numbers: list[ColumnStore]) -> list[ColumnStore]:
    if all(isinstance(value, int) for value in attribute.values):
        return _holding(attribute.values, numbers)
    if set(attribute.texts) == {"true", "false"}:
        return [Flags(pa.bool_())]
    return [Days(pa.date32())] if attribute.texts[0].startswith("2001") else []
