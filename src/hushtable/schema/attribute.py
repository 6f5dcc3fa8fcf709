"""One attribute of the public domain: its kind, its categories and the rules for what does not fit.

An attribute maps a value to a code 0..size-1 or drops the row.  The regular categories come first, in the order
declared; then "(null)" if nulls are a category, then "(other)" if values outside are.  Attributes are made by
``build``, which checks them; nothing here reads data.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hushtable.schema import bins

if TYPE_CHECKING:  # what a schema refuses is refused without arrays
    from numpy.typing import NDArray

    from hushtable.schema.levels import Levels

Value = str | int | bool
NullRule = Literal["drop", "category"]
OutsideRule = Literal["drop", "clip", "other"]

TRUE_TEXTS = ("true", "t", "yes", "y", "1")
FALSE_TEXTS = ("false", "f", "no", "n", "0")

_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")
_WHOLE = re.compile(r"[-+]?[0-9]{1,30}\Z", re.ASCII)
_DECIMAL = re.compile(r"[-+]?[0-9]{1,30}(\.[0-9]{1,30})?\Z", re.ASCII)
_INTEGER_RANGE = re.compile(r"(-?[0-9]{1,30})(?:-| to )(-?[0-9]{1,30})\Z", re.ASCII)
_REAL_RANGE = re.compile(r"\[\s*([^,\s]+)\s*,\s*([^,\s]+)\s*[)\]]\Z", re.ASCII)
_DATE_RANGE = re.compile(r"([0-9-]{4,10})(?: to |(?<=^[0-9]{4})-(?=[0-9]{4}\Z))([0-9-]{4,10})\Z", re.ASCII)


class LabelError(ValueError):
    """A category that an attribute does not have; ``args`` are (message, fix)."""


@dataclass(frozen=True)
class Attribute(ABC):
    """What every kind of attribute has; see the subclasses for the categories."""

    kind: ClassVar[str] = ""
    default_outside: ClassVar[OutsideRule] = "drop"

    name: str
    column: str
    null: NullRule = "drop"
    outside: OutsideRule = "drop"
    label: str | None = None
    description: str | None = None
    nulls: tuple[str, ...] = ()
    """Texts that mean a null, those of the dialect included; of numbers and days also by value."""
    levels: Levels | None = None
    """Coarser levels above its categories, if there are any."""
    imputed: bool = False
    """Whether values were filled in with the help of other people's records."""

    @property
    @abstractmethod
    def regular(self) -> int:
        """Number of categories without "(null)" and "(other)"."""

    @property
    def size(self) -> int:
        """Number of categories."""
        return self.regular + (self.null == "category") + (self.outside == "other")

    @property
    def null_code(self) -> int | None:
        """Code of "(null)", or None when rows with a null are dropped."""
        return self.regular if self.null == "category" else None

    @property
    def other_code(self) -> int | None:
        """Code of "(other)", or None when there is no such category."""
        return self.regular + (self.null == "category") if self.outside == "other" else None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One text per code."""
        labels = list(self._regular_labels())
        taken = set(labels)
        for text, code in (("(null)", self.null_code), ("(other)", self.other_code)):
            if code is not None:
                while text in taken:
                    text = f"({text})"
                labels.append(text)
                taken.add(text)
        return tuple(labels)

    def values_of(self, code: int) -> Any:
        """The category's value, or the interval (low, high) of a bin; None for "(null)" and "(other)".

        Intervals of integers and dates include both ends, those of reals exclude the upper end except in the last bin.
        """
        if not 0 <= code < self.size:
            raise IndexError(f"{self.name!r} has codes 0..{self.size - 1}")
        return self._value(code) if code < self.regular else None

    def code_of(self, value: Any) -> int | None:
        """Code of one public value; None means that a row with this value is dropped."""
        if value is None or self._is_null(value):
            return self.null_code
        code = self._regular_code(value)
        return code if code is not None else self.other_code

    def codes_matching(self, given: Any) -> tuple[int, ...]:
        """Codes that a label, a value or a range made of whole bins stands for; LabelError when there are none."""
        if given is None and self.null_code is not None:
            return (self.null_code,)
        if isinstance(given, str) and given in self._by_label:
            return (self._by_label[given],)
        codes = self._matching(given)
        if codes:
            return codes
        near = get_close_matches(str(given), self.labels[:1000], n=2, cutoff=0.5) or self.labels[:3]
        raise LabelError(
            f"it is not a category, a bin or a range of whole bins of {self.name!r}",
            f"Write for example {' or '.join(repr(label) for label in near)}.",
        )

    @cached_property
    def _by_label(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @abstractmethod
    def _regular_labels(self) -> Iterator[str]: ...

    @abstractmethod
    def _value(self, code: int) -> Any: ...

    @abstractmethod
    def _regular_code(self, value: Any) -> int | None: ...

    def _is_null(self, value: Any) -> bool:
        return bool(self.nulls) and isinstance(value, str | int) and text_of(value) in self.nulls

    def _matching(self, given: Any) -> tuple[int, ...]:
        code = self._regular_code(given)
        return () if code is None else (code,)


@dataclass(frozen=True)
class Categorical(Attribute):
    """A declared list of values, matched exactly: no trimming, no case folding."""

    kind: ClassVar[str] = "categorical"

    values: tuple[Value, ...] = ()
    value_labels: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def regular(self) -> int:
        return len(self.values)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """What each value looks like in a text file."""
        return tuple(text_of(value) for value in self.values)

    def _regular_labels(self) -> Iterator[str]:
        return (self.value_labels.get(text, text) for text in self.texts)

    def _value(self, code: int) -> Value:
        return self.values[code]

    def _regular_code(self, value: Any) -> int | None:
        return self._by_text.get(text_of(value)) if isinstance(value, str | int) else None

    @cached_property
    def _by_text(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.texts)}


@dataclass(frozen=True)
class Boolean(Attribute):
    """False is code 0, true is code 1; texts are matched without regard to the case of ASCII letters."""

    kind: ClassVar[str] = "boolean"

    value_labels: dict[str, str] = field(default_factory=dict[str, str])
    true_texts: tuple[str, ...] = TRUE_TEXTS
    false_texts: tuple[str, ...] = FALSE_TEXTS

    @property
    def regular(self) -> int:
        return 2

    def _regular_labels(self) -> Iterator[str]:
        return (self.value_labels.get(text, text) for text in ("false", "true"))

    def _value(self, code: int) -> bool:
        return bool(code)

    def _regular_code(self, value: Any) -> int | None:
        if isinstance(value, bool):
            return int(value)
        text = lowered(text_of(value)) if isinstance(value, str | int) else ""
        return 1 if text in self.true_texts else 0 if text in self.false_texts else None


@dataclass(frozen=True)
class Binned(Attribute):
    """Numbers or days cut into bins.  ``starts`` has the first value of each bin, then the end of the last.

    For integers and dates (day numbers since 1970) the end is one step beyond the upper bound; for reals it is the
    upper bound itself, which belongs to the last bin.
    """

    default_outside: ClassVar[OutsideRule] = "clip"
    step: ClassVar[int] = 1
    """From the last value of a bin to the first of the next; 0 where there is none between."""

    starts: array[Any] = field(default_factory=lambda: array("d"), repr=False, compare=False)
    bounds: tuple[Any, Any] = (0, 0)
    width: Any = None
    bins: int | None = None
    cuts: tuple[Any, ...] | None = None
    resolution: Fraction | None = None
    decimal: str = "."
    thousands: str = ""
    pattern: str = ""
    """How text is read: the marks of numbers, and how days are written ("" for YYYY-MM-DD)."""

    @property
    def regular(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def edges(self) -> NDArray[Any]:
        """``starts`` as NumPy takes it."""
        import numpy as np

        return np.array(self.starts)

    def _regular_labels(self) -> Iterator[str]:
        return (self._bin_label(code) for code in range(self.regular))

    @abstractmethod
    def _bin_label(self, code: int) -> str: ...

    @abstractmethod
    def _number(self, value: Any) -> int | float | None:
        """The value on the scale of ``starts``; None when it is not of this kind."""

    def _is_null(self, value: Any) -> bool:
        number = self._number(value) if self.nulls else None
        return number is not None and number in self.null_numbers

    @cached_property
    def null_numbers(self) -> frozenset[int | float]:
        """Numbers, or days, that are declared to mean a null."""
        found = (self._number_in(text) for text in self.nulls)
        return frozenset(number for number in found if number is not None)

    @cached_property
    def null_words(self) -> tuple[str, ...]:
        """Texts that are declared to mean a null and are no number, or day."""
        return tuple(text for text in self.nulls if self._number_in(text) is None)

    @abstractmethod
    def _number_in(self, text: str) -> int | float | None:
        """The number of a plain text, of which a null token may be one."""

    def _regular_code(self, value: Any) -> int | None:
        number = self._number(value)
        return None if number is None else self.code_at(number)

    def code_at(self, number: int | float) -> int | None:
        """Code of a number on the scale of ``starts``; None where it is outside and not taken to the nearest bin."""
        low, high = self._number(self.bounds[0]), self._number(self.bounds[1])
        if low is None or high is None or (self.outside != "clip" and not low <= number <= high):
            return None
        inside = min(max(number, low), high)
        return min(bisect_right(self.starts, inside) - 1, self.regular - 1)

    def codes_between(self, low: Any, high: Any) -> tuple[int, ...]:
        """Codes of the bins that make up an interval, both ends included (of reals the lower); () if none do."""
        first, last = self._number(low), self._number(high)
        if first is None or last is None:
            return ()
        return self._whole_bins(first, last + self.step)

    def _whole_bins(self, low: Any, end: Any) -> tuple[int, ...]:
        """Codes of the bins that make up [low, end) exactly; () when an end is not an edge."""
        if not (self.starts[0] <= low < end <= self.starts[-1]):
            return ()
        first, last = bisect_left(self.starts, low), bisect_left(self.starts, end)
        if self.starts[first] == low and self.starts[last] == end:
            return tuple(range(first, last))
        return ()


@dataclass(frozen=True)
class Integer(Binned):
    """Whole numbers; both bounds are included."""

    kind: ClassVar[str] = "integer"

    def _bin_label(self, code: int) -> str:
        return bins.integer_label(*self._value(code))

    def _value(self, code: int) -> tuple[int, int]:
        return self.starts[code], self.starts[code + 1] - 1

    def _number(self, value: Any) -> int | None:
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _number_in(self, text: str) -> int | None:
        return int(text) if _WHOLE.match(text) else None

    def _matching(self, given: Any) -> tuple[int, ...]:
        if isinstance(given, str) and (match := _INTEGER_RANGE.match(given)):
            return self._whole_bins(int(match[1]), int(match[2]) + 1)
        number = self._number(given)
        return () if number is None else self._whole_bins(number, number + 1)


@dataclass(frozen=True)
class Real(Binned):
    """Floating-point numbers; a bin is [low, high), the last one [low, high]."""

    kind: ClassVar[str] = "real"
    step: ClassVar[int] = 0

    def _bin_label(self, code: int) -> str:
        return bins.real_label(*self._value(code), last=code == self.regular - 1)

    def _value(self, code: int) -> tuple[float, float]:
        return self.starts[code], self.starts[code + 1]

    def _number(self, value: Any) -> float | None:
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            return None
        return float(value)

    def _number_in(self, text: str) -> float | None:
        return float(text) if _DECIMAL.match(text) else None

    def _matching(self, given: Any) -> tuple[int, ...]:
        if isinstance(given, str) and (match := _REAL_RANGE.match(given)):
            try:
                return self._whole_bins(float(match[1]), float(match[2]))
            except ValueError:
                return ()
        return ()


@dataclass(frozen=True)
class Date(Binned):
    """Days of the proleptic Gregorian calendar; both bounds are included."""

    kind: ClassVar[str] = "date"

    def _bin_label(self, code: int) -> str:
        return bins.date_label(*self._value(code))

    def _value(self, code: int) -> tuple[date, date]:
        return bins.day_of(self.starts[code]), bins.day_of(self.starts[code + 1] - 1)

    def _number(self, value: Any) -> int | None:
        if isinstance(value, datetime):
            value = value.date()
        if isinstance(value, str):
            value = iso_date(value)
        return bins.day_number(value) if isinstance(value, date) else None

    def _number_in(self, text: str) -> int | None:
        return self._number(text)

    def _matching(self, given: Any) -> tuple[int, ...]:
        low = high = given
        if isinstance(given, str) and (match := _DATE_RANGE.match(given)):
            low, high = match[1], match[2]
        first, last = _first_day(low), _last_day(high)
        if first is None or last is None:
            return ()
        return self._whole_bins(bins.day_number(first), bins.day_number(last) + 1)


def text_of(value: Value) -> str:
    """What a category value looks like in a text file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def lowered(text: str) -> str:
    """The text with ASCII letters in lower case, and all others as they are."""
    return text.translate(_LOWER)


def iso_date(text: str) -> date | None:
    """The day of YYYY-MM-DD, exactly ten ASCII characters; None otherwise."""
    if re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", text, re.ASCII) is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _first_day(given: Any) -> date | None:
    if isinstance(given, str):
        return iso_date(given + {4: "-01-01", 7: "-01"}.get(len(given), ""))
    if isinstance(given, datetime):
        return given.date()
    return given if isinstance(given, date) else None


def _last_day(given: Any) -> date | None:
    first = _first_day(given)
    if first is None or not isinstance(given, str) or len(given) == 10:
        return first
    month = 12 if len(given) == 4 else first.month
    return first.replace(month=month, day=bins.days_in_month(first.year, month))
