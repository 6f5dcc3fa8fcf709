"""What one column of a confidential table looks like, for drafting a schema.

For the curator's own terminal: everything here is learnt from the rows, and whatever is written down from it has to be
marked as such.  How a column's texts are written (nulls, days, marks of numbers) is guessed from its first block, and
then all of it is read that way.
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
from hushtable.kernel.sources.guesses import (
    NULL_WORDS,
    SURE_NULLS,
    marks_of,
    pattern_of,
    sentinels_among_words,
    sentinels_of,
    words_of,
)
from hushtable.kernel.sources.parse import VALUE
from hushtable.kernel.sources.text import (
    Texts,
    Values,
    Vocabulary,
    plain_numbers,
    read_days,
    read_days_by,
    read_integers,
    read_reals,
)
from hushtable.schema import FALSE_TEXTS, TRUE_TEXTS

MOST_VALUES = 1000
"""Different values of a column that a look counts: ten times what a draft takes for categories.  It bounds the memory
of a look; with less, a column of many rare values is given up sooner."""
GUESSED = 500
"""Different texts that a guess of how a column is written looks at: with more it takes seconds, with fewer a mark that
is rare among numbers is missed."""
NUMERIC = 0.5
"""Share of a column's texts that must be numbers or days for loose words such as "unknown" to be taken for nulls."""


@dataclass
class ReadableAs:
    """How many fields could be read in one way, and between which numbers."""

    count: int = 0
    low: float | int | None = None
    high: float | int | None = None

    def add(self, values: Values, filled: NDArray[np.bool_]) -> None:
        """Takes in a block."""
        numbers = values.numbers[(values.states == VALUE) & np.isfinite(values.numbers) & filled]
        self.count += len(numbers)
        if len(numbers):
            low, high = numbers.min().item(), numbers.max().item()
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)


@dataclass(frozen=True)
class Writing:
    """How the texts of a column seem to be written."""

    nulls: tuple[str, ...] = ()
    decimal: str = "."
    thousands: str = ""
    pattern: str = ""

    @classmethod
    def of(cls, counts: Counter[str]) -> Writing:
        """A guess from different texts and how often each occurs; of many, the most frequent."""
        counts = Counter(dict(counts.most_common(GUESSED)))
        pattern, marks = pattern_of(counts), marks_of(counts)
        plain = sum(rows for text, rows in counts.items() if _is_number(text))
        numeric = pattern is not None or marks is not None or plain > NUMERIC * sum(counts.values())
        pair = words_of(counts) or ()
        known = (NULL_WORDS if numeric or pair else SURE_NULLS) - set(pair)
        words = tuple(text for text in counts if text.casefold() in known)
        decimal, thousands = marks or (".", "")
        if numeric:
            sentinels = sentinels_of(counts, (decimal, thousands)) if pattern is None else ()
        else:
            sentinels = sentinels_among_words(counts)
        return cls((*sorted(words), *sentinels), decimal, thousands, pattern or "")


@dataclass
class Profile:
    """One column, as far as it has been looked at."""

    name: str
    encoding: str = "utf-8"
    filled: int = 0
    nulls: int = 0
    padded: bool = False
    counts: Counter[str] | None = field(default_factory=Counter[str])
    integers: ReadableAs = field(default_factory=ReadableAs)
    reals: ReadableAs = field(default_factory=ReadableAs)
    days: ReadableAs = field(default_factory=ReadableAs)
    writing: Writing | None = None
    repeated: bool = False
    """Whether some block has a value twice."""
    pointed: bool = False
    """Whether a point stands in some text."""

    def add(self, column: Any) -> None:
        """Takes in a block of a column that is text, or of a type that can be shown as text."""
        texts = column if isinstance(column, Texts) else typed.as_texts(column)
        if self.writing is None:
            self.writing = Writing.of(self._counted(texts, texts.starts != texts.ends))
        empty = texts.starts == texts.ends
        if self.writing.nulls:
            tokens = [token.encode(self.encoding, "replace") for token in self.writing.nulls]
            empty |= Vocabulary(tokens, fold=False).match(texts).states == VALUE
        filled = ~empty
        self.nulls += int(np.count_nonzero(empty))
        self.filled += int(np.count_nonzero(filled))
        writing = self.writing
        numbers = texts
        if (writing.decimal, writing.thousands) != (".", ""):
            numbers = plain_numbers(
                texts, writing.decimal, writing.thousands.encode(self.encoding, "replace")
            )
        self.integers.add(read_integers(numbers), filled)
        self.reals.add(read_reals(numbers), filled)
        self.days.add(read_days_by(texts, writing.pattern) if writing.pattern else read_days(texts), filled)
        self._count(texts, filled)

    def _count(self, texts: Texts, filled: NDArray[np.bool_]) -> None:
        known = self._counted(texts, filled)
        self.repeated = self.repeated or len(known) < int(np.count_nonzero(filled))
        self.pointed = self.pointed or any("." in text for text in known)
        self.padded = self.padded or any(_is_padded(text) for text in known)
        if self.counts is not None:
            self.counts.update(known)
            if len(self.counts) > MOST_VALUES:
                self.counts = None

    def _counted(self, texts: Texts, filled: NDArray[np.bool_]) -> Counter[str]:
        data, offsets = parse.gather(texts.data, texts.starts, texts.ends, np.flatnonzero(filled))
        array = pa.LargeBinaryArray.from_buffers(
            pa.large_binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
        found, numbers = (part.to_pylist() for part in pc.value_counts(array).flatten())
        known: Counter[str] = Counter()
        for text, rows in zip(found, numbers, strict=True):
            known[text.decode(self.encoding, "replace")] += rows
        return known

    @property
    def different(self) -> int:
        """How many different values were seen, of those that are counted; one more for all beyond."""
        return MOST_VALUES + 1 if self.counts is None else len(self.counts)

    @property
    def all_different(self) -> bool:
        """Whether no value was seen twice, as in an identifier; only said of columns with many values."""
        found = not self.repeated if self.counts is None else len(self.counts) == self.filled
        return found and self.filled > 50

    @property
    def repeats(self) -> bool:
        """Whether some value was seen twice; of columns with very many values, within a block."""
        return self.repeated or (self.counts is not None and len(self.counts) < self.filled)

    @property
    def words(self) -> tuple[str, str] | None:
        """Words for true and false that are not the usual ones."""
        return None if self.counts is None or self.is_boolean else words_of(self.counts)

    @property
    def is_boolean(self) -> bool:
        """Whether the values are a pair such as yes and no; 0 and 1 are taken for categories."""
        words = {text.lower() for text in self.counts or ()}
        yes, no = words & set(TRUE_TEXTS), words & set(FALSE_TEXTS)
        pair = bool(yes) and bool(no) and words == yes | no
        return pair and not words <= {"0", "1"} and len(self.counts or ()) == 2


def day(number: float | int | None) -> date:
    """The day of a day number."""
    return date.fromordinal(date(1970, 1, 1).toordinal() + int(number or 0))


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdigit()


def _is_padded(text: str) -> bool:
    """Whole numbers written in a way that a number would not keep, such as 007 or +1."""
    digits = text.removeprefix("-").removeprefix("+")
    return digits.isdigit() and digits.isascii() and str(int(digits)) != text.removeprefix("-")
