"""What one column of a confidential table looks like, for drafting a schema.

For the curator's own terminal: everything here is learnt from the rows, and whatever is written down from it has to be
marked as such.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.sources import parse, typed
from hushtable.kernel.sources.arrow import pa, pc
from hushtable.kernel.sources.parse import NULL, VALUE
from hushtable.kernel.sources.text import Texts, Values, read_days, read_integers, read_reals
from hushtable.schema import FALSE_TEXTS, TRUE_TEXTS

MOST_VALUES = 1000
"""Different values of a column that a look counts: ten times what a draft takes for categories.  It bounds the memory
of a look; with less, a column of many rare values is given up sooner."""


@dataclass
class ReadableAs:
    """How many fields could be read in one way, and between which numbers."""

    count: int = 0
    low: float | int | None = None
    high: float | int | None = None

    def add(self, values: Values) -> None:
        """Takes in a block."""
        numbers = values.numbers[(values.states == VALUE) & np.isfinite(values.numbers)]
        self.count += len(numbers)
        if len(numbers):
            low, high = numbers.min().item(), numbers.max().item()
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)


@dataclass
class Profile:
    """One column, as far as it has been looked at."""

    name: str
    filled: int = 0
    nulls: int = 0
    padded: bool = False
    counts: Counter[str] | None = field(default_factory=Counter[str])
    integers: ReadableAs = field(default_factory=ReadableAs)
    reals: ReadableAs = field(default_factory=ReadableAs)
    days: ReadableAs = field(default_factory=ReadableAs)

    def add(self, column: Any) -> None:
        """Takes in a block of a column that is text, or of a type that can be shown as text."""
        texts = column if isinstance(column, Texts) else typed.as_texts(column)
        integers = read_integers(texts)
        missing = int(np.count_nonzero(integers.states == NULL))
        self.nulls += missing
        self.filled += len(texts) - missing
        self.integers.add(integers)
        self.reals.add(read_reals(texts))
        self.days.add(read_days(texts))
        self._count(texts, integers.states != NULL)

    def _count(self, texts: Texts, filled: NDArray[np.bool_]) -> None:
        data, offsets = parse.gather(texts.data, texts.starts, texts.ends, np.flatnonzero(filled))
        array = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
        texts_found, numbers = (part.to_pylist() for part in pc.value_counts(array).flatten())
        known = {text.decode("utf-8", "replace"): n for text, n in zip(texts_found, numbers, strict=True)}
        self.padded = self.padded or any(_is_padded(text) for text in known)
        if self.counts is not None:
            self.counts.update(known)
            if len(self.counts) > MOST_VALUES:
                self.counts = None

    @property
    def all_different(self) -> bool:
        """Whether no value was seen twice, as in an identifier; only said of columns with many values."""
        return self.counts is not None and len(self.counts) == self.filled > 50

    @property
    def is_boolean(self) -> bool:
        """Whether the values are a pair such as yes and no; 0 and 1 are taken for categories."""
        words = {text.lower() for text in self.counts or ()} - {"0", "1"}
        return (
            bool(words)
            and self.counts is not None
            and words <= {*TRUE_TEXTS, *FALSE_TEXTS}
            and len(self.counts) <= 2
        )


def day(number: float | int | None) -> date:
    """The day of a day number."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + int(number or 0))


def _is_padded(text: str) -> bool:
    """Whole numbers written in a way that a number would not keep, such as 007 or +1."""
    digits = text.removeprefix("-").removeprefix("+")
    return digits.isdigit() and digits.isascii() and str(int(digits)) != text.removeprefix("-")
