"""How a text file separates and writes its fields; declared in the schema, never guessed from the data.

A row is a line: nothing in one row can change how another is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushtable.errors import SchemaError
from hushtable.schema.attribute import text_of
from hushtable.schema.day_formats import PatternError, steps_of
from hushtable.schema.document import Document
from hushtable.schema.fields import Fields

ENCODINGS = (
    "utf-8",
    "latin-1",
    *(f"iso-8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 15, 16)),
    *(f"windows-{page}" for page in range(1250, 1259)),
    *("cp437", "cp850", "cp852", "cp866", "koi8-r", "koi8-u", "mac-roman"),
)
"""UTF-8, and those in which a byte is a letter and ASCII is itself: in any other, one byte could shift what follows."""

DIALECT_FIELDS = (
    *("header", "columns", "delimiter", "quote", "escape", "encoding"),
    *("nulls", "dates", "decimal", "thousands"),
)
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
        one of ENCODINGS, of header and rows
    ``nulls``
        texts that mean a null, besides the empty field; for every attribute
    ``dates``
        how days are written, see ``day_formats``; "" for YYYY-MM-DD
    ``decimal``, ``thousands``
        the mark before decimals, and the one between groups of three digits; "" for none

    The last four say how text is read wherever it comes from, the others how a file is cut into fields.
    """

    header: bool = True
    columns: tuple[str, ...] = ()
    delimiter: str | None = None
    quote: str = '"'
    escape: str | None = None
    encoding: str = "utf-8"
    nulls: tuple[str, ...] = ()
    dates: str = ""
    decimal: str = "."
    thousands: str = ""
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
        if self.nulls:
            fields["nulls"] = list(self.nulls)
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
        encoding=fields.choice("encoding", ENCODINGS, "utf-8"),
        nulls=read_texts(fields, "nulls"),
        dates=read_pattern(fields, "dates"),
        decimal=fields.choice("decimal", (".", ","), "."),
        thousands=_thousands(fields),
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
    if made.thousands == made.decimal:
        raise fields.error(
            "schema.wrong-choice", "thousands", "is also the decimal mark", "Use two different marks."
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


def read_texts(fields: Fields, field: str) -> tuple[str, ...]:
    """A list of texts or whole numbers, as texts; each once, none empty."""
    items = fields.items(field) or []
    texts = tuple(text_of(item) for item in items if isinstance(item, str | int) and item != "")
    if len(texts) < len(items) or len(set(texts)) < len(texts):
        raise fields.error(
            "schema.wrong-type",
            field,
            "must list different texts, none of them empty",
            'Write them in quotes, as in ["NA", "?", "-9"].',
        )
    return texts


def read_pattern(fields: Fields, field: str) -> str:
    """How days are written; "" when absent."""
    pattern = fields.text(field) or ""
    try:
        steps_of(pattern) if pattern else None
    except PatternError as error:
        raise fields.error("schema.wrong-choice", field, *error.args) from None
    return pattern


def _thousands(fields: Fields) -> str:
    fix = 'Write for example ".", "\'" or " ".'
    return (
        fields.checked(
            "thousands",
            lambda mark: isinstance(mark, str) and len(mark) == 1 and mark not in "+-" and not mark.isalnum(),
            "one mark that is no letter, digit or sign",
            fix,
        )
        or ""
    )


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
