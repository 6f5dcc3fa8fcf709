"""Numbers and texts small enough to travel inside a page: deflated, then base64, as ``explorer-data.js`` reads them."""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from typing import Any

import numpy as np

from hushtable.arrays import Ints

LARGEST = 2**31 - 1
"""A whole number has four bytes here, with its sign."""


def deflated_numbers(values: Ints) -> str:
    """Whole numbers as four planes of bytes, the lowest first, signs in the lowest bit.

    Noisy counts differ in their low bytes and hardly in the others, so planes take half of what the numbers would.
    """
    unsigned = np.where(values < 0, -2 * values - 1, 2 * values).astype("<u4")
    planes = np.ascontiguousarray(unsigned.view(np.uint8).reshape(-1, 4).T)
    return _deflated(planes.tobytes())


def deflated_json(value: Any) -> str:
    """A value that JSON can hold."""
    return _deflated(json.dumps(value, separators=(",", ":"), allow_nan=False).encode())


def _deflated(content: bytes) -> str:
    return b64encode(zlib.compress(content, 9)).decode("ascii")
