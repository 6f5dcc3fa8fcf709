"""Tables whose rows are read here: what they say of their columns, how rows come out, and whether a schema fits them.

A refusal depends on names and types alone, and repeats no name of the table: the first line of a file without a header
is somebody's record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hushtable.errors import SchemaError, SourceError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.files import Guard
from hushtable.kernel.sources.keys import check_key_type
from hushtable.kernel.sources.typed import check_type
from hushtable.schema import Schema

TYPED_ROWS = 1 << 16
"""Rows of a block of typed columns: small enough that a column stays in the processor's cache while it is encoded."""


class Block(Protocol):
    """Some rows, not yet decoded."""

    def columns(self) -> Sequence[Any]:
        """The wanted columns as Texts, objects or Arrow arrays; called once, from any thread."""
        ...


@dataclass(frozen=True)
class ArrowBlock:
    """A batch of rows."""

    arrays: list[Any]

    def columns(self) -> list[Any]:
        """The wanted columns, in the order asked for."""
        return self.arrays


class Table(Protocol):
    """Rows that can be read any number of times; opening looked at names and types only."""

    headers: list[Header]
    """One for each file."""
    shown: str
    """All of it, in a message."""
    block: int
    """How large a block should be: rows, or bytes of text."""

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[Block]:
        """All rows of these columns, in order, about ``size`` at a time."""
        ...


def described(shown: str, look: Callable[[], Header]) -> Header:
    """Names and types of a table that an engine describes; whatever it raises becomes an error of ours."""
    guard, found = Guard(shown), None
    with guard:
        found = look()
    guard.raise_failure()
    return Header(shown, [], []) if found is None else found


def require_fit(headers: Sequence[Header], schema: Schema) -> None:
    """Refuse tables that lack a column of the schema, or hold one in a type that it cannot be read from."""
    kinds: set[str] = set()
    for header in headers:
        require_distinct(header)
        require_columns(header, schema.columns)
        for attribute in schema.attributes.values():
            check_type(attribute, header.type_of(attribute.column))
        if schema.person is not None:
            rounded = header.rounded.get(schema.person)
            kinds.add(check_key_type(schema.person, header.type_of(schema.person), rounded))
    kinds.discard("null")  # a column without values agrees with any other
    if len(kinds) > 1:
        raise SchemaError(
            "source.person-types",
            f"The person column {schema.person!r} has different types in different files: {', '.join(sorted(kinds))}.",
            "Convert it to one type, so that a person is recognised in all of them.",
        )


def require_columns(header: Header, columns: Sequence[str]) -> None:
    """Refuse a table that lacks a column."""
    known = set(header.names)
    for column in columns:
        if column not in known:
            raise SchemaError(
                "source.unknown-column",
                f"{header.shown} has no column {column!r}.",
                "Give the name that it has there, letter for letter, in the attribute's `column`; declare "
                "`csv: {header: false}` if the first line of a text file is a row.",
            )


def require_distinct(header: Header) -> None:
    """Refuse a table that names a column twice, saying where and not which; columns without a name are ignored."""
    first: dict[str, int] = {}
    for place, name in enumerate(header.names, start=1):
        if name and first.setdefault(name, place) != place:
            raise SourceError(
                "source.duplicate-column",
                f"Columns {first[name]} and {place} of {header.shown} have the same name.",
                "Rename or remove one of them, and check that the first line names the columns.",
            )
