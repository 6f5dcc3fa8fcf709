"""SDMX-CSV 2.0: a file for each table, and the structure that says what its columns and codes are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.release.data_packages import FieldEntry
from hushtable.release.exports.formats.export_format import ExportFile, ExportFormat
from hushtable.release.exports.formats.sdmx_structure import (
    AGENCY,
    OBS_STATUS,
    TIME_PERIOD,
    VERSION,
    SdmxNames,
    SdmxStructure,
    concept_id,
)
from hushtable.release.reading_lines import ReadingLines, csv_lines

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from hushtable.release import quality
    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import ExportTable
else:
    np, pl, quality = Later("numpy"), Later("polars"), Later("hushtable.release.quality")

STRUCTURE = "structure.xml"
MEDIA, STRUCTURE_MEDIA = "application/vnd.sdmx.data+csv", "application/vnd.sdmx.structure+xml"


class SdmxExport(ExportFormat):
    """Data for statistical offices."""

    name = "sdmx-csv"
    summary = "SDMX-CSV 2.0, one file a table, with structure and codelists (SDMX-ML 2.1)"

    def write(self, book: ExportBook, folder: Path) -> Iterable[ExportFile]:
        names = SdmxNames(book)
        (folder / STRUCTURE).write_bytes(SdmxStructure(book, names).to_bytes())
        (folder / "data").mkdir()
        for table in book.tables():
            path = f"data/{table.stem}.csv"
            shown = _frame(table, names)
            shown.write_csv(folder / path)
            yield ExportFile(path, table.title, MEDIA, table.number, _fields(shown))
        yield ExportFile(
            STRUCTURE, "dataflows, structures, concepts and codelists", "application/vnd.sdmx.structure+xml"
        )

    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        plain, path = csv_lines(files[0].path), dumps(files[0].path)
        known = f"from pysdmx.io import get_datasets; get_datasets({path}, {dumps(STRUCTURE)})"
        return ReadingLines(f"{plain.pandas}; or {known}", plain.polars, plain.r, plain.excel)


def _frame(table: ExportTable, names: SdmxNames) -> pl.DataFrame:
    """The columns of SDMX-CSV: the structure, the codes of each dimension, the value and its attributes."""
    rows = table.frame.height
    flow = f"{AGENCY}:{names.flow(table.number)}({VERSION})"
    columns: list[pl.Series] = [
        pl.Series(name, [text]).new_from_index(0, rows)
        for name, text in (("STRUCTURE", "dataflow"), ("STRUCTURE_ID", flow), ("ACTION", "I"))
    ]
    places: Any = np.indices(table.shape or (1,)).reshape(max(1, len(table.shape)), rows)
    for k, dimension in enumerate(names.of_table(table.dimensions)):
        columns.append(pl.Series(dimension.id, dimension.codes).gather(places[k]))
    if names.period:
        columns.append(pl.Series(TIME_PERIOD, [names.period]).new_from_index(0, rows))
    for measure in table.measures:
        values = table.frame[measure.name].alias(names.column(measure))
        words = {word: concept_id(word) for word in measure.words}
        columns.append(
            values if measure.kind == "number" else values.replace_strict(words, return_dtype=pl.String)
        )
    states = {flag.name: flag.status for flag in quality.QUALITY_FLAGS}
    status = table.frame[names.quality].replace_strict(states, return_dtype=pl.String)
    return pl.DataFrame([*columns, status.alias(OBS_STATUS)])


def _fields(shown: pl.DataFrame) -> tuple[FieldEntry, ...]:
    """The columns by their types; the structure says the rest."""
    numbers = {column.name for column in shown if column.dtype.is_numeric()}
    return tuple(FieldEntry(name, "number" if name in numbers else "string") for name in shown.columns)
