"""Exports of a release: the same tables in the formats that others read, each with its errors, flags and notes."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.release.exports.column_sets import COLUMN_SETS, CellColumn, ColumnSet
    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import Dimension, ExportTable
    from hushtable.release.exports.formats import (
        EXPORT_FORMATS,
        ExportFile,
        ExportFormat,
        format_named,
        register,
    )
    from hushtable.release.exports.writing import Exported, export_columns, write_changes, write_export
    from hushtable.release.reading_lines import ReadingLines
else:
    __getattr__, __dir__ = lazily(__name__)
