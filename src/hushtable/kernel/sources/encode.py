"""From columns of one block to integer codes: one encoder per attribute, chosen when the source is opened."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.sources import assign
from hushtable.kernel.sources.assign import DROP, Codes
from hushtable.kernel.sources.text import Texts, Values, text_reader
from hushtable.kernel.sources.typed import TypedReader
from hushtable.schema import Attribute, Binned, Boolean, Real

CodeArray = NDArray[np.unsignedinteger[Any]]


class Encoder:
    """Codes of one attribute; the same value has the same code in every kind of source."""

    def __init__(self, attribute: Attribute, encoding: str) -> None:
        self.dtype = code_type(attribute.size)
        self._attribute = attribute
        self._null = DROP if attribute.null_code is None else attribute.null_code
        self._other = DROP if attribute.other_code is None else attribute.other_code
        self._text = text_reader(attribute, encoding)
        self._typed = TypedReader(attribute)
        self._entries = _entry_codes(attribute)

    def codes(self, column: Any) -> Codes:
        """Code of each row of a text or Arrow column; DROP where the schema drops the row."""
        return self.assign(self.values(column))

    def values(self, column: Any) -> Values:
        """What the attribute reads, before bins."""
        return self._text(column) if isinstance(column, Texts) else self._typed.read(column)

    def assign(self, values: Values) -> Codes:
        """Codes of values that have been read."""
        codes = np.empty(len(values.states), np.int32)
        attribute = self._attribute
        if not isinstance(attribute, Binned):
            assign.assign_entries(
                values.numbers, values.states, self._entries, self._null, self._other, codes
            )
            return codes
        edges = attribute.edges
        high = edges[-1] if isinstance(attribute, Real) else edges[-1] - 1
        numbers = values.numbers.astype(edges.dtype, copy=False)
        clip = attribute.outside == "clip"
        assign.assign_bins(numbers, values.states, edges, high, clip, self._null, self._other, codes)
        return codes


def code_type(size: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds codes 0..size-1."""
    return np.uint8 if size <= 1 << 8 else np.uint16 if size <= 1 << 16 else np.uint32


def _entry_codes(attribute: Attribute) -> Codes:
    """Code of each entry of the attribute's vocabulary."""
    if isinstance(attribute, Boolean):
        return np.repeat(np.array([0, 1], np.int32), [len(attribute.false_texts), len(attribute.true_texts)])
    return np.arange(0 if isinstance(attribute, Binned) else attribute.regular, dtype=np.int32)
