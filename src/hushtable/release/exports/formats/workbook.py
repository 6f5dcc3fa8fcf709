"""A workbook as offices ask for it: a cover, contents, notes, and one table on each sheet.

No cell is merged or left empty inside a table, headings stand in one row, each table is a named one that filters and
screen readers know, and nothing lies below it.  Texts are texts: none is run as a formula.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.release.exports.formats.export_format import ExportFile, ExportFormat, described
from hushtable.release.reading_lines import ReadingLines, r_line
from hushtable.texts import visible

if TYPE_CHECKING:
    import polars as pl

    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import ExportTable
else:
    pl = Later("polars")

FILE = "tables.xlsx"
HEADER = 5
"""Row of the headings: above them are title, notes, source and the way back."""
NARROWEST, WIDEST = 12, 60
"""Letters of a column's width: a number with its commas; longer texts wrap."""
_MEDIA = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


class WorkbookExport(ExportFormat):
    """A file for people at a desk."""

    name = "xlsx"
    summary = "one workbook: cover, contents, notes, one table a sheet"
    package = "xlsxwriter"
    most_cells = 1_048_576 - HEADER
    """Rows of a sheet."""
    most_tables = 500
    """More sheets open slowly, and nobody leafs through them."""

    def write(self, book: ExportBook, folder: Path) -> Iterable[ExportFile]:
        library: Any = import_module("xlsxwriter")
        made = library.Workbook(
            str(folder / FILE),
            {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False},
        )
        sheets = _Sheets(book, made)
        sheets.cover()
        sheets.contents()
        sheets.notes()
        files: list[ExportFile] = []
        for table in book.tables():
            fields, key = described(table, sheets.table(table))
            where: dict[str, Any] = {"sheet": _sheet(table.number), "header": HEADER}
            files.append(ExportFile(FILE, table.title, _MEDIA, table.number, fields, key, **where))
        made.close()
        return files

    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        path, sheet = dumps(files[0].path), dumps(files[0].sheet)
        skipped = HEADER - 1
        return ReadingLines(
            f"import pandas; pandas.read_excel({path}, sheet_name={sheet}, header={skipped})",
            f'import polars; polars.read_excel({path}, sheet_name={sheet}, engine="openpyxl", '
            f'read_options={{"header_row": {skipped}}})',
            r_line("readxl", f"readxl::read_excel({path}, sheet = {sheet}, skip = {skipped})"),
            f"open {files[0].path}",
        )


