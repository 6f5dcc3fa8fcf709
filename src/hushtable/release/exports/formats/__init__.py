"""The formats of exports, each in a file of its own.

What a command offers, what an error lists and what is written comes from ``EXPORT_FORMATS``, in this order.  Modules
here load no library before something is written.
"""

from hushtable.release.exports.formats.csv_files import CsvExport
from hushtable.release.exports.formats.export_format import (
    EXPORT_FORMATS,
    ExportFile,
    ExportFormat,
    format_named,
    register,
)
from hushtable.release.exports.formats.json_stat import JsonStatExport
from hushtable.release.exports.formats.parquet_files import ParquetExport
from hushtable.release.exports.formats.px_files import PxExport
from hushtable.release.exports.formats.sdmx_files import SdmxExport
from hushtable.release.exports.formats.workbook import WorkbookExport

__all__ = ["EXPORT_FORMATS", "ExportFile", "ExportFormat", "format_named", "register"]

for _format in (CsvExport(), WorkbookExport(), SdmxExport(), JsonStatExport(), PxExport(), ParquetExport()):
    register(_format)
