"""Columns of text, and the values that an attribute reads from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.sources import parse, written
from hushtable.kernel.sources.arrow import pa, pc
from hushtable.kernel.sources.parse import NULL, VALUE, States
from hushtable.kernel.sources.rows import Octets, Positions
from hushtable.schema import Attribute, Binned, Boolean, Categorical, Date, steps_of


@dataclass(frozen=True)
class Texts:
    """The fields of one column: ``data[starts[row]:ends[row]]``; an empty field is a null."""

    data: Octets
    starts: Positions
    ends: Positions

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, places: NDArray[np.int64]) -> Texts:
        """The fields at these places; empty for a place below 0."""
        if not len(self.starts):
            return Texts(self.data, np.zeros(len(places), np.int64), np.zeros(len(places), np.int64))
        starts = self.starts[places]
        return Texts(self.data, starts, np.where(places < 0, starts, self.ends[places]))

    def in_utf8(self, encoding: str) -> Texts:
        """The same texts in UTF-8; a byte that a single-byte encoding does not define is the letter of its number."""
        if encoding == "utf-8":
            return self
        data, offsets = parse.gather(self.data, self.starts, self.ends, np.arange(len(self)))
        letters = _letters(encoding)
        sizes = np.array([len(letter.encode()) for letter in letters])[data]
        places = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])[offsets]
        spelled = data.tobytes().decode("latin-1").translate(dict(enumerate(letters))).encode()
        return Texts(np.frombuffer(spelled or b"\0", np.uint8), places[:-1], places[1:])


@cache
def _letters(encoding: str) -> list[str]:
    """What each byte stands for in a single-byte encoding; whatever a field holds, no row is refused for it."""
    known = [bytes([byte]).decode(encoding, "replace") for byte in range(256)]
    return [chr(byte) if letter == "\ufffd" else letter for byte, letter in enumerate(known)]


@dataclass(frozen=True)
class Values:
    """What an attribute reads from a column: a number and a state (VALUE, NULL, OTHER) per row.

    The number is an entry of the vocabulary for categories and booleans, a day number for dates.
    """

    numbers: NDArray[Any]
    states: States


class Vocabulary:
    """Known texts and a hash table over them."""

    def __init__(self, texts: Sequence[bytes], *, fold: bool) -> None:
        self._fold = fold
        data = np.frombuffer(b"".join(texts) or b"\0", np.uint8).copy()
        ends = np.asarray(np.cumsum([len(text) for text in texts], dtype=np.int32), np.int32)
        starts = np.concatenate([np.zeros(1, np.int32), ends[:-1]])
        table = np.full(1 << (2 * len(texts)).bit_length(), -1, np.int32)
        parse.fill_table(table, data, starts, ends)
        self._known = parse.Known(table, data, starts, ends)

    def match(self, texts: Texts) -> Values:
        """Entry number of each text."""
        numbers, states = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8)
        parse.match_texts(texts.data, texts.starts, texts.ends, self._fold, self._known, numbers, states)
        return Values(numbers, states)


def read_integers(texts: Texts) -> Values:
    """Whole numbers."""
    numbers, states = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8)
    parse.read_integers(texts.data, texts.starts, texts.ends, numbers, states)
    return Values(numbers, states)


def read_reals(texts: Texts) -> Values:
    """The float64 nearest to each decimal number."""
    numbers, states = np.empty(len(texts), np.float64), np.empty(len(texts), np.uint8)
    if parse.check_reals(texts.data, texts.starts, texts.ends, numbers, states):
        rows = np.flatnonzero(np.isnan(numbers))
        data, offsets = parse.gather(texts.data, texts.starts, texts.ends, rows)
        strings = pa.LargeStringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(data))
        numbers[rows] = pc.cast(strings, pa.float64()).to_numpy()
    return Values(numbers, states)


def read_days(texts: Texts) -> Values:
    """Day numbers."""
    numbers, states = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8)
    parse.read_days(texts.data, texts.starts, texts.ends, numbers, states)
    return Values(numbers, states)


def plain_numbers(texts: Texts, decimal: str, thousands: bytes) -> Texts:
    """Numbers with declared marks as they are written without."""
    size = int(np.sum(texts.ends - texts.starts, dtype=np.int64)) + len(texts)
    out = np.empty(size, np.uint8)
    starts, ends = np.empty(len(texts), np.int64), np.empty(len(texts), np.int64)
    marks = np.frombuffer(thousands, np.uint8)
    written.rewrite_numbers(texts.data, texts.starts, texts.ends, ord(decimal), marks, out, starts, ends)
    return Texts(out, starts, ends)


def read_days_by(texts: Texts, pattern: str) -> Values:
    """Day numbers of days that a pattern writes."""
    numbers, states = np.empty(len(texts), np.int64), np.empty(len(texts), np.uint8)
    steps = np.array(steps_of(pattern), np.int64)
    written.read_days_by(texts.data, texts.starts, texts.ends, steps, numbers, states)
    return Values(numbers, states)


TextReader = Callable[[Texts], Values]


def text_reader(attribute: Attribute, encoding: str) -> TextReader:
    """How an attribute reads text."""
    read = _plain_reader(attribute, encoding)
    return read if not attribute.nulls else _with_nulls(attribute, read, encoding)


def _plain_reader(attribute: Attribute, encoding: str) -> TextReader:
    if isinstance(attribute, Categorical):
        return Vocabulary([_bytes(text, encoding) for text in attribute.texts], fold=False).match
    if isinstance(attribute, Boolean):
        words = (*attribute.false_texts, *attribute.true_texts)
        return Vocabulary([_bytes(text, encoding) for text in words], fold=True).match
    if isinstance(attribute, Date):
        pattern = attribute.pattern
        return (lambda texts: read_days_by(texts, pattern)) if pattern else read_days
    read = read_integers if attribute.kind == "integer" else read_reals
    if not isinstance(attribute, Binned) or (attribute.decimal, attribute.thousands) == (".", ""):
        return read
    decimal, thousands = attribute.decimal, _bytes(attribute.thousands, encoding)
    return lambda texts: read(plain_numbers(texts, decimal, thousands))


def _with_nulls(attribute: Attribute, read: TextReader, encoding: str) -> TextReader:
    """The reader, with the texts that mean a null; of numbers and days also what equals one of them."""
    tokens = Vocabulary([_bytes(text, encoding) for text in attribute.nulls], fold=False)

    def reads(texts: Texts) -> Values:
        values = nulled(attribute, read(texts))
        missing = tokens.match(texts).states == VALUE
        return Values(values.numbers, np.where(missing, NULL, values.states).astype(np.uint8))

    return reads


def nulled(attribute: Attribute, values: Values) -> Values:
    """Values of numbers and days with those that are declared to mean a null as nulls."""
    if not isinstance(attribute, Binned) or not attribute.null_numbers:
        return values
    missing = np.isin(values.numbers, list(attribute.null_numbers)) & (values.states == VALUE)
    return Values(values.numbers, np.where(missing, NULL, values.states).astype(np.uint8))


def _bytes(text: str, encoding: str) -> bytes:
    """The text as it stands in the file; one that the encoding cannot write never occurs (0 is not in any row)."""
    try:
        return text.encode(encoding)
    except UnicodeEncodeError:
        return b"\0" + text.encode("utf-8", "surrogatepass")


def from_arrow(array: Any) -> Texts:
    """An Arrow array of strings or bytes, without copying the text; nulls become empty fields."""
    if not (pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)):
        array = array.cast(pa.large_binary() if pa.types.is_binary(array.type) else pa.large_string())
    if len(array) == 0:
        return Texts(np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64))
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8)
    starts, ends = offsets[:-1], offsets[1:]
    if array.null_count:
        ends = np.where(array.is_null().to_numpy(zero_copy_only=False), starts, ends)
    return Texts(data, starts, ends)
