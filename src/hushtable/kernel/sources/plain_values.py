"""Values as they are, before bins: what queries with a WHERE clause compare, one compact array per attribute.

Values follow the rules that codes follow: what the schema drops is dropped, numbers outside the bounds are moved to the
nearer one where it says ``clip``.  What is left without a value has a place of its own, see ``PlainReader``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Words
from hushtable.kernel.sources.assign import Codes
from hushtable.kernel.sources.text import Values
from hushtable.schema import Attribute, Binned, Real

PlainArray = NDArray[Any]


class PlainReader:
    """Plain values of one attribute.

    * categories: their codes, with the codes of "(null)" and "(other)";
    * booleans, whole numbers and days: the number, or ``missing``, one above the largest possible number;
    * reals: the number, or NaN.

    A number outside the bounds of an attribute with ``outside: other`` is missing.
    """

    def __init__(self, attribute: Attribute) -> None:
        self._attribute = attribute
        self._binned = isinstance(attribute, Binned)
        if isinstance(attribute, Real):
            self.low, self.high = float(attribute.edges[0]), float(attribute.edges[-1])
            self.missing: float | int = np.nan
            self.dtype = np.dtype(np.float64)
        elif isinstance(attribute, Binned):
            self.low, self.high = int(attribute.edges[0]), int(attribute.edges[-1]) - 1
            self.missing = self.high + 1
            self.dtype = _signed(int(self.low), int(self.missing))
        else:
            self.low, self.high = 0, attribute.size - 1
            self.missing = 2 if attribute.kind == "boolean" else attribute.size
            self.dtype = _signed(0, int(self.missing))

    def read(self, values: Values, codes: Codes) -> PlainArray:
        """Plain values of the rows of one block, whose ``codes`` say what became of each."""
        if not self._binned:
            plain = codes if self._attribute.kind != "boolean" else np.minimum(codes, 2)
            return plain.astype(self.dtype)
        found = self._clipped(values).astype(self.dtype)
        found[codes >= self._attribute.regular] = self.missing
        return found

    @property
    def words_below(self) -> int:
        """Above every word of ``words``."""
        if isinstance(self._attribute, Real):
            return 1 << 64
        return int(self.high) - int(self.low) + 3 if self._binned else self._attribute.size

    def words(self, values: Values, codes: Codes) -> Words:
        """Code and plain value of each row as one word: two rows have the same exactly when both are equal."""
        if not self._binned:
            return codes.astype(np.uint64)
        real = isinstance(self._attribute, Real)
        found = self._clipped(values) - (0 if real else self.low)
        strange = codes >= self._attribute.regular
        words = (found + 0.0 if real else found).view(np.uint64)  # + 0.0 makes -0.0 the 0 that it equals
        missing = (
            np.array([np.nan]).view(np.uint64)[0] if real else np.uint64(int(self.missing) - int(self.low))
        )
        words[strange] = missing + (codes[strange] - self._attribute.regular).astype(np.uint64)
        return words

    def _clipped(self, values: Values) -> NDArray[Any]:
        numbers = values.numbers.astype(np.float64 if self.dtype.kind == "f" else np.int64, copy=False)
        return np.clip(numbers, self.low, self.high)


def _signed(low: int, high: int) -> np.dtype[Any]:
    """The smallest signed type that holds both ends."""
    for kind in (np.int8, np.int16, np.int32):
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int64)
