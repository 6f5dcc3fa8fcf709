"""How rows of a world are held by one kind of source, and the people whose rows they are.

An ordinary person's rows have known codes.  A stranger's rows hold whatever the kind can hold; of them it is only known
how many may count.  A layout is drawn once per table; from then on only rows are added and removed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hushtable.selftest.neighbours.worlds import MadeColumn, RowCodes, World, draw_value


@dataclass(frozen=True)
class MadeRow:
    """One cell per column, or a line of text; the file it is in; whether its fields may have been shifted."""

    cells: Any
    part: int = 0
    shifted: bool = False


@dataclass(frozen=True)
class Person:
    """Somebody's rows, how many of them may count at most, and their codes where these are known."""

    rows: list[MadeRow]
    most: int
    codes: Counter[RowCodes] | None = field(default=None)


class SourceLayout(ABC):
    """The columns of a world as one kind of source holds them."""

    def __init__(self, world: World, chance: Random, *, parts: int = 1) -> None:
        self.world = world
        self.chance = chance
        self.parts = parts

    @abstractmethod
    def holds(self, column: MadeColumn, value: Any) -> bool:
        """Whether a cell of this column can mean this value."""

    @abstractmethod
    def cell(self, column: MadeColumn, value: Any) -> Any:
        """A cell that means the value."""

    @abstractmethod
    def key(self, number: int) -> Any:
        """The key of a person: different numbers give keys that differ, if only a little."""

    @abstractmethod
    def odd_keys(self, number: int) -> Sequence[Any]:
        """Hostile keys that are all the same one, which nobody else has; or something that is no key at all."""

    @abstractmethod
    def odd_cell(self, column: MadeColumn) -> Any:
        """A hostile cell."""

    @abstractmethod
    def data(self, rows: Sequence[MadeRow], folder: Path) -> Any:
        """The table, as ``open_source`` takes it."""

    def row(self, cells: Sequence[Any]) -> MadeRow:
        """A row of well-formed cells, in one of the files."""
        return MadeRow(tuple(cells), self.chance.randrange(self.parts))

    def idle_cell(self, column: MadeColumn) -> Any:
        """An ordinary row's cell in a column that nothing reads."""
        return self.odd_cell(column)

    def odd_row(self, cells: Sequence[Any]) -> MadeRow:
        """A row of hostile cells; where a kind allows it the row itself may be malformed."""
        return self.row(cells)

    def ordinary(self, number: int) -> Person:
        """A person whose rows have known codes: several alike, or at most as many as count."""
        k = self.world.schema.max_rows_per_person
        keyed = self.world.schema.person is not None
        if keyed and self.chance.random() < 0.3:
            values = self._values()
            codes = self.world.codes(values)
            rows = [self._row(values, number) for _ in range(self.chance.randint(1, k + 3))]
            kept = [] if codes is None else [codes] * min(k, len(rows))
        else:
            given = [self._values() for _ in range(self.chance.randint(1, k))]
            rows = [self._row(values, number) for values in given]
            kept = [codes for values in given if (codes := self.world.codes(values)) is not None]
        return Person(rows, k, Counter(kept))

    def stranger(self, number: int) -> Person:
        """A person with hostile rows, more of them than count where a column says who they belong to."""
        k = self.world.schema.max_rows_per_person
        keyed = self.world.schema.person is not None
        keys: Sequence[Any] = ()
        if keyed:
            keys = self.odd_keys(number) if self.chance.random() < 0.6 else [self.key(number)]
        rows = [
            self.odd_row([self._odd_cell(column, keys) for column in self.world.columns])
            for _ in range(self.chance.randint(1, k + 3 if keyed else k))
        ]
        return Person(rows, self.most(rows))

    def most(self, rows: Sequence[MadeRow]) -> int:
        """How many of a stranger's rows may count."""
        return min(self.world.schema.max_rows_per_person, len(rows))

    def _odd_cell(self, column: MadeColumn, keys: Sequence[Any]) -> Any:
        if column.name == self.world.schema.person:
            return self.chance.choice(keys)
        if not column.attributes or self.chance.random() < 0.5:
            return self.odd_cell(column)
        return self.cell(column, self._value(column))

    def _row(self, values: Sequence[Any], number: int) -> MadeRow:
        return self.row([self._cell(*pair, number) for pair in zip(self.world.columns, values, strict=True)])

    def _cell(self, column: MadeColumn, value: Any, number: int) -> Any:
        if column.name == self.world.schema.person:
            return self.key(number)
        return self.cell(column, value) if column.attributes else self.idle_cell(column)

    def _values(self) -> list[Any]:
        return [self._value(column) for column in self.world.columns]

    def _value(self, column: MadeColumn) -> Any:
        """Something that an ordinary cell may mean and this layout can hold; None where nothing reads it."""
        while column.attributes:
            value = draw_value(column, self.chance)
            if self.holds(column, value):
                return value
        return None
