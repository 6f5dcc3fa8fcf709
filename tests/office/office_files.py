"""Tables as files of offices: workbooks written cell by cell, SPSS and Stata files with bytes put in afterwards."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pandas as pd
import pyreadstat
import xlsxwriter

DAY_STYLE = 1
"""The number of the style that makes a number a day, in workbooks that are written here."""


@dataclass(frozen=True)
class RawCell:
    """A cell of a sheet as XML has it: its type, what is inside, its style."""

    kind: str
    inside: str
    style: int = 0


def xlsx(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    """A workbook of ordinary and raw cells: made by XlsxWriter, the rows of its sheet written here."""
    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet("people")
        sheet.write_datetime(0, 0, datetime(2000, 1, 1), book.add_format({"num_format": "yyyy-mm-dd"}))
    lines = [
        [RawCell("inlineStr", _inline(name)) for name in columns],
        *([_cell(v) for v in row] for row in rows),
    ]
    data = "".join(_row(number, cells) for number, cells in enumerate(lines, 1))
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    name = "xl/worksheets/sheet1.xml"
    head, _, rest = parts[name].decode().partition("<sheetData>")
    tail = rest.partition("</sheetData>")[2]
    parts[name] = f"{head}<sheetData>{data}</sheetData>{tail}".encode("utf-8", "replace")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for part, content in parts.items():
            new.writestr(part, content)
    return path


def _row(number: int, cells: Sequence[RawCell | None]) -> str:
    shown = "".join(
        f'<c r="{_letters(k)}{number}" s="{cell.style}" t="{cell.kind}">{cell.inside}</c>'
        for k, cell in enumerate(cells)
        if cell is not None
    )
    return f'<row r="{number}">{shown}</row>'


def _letters(place: int) -> str:
    return (chr(64 + place // 26) if place >= 26 else "") + chr(65 + place % 26)


def _cell(value: Any) -> RawCell | None:
    if value is None or isinstance(value, RawCell):
        return value
    if isinstance(value, bool):
        return RawCell("b", f"<v>{int(value)}</v>")
    if isinstance(value, int | float):
        return RawCell("n", f"<v>{value!r}</v>")
    if isinstance(value, date):
        days = (value - date(1899, 12, 30)).days
        return RawCell("n", f"<v>{days}</v>", DAY_STYLE)
    return RawCell("inlineStr", _inline(str(value)))


def _inline(text: str) -> str:
    return f'<is><t xml:space="preserve">{escape(text)}</t></is>'


def legal(text: str) -> bool:
    """Whether XML can hold a text as it is; it makes one line break of two."""
    return all(
        c in "\t\n" or "\x20" <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" for c in text
    )


def spss(path: Path, frame: pd.DataFrame, bytes_for: dict[str, bytes] | None = None, **more: Any) -> Path:
    """A file of SPSS; texts that stand for bytes of the same length are replaced by them."""
    pyreadstat.write_sav(frame, str(path), **more)
    return _patched(path, bytes_for or {})


def stata(path: Path, frame: pd.DataFrame, bytes_for: dict[str, bytes] | None = None, **more: Any) -> Path:
    """The same for Stata."""
    pyreadstat.write_dta(frame, str(path), **more)
    return _patched(path, bytes_for or {})


def _patched(path: Path, bytes_for: dict[str, bytes]) -> Path:
    data = path.read_bytes()
    for text, raw in bytes_for.items():
        assert len(text.encode()) == len(raw)
        data = data.replace(text.encode(), raw)
    path.write_bytes(data)
    return path
