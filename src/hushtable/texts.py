"""Text for people.  What strangers wrote is shown as visible text where it moves the cursor, colours or turns it:
category labels, column names and paths may hold anything.
"""

from __future__ import annotations

import json
from typing import Any
from unicodedata import category

CONFIDENTIAL = "confidential: not differentially private"
"""The stamp of whatever only the curator may see."""

_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
_SPELLING = frozenset("\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
"""Format characters that belong to the spelling of words and numbers (Persian, Hindi, emoji) and turn nothing."""


def counted(number: int, noun: str) -> str:
    """A number of things.

    >>> counted(1, "row"), counted(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def visible(text: str) -> str:
    r"""The text with control, direction and other invisible characters written out.

    >>> visible("\x1b[31mred\u202e")
    '\\x1b[31mred\\u202e'
    """
    return text if text.isprintable() else "".join(map(_written_out, text))


def visible_lines(text: str) -> str:
    """The same for a text of several lines, such as YAML: they stay lines."""
    return "\n".join(map(visible, text.split("\n")))


def visible_json(value: Any, *, ascii_only: bool = False) -> str:
    """A value as indented JSON that reads back as the same value, with nothing invisible in it."""
    lines = json.dumps(value, indent=2, ensure_ascii=ascii_only).split("\n")
    return "\n".join(map(escaped_json, lines))


def escaped_json(line: str) -> str:
    """A line of JSON with its invisible characters as escapes: the same value."""
    return line if line.isprintable() else "".join(map(_json_escape, line))


def _hidden(character: str) -> bool:
    return category(character) in _HIDDEN and character not in _SPELLING


def _written_out(character: str) -> str:
    return ascii(character)[1:-1] if _hidden(character) else character


def _json_escape(character: str) -> str:
    return json.dumps(character)[1:-1] if _hidden(character) else character
