"""Columns of Arrow data, and the values that an attribute reads from them.

What a column may be read as depends on its type alone, and is decided when the source is opened:

=================  ==========================================================================================
column             may be read as
=================  ==========================================================================================
text, decimal      anything, by the rules for text files
dictionary         what its values may be read as
whole number       integer, real, boolean (0 and 1), categorical (values that are whole numbers)
floating point     the same; a number with a fraction is not an integer; NaN is not a number
boolean            boolean, categorical (values true and false)
date               date, categorical (as YYYY-MM-DD)
timestamp          date (in UTC when the column has a time zone)
null               anything
Python objects     anything, by the rules for text files
=================  ==========================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import SchemaError
from hushtable.kernel.sources import text
from hushtable.kernel.sources.arrow import pa, pc
from hushtable.kernel.sources.objects import CodedObjects, Objects
from hushtable.kernel.sources.parse import HUGE, NULL, OTHER, VALUE
from hushtable.kernel.sources.text import Texts, Values
from hushtable.schema import Attribute, Binned, Boolean, Categorical, bins

_NUMERIC = frozenset({"integer", "real", "boolean", "categorical"})
_READABLE: dict[str, frozenset[str]] = {
    "text": frozenset({"integer", "real", "boolean", "categorical", "date"}),
    "null": frozenset({"integer", "real", "boolean", "categorical", "date"}),
    "integer": _NUMERIC,
    "real": _NUMERIC,
    "boolean": frozenset({"boolean", "categorical"}),
    "day": frozenset({"date", "categorical"}),
    "timestamp": frozenset({"date"}),
}
UNTYPED = "object"
"""Stands for the Arrow type of a column of Python objects."""
_DAYS_PER = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def family(arrow_type: Any) -> str | None:
    """Which row of the table a column type belongs to; None for types that hold no single value."""
    types, held = pa.types, value_type(arrow_type)
    if held is UNTYPED or held is None:
        return None if held is None else "text"
    tests: list[tuple[Callable[[Any], bool], str]] = [
        (types.is_string, "text"),
        (types.is_large_string, "text"),
        (types.is_string_view, "text"),
        (types.is_decimal, "text"),
        (types.is_boolean, "boolean"),
        (types.is_integer, "integer"),
        (types.is_floating, "real"),
        (types.is_date, "day"),
        (types.is_timestamp, "timestamp"),
        (types.is_null, "null"),
    ]
    return next((name for test, name in tests if test(held)), None)


def value_type(arrow_type: Any) -> Any:
    """The type of the values: what extensions store and dictionaries list; UNTYPED and None as they are."""
    if arrow_type is UNTYPED or arrow_type is None:
        return arrow_type
    inner = storage(arrow_type)
    return value_type(inner.value_type) if pa.types.is_dictionary(inner) else inner


def storage(arrow_type: Any) -> Any:
    """What an extension type stores; any other type as it is."""
    while isinstance(arrow_type, pa.BaseExtensionType):
        arrow_type = arrow_type.storage_type
    return arrow_type


def type_name(arrow_type: Any) -> str:
    """A type as a message may show it: without names that a file gave to parts of it."""
    if arrow_type is UNTYPED or arrow_type is None:
        return "object"
    if isinstance(arrow_type, pa.OpaqueType):
        return arrow_type.type_name
    inner = storage(arrow_type)
    if pa.types.is_dictionary(inner):
        return f"dictionary of {type_name(inner.value_type)}"
    if pa.types.is_nested(inner):
        return str(inner).partition("<")[0]
    if pa.types.is_timestamp(inner) and inner.tz is not None:
        return f"timestamp[{inner.unit}] with a time zone"
    return str(inner)


def unread(name: str, vendor: str) -> Any:
    """Stands for a type that nothing is read from, by the name that it has where the data come from."""
    return pa.opaque(pa.struct([]), name, vendor)


def check_type(attribute: Attribute, arrow_type: Any) -> None:
    """Refuses a column that the attribute cannot read, whatever it holds."""
    found = family(arrow_type)
    allowed = found is not None and attribute.kind in _READABLE[found]
    if allowed and isinstance(attribute, Categorical | Boolean):
        allowed = found in ("text", "null", "day") or bool(_entries(attribute, found or ""))
    if not allowed:
        raise SchemaError(
            "source.column-type",
            f"The column {attribute.column!r} has type {type_name(arrow_type)}, which attribute {attribute.name!r} "
            f"of type {attribute.kind} cannot read.",
            "Change the attribute's `type` or `values`, or convert the column.",
        )


def _entries(attribute: Categorical | Boolean, found: str) -> dict[int, int]:
    """Entry of the vocabulary by the whole number that stands for it; booleans are 0 and 1."""
    if isinstance(attribute, Boolean):
        if found == "boolean":
            return {0: 0, 1: len(attribute.false_texts)}
        words = (*attribute.false_texts, *attribute.true_texts)
        return {int(word): entry for entry, word in enumerate(words) if _is_whole(word)}
    if found == "boolean":
        known = {"false": 0, "true": 1}
        return {known[t]: entry for entry, t in enumerate(attribute.texts) if t in known}
    return {int(t): entry for entry, t in enumerate(attribute.texts) if _is_whole(t)}


def _is_whole(given: str) -> bool:
    """Whether a category is a whole number as a schema may list it; longer ones are text."""
    digits = given.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 19):
        return False
    return str(int(given)) == given and abs(int(given)) <= bins.LARGEST


class TypedReader:
    """How one attribute reads Arrow arrays."""

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self._text = text.text_reader(attribute, "utf-8")
        plain = (
            replace(attribute, decimal=".", thousands="", pattern="")
            if isinstance(attribute, Binned)
            else attribute
        )
        self._unwritten = self._text if plain == attribute else text.text_reader(plain, "utf-8")
        self._nulls = [int(token) for token in attribute.nulls if _is_whole(token)]

    def read(self, array: Any) -> Values:
        """Values of a column of a type that ``check_type`` has accepted."""
        if isinstance(array, Objects | CodedObjects):
            return self._objects(array)
        if isinstance(array.type, pa.BaseExtensionType):
            return self.read(array.storage)
        if pa.types.is_dictionary(array.type):
            return self._dictionary(array)
        return text.nulled(self._attribute, self._single(array))

    def _single(self, array: Any) -> Values:
        found = family(array.type)
        if found == "null":
            return Values(np.zeros(len(array), np.int64), np.full(len(array), NULL, np.uint8))
        if found == "text" or (found == "day" and self._attribute.kind == "categorical"):
            return (self._unwritten if pa.types.is_decimal(array.type) else self._text)(as_texts(array))
        if found in ("day", "timestamp"):
            return Values(day_numbers(array), _states(array))
        if found == "boolean":
            return self._whole(filled(array.cast(pa.int8()), np.int64), _states(array), found)
        if found == "integer" and self._attribute.kind == "real":
            return Values(filled(array, np.float64), _states(array))
        if found == "integer":
            return self._whole(_whole_numbers(array), _states(array), found)
        return self._floats(array)

    def _objects(self, column: Objects | CodedObjects) -> Values:
        """Texts by the marks and patterns that are declared, any other object by what it is."""
        if self._unwritten is self._text:
            return self._text(column.texts)
        texts, written = column.texts, column.written
        one, other = self._text(texts), self._unwritten(texts)
        return Values(
            np.where(written, one.numbers, other.numbers), np.where(written, one.states, other.states)
        )

    def _dictionary(self, array: Any) -> Values:
        known = self.read(array.dictionary)
        indices, states = filled(array.indices, np.int64), _states(array.indices)
        if len(known.states) == 0:
            return Values(np.zeros(len(array), known.numbers.dtype), states)
        return Values(known.numbers[indices], np.where(states == NULL, states, known.states[indices]))

    def _whole(self, numbers: NDArray[np.int64], states: NDArray[np.uint8], found: str) -> Values:
        if self._attribute.kind == "real":
            return Values(numbers.astype(np.float64), states)
        if not isinstance(self._attribute, Categorical | Boolean):
            return Values(numbers, states)
        if self._nulls and found != "boolean":
            states = np.where(np.isin(numbers, self._nulls), NULL, states).astype(np.uint8)
        return _looked_up(numbers, states, _entries(self._attribute, found))

    def _floats(self, array: Any) -> Values:
        numbers, states = filled(array.cast(pa.float64()), np.float64), _states(array)
        if self._attribute.kind == "real":
            return Values(
                numbers, np.where(np.isnan(numbers) & (states == VALUE), OTHER, states).astype(np.uint8)
            )
        whole = np.isfinite(numbers) & (np.floor(numbers) == numbers)
        states = np.where((states == VALUE) & ~whole, OTHER, states).astype(np.uint8)
        clipped = np.clip(np.where(whole, numbers, 0.0), -float(HUGE), float(HUGE)).astype(np.int64)
        return self._whole(clipped, states, "real")


def as_texts(array: Any) -> Texts:
    """A column as the text that a file would hold."""
    if isinstance(array, Objects | CodedObjects):
        return array.texts
    if isinstance(array.type, pa.BaseExtensionType):
        return as_texts(array.storage)
    if pa.types.is_dictionary(array.type):
        return as_texts(array.dictionary).take(places(array))
    if family(array.type) != "text" or pa.types.is_decimal(array.type):
        array = array.cast(pa.large_string())
    return text.from_arrow(array)


def places(array: Any) -> NDArray[np.int64]:
    """Where in its dictionary each row of a dictionary array is; -1 for nulls."""
    return np.where(_states(array.indices) == NULL, -1, filled(array.indices, np.int64))


def _looked_up(numbers: NDArray[np.int64], states: NDArray[np.uint8], entries: dict[int, int]) -> Values:
    known = np.array(sorted(entries), np.int64)
    at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    positions = np.array([entries[int(number)] for number in known], np.int64)
    missing = (known[at] != numbers) & (states == VALUE)
    return Values(positions[at], np.where(missing, OTHER, states).astype(np.uint8))


def day_numbers(array: Any) -> NDArray[np.int64]:
    """Days since 1970-01-01 of a column of dates or timestamps; in UTC where there is a zone."""
    if pa.types.is_date32(array.type):
        return filled(array.cast(pa.int32()), np.int64)
    per_day = _DAYS_PER["ms" if pa.types.is_date64(array.type) else array.type.unit]
    return filled(array.cast(pa.int64()), np.int64) // per_day


def _whole_numbers(array: Any) -> NDArray[np.int64]:
    if pa.types.is_uint64(array.type):
        return np.minimum(filled(array, np.uint64), np.uint64(HUGE)).astype(np.int64)
    return np.clip(filled(array, np.int64), -HUGE, HUGE)


def filled(array: Any, dtype: Any) -> NDArray[Any]:
    """Numbers of a column of numbers, 0 for nulls."""
    if array.null_count:
        array = pc.fill_null(array, 0)
    return array.to_numpy(zero_copy_only=False).astype(dtype, copy=False)


def _states(array: Any) -> NDArray[np.uint8]:
    if array.null_count == 0:
        return np.full(len(array), VALUE, np.uint8)
    return np.where(array.is_null().to_numpy(zero_copy_only=False), NULL, VALUE).astype(np.uint8)