class _Sheets:
    """The sheets of one workbook."""

    def __init__(self, book: ExportBook, made: Any) -> None:
        self._book, self._made = book, made
        made.set_properties(
            {
                "title": visible(book.title),
                "comments": "Differentially private tables",
                "created": datetime.fromisoformat(book.card.ledger.time.replace("Z", "+00:00")).replace(
                    tzinfo=None
                ),
            }
        )
        self._bold = made.add_format({"bold": True, "font_size": 14})
        self._wrapped = made.add_format({"text_wrap": True, "valign": "top"})
        self._number = made.add_format({"num_format": "#,##0.0"})
        self._heading = made.add_format({"bold": True, "text_wrap": True, "valign": "top"})

    def cover(self) -> None:
        """What the tables are about and what their privacy cost."""
        sheet = self._sheet("Cover", self._book.title)
        self._listed(sheet, ("Fact", "Text"), self._book.facts, widths=(24, WIDEST + 20))

    def contents(self) -> None:
        """Every table with a link to its sheet."""
        sheet = self._sheet("Contents", "Contents")
        rows = [(_sheet(k), self._book.table_title(names)) for k, names in enumerate(self._book.names, 1)]
        self._listed(sheet, ("Sheet", "Table"), rows, widths=(24, WIDEST + 20))
        for row, (name, _) in enumerate(rows, 2):
            sheet.write_url(row, 0, f"internal:'{name}'!A1", string=name)

    def notes(self) -> None:
        """What a reader must know, numbered, and what the columns mean."""
        sheet = self._sheet("Notes", "Notes and columns")
        notes = [(f"Note {k}", note) for k, note in enumerate(self._book.notes, 1)]
        measures = self._book.columns.measures(self._book.release.schema.names)
        columns = [(f"Column {measure.title}", measure.meaning) for measure in measures]
        self._listed(sheet, ("Note", "Text"), [*notes, *columns], widths=(24, WIDEST + 20))

    def table(self, table: ExportTable) -> pl.DataFrame:
        """One table from the header row on; gives it as it is written: labels are texts."""
        sheet = self._sheet(_sheet(table.number), table.title)
        source = self._book.about.source
        sheet.write_string(1, 0, "Columns and quality flags are explained on the sheet Notes.")
        sheet.write_string(
            2, 0, f"Source: {visible(source)}" if source else "Differentially private estimates."
        )
        sheet.write_url(3, 0, "internal:'Contents'!A1", string="Back to contents")
        names = [visible(dimension.title) for dimension in table.dimensions]
        heads = _distinct([*names, *(measure.title for measure in table.measures)])
        shown = _labelled(table, heads)
        self._columns(sheet, shown)
        end = HEADER - 1 + table.frame.height
        options = {
            "name": f"Data_{table.number}",
            "columns": [{"header": head, "header_format": self._heading} for head in heads],
            "style": "Table Style Light 1",
        }
        sheet.add_table(HEADER - 1, 0, end, len(heads) - 1, options)
        sheet.freeze_panes(HEADER, len(names))
        return shown

    def _columns(self, sheet: Any, shown: pl.DataFrame) -> None:
        for place, column in enumerate(shown.get_columns()):
            values, longest = column.to_list(), NARROWEST
            if column.dtype.is_numeric():
                for row, value in enumerate(values, HEADER):
                    if value is not None:
                        sheet.write_number(row, place, value, self._number)
            else:
                longest = max([longest, *map(len, values)])
                for row, text in enumerate(values, HEADER):
                    sheet.write_string(row, place, text)
            sheet.set_column(place, place, min(longest + 2, WIDEST))

    def _sheet(self, name: str, title: str) -> Any:
        sheet = self._made.add_worksheet(name)
        sheet.write_string(0, 0, visible(title), self._bold)
        return sheet

    def _listed(
        self, sheet: Any, heads: Sequence[str], rows: Sequence[Sequence[str]], widths: Sequence[int]
    ) -> None:
        """Two columns of texts below the title."""
        for column, (head, width) in enumerate(zip(heads, widths, strict=True)):
            sheet.set_column(column, column, width)
            sheet.write_string(1, column, head, self._heading)
        for row, texts in enumerate(rows, 2):
            for column, text in enumerate(texts):
                sheet.write_string(row, column, visible(text), self._wrapped)


def _sheet(number: int) -> str:
    return f"Table_{number}"


def _labelled(table: ExportTable, heads: Sequence[str]) -> pl.DataFrame:
    """The table under its headings, categories as labels that can be seen."""
    count = len(table.dimensions)
    columns = [
        _texts(column) if place < count else column for place, column in enumerate(table.frame.get_columns())
    ]
    return pl.DataFrame([column.alias(head) for column, head in zip(columns, heads, strict=True)])


def _texts(values: pl.Series) -> pl.Series:
    shown = {value: visible(_shown(value)) for value in values.unique().to_list()}
    return pl.Series(values.name, [shown[value] for value in values.to_list()], dtype=pl.String)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "(null)" if value is None else str(value)


def _distinct(heads: Sequence[str]) -> list[str]:
    """Headings of a table must differ, also where letters have no case."""
    taken: set[str] = set()
    made: list[str] = []
    for head in heads:
        new, number = head or "(empty)", 1
        while new.lower() in taken:
            number += 1
            new = f"{head} ({number})"
        taken.add(new.lower())
        made.append(new)
    return made
