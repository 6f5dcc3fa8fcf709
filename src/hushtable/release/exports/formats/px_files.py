"""PX (PC-Axis): one file for each table, as PxWeb and its kin read them.

The columns are values of a variable in the heading; words become numbers there, explained in a note, because a PX
file holds numbers alone.  Its texts have no escapes: a quotation mark becomes an apostrophe, a line break a space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING

from hushtable.release.exports.formats.export_format import ExportFile, FilePerTable
from hushtable.release.reading_lines import EXCEL_INSTEAD, ReadingLines, r_line

if TYPE_CHECKING:
    from hushtable.release.exports.column_sets import CellColumn
    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import ExportTable

DECIMALS = 3
"""Of the numbers: the noise is never known more exactly, and PX allows six."""
LONGEST_TEXT = 200
"""Letters between two quotation marks; a line of a PX file has 256 at most, and longer texts go on in the next."""
MISSING = '".."'
_MEASURE = "Measure"


class PxExport(FilePerTable):
    """Files for PxWeb."""

    name = "px"
    summary = "PC-Axis, one file a table, for PxWeb"
    suffix = ".px"
    media = "text/x-pcaxis"
    most_cells = 5_000_000
    """A PX file is read whole."""

    def write_table(self, book: ExportBook, table: ExportTable, file: Path) -> None:
        with file.open("w", encoding="utf-8", newline="\r\n") as out:
            for keyword, value in _keywords(book, table):
                out.write(f"{keyword}={value};\n")
            out.write("DATA=\n")
            out.writelines(" ".join(row) + "\n" for row in _rows(table))
            out.write(";\n")

    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        path = dumps(files[0].path)
        return ReadingLines(
            f"from pyaxis import pyaxis; pyaxis.parse({path}, encoding='utf-8')['DATA']",
            f"import polars; from pyaxis import pyaxis; "
            f"polars.from_pandas(pyaxis.parse({path}, encoding='utf-8')['DATA'])",
            r_line("pxR", f'as.data.frame(pxR::read.px({path}, encoding = "UTF-8"))'),
            EXCEL_INSTEAD,
        )


def _keywords(book: ExportBook, table: ExportTable) -> Iterator[tuple[str, str]]:
    """Every keyword with its value, in the order in which the format lists them."""
    names = _distinct([dimension.title for dimension in table.dimensions] + [_MEASURE])
    about, measure = book.about, names[-1]
    yield "CHARSET", '"ANSI"'
    yield "AXIS-VERSION", '"2013"'
    yield "CODEPAGE", '"utf-8"'
    yield "LANGUAGE", _text(about.language or "en")
    yield "CREATION-DATE", _text(_day(book.card.ledger.time))
    yield "DECIMALS", str(DECIMALS)
    yield "SHOWDECIMALS", "1"
    yield "MATRIX", _text(f"T{table.number}")
    yield "SUBJECT-CODE", '"HT"'
    yield "SUBJECT-AREA", _text(book.title)
    yield "TITLE", _text(table.title)
    yield "CONTENTS", _text(book.unit[:1].upper() + book.unit[1:])
    yield "UNITS", _text(book.unit)
    if table.dimensions:
        yield "STUB", _list(names[:-1])
    yield "HEADING", _text(measure)
    for dimension, name in zip(table.dimensions, names[:-1], strict=True):
        yield f"VALUES({_text(name)})", _list(_distinct(dimension.labels))
        yield f"CODES({_text(name)})", _list(_distinct(dimension.texts))
    yield f"VALUES({_text(measure)})", _list([m.title for m in table.measures])
    yield f"CODES({_text(measure)})", _list([m.name for m in table.measures])
    yield "LAST-UPDATED", _text(_day(book.card.ledger.time))
    if about.source:
        yield "SOURCE", _text(about.source)
    if about.contact:
        yield "CONTACT", _text(about.contact)
    coded = [_explained(m) for m in table.measures if m.kind == "word"]
    yield "NOTE", _text(" # ".join([*book.notes, *coded]))


def _rows(table: ExportTable) -> Iterator[list[str]]:
    codes = {m.name: {word: str(k) for k, word in enumerate(m.words)} for m in table.measures}
    for row in table.frame.select(m.name for m in table.measures).iter_rows():
        yield [
            MISSING
            if value is None
            else codes[m.name][value]
            if m.kind == "word"
            else f"{value:.{DECIMALS}f}"
            for m, value in zip(table.measures, row, strict=True)
        ]


def _explained(measure: CellColumn) -> str:
    return f"{measure.title}: " + ", ".join(f"{k} {word}" for k, word in enumerate(measure.words))


def _distinct(texts: Sequence[str]) -> list[str]:
    """The texts as PX can write them, with numbers behind those that would be alike."""
    taken: set[str] = set()
    shown: list[str] = []
    for text in map(_plain, texts):
        new, number = text, 1
        while new in taken:
            number += 1
            new = f"{text} ({number})"
        taken.add(new)
        shown.append(new)
    return shown


def _plain(text: str) -> str:
    """No quotation marks, no control characters, nothing empty."""
    cleaned = "".join(c if c.isprintable() else " " for c in text.replace('"', "'"))
    return cleaned or " "


def _text(text: str) -> str:
    plain = _plain(text)
    parts = [plain[k : k + LONGEST_TEXT] for k in range(0, len(plain), LONGEST_TEXT)]
    return "\n".join(f'"{part}"' for part in parts)


def _list(texts: Sequence[str]) -> str:
    """Texts behind one another, each on a line of its own where one line would be too long."""
    written = [_text(text) for text in texts]
    return (",\n" if sum(map(len, written)) > LONGEST_TEXT else ",").join(written)


def _day(time: str) -> str:
    """``20261117 18:05`` of a time as the ledger writes it."""
    return f"{time[:4]}{time[5:7]}{time[8:10]} {time[11:16]}"
