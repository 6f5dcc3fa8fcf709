"""Reads fields of a mapping strictly, and says line, field and fix when one is wrong.

A ``Fields`` is one mapping of a schema document, for example one attribute.  It only knows types and names; what the
fields mean is in ``build``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from math import isfinite
from pathlib import Path
from typing import Any, TypeGuard

from hushtable.errors import SchemaError
from hushtable.schema.attribute import text_of
from hushtable.schema.document import Document, DocumentPlace


class Fields:
    """One mapping at an address of the document."""

    def __init__(self, document: Document, address: DocumentPlace, value: Any, known: Iterable[str]) -> None:
        self._document = document
        self._address = address
        if not is_mapping(value):
            raise self.error(
                "schema.wrong-type", None, "must be a mapping of fields", "Write `field: value` pairs."
            )
        self._items: dict[str, Any] = {key_text(key): item for key, item in value.items()}
        self.only(known)

    def __contains__(self, field: str) -> bool:
        return field in self._items

    def __getitem__(self, field: str) -> Any:
        return self._items[field]

    def inner(self, place: DocumentPlace, value: Any) -> Fields:
        """Fields of a mapping that stands, or might stand, further inside."""
        return Fields(self._document, (*self._address, *place), value, value)

    def only(self, known: Iterable[str]) -> None:
        """Refuse fields of other names."""
        known = list(known)
        for key in self._items:
            if key not in known:
                raise self.error("schema.unknown-field", key, "is not a field here", suggestion(key, known))

    @property
    def folder(self) -> Path | None:
        """Where files that the document names are looked for; None where it may name none."""
        return self._document.folder

    def get(self, field: str) -> Any:
        """The value as written, or None when absent."""
        return self._items.get(field)

    def error(self, code: str, field: str | int | None, message: str, fix: str) -> SchemaError:
        """An error that names the line and the field."""
        address = self._address if field is None else (*self._address, field)
        name = ".".join(str(part) for part in address) or "the schema"
        return SchemaError(code, f"{self._document.where(address)}`{name}` {message}.", fix)

    def checked(self, field: str, fits: Callable[[Any], bool], must: str, fix: str) -> Any:
        """The value of a field that must be something; None when absent."""
        if field not in self._items:
            return None
        if not fits(self._items[field]):
            raise self.error("schema.wrong-type", field, f"must be {must}", fix)
        return self._items[field]

    def text(self, field: str) -> str | None:
        """A non-empty text, or None when absent."""
        return self.checked(
            field, lambda value: isinstance(value, str) and value != "", "text", "Put it in quotes."
        )

    def character(self, field: str, default: str | None, *, empty: bool = False) -> str | None:
        """One printable ASCII character or a tab; "" only where that means none."""

        def fits(value: Any) -> bool:
            one = isinstance(value, str) and len(value) == 1
            return (one and (" " <= value <= "~" or value == "\t")) or (empty and value == "")

        given = self.checked(field, fits, "one ASCII character", 'Write for example ";" or "\\t".')
        return default if given is None else given

    def flag(self, field: str, default: bool) -> bool:
        """true or false."""
        fix = "Write true or false, without quotes."
        given = self.checked(field, lambda value: isinstance(value, bool), "true or false", fix)
        return default if given is None else given

    def choice(self, field: str, options: tuple[str, ...], default: Any) -> Any:
        """One of the options."""
        value = self._items.get(field, default)
        if value not in options:
            hint = suggestion(str(value), options)
            raise self.error("schema.wrong-choice", field, f"must be one of {', '.join(options)}", hint)
        return value

    def positive(self, field: str) -> int | None:
        """A whole number of at least 1, or None when absent."""
        must = "a whole number of at least 1"
        return self.checked(
            field, lambda value: is_integer(value) and value >= 1, must, f"Write `{field}: 10`."
        )

    def above_0(self, field: str) -> int | float | None:
        """A number above 0, or None when absent."""
        must = "a number above 0"
        return self.checked(
            field, lambda value: is_number(value) and value > 0, must, f"Write `{field}: 10`."
        )

    def items(self, field: str) -> list[Any] | None:
        """A list, or None when absent."""
        given = self.checked(
            field, lambda value: isinstance(value, list | tuple), "a list", f"Write `{field}: [..., ...]`."
        )
        return None if given is None else [*given]


def key_text(key: Any) -> str:
    """A key as text; YAML readers turn the field name ``null`` into None."""
    return "null" if key is None else text_of(key)


def suggestion(word: str, known: Iterable[str]) -> str:
    """ "Did you mean `x`?", or the list of what exists."""
    known = list(known)
    near = get_close_matches(word, known, n=3, cutoff=0.6) or [k for k in known if k.lower() == word.lower()]
    if near:
        return f"Did you mean {' or '.join(f'`{name}`' for name in near)}?"
    shown = ", ".join(f"`{name}`" for name in known[:20])
    return f"Known here: {shown}{', ...' if len(known) > 20 else ''}."


def is_mapping(value: Any) -> TypeGuard[dict[Any, Any]]:
    """A mapping as YAML and callers write it."""
    return isinstance(value, dict)


def is_integer(value: Any) -> TypeGuard[int]:
    """A whole number that is not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[int | float]:
    """A finite number that is not a boolean."""
    return is_integer(value) or (isinstance(value, float) and isfinite(value))
