"""How a text file separates its fields; declared in the schema, never guessed from the data.

A row is a line: nothing in one row can change how another is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from hushtable.errors import SchemaError
from hushtable.schema.document import Document
from hushtable.schema.fields import Fields

Encoding = Literal["utf-8", "latin-1"]

DIALECT_FIELDS = ("header", "columns", "delimiter", "quote", "escape", "encoding")
_RETIRED = ("multiline",)


@dataclass(frozen=True)
class Dialect:
    """The ``csv`` part of a schema.

    ``header``
        whether the first line names the columns; otherwise it is a row like any other
    ``columns``
        names of the columns by position where there is no header, "" for one that is not used; empty for the columns of
        the attributes, in their order
    ``delimiter``
        one ASCII character; None means a comma, or a tab in files that end in .tsv
    ``quote``
        one ASCII character around fields that contain the delimiter; "" for none
    ``escape``
        the character before a quote inside quotes; by default the quote itself, doubled
    ``encoding``
        "utf-8" or "latin-1", of header and rows
    """

    header: bool = True
    columns: tuple[str, ...] = ()
    delimiter: str | None = None
    quote: str = '"'
    escape: str | None = None
    encoding: Encoding = "utf-8"
    multiline: bool = False
    """Only in schemas that version 0.1 stored, whose releases stay readable; no data are opened with it."""

    def require_lines(self) -> None:
        """Refuses a stored dialect in which a row may be more than a line."""
        if self.multiline:
            raise SchemaError(
                "source.multiline",
                "The stored schema has `csv.multiline`, with which no data are opened any more: a row is a line.",
                "Write the table as Parquet, and declare its schema without `multiline`.",
            )

    def to_dict(self) -> dict[str, Any]:
        """What ``read_dialect`` reads back; fields at their default are left out."""
        fields = {name: value for name, value in vars(self).items() if value != getattr(Dialect(), name)}
        if self.columns:
            fields["columns"] = [name or None for name in self.columns]
        return fields


def read_dialect(document: Document, value: Any, *, stored: bool) -> Dialect:
    """The ``csv`` part; that of a stored schema may have retired fields."""
    fields = Fields(document, ("csv",), value, (*DIALECT_FIELDS, *_RETIRED))
    made = Dialect(
        header=fields.flag("header", True),
        columns=_columns(fields),
        delimiter=fields.character("delimiter", None),
        quote=fields.character("quote", '"', empty=True) or "",
        escape=fields.character("escape", None),
        encoding=fields.choice("encoding", ("utf-8", "latin-1"), "utf-8"),
        multiline="multiline" in fields,
    )
    if made.multiline and not stored:
        raise fields.error(
            "schema.multiline",
            "multiline",
            "is not a field: a row of a text file is a line, or a quote that is never closed could hide other rows",
            "Remove it; write a table with line breaks inside fields as Parquet.",
        )
    if made.columns and made.header:
        raise fields.error(
            "schema.wrong-choice",
            "columns",
            "names columns of a file that has a header",
            "Add `header: false` if the first line is a row, or remove `columns`.",
        )
    if made.quote and made.quote in (made.delimiter or ",\t"):
        raise fields.error(
            "schema.wrong-choice", "quote", "is also the delimiter", "Use two different characters."
        )
    if made.escape is not None and (not made.quote or made.escape in (made.delimiter or ",\t")):
        raise fields.error(
            "schema.wrong-choice", "escape", "needs a quote and cannot be the delimiter", "Remove `escape`."
        )
    return made


def _columns(fields: Fields) -> tuple[str, ...]:
    names = fields.items("columns") or []
    if not all(name is None or (isinstance(name, str) and name) for name in names):
        raise fields.error(
            "schema.wrong-type",
            "columns",
            "must list names",
            "Write `columns: [id, sex, null, age]`, with null for a column that is not used.",
        )
    named = [name for name in names if name is not None]
    if len(set(named)) < len(named):
        raise fields.error(
            "schema.duplicate-value", "columns", "has a name twice", "Give each column its own."
        )
    if "columns" in fields and not named:
        raise fields.error(
            "schema.wrong-type", "columns", "names no column", "Write `columns: [id, sex, age]`."
        )
    return tuple(name or "" for name in names)
