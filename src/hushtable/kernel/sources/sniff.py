"""What a text file looks like, guessed from its first bytes: encoding, separator, line breaks, header.

Only for what the curator alone sees: the draft of a schema, and the hints of a preflight.  No release reads a file by
it.
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from hushtable.kernel.sources.files import DataFile

SAMPLE = 1 << 20
"""Bytes that are looked at: the longest row, and of ordinary files thousands of rows.  With less, a first odd letter
may come later and a file that is not UTF-8 looks as if it were."""
_LINES = 1000  # of the sample that separators are counted in: enough that a title and a total do not matter
_MOSTLY = (
    0.8  # share of lines that must have the same number of fields; the rest may be titles, notes or malformed
)
SEPARATORS = (",", ";", "\t", "|")
_KINDS = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"PAR1", "parquet"),
    (b"$FL2", "spss"),
    (b"$FL3", "spss"),
    (b"<stata_dta>", "stata"),
    (b"\xd0\xcf\x11\xe0", "xls"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_MARKUP = ((b"<!doctype html", "html"), (b"<html", "html"), (b"<table", "html"), (b"<?xml", "xml"))
_JSON = re.compile(rb'[\[{]\s*[\[{"]')
_C1 = bytes(range(0x80, 0xA0))


@dataclass(frozen=True)
class Sniffed:
    """A guess.  ``kind`` is "text" or what else the bytes are; ``before`` counts lines above the table; ``sample`` is
    what was looked at."""

    kind: str
    encoding: str
    delimiter: str
    width: int
    breaks: str
    quote: str
    lines: tuple[str, ...]
    before: int
    sample: bytes = field(default=b"", repr=False)


def sniff(file: DataFile) -> Sniffed:
    """Look at the beginning of a file."""
    data = _sample(file)
    kind = _kind(data)
    if kind == "utf-16":
        data = data.decode("utf-16", "replace").encode("utf-8", "replace")
    encoding = _encoding(data)
    breaks = _breaks(data)
    text = data.removeprefix(b"\xef\xbb\xbf").decode(encoding, "replace")
    lines = tuple(islice((line for line in text.replace("\r", "\n").split("\n") if line.strip()), _LINES))
    quote = _quote(lines)
    delimiter, width, before = _separator(lines, quote, "\t" if file.tabbed else ",")
    return Sniffed(kind, encoding, delimiter, width, breaks, quote, lines, before, data)


def _kind(data: bytes) -> str:
    kind = next((kind for start, kind in _KINDS if data.startswith(start)), "text")
    if kind != "text":
        return kind
    if data.count(0) > len(data) // 4:
        return "utf-16"
    begun = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    opened = begun[:20].lower()
    found = next((kind for start, kind in _MARKUP if opened.startswith(start)), kind)
    return "json" if _JSON.match(begun) else found


def ends_in_separator(found: Sniffed) -> bool:
    """Whether every row ends in a separator that the first line lacks."""
    if found.before != 1 or len(found.lines) < 2:
        return False
    named = len(fields_of(found.lines[0], found.delimiter, found.quote))
    return named == found.width - 1 and all(line.endswith(found.delimiter) for line in found.lines[1:])


def fields_of(line: str, delimiter: str, quote: str) -> list[str]:
    """A line cut at separators that are not inside quotes."""
    fields, start, inside = list[str](), 0, False
    for i, letter in enumerate(line):
        if quote and letter == quote:
            inside = not inside
        elif letter == delimiter and not inside:
            fields.append(line[start:i])
            start = i + 1
    return [*fields, line[start:]]


def _sample(file: DataFile) -> bytes:
    """The first bytes, to the last whole line of them."""
    if file.packed:
        with gzip.open(file.path, "rb") as packed:
            data = packed.read(SAMPLE)
    else:
        with file.path.open("rb") as plain:
            data = plain.read(SAMPLE)
    cut = data.rfind(b"\n") if len(data) == SAMPLE else -1
    return data[: cut + 1] if cut >= 0 else data


def _encoding(data: bytes) -> str:
    """UTF-8 where it is, else the commonest that has a letter where this file has one."""
    try:
        data.decode("utf-8")
        return "utf-8"
    except UnicodeDecodeError:
        return "windows-1252" if set(data) & set(_C1) else "latin-1"


def _breaks(data: bytes) -> str:
    if b"\n" in data or b"\r" not in data:
        return "\n"
    return "\r"


def _quote(lines: Sequence[str]) -> str:
    """Which of two quotes opens fields more often."""
    opened = {
        quote: sum(
            line.startswith(quote) + sum(line.count(mark + quote) for mark in SEPARATORS) for line in lines
        )
        for quote in ("'", '"')
    }
    return "'" if opened["'"] > 2 * opened['"'] else '"'


def _separator(lines: Sequence[str], quote: str, usual: str) -> tuple[str, int, int]:
    """The separator that cuts most lines into the same number of fields; lines before the table.

    Of several, the one that cuts the first line like the others: decimal commas cut rows, and no names of columns.
    Then the one that gives the most fields.
    """
    best: tuple[float, bool, int] = (0.0, False, 1)
    found = usual, 1, 0
    for mark in dict.fromkeys((usual, *SEPARATORS)):
        widths = [len(fields_of(line, mark, quote)) for line in lines]
        common = Counter(width for width in widths if width > 1).most_common(1)
        if not common:
            continue
        width, times = common[0]
        share, before = times / len(widths), widths.index(width)
        rank = (min(share, _MOSTLY), before == 0, width)
        if share >= _MOSTLY / 2 and rank > best:
            best, found = rank, (mark, width, before)
    return found
