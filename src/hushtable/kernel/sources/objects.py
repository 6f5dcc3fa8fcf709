"""Columns of Python objects (pandas' dtype ``object``): each object as the text of a field, and as a key.

A column of objects has no type, so nothing about it is refused: an object that is neither text, a number, a boolean nor
a day reads as text that fits no attribute, and one that cannot be told apart exactly from all others is no key.  Each
object is looked at by itself and by its class alone; methods that it may have redefined are not called.

Keys are equal exactly when Python calls the objects equal: ``1``, ``True``, ``Decimal("1.0")`` and ``numpy.int64(1)``
are one key, the text ``"1"`` is another.  Floats are no keys, and neither are tuples or other containers.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.sources import text
from hushtable.kernel.sources.arrow import pa, pc
from hushtable.kernel.sources.text import Texts

_OTHER = b"\xff"  # no UTF-8, so it matches no declared value and is no number or day
_TEXT_TAG = b"s"
_LONGEST = 400  # digits of a whole number; a longer one is beyond every bound, so it may be cut
_LONGEST_DECIMAL = (
    20_000  # digits before the point of a Decimal that is a key: 1E+999999999 must not be written out
)
_ZERO = datetime(1970, 1, 1)
_SECOND = 10**18  # in attoseconds, numpy's smallest unit
_UNITS = {"W": 604_800 * _SECOND, "D": 86_400 * _SECOND, "h": 3600 * _SECOND, "m": 60 * _SECOND} | {
    unit: _SECOND // 1000**power for power, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))
}


class Objects:
    """Python objects, not yet read."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    @cached_property
    def texts(self) -> Texts:
        """What a text file would hold; an empty text for what is missing."""
        plain = self._plain()
        return text.from_arrow(_binary(_each(_TEXTS, self._values, _OTHER)) if plain is None else plain)

    @cached_property
    def keys(self) -> Texts:
        """Bytes that are equal exactly when the objects are; empty for what is missing or no key."""
        plain = self._plain()
        if plain is None:
            return text.from_arrow(_binary(_each(_KEYS, self._values, b"")))
        tagged = text.from_arrow(pc.binary_join_element_wise(*_around(plain)))
        return Texts(
            tagged.data, tagged.starts, np.where(tagged.ends - tagged.starts > 1, tagged.ends, tagged.starts)
        )

    @cached_property
    def written(self) -> NDArray[np.bool_]:
        """Which of the objects are texts, that somebody wrote in a way of their own."""
        return np.fromiter((issubclass(type(value), str) for value in self._values), np.bool_, len(self))

    @property
    def names(self) -> Texts:
        """What a text file would hold of a key; the key where it would hold nothing that tells it from others."""
        return text.from_arrow(_binary([_name(key) for key in _each(_KEYS, self._values, b"")]))

    def take(self, rows: NDArray[np.int64]) -> Objects:
        """The objects of these rows."""
        return Objects([self._values[row] for row in rows.tolist()])

    def _plain(self) -> Any:
        """The texts of a column of nothing but texts and what is missing, made at once; None for any other."""
        try:
            only_texts = set(map(type, self._values)) <= {str, type(None), float}
            return pa.array(self._values, pa.large_string(), from_pandas=True) if only_texts else None
        except Exception:  # a number, a lone surrogate, or a class that cannot be hashed
            return None


class CodedObjects:
    """A column of a few objects that are named by number; below 0 for what is missing."""

    def __init__(self, known: Objects, codes: NDArray[Any]) -> None:
        self._known = known
        self._codes = codes.astype(np.int64)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def texts(self) -> Texts:
        """As of ``Objects``."""
        return self._known.texts.take(self._codes)

    @property
    def keys(self) -> Texts:
        """As of ``Objects``."""
        return self._known.keys.take(self._codes)

    @property
    def written(self) -> NDArray[np.bool_]:
        """As of ``Objects``; what is missing was not written."""
        known = np.append(self._known.written, False)
        return known[self._codes]

    @property
    def names(self) -> Texts:
        """As of ``Objects``."""
        return self._known.names.take(self._codes)

    def take(self, rows: NDArray[np.int64]) -> CodedObjects:
        """As of ``Objects``."""
        return CodedObjects(self._known, self._codes[rows])


def _around(texts: Any) -> tuple[Any, ...]:
    """Texts between the tag of a text and nothing, as Arrow joins them."""
    return pa.scalar(_TEXT_TAG.decode(), texts.type), texts, pa.scalar("", texts.type)


Readers = dict[Any, Callable[[Any], bytes]]


def _each(readers: Readers, values: Sequence[Any], failed: bytes) -> list[bytes]:
    found: list[bytes] = []
    for value in values:
        try:
            reader = readers.get(type(value)) or _reader(readers, type(value))
            found.append(failed if reader is None else reader(value))
        except Exception:  # whatever an object does when it is looked at, no other row may notice
            found.append(failed)
    return found


def _reader(readers: Readers, kind: Any) -> Callable[[Any], bytes] | None:
    """That of the nearest class above; pandas' classes are known by their name, so that it need not be installed."""
    for parent in type.mro(kind):
        reader = readers.get(parent) or readers.get(
            f"{parent.__module__.partition('.')[0]}.{parent.__name__}"
        )
        if reader is not None:
            return reader
    return None


def _binary(found: list[bytes]) -> Any:
    return pa.array(found, pa.large_binary())


def _missing(_: Any) -> bytes:
    return b""


def _no_text(value: Any) -> bytes:
    return b"" if np.isnat(value) else _OTHER


def _text(value: str) -> bytes:
    return str.encode(value, "utf-8", "surrogatepass")


def _truth_text(value: Any) -> bytes:
    return b"true" if value else b"false"


