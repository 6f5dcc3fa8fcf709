"""Workbooks (XLSX): the first sheet, its first row the names of the columns, every other row with a value a record.

A cell says by itself what it is: text, number, day, true or false; nothing is inferred from other cells, and a cell
that cannot be read, such as an error of a formula, is a value that fits nothing.  openpyxl opens the file; cells are
read here, because it ends at the first that it does not understand, and warns with its value.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from hushtable.errors import SourceError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.database import package
from hushtable.kernel.sources.files import DataFile, shown
from hushtable.kernel.sources.look import Look
from hushtable.kernel.sources.objects import Objects
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, described
from hushtable.kernel.sources.typed import UNTYPED
from hushtable.schema import Schema

ODD = object()
"""A cell that is no value: it fits no attribute, and is nobody's key."""
_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_ROW, _DATA, _VALUE, _INLINE = (f"{_SPACE}{name}" for name in ("row", "sheetData", "v", "is"))
_SMALL = 1 << 53
"""Whole numbers up to here have a float of their own; a larger one stays the float that it is written as."""


_LOOKED = 50
"""Rows in which names of columns are looked for, below a title: longer notes above a table were not met."""


class XlsxSheets:
    """The first sheets of several workbooks."""

    block = TYPED_ROWS

    def __init__(self, files: Sequence[DataFile]) -> None:
        package("openpyxl", "office")
        self._files = files
        self.shown = shown(files)
        self.headers = [described(file.shown, lambda file=file: _header(file)) for file in files]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All records of the named columns, at most ``size`` at a time, in file order."""
        for file, header in zip(self._files, self.headers, strict=True):
            file.require_unchanged()
            places = [header.names.index(name) for name in columns]
            with _rows(file) as rows:
                next(rows, None)
                records = (row for row in rows if any(value is not None for value in row.values()))
                while batch := list(islice(records, size)):
                    yield ArrowBlock([Objects([row.get(place) for row in batch]) for place in places])
            file.require_unchanged()


class XlsxOpener(TableOpener):
    """Workbooks of Excel and others."""

    name = "xlsx"
    what = "a path, a glob or a list of paths"
    suffixes = (".xlsx", ".xlsm")

    def table(self, data: Sequence[DataFile], schema: Schema | None) -> XlsxSheets:
        return XlsxSheets(data)

    def look(self, data: Sequence[DataFile], header: bool | None) -> Look:
        files = XlsxSheets(data)
        for file in data:
            if rows_above(file):
                raise SourceError(
                    "source.title-rows",
                    f"The first row of {file.shown} does not name its columns.",
                    "Remove the rows above the names of the columns.",
                )
        return Look.at(files)


def _header(file: DataFile) -> Header:
    """Names of the first row; a cell that is no text names nothing."""
    with _rows(file) as rows:
        first: dict[int, Any] = next(rows, dict[int, Any]())
    width = max(first, default=-1) + 1
    cells = [first.get(place) for place in range(width)]
    names = [cell if isinstance(cell, str) else "" for cell in cells]
    return Header(file.shown, names, [UNTYPED] * width)


def rows_above(file: DataFile) -> int:
    """Rows above the names of the columns, such as a title, by the look of the first rows; for the curator alone."""
    with _rows(file) as rows:
        filled = [[cell for cell in row.values() if cell is not None] for row in islice(rows, _LOOKED)]
    widest = max(map(len, filled), default=0)
    if not filled or 2 * len(filled[0]) > widest:
        return 0
    named = (
        place
        for place, cells in enumerate(filled)
        if 2 * len(cells) > widest and all(isinstance(cell, str) for cell in cells)
    )
    return next(named, 0)


@contextmanager
def _rows(file: DataFile) -> Generator[Iterator[dict[int, Any]]]:
    """The rows of the first sheet: what each cell holds, by its place from 0."""
    openpyxl = package("openpyxl", "office")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and extensions, which mean nothing here
        book = openpyxl.load_workbook(file.path, read_only=True, data_only=True, keep_links=False)
    try:
        sheet = book.worksheets[0]
        with sheet._get_source() as source:
            yield _read(source, _SheetCells(book, sheet._shared_strings))
    finally:
        book.close()


def _read(source: Any, cells: _SheetCells) -> Iterator[dict[int, Any]]:
    from xml.etree.ElementTree import iterparse

    for _, element in iterparse(source):
        if element.tag == _ROW:
            yield cells.of_row(element)
            element.clear()
        elif element.tag == _DATA:
            return  # what follows says how the sheet looks


class _SheetCells:
    """What the cells of a workbook mean: its texts, and the styles that make a number a day."""

    def __init__(self, book: Any, texts: Sequence[str]) -> None:
        self._texts = texts
        self._epoch = book.epoch
        self._days = frozenset(map(str, book._date_formats))
        self._spans = frozenset(map(str, book._timedelta_formats))

    def of_row(self, row: Any) -> dict[int, Any]:
        found: dict[int, Any] = {}
        place = -1
        for cell in row:
            place = _column(cell.get("r"), place + 1)
            try:
                found[place] = self._value(cell)
            except Exception:  # whatever is wrong with a cell, no other one may notice
                found[place] = ODD
        return found

    def _value(self, cell: Any) -> Any:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            inside = cell.find(_INLINE)
            return None if inside is None else "".join(inside.itertext()) or None
        text = cell.findtext(_VALUE)
        if text is None or text == "":
            return None
        if kind == "s":
            place = int(text)
            return self._texts[place] or None if place >= 0 else ODD
        if kind == "b":
            return {"0": False, "1": True}.get(text, ODD)
        if kind == "n":
            return self._number(text, cell.get("s", "0"))
        if kind == "d":
            return package("openpyxl.utils.datetime", "office").from_ISO8601(text)
        return text if kind == "str" else ODD

    def _number(self, text: str, style: str) -> Any:
        number = float(text)
        if style in self._days:
            if style in self._spans:
                return ODD
            return package("openpyxl.utils.datetime", "office").from_excel(number, self._epoch)
        return whole(number)


def whole(number: float) -> float | int:
    """A number without a fraction as the whole number that it is, so that it can be a key."""
    return int(number) if abs(number) <= _SMALL and number.is_integer() else number


def _column(reference: str | None, otherwise: int) -> int:
    """The place of a cell from its reference such as ``AB12``; the next one where it has none."""
    letters = (reference or "").rstrip("0123456789")
    if not letters.isascii() or not letters.isalpha() or len(letters) > 3:
        return otherwise
    place = 0
    for letter in letters.upper():
        place = 26 * place + ord(letter) - 64
    return place - 1
