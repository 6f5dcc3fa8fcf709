"""CSV: one file for each table, labels as readers know them, safe to open in a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushtable.lazily import Later
from hushtable.release.exports.formats.export_format import ExportFile, FilePerTable
from hushtable.release.reading_lines import ReadingLines, csv_lines

if TYPE_CHECKING:
    import polars as pl

    from hushtable import spreadsheets
    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import ExportTable
else:
    spreadsheets = Later("hushtable.spreadsheets")


class CsvExport(FilePerTable):
    """Plain files that everything opens."""

    name = "csv"
    summary = "one file a table; everything opens it"
    suffix = ".csv"
    media = "text/csv"

    def write_table(self, book: ExportBook, table: ExportTable, file: Path) -> pl.DataFrame:
        shown = table.frame if book.raw else spreadsheets.neutralised(table.frame)
        shown.write_csv(file)
        return shown

    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        return csv_lines(files[0].path)
