"""How a text file separates its fields; declared in the schema, never guessed from the data.

A row is a line: nothing in one row can change how another is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hushtable.errors import SchemaError

Encoding = Literal["utf-8", "latin-1"]


@dataclass(frozen=True)
class Dialect:
    """The ``csv`` part of a schema.

    ``delimiter``
        one ASCII character; None means a comma, or a tab in files that end in .tsv
    ``quote``
        one ASCII character around fields that contain the delimiter; "" for none
    ``escape``
        the character before a quote inside quotes; by default the quote itself, doubled
    ``encoding``
        "utf-8" or "latin-1", of header and rows
    """

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
