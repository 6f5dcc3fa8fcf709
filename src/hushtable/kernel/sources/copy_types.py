"""Types of PostgreSQL that are read, each with what its fields become in Arrow.

All others are refused.  Days and moments count from 2000 there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.copy_fields import CopyFields
from hushtable.kernel.sources.typed import unread

_EPOCH, _DAY = 10_957, 86_400_000_000
"""Days from 1970 to 2000, and microseconds of a day."""


CopyReader = Callable[[CopyFields], Any]
"""From fields of one column to an Arrow array."""


@dataclass(frozen=True)
class CopyType:
    """A type as Arrow has it, and how fields are read."""

    arrow: Any
    read: CopyReader
    tell_apart: CopyReader | None = None
    """How they are read where different values must stay different, if that is another way."""


def _text(fields: CopyFields) -> Any:
    return fields.array(pa.large_string(), *fields.packed())


def _octets(fields: CopyFields) -> Any:
    return fields.array(pa.large_binary(), *fields.packed())


def _numeric(fields: CopyFields) -> Any:
    return fields.array(pa.large_string(), *fields.decimals())


def _boolean(fields: CopyFields) -> Any:
    return fields.array(pa.bool_(), np.packbits(fields.whole(1) != 0, bitorder="little"))


def _small(fields: CopyFields) -> Any:
    return fields.array(pa.int64(), fields.whole(2))


def _integer(fields: CopyFields) -> Any:
    return fields.array(pa.int64(), fields.whole(4))


def _big(fields: CopyFields) -> Any:
    return fields.array(pa.int64(), fields.whole(8))


def _real(fields: CopyFields) -> Any:
    return fields.array(pa.float32(), fields.whole(4).astype(np.int32).view(np.float32))


def _double(fields: CopyFields) -> Any:
    return fields.array(pa.float64(), fields.whole(8).view(np.float64))


def _day(fields: CopyFields) -> Any:
    """Days; the infinite ones lie beyond all that the server has."""
    days = np.clip(fields.whole(4) + _EPOCH, np.iinfo(np.int32).min, np.iinfo(np.int32).max)
    return fields.array(pa.date32(), days.astype(np.int32))


def _moments(zone: str | None) -> CopyType:
    """Moments; those from 294247 on and infinity, which Arrow does not have, are its last one."""
    arrow, shift = pa.timestamp("us", zone), _EPOCH * _DAY

    def read(fields: CopyFields) -> Any:
        found = fields.whole(8)
        return fields.array(arrow, np.minimum(found, np.iinfo(np.int64).max - shift) + shift)

    def tell_apart(fields: CopyFields) -> Any:
        return fields.array(arrow, fields.whole(8) + shift)  # wraps around to where the server has none

    return CopyType(arrow, read, tell_apart)


def _uuid(fields: CopyFields) -> Any:
    found = np.zeros((len(fields.sizes), 16), np.uint8)
    found[fields.sizes >= 0] = fields.packed()[1].reshape(-1, 16)
    return pa.ExtensionArray.from_storage(pa.uuid(), fields.array(pa.binary(16), found))


TEXT = CopyType(pa.large_string(), _text)
TYPES: dict[str, CopyType] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name"), TEXT),
    "bool": CopyType(pa.bool_(), _boolean),
    "int2": CopyType(pa.int64(), _small),
    "int4": CopyType(pa.int64(), _integer),
    "int8": CopyType(pa.int64(), _big),
    "float4": CopyType(pa.float32(), _real),
    "float8": CopyType(pa.float64(), _double),
    "numeric": CopyType(pa.large_string(), _numeric),
    "date": CopyType(pa.date32(), _day),
    "timestamp": _moments(None),
    "timestamptz": _moments("UTC"),
    "uuid": CopyType(pa.uuid(), _uuid),
    "bytea": CopyType(pa.large_binary(), _octets),
}
"""By the server's name; an enum is text."""


def unread_type(name: str) -> CopyType:
    """Stands for a type that is refused, by its name."""
    return CopyType(unread(name, "PostgreSQL"), _octets)
