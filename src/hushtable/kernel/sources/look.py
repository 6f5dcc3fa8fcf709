"""What the curator's own look at a table sees, before there is a schema.

Nothing here is private or charged: what is learnt goes into a draft that marks it, and into nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.profile import Profile
from hushtable.kernel.sources.row_tables import Block, Table
from hushtable.kernel.sources.typed import family
from hushtable.schema import Dialect

LOOK = 1_000_000
"""Rows that are looked at: rare values that a draft may list (seen ten times) are then one in 100,000."""


@dataclass(frozen=True)
class ColumnWords:
    """What a file declares of a column beside its rows: a title, and labels of values by their texts."""

    title: str = ""
    values: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Look:
    """What was seen of the data; ``named``: the names come from the first line of a text file."""

    profiles: list[Profile] = field(default_factory=list[Profile])
    unreadable: tuple[str, ...] = ()
    dialect: Dialect = field(default_factory=Dialect)
    named: bool = False
    words: Mapping[str, ColumnWords] = field(default_factory=dict[str, ColumnWords])
    nameless: int = 0

    @classmethod
    def at(
        cls,
        table: Table,
        dialect: Dialect | None = None,
        *,
        named: bool = False,
        words: Mapping[str, ColumnWords] | None = None,
    ) -> Look:
        """Look at the columns that every part of a table has."""
        first, *others = table.headers
        shared = [name for name in first.names if name and all(name in other.names for other in others)]
        readable = [name for name in shared if family(first.type_of(name)) is not None]
        encoding = (dialect or Dialect()).encoding
        profiles = [
            Profile(name, encoding if first.type_of(name) == pa.string() else "utf-8") for name in readable
        ]
        _fill(profiles, table.blocks(readable, table.block))
        unreadable = tuple(name for name in shared if name not in readable)
        nameless = sum(not name for name in first.names)
        return cls(profiles, unreadable, dialect or Dialect(), named, words or {}, nameless)


def _fill(profiles: list[Profile], blocks: Iterator[Block]) -> None:
    if not profiles:
        return
    for block in blocks:
        for profile, column in zip(profiles, block.columns(), strict=True):
            profile.add(column)
        if profiles[0].filled + profiles[0].nulls >= LOOK:
            return
