"""SPSS (.sav, .zsav) and Stata (.dta) files, by pyreadstat: columns of numbers, days or texts, as the file says.

Its reader refuses a whole file for one byte that is no letter in the file's encoding.  So bytes are read as they are,
one for each letter of Latin-1, and every text is decoded by itself; one that cannot be is a value that fits nothing.
Missing values, system's and user's, are nulls.  All of the wanted columns are in memory while they are read.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from math import floor, isfinite
from typing import Any

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.database import package
from hushtable.kernel.sources.files import DataFile, Guard, shown
from hushtable.kernel.sources.look import ColumnWords, Look
from hushtable.kernel.sources.objects import Objects
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock
from hushtable.kernel.sources.typed import UNTYPED
from hushtable.kernel.sources.xlsx_sheet import ODD, whole
from hushtable.schema import Schema

_RAW = "LATIN1"
_SPSS_DAYS = ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "DATETIME", "YMDHMS")
_SPSS_MONTHS = {"MOYR": 1, "QYR": 3}
"""Months that a format shows as one: the number still has a day, which nobody sees."""
_SPSS_START, _STATA_START = date(1582, 10, 14), date(1960, 1, 1)  # where the two count days from
_SECONDS = 86_400  # of a day
_OLD_STATA = "cp1252"
Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class LabelledFile:
    """What a file says of its columns: names as its reader knows them, how each is read, and what values are called."""

    names: tuple[str, ...]
    raw: tuple[str, ...]
    readers: tuple[Convert, ...]
    words: Mapping[str, ColumnWords]


class LabelledFiles:
    """Several files of one kind."""

    block = TYPED_ROWS

    def __init__(self, files: Sequence[DataFile]) -> None:
        package("pyreadstat", "office")
        self._files = files
        self.shown = shown(files)
        self.known = [_known(file) for file in files]
        self.headers = [
            Header(file.shown, list(known.names), [UNTYPED] * len(known.names))
            for file, known in zip(files, self.known, strict=True)
        ]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of the named columns, at most ``size`` at a time, in file order."""
        for file, known in zip(self._files, self.known, strict=True):
            file.require_unchanged()
            places = [known.names.index(name) for name in columns]
            found, _ = _reader(file)(
                str(file.path),
                encoding=_RAW,
                usecols=list(dict.fromkeys(known.raw[place] for place in places)),
                disable_datetime_conversion=True,
                output_format="dict",
            )
            values = [found[known.raw[place]] for place in places]
            for start in range(0, len(values[0]), size):
                yield ArrowBlock(
                    [
                        Objects([_one(known.readers[place], cell) for cell in column[start : start + size]])
                        for place, column in zip(places, values, strict=True)
                    ]
                )
            file.require_unchanged()


class LabelledOpener(TableOpener):
    """Files of SPSS and Stata."""

    name = "labelled"
    what = "a path, a glob or a list of paths"
    suffixes = (".sav", ".zsav", ".dta")

    def table(self, data: Sequence[DataFile], schema: Schema | None) -> LabelledFiles:
        return LabelledFiles(data)

    def look(self, data: Sequence[DataFile], header: bool | None) -> Look:
        files = LabelledFiles(data)
        return Look.at(files, words=files.known[0].words)


def _known(file: DataFile) -> LabelledFile:
    guard, found = Guard(file.shown), None
    with guard:
        found = _described(file)
    guard.raise_failure()
    return found or LabelledFile((), (), (), {})


def _reader(file: DataFile) -> Any:
    library = package("pyreadstat", "office")
    return library.read_dta if _is_stata(file) else library.read_sav


def _is_stata(file: DataFile) -> bool:
    return file.path.name.lower().endswith(".dta")


def _described(file: DataFile) -> LabelledFile:
    """Names, formats and labels; no row is read."""
    _, meta = _reader(file)(str(file.path), metadataonly=True, encoding=_RAW)
    encoding = _encoding(file)
    decode = partial(_text, encoding)
    raw = tuple(meta.column_names)
    named = tuple(text if isinstance(text := decode(name), str) else "" for name in raw)
    readers = tuple(
        decode if meta.readstat_variable_types[name] == "string" else _numbers(file, meta, name)
        for name in raw
    )
    words: dict[str, ColumnWords] = {}
    for name, shown_name in zip(raw, named, strict=True):
        labels = meta.variable_value_labels.get(name, {})
        title = decode(meta.column_names_to_labels.get(name) or "")
        values = {_shown(decode, value): str(decode(label)) for value, label in labels.items() if label}
        words[shown_name] = ColumnWords(title if isinstance(title, str) else "", values)
    return LabelledFile(named, raw, readers, words)


def _shown(decode: Convert, value: Any) -> str:
    return str(whole(float(value))) if isinstance(value, int | float) else str(decode(value))


def _one(convert: Convert, cell: Any) -> Any:
    """A cell; whatever is wrong with it, no other one may notice."""
    if cell is None:
        return None
    try:
        return convert(cell)
    except Exception:
        return ODD


def _text(encoding: str, raw: str) -> Any:
    """A text by the bytes that the file has; the bytes themselves where they are no text."""
    data = raw.encode("latin-1")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data


def _encoding(file: DataFile) -> str:
    """What the file declares: Stata since version 14 writes UTF-8, before that the letters of Windows."""
    if _is_stata(file):
        with file.path.open("rb") as start:
            head = start.read(64)
        release = head.partition(b"<release>")[2][:3]
        return "utf-8" if release >= b"118" else _OLD_STATA
    try:
        _, meta = _reader(file)(str(file.path), metadataonly=True)
        return codecs.lookup(str(meta.file_encoding)).name
    except Exception:  # a label that is no text in it, or a name that Python does not know
        return "utf-8"


def _numbers(file: DataFile, meta: Any, name: str) -> Convert:
    """How numbers of a column are read: as days where its format says so."""
    written = str(meta.original_variable_types.get(name) or "")
    if _is_stata(file):
        return _STATA.get(written[:3] if written.startswith("%t") else written[:2], _plain)
    letters = written.rstrip("0123456789.")
    if letters in _SPSS_MONTHS:
        return partial(_spss_months, _SPSS_MONTHS[letters])
    return _spss_day if letters in _SPSS_DAYS else _plain


def _plain(number: float) -> Any:
    found = float(number)
    return whole(found) if isfinite(found) else ODD


def _spss_day(seconds: float) -> date:
    return _SPSS_START + timedelta(days=floor(seconds / _SECONDS))


def _spss_months(each: int, seconds: float) -> date:
    day = _spss_day(seconds)
    return date(day.year, day.month - (day.month - 1) % each, 1)


def _stata_day(days: float) -> date:
    return _STATA_START + timedelta(days=floor(days))


def _stata_moment(milliseconds: float) -> date:
    return _STATA_START + timedelta(days=floor(milliseconds / (1000 * _SECONDS)))


def _stata_months(each: int, number: float) -> date:
    months = floor(number) * each
    return date(1960 + months // 12, months % 12 + 1, 1)


_STATA: Mapping[str, Convert] = {
    "%d": _stata_day,
    "%td": _stata_day,
    "%tc": _stata_moment,
    "%tC": _stata_moment,
    "%tm": partial(_stata_months, 1),
    "%tq": partial(_stata_months, 3),
    "%th": partial(_stata_months, 6),
}
"""How Stata counts the days of a format: by days, milliseconds, months, quarters or half years since 1960."""
