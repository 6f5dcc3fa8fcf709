"""Parquet: one typed file for each table, exact to the last bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hushtable.release.exports.formats.export_format import ExportFile, FilePerTable
from hushtable.release.reading_lines import ReadingLines, parquet_lines

if TYPE_CHECKING:
    import polars as pl

    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import ExportTable


class ParquetExport(FilePerTable):
    """Typed files for programs."""

    name = "parquet"
    summary = "one typed file a table, for programs"
    suffix = ".parquet"
    media = "application/vnd.apache.parquet"

    def write_table(self, book: ExportBook, table: ExportTable, file: Path) -> pl.DataFrame:
        table.frame.write_parquet(file)
        return table.frame

    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        return parquet_lines(files[0].path)
