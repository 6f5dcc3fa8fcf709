"""How a text file separates its fields; declared in the schema, never guessed from the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
    ``multiline``
        whether a line break inside quotes belongs to the field.  False by default: a line is a row, so that nothing
        in one row can change how another is read
    ``encoding``
        "utf-8" or "latin-1", of header and rows
    """

    delimiter: str | None = None
    quote: str = '"'
    escape: str | None = None
    multiline: bool = False
    encoding: Encoding = "utf-8"
