"""Counts of what a schema leaves out of rows, for releases that publish them with noise.

Of each person at most k rows are counted, chosen among those to which something befell by a hash of what befell them:
another person's rows play no part.  Exact numbers; nothing here adds noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints, Words
from hushtable.kernel.sources.assign import Codes
from hushtable.kernel.sources.kept_rows import packed
from hushtable.kernel.sources.parse import NULL, OTHER, VALUE
from hushtable.kernel.sources.text import Values
from hushtable.schema import CLIPPED, MISSING, OUTSIDE, UNKNOWN, Attribute, Binned, Real, Schema, fates_of

Fates = NDArray[np.uint8]
MARKS_BELOW = CLIPPED + 1
"""Above every mark, so that the marks of a row are packed into few words."""


def fates(attribute: Attribute, values: Values) -> Fates:
    """What befell each row in one field; 0 where nothing did, or nothing that is counted."""
    found = np.zeros(len(values.states), np.uint8)
    counted = fates_of(attribute)
    if MISSING in counted:
        found[values.states == NULL] = MISSING
    if UNKNOWN in counted:
        found[values.states == OTHER] = UNKNOWN
    beyond = OUTSIDE if OUTSIDE in counted else CLIPPED if CLIPPED in counted else 0
    if beyond and isinstance(attribute, Binned):
        edges, read = attribute.edges, values.states == VALUE
        high = edges[-1] if isinstance(attribute, Real) else edges[-1] - 1
        found[read & ((values.numbers < edges[0]) | (values.numbers > high))] = beyond
    return found


def marks(attributes: Sequence[Attribute], values: Sequence[Values], codes: Sequence[Codes]) -> list[Fates]:
    """What befell each row in every field, and last whether it is dropped."""
    dropped = np.zeros(len(codes[0]), np.bool_)
    for column in codes:
        dropped |= column < 0
    return [*(fates(a, v) for a, v in zip(attributes, values, strict=True)), dropped.astype(np.uint8)]


def mark_words(found: Sequence[NDArray[Any]]) -> Words:
    """All marks of a row in few words: rows with the same are alike to whoever counts them."""
    return packed(found, [MARKS_BELOW] * len(found))


class LossCounter:
    """Adds up marks of rows, each in the counters of at most so many fields."""

    def __init__(self, schema: Schema) -> None:
        self._fates = [fates_of(attribute) for attribute in schema.row_fields]
        self._reasons = 0 if schema.coverage is None else schema.coverage.reasons
        self._counts = np.zeros(len(schema.losses), np.int64)

    def add(self, found: Sequence[NDArray[Any]]) -> None:
        """One array of marks per field, and one that says whether the row is dropped."""
        *fields, dropped = found
        seen = np.zeros(len(dropped), np.int64)
        place = 0
        for column, counted in zip(fields, self._fates, strict=True):
            marked = column > 0
            seen += marked
            for fate in counted:
                self._counts[place] += np.count_nonzero((column == fate) & (seen <= self._reasons))
                place += 1
        self._counts[-1] += np.count_nonzero(dropped)

    def counts(self) -> Ints:
        """In the order of ``Schema.losses``."""
        return self._counts
