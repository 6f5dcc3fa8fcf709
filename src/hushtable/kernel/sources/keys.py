"""Who a row belongs to, as bytes: two keys are equal exactly when the values in the person column are.

=====================================  ============================================================================
column                                 bytes of a key
=====================================  ============================================================================
text, bytes (of any Arrow type)        as they are
whole number                           8 bytes; a ninth for what only an unsigned number of 64 bits can be
decimal, of any width                  the unscaled number in 32 bytes; columns of two scales are two kinds
boolean                                one byte
date                                   its day
timestamp of any unit                  seconds and nanoseconds, in UTC where the column has a time zone
Python objects                         see ``objects``
dictionary, categories                 those of the values
=====================================  ============================================================================

A null, an empty text and empty bytes are nobody.  Floating-point numbers are refused, because large whole numbers are
rounded in them, and so are Parquet's old timestamps (INT96), whose nanoseconds are, and every type that holds more than
one value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import SchemaError
from hushtable.kernel.sources import spellings, text
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.objects import CodedObjects, Objects
from hushtable.kernel.sources.text import Texts
from hushtable.kernel.sources.typed import (
    UNTYPED,
    as_texts,
    day_numbers,
    family,
    filled,
    places,
    type_name,
    value_type,
)

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_WIDE = 32


def key_kind(arrow_type: Any) -> str | None:
    """Columns of one kind can be compared; None for a type that cannot tell people apart."""
    types, held = pa.types, value_type(arrow_type)
    if held is UNTYPED or held is None:
        return None if held is None else "objects"
    if types.is_decimal(held):
        return f"decimal of scale {held.scale}"
    if types.is_timestamp(held):
        return "timestamp" if held.tz is None else "timestamp with a time zone"
    if _is_bytes(held):
        return "bytes"
    found = family(held)
    return None if found == "real" else found


def check_key_type(column: str, arrow_type: Any, rounded: str | None = None) -> str:
    """The kind of a person column; refuses one that cannot tell people apart exactly, or whose values are rounded."""
    found = key_kind(arrow_type) if rounded is None else None
    if found is None:
        shown = rounded or type_name(arrow_type)
        raise SchemaError(
            "source.column-type",
            f"The person column {column!r} has type {shown}, which cannot tell people apart exactly.",
            "Use a column of text, bytes, whole numbers, decimals, booleans, dates or timestamps.",
        )
    return found


def as_keys(column: Any) -> Texts:
    """The keys of a text, object or Arrow column of a type that ``check_key_type`` has accepted."""
    if isinstance(column, Texts):
        return column
    if isinstance(column, Objects | CodedObjects):
        return column.keys
    if isinstance(column.type, pa.BaseExtensionType):
        return as_keys(column.storage)
    if pa.types.is_dictionary(column.type):
        return as_keys(column.dictionary).take(places(column))
    found = key_kind(column.type)
    if found == "text":
        return text.from_arrow(column)
    if found == "bytes":
        return text.from_arrow(column.cast(pa.large_binary()))
    if found == "null":
        return Texts(np.zeros(1, np.uint8), *np.zeros((2, len(column)), np.int64))
    return _fixed(_rows(column, found or ""), _missing(column))


def as_names(column: Any, rows: NDArray[np.int64], encoding: str) -> Texts:
    """The people of some rows, in order, by the text that a file would hold, alike in every kind of source.

    Keys that are moments or bytes other than UUIDs, for which files have no one text, stay as they are.
    """
    if isinstance(column, Texts):
        return Texts(column.data, column.starts[rows], column.ends[rows]).in_utf8(encoding)
    if isinstance(column, Objects | CodedObjects):
        return column.take(rows).names
    found = key_kind(column.type) or ""
    if found == "integer" and pa.types.is_integer(column.type) and not pa.types.is_uint64(column.type):
        numbers = filled(column, np.int64)
        return spellings.whole_numbers(numbers if len(rows) == len(column) else numbers[rows])
    if column.type == pa.uuid():
        return spellings.uuids(_stored(column.storage, 16)[rows])
    named = as_keys if found in ("bytes", "null") or found.startswith("timestamp") else as_texts
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        return named(column).take(rows)  # Arrow cannot choose among them
    return named(column if len(rows) == len(column) else column.take(rows))


def _rows(array: Any, found: str) -> NDArray[np.uint8]:
    """One row of bytes per value."""
    if found == "integer":
        return _whole(array)
    if found.startswith("decimal"):
        return _decimals(array)
    if found == "boolean":
        return filled(array.cast(pa.int8()), np.uint8).reshape(-1, 1)
    if found == "day":
        return _as_bytes(day_numbers(array))
    return _moments(array)


def _whole(array: Any) -> NDArray[np.uint8]:
    if not pa.types.is_uint64(array.type):
        return _as_bytes(filled(array, np.int64))
    numbers = filled(array, np.uint64)
    return np.concatenate([_as_bytes(numbers), (numbers >> np.uint64(63)).astype(np.uint8)[:, None]], axis=1)


def _decimals(array: Any) -> NDArray[np.uint8]:
    width = array.type.byte_width
    numbers = _stored(array, width)
    wide = np.repeat(np.where(numbers[:, -1:] >= 0x80, 0xFF, 0).astype(np.uint8), _WIDE, axis=1)
    wide[:, :width] = numbers
    return wide


def _stored(array: Any, width: int) -> NDArray[np.uint8]:
    """The bytes of values that all have as many."""
    stored = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    return stored[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)


def _moments(array: Any) -> NDArray[np.uint8]:
    per_second = _PER_SECOND[array.type.unit]
    seconds, parts = np.divmod(filled(array.cast(pa.int64()), np.int64), per_second)
    return np.concatenate([_as_bytes(seconds), _as_bytes(parts * (10**9 // per_second))], axis=1)


def _as_bytes(numbers: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(numbers).view(np.uint8).reshape(-1, numbers.dtype.itemsize)


def _fixed(found: NDArray[np.uint8], missing: NDArray[np.bool_]) -> Texts:
    """Rows of bytes as fields; those of a ninth byte of 0 without it."""
    starts = np.arange(len(found), dtype=np.int64) * found.shape[1]
    lengths = np.full(len(found), found.shape[1], np.int64)
    if found.shape[1] == 9:
        lengths -= found[:, 8] == 0
    data = np.ascontiguousarray(found).reshape(-1)
    return Texts(data if data.size else np.zeros(1, np.uint8), starts, starts + np.where(missing, 0, lengths))


def _is_bytes(arrow_type: Any) -> bool:
    types = pa.types
    tests = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary, types.is_binary_view)
    return any(test(arrow_type) for test in tests)


def _missing(array: Any) -> NDArray[np.bool_]:
    if array.null_count == 0:
        return np.zeros(len(array), np.bool_)
    return array.is_null().to_numpy(zero_copy_only=False)
