"""Reads fields of a mapping strictly, and says line, field and fix when one is wrong.

A ``Fields`` is one mapping of a schema document, for example one attribute.  It only knows types and names; what the
fields mean is in ``build``.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from math import isfinite
from typing import Any, TypeGuard, cast

from hushtable.errors import SchemaError
from hushtable.schema.document import Address, Document


class Fields:
    """One mapping at an address of the document."""

    def __init__(self, document: Document, address: Address, value: Any, known: Iterable[str]) -> None:
        self._document = document
        self._address = address
        if not is_mapping(value):
            raise self.error(
                "schema.wrong-type", None, "must be a mapping of fields", "Write `field: value` pairs."
            )
        self._items: dict[str, Any] = {key_text(key): item for key, item in value.items()}
        known = list(known)
        for key in self._items:
            if key not in known:
                raise self.error("schema.unknown-field", key, "is not a field here", suggestion(key, known))

    def __contains__(self, field: str) -> bool:
        return field in self._items

    def __getitem__(self, field: str) -> Any:
        return self._items[field]

    def get(self, field: str) -> Any:
        """The value as written, or None when absent."""
        return self._items.get(field)

    def error(self, code: str, field: str | int | None, message: str, fix: str) -> SchemaError:
        """An error that names the line and the field."""
        address = self._address if field is None else (*self._address, field)
        line = self._document.line(address)
        where = f"Line {line}: " if line is not None else ""
        name = ".".join(str(part) for part in address) or "the schema"
        return SchemaError(code, f"{where}`{name}` {message}.", fix)

    def text(self, field: str) -> str | None:
        """A non-empty text, or None when absent."""
        value = self._items.get(field)
        if value is None and field not in self._items:
            return None
        if not isinstance(value, str) or not value:
            raise self.error("schema.wrong-type", field, "must be text", "Put it in quotes.")
        return value

    def character(self, field: str, default: str | None, *, empty: bool = False) -> str | None:
        """One printable ASCII character or a tab; "" only where that means none."""
        if field not in self._items:
            return default
        value = self._items[field]
        if value == "" and empty:
            return ""
        if not isinstance(value, str) or len(value) != 1 or not (" " <= value <= "~" or value == "\t"):
            raise self.error(
                "schema.wrong-type", field, "must be one ASCII character", 'Write for example ";" or "\\t".'
            )
        return value

    def flag(self, field: str, default: bool) -> bool:
        """true or false."""
        value = self._items.get(field, default)
        if not isinstance(value, bool):
            raise self.error(
                "schema.wrong-type", field, "must be true or false", "Write true or false, without quotes."
            )
        return value

    def choice(self, field: str, options: tuple[str, ...], default: Any) -> Any:
        """One of the options."""
        value = self._items.get(field, default)
        if value not in options:
            hint = suggestion(str(value), options)
            raise self.error("schema.wrong-choice", field, f"must be one of {', '.join(options)}", hint)
        return value

    def positive(self, field: str) -> int | None:
        """A whole number of at least 1, or None when absent."""
        if field not in self._items:
            return None
        value = self._items[field]
        if not is_integer(value) or value < 1:
            raise self.error(
                "schema.wrong-type", field, "must be a whole number of at least 1", f"Write `{field}: 10`."
            )
        return value

    def items(self, field: str) -> list[Any] | None:
        """A list, or None when absent."""
        if field not in self._items:
            return None
        value = self._items[field]
        if isinstance(value, tuple):
            value = [*cast("tuple[Any, ...]", value)]
        if not is_list(value):
            raise self.error("schema.wrong-type", field, "must be a list", f"Write `{field}: [..., ...]`.")
        return value


def key_text(key: Any) -> str:
    """A key as text; YAML readers turn the field name ``null`` into None."""
    if key is None:
        return "null"
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)


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


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """A list as YAML and callers write it."""
    return isinstance(value, list)


def is_integer(value: Any) -> TypeGuard[int]:
    """A whole number that is not a boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[int | float]:
    """A finite number that is not a boolean."""
    return is_integer(value) or (isinstance(value, float) and isfinite(value))