def _whole(value: Any) -> int:
    """Without the conversions that a subclass may have redefined."""
    return int.__int__(value) if isinstance(value, int) else int(value)


def _whole_text(value: Any) -> bytes:
    number = _whole(value)
    if number.bit_length() > 3 * _LONGEST:
        return b"-" * (number < 0) + b"9" * _LONGEST
    return b"%d" % number


def _real_text(value: Any) -> bytes:
    number = (
        float.__float__(value) if isinstance(value, float) else float(value)
    ) + 0.0  # so that there is no -0
    if number != number:
        return b""
    return f"{number:.0f}".encode() if number.is_integer() else repr(number).encode()


def _decimal_text(value: Decimal) -> bytes:
    return b"" if Decimal.is_nan(value) else Decimal.__str__(value).encode()


def _datetime_text(value: datetime) -> bytes:
    return datetime.isoformat(value).encode()


def _date_text(value: date) -> bytes:
    return date.isoformat(value).encode()


def _day_text(value: Any) -> bytes:
    return b"" if np.isnat(value) else str(value.astype("datetime64[D]")).encode()


def _text_key(value: str) -> bytes:
    return _TEXT_TAG + _text(value) if str.__len__(value) else b""


def _bytes_key(value: bytes) -> bytes:
    return b"b" + bytes.__getitem__(value, slice(None)) if bytes.__len__(value) else b""


def _number_key(value: Any) -> bytes:
    number = _whole(value)
    return b"n" + number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _decimal_key(value: Decimal) -> bytes:
    if not Decimal.is_finite(value):
        return b""
    sign, digits, exponent = Decimal.as_tuple(value)
    if not any(digits):
        return _number_key(0)
    kept = len(digits)
    while digits[kept - 1] == 0:
        kept -= 1
    power = int(exponent) + len(digits) - kept
    if power >= 0:
        return _number_key(Decimal.__int__(value)) if kept + power <= _LONGEST_DECIMAL else b""
    return f"d{sign}{power}.".encode() + bytes(digits[:kept])


def _name(key: bytes) -> bytes:
    kind, rest = key[:1], key[1:]
    if kind in (_TEXT_TAG, b"b"):
        return rest
    if kind == b"n" and len(rest) < _LONGEST:
        return b"%d" % int.from_bytes(rest, "big", signed=True)
    if kind == b"y":
        return (_ZERO + timedelta(days=int(_name(rest)))).date().isoformat().encode()
    if kind == b"u":
        return str(UUID(bytes=rest)).encode()
    if kind in (b"t", b"z"):
        return _moment_name(int.from_bytes(rest[1:], "big", signed=True)) or key
    return key


def _moment_name(count: int) -> bytes | None:
    """Seconds and nanoseconds, as a typed column has them; None for what it cannot hold."""
    seconds, parts = divmod(count, _UNITS["s"])
    nanoseconds, finer = divmod(parts, _UNITS["ns"])
    return None if finer or abs(seconds) >> 63 else struct.pack("<qq", seconds, nanoseconds)


def _uuid_key(value: UUID) -> bytes:
    return b"u" + int(value.int).to_bytes(16, "big")


def _datetime_key(value: datetime) -> bytes:
    offset = datetime.utcoffset(value)
    plain = datetime.combine(datetime.date(value), datetime.time(value))
    passed = plain - _ZERO - (offset or timedelta())
    microseconds = (passed.days * 86_400 + passed.seconds) * 10**6 + passed.microseconds
    return (b"t" if offset is None else b"z") + _number_key(microseconds * _UNITS["us"])


def _timestamp_key(value: Any) -> bytes:
    """pandas' own, which has nanoseconds and years beyond 9999; ``asm8`` is in UTC."""
    return (b"t" if value.tzinfo is None else b"z") + _datetime64_key(value.asm8)[1:]


def _date_key(value: date) -> bytes:
    return b"y" + _number_key(date.toordinal(value) - _ZERO.toordinal())


def _datetime64_key(value: Any) -> bytes:
    """An instant without a zone, as numpy compares them: a day, month or year is its first moment."""
    unit, step = np.datetime_data(value.dtype)
    if np.isnat(value):
        return b""
    count = int(value.astype(np.int64)) * step
    if unit in ("Y", "M"):
        count, unit = _first_day(count if unit == "M" else 12 * count), "D"
    return b"t" + _number_key(count * _UNITS[unit])


def _first_day(month: int) -> int:
    """Days from 1970 to the first of a month, counted from January 1970; exact in any year, where numpy overflows."""
    years, place = divmod(month, 12)
    cycles, year = divmod(1969 + years, 400)  # the calendar repeats after 400 years, which are 146,097 days
    return cycles * 146_097 + date(year + 1, place + 1, 1).toordinal() - _ZERO.toordinal()


_MISSING: Readers = {type(None): _missing, "pandas.NAType": _missing, "pandas.NaTType": _missing}
_TEXTS: Readers = _MISSING | {
    np.timedelta64: _no_text,  # to numpy it is a whole number
    str: _text,
    bool: _truth_text,
    np.bool_: _truth_text,
    int: _whole_text,
    np.integer: _whole_text,
    float: _real_text,
    np.floating: _real_text,
    Decimal: _decimal_text,
    datetime: _datetime_text,
    date: _date_text,
    np.datetime64: _day_text,
}
_KEYS: Readers = _MISSING | {
    np.timedelta64: _missing,
    str: _text_key,
    bytes: _bytes_key,
    bool: _number_key,
    np.bool_: _number_key,
    int: _number_key,
    np.integer: _number_key,
    Decimal: _decimal_key,
    UUID: _uuid_key,
    "pandas.Timestamp": _timestamp_key,
    datetime: _datetime_key,
    date: _date_key,
    np.datetime64: _datetime64_key,
}
