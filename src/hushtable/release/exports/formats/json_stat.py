"""JSON-stat 2.0: one dataset for each table, a collection that lists them.

The columns are categories of a last dimension with the role ``metric``; quality flags are the ``status`` of the value
that stands for a cell.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.release.exports.formats.export_format import ExportFile, FilePerTable
from hushtable.release.reading_lines import EXCEL_INSTEAD, ReadingLines, r_line

if TYPE_CHECKING:
    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import Dimension, ExportTable

COLLECTION = "collection.json"


class JsonStatExport(FilePerTable):
    """Datasets for the web."""

    name = "json-stat"
    summary = "JSON-stat 2.0, one dataset a table and a collection of them"
    suffix = ".json"
    media = "application/json"
    most_cells = 5_000_000
    """A JSON file is read whole: a million cells are about 60 MB."""

    def write(self, book: ExportBook, folder: Path) -> Iterable[ExportFile]:
        written = list(super().write(book, folder))
        listed = [{"class": "dataset", "href": file.path, "label": file.title} for file in written]
        _dump(
            {"version": "2.0", "class": "collection", "label": book.title, "link": {"item": listed}},
            folder / COLLECTION,
        )
        return [*written, ExportFile(COLLECTION, "all tables", self.media)]

    def write_table(self, book: ExportBook, table: ExportTable, file: Path) -> None:
        _dump(_dataset(book, table), file)

    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        path = json.dumps(files[0].path)
        read = f"pyjstat.Dataset.read(open({path}, encoding='utf-8')).write('dataframe')"
        return ReadingLines(
            f"from pyjstat import pyjstat; {read}",
            f"import polars; from pyjstat import pyjstat; polars.from_pandas({read})",
            r_line(
                "rjstat", f'rjstat::fromJSONstat(paste(readLines({path}, encoding = "UTF-8"), collapse = ""))'
            ),
            EXCEL_INSTEAD,
        )


def _dataset(book: ExportBook, table: ExportTable) -> dict[str, Any]:
    taken = {dimension.name for dimension in table.dimensions}
    metric = _free("measure", taken)
    values = table.frame.select(measure.name for measure in table.numeric).rows()
    flags = table.frame[book.columns.quality(book.release.schema.names)].to_list()
    place = [measure.name for measure in table.numeric].index(book.columns.value)
    width = len(table.numeric)
    measures = {
        "label": "Measure",
        "category": {
            "index": [measure.name for measure in table.numeric],
            "label": {measure.name: measure.title for measure in table.numeric},
            "note": {measure.name: [measure.meaning] for measure in table.numeric},
        },
    }
    return {
        "version": "2.0",
        "class": "dataset",
        "label": table.title,
        "source": book.about.source or book.title,
        "updated": book.card.ledger.time,
        "note": list(book.notes),
        "id": [*(dimension.name for dimension in table.dimensions), metric],
        "size": [*table.shape, width],
        "role": {"metric": [metric]},
        "dimension": {**{d.name: _dimension(d) for d in table.dimensions}, metric: measures},
        "value": [number for row in values for number in row],
        "status": {str(cell * width + place): flag for cell, flag in enumerate(flags)},
    }


def _dimension(dimension: Dimension) -> dict[str, Any]:
    codes = dimension.texts if len(set(dimension.texts)) == len(dimension.texts) else dimension.labels
    return {
        "label": dimension.title,
        "category": {"index": list(codes), "label": dict(zip(codes, dimension.labels, strict=True))},
    }


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _dump(value: Any, file: Path) -> None:
    file.write_text(json.dumps(value, ensure_ascii=False, allow_nan=False), encoding="utf-8")
