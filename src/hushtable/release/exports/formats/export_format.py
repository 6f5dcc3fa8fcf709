"""What a format of an export is: a name, what it needs, and how it writes the tables of a book into a folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hushtable.errors import RefusedError, UsageError, WorkloadError
from hushtable.plugins import Registry
from hushtable.release.data_packages import FieldEntry, FieldType

if TYPE_CHECKING:
    import polars as pl

    from hushtable.release.exports.export_book import ExportBook
    from hushtable.release.exports.export_table import ExportTable
    from hushtable.release.reading_lines import ReadingLines


@dataclass(frozen=True)
class ExportFile:
    """A file of an export: its path in the folder, what it holds, and of a table which it is.

    ``fields`` describe its columns where it has columns, ``sheet`` and ``header`` (its row, from 1) where in a workbook
    it lies.
    """

    path: str
    title: str
    media: str
    table: int | None = None
    fields: tuple[FieldEntry, ...] = ()
    key: tuple[str, ...] = ()
    sheet: str | None = None
    header: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        told: dict[str, Any] = {"path": self.path, "title": self.title}
        return told | ({} if self.sheet is None else {"sheet": self.sheet})


class ExportFormat(ABC):
    """One way to write tables.

    ``package`` is what must be installed for it, by the extra of that name; ``most_cells`` is how many cells a file can
    hold (None: any number).
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    package: ClassVar[str | None] = None
    extra: ClassVar[str] = "office"
    most_cells: ClassVar[int | None] = None
    most_tables: ClassVar[int | None] = None

    @abstractmethod
    def write(self, book: ExportBook, folder: Path) -> Iterable[ExportFile]:
        """Write all tables of a book, and whatever describes them."""

    @abstractmethod
    def reading(self, files: Sequence[ExportFile]) -> ReadingLines:
        """Lines that open one of the files."""

    def check_installed(self) -> None:
        """Refuse a format whose package is missing."""
        if self.package is not None and find_spec(self.package) is None:
            raise RefusedError(
                "export.not-installed",
                f"Writing {self.name} needs the package {self.package}, which is not installed.",
                f"Type pip install 'hushtable[{self.extra}]'.",
            )

    def check_size(self, book: ExportBook) -> None:
        """Refuse what does not fit into such files."""
        crowded = self.most_tables is not None and len(book.names) > self.most_tables
        if crowded or (self.most_cells is not None and max(book.cells) > self.most_cells):
            raise WorkloadError(
                "export.too-large",
                f"{self.name} holds at most {self.most_tables or 'any number of'} tables"
                + (f" of {self.most_cells:,} cells." if self.most_cells else "."),
                "Name some tables with --table, or write parquet.",
            )


class FilePerTable(ExportFormat):
    """A format with a file for each table, in a folder of its own."""

    place: ClassVar[str] = "tables"
    suffix: ClassVar[str]
    media: ClassVar[str]

    def write(self, book: ExportBook, folder: Path) -> Iterable[ExportFile]:
        (folder / self.place).mkdir()
        for table in book.tables():
            path = f"{self.place}/{table.stem}{self.suffix}"
            shown = self.write_table(book, table, folder / path)
            fields, key = ((), ()) if shown is None else described(table, shown)
            yield ExportFile(path, table.title, self.media, table.number, fields, key)

    @abstractmethod
    def write_table(self, book: ExportBook, table: ExportTable, file: Path) -> pl.DataFrame | None:
        """Write one table; gives its columns as they are in the file, where it has columns."""


def described(table: ExportTable, shown: pl.DataFrame) -> tuple[tuple[FieldEntry, ...], tuple[str, ...]]:
    """The columns of a file, which are those of the table's frame in that order, and those that name a cell."""
    fields: list[FieldEntry] = []
    columns = shown.get_columns()
    count = len(table.dimensions)
    for dimension, column in zip(table.dimensions, columns[:count], strict=True):
        kind: FieldType = "integer" if column.dtype.is_integer() else "string"
        kind = "boolean" if str(column.dtype) == "Boolean" else kind
        words = tuple(column.unique(maintain_order=True).drop_nulls()) if kind == "string" else ()
        fields.append(FieldEntry(column.name, kind, dimension.title, "", words))
    for measure, column in zip(table.measures, columns[count:], strict=True):
        kind = "string" if measure.kind == "word" else "number"
        fields.append(FieldEntry(column.name, kind, measure.title, measure.meaning, measure.words))
    named = tuple(column.name for column in columns[:count])
    return tuple(fields), () if any(column.null_count() for column in columns[:count]) else named


EXPORT_FORMATS: Registry[ExportFormat] = Registry()
"""Every format by its name."""


def register(made: ExportFormat) -> None:
    """Make a format known."""
    EXPORT_FORMATS[made.name] = made


def format_named(name: str) -> ExportFormat:
    """The format of that name; refuses others."""
    if name not in EXPORT_FORMATS:
        near = get_close_matches(name.lower(), EXPORT_FORMATS, n=1)
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(
            "export.format",
            f"This format is not known.{meant}",
            f"Choose one of {', '.join(EXPORT_FORMATS)}.",
        )
    return EXPORT_FORMATS[name]
