"""Writing an export: a folder with the tables in one format, their description and a README, whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.errors import UsageError
from hushtable.notebook import html_card
from hushtable.release.bundle import new_folder
from hushtable.release.data_packages import DATAPACKAGE, DataPackage, ResourceEntry
from hushtable.release.exports.column_sets import COLUMN_SETS, OfValue
from hushtable.release.exports.export_book import ExportBook
from hushtable.release.exports.export_table import slug
from hushtable.release.exports.formats import ExportFile, ExportFormat, format_named
from hushtable.release.reading_lines import how_to_read
from hushtable.release.table_value import COUNT
from hushtable.texts import counted
from hushtable.watching import Progress, silent

if TYPE_CHECKING:
    from hushtable.release.comparison import ReleaseComparison
    from hushtable.release.release import Release

README = "README.txt"
_AGAIN = "repeat the command"


@dataclass(frozen=True, repr=False)
class Exported:
    """An export on disk: where, in which format, and the files with what each holds."""

    folder: Path
    format: str
    alpha: float
    files: tuple[ExportFile, ...]

    @property
    def tables(self) -> int:
        """How many tables were written."""
        return sum(file.table is not None for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "folder": str(self.folder),
            "format": self.format,
            "alpha": self.alpha,
            "files": [file.to_dict() for file in self.files],
        }

    def __repr__(self) -> str:
        return f"<Exported {counted(self.tables, 'table')} as {self.format} to {self.folder}>"

    def _repr_html_(self) -> str:
        facts = {"format": self.format, "tables": self.tables, "files": len(self.files)}
        return html_card(f"Exported to {self.folder}", facts)


def write_export(
    release: Release,
    folder: str | PathLike[str],
    format: str,
    *,
    tables: Sequence[Sequence[str]] = (),
    alpha: float = 0.05,
    columns: str = "errors",
    raw: bool = False,
    progress: Progress | None = None,
) -> Exported:
    """Write tables of a release, by default all that were asked for, into a new folder.

    ``columns`` names a set of columns, or is a value such as ``mean(income)`` in the place of counts.
    """
    writer = format_named(format)
    writer.check_installed()
    offered = [name for name, made in COLUMN_SETS.items() if not made.changes]
    value = columns if "(" in columns else COUNT
    if value == COUNT and columns not in offered:
        raise UsageError(
            "export.columns", "This set of columns is not known.", f"Choose {', '.join(offered)}."
        )
    release.outline.check_value(value)
    columns = columns if value == COUNT else OfValue.name
    wanted = tuple(tuple(names) for names in tables) or release.marginals
    release.outline.check_tables(wanted)
    chosen = COLUMN_SETS[columns].of(release, value)
    for names in wanted:
        release.check_table(names)
    if chosen.value in release.schema.names:
        raise UsageError(
            "export.name-taken",
            f"An attribute is called {chosen.value}, as the exported numbers would be.",
            "Give it another name in the schema, or export without --publish.",
        )
    book = ExportBook(release, wanted, chosen, alpha, raw, progress or silent, value=value)
    writer.check_size(book)
    if chosen.whole:
        book = replace(book, whole=release.whole_numbers(wanted, alpha=alpha))
    return _written(book, writer, folder)


def export_columns(value: str, *, publish: bool) -> str:
    """The ``columns`` of an export of counts, whole if they are to be published, or of another value."""
    if value == COUNT:
        return "published" if publish else "errors"
    if publish:
        raise UsageError(
            "export.value", "Whole numbers that add up are made of counts alone.", "Leave --publish out."
        )
    return value


def write_changes(
    found: ReleaseComparison, folder: str | PathLike[str], format: str, *, raw: bool = False
) -> Exported:
    """Write every table that two releases tell, with what changed, into a new folder."""
    writer = format_named(format)
    writer.check_installed()
    chosen = COLUMN_SETS["changes"].of(found.this)
    taken = {measure.name for measure in chosen.measures(())} & set(found.this.schema.names)
    if taken:
        raise UsageError(
            "export.name-taken",
            f"An attribute is called {min(taken)}, as a column of the export would be.",
            "Compare with --csv, table by table.",
        )
    book = ExportBook(found.this, found.marginals, chosen, found.alpha, raw, changes=found)
    writer.check_size(book)
    return _written(book, writer, folder)


def _written(book: ExportBook, writer: ExportFormat, folder: str | PathLike[str]) -> Exported:
    with new_folder(folder, _AGAIN) as building:
        files = tuple(writer.write(book, building))
        (building / DATAPACKAGE).write_text(_package(book, files).to_json(), encoding="utf-8")
        (building / README).write_text(_readme(book, writer, files), encoding="utf-8")
    return Exported(Path(folder), writer.name, book.alpha, files)


def _package(book: ExportBook, files: Sequence[ExportFile]) -> DataPackage:
    about = book.about
    return DataPackage(
        name=slug(book.card.ledger.name) or "tables",
        title=book.title,
        description="\n".join(book.notes),
        resources=tuple(_resource(book, file) for file in files),
        created=book.card.ledger.time,
        sources=(about.source,) if about.source else (),
        contributors=(about.contact,) if about.contact else (),
    )


def _resource(book: ExportBook, file: ExportFile) -> ResourceEntry:
    name = slug(file.path) if file.table is None else book.stems[file.table - 1]
    more: dict[str, Any] = {"sheet": file.sheet, "header": file.header}
    suffix = Path(file.path).suffix[1:]
    return ResourceEntry(name, file.path, suffix, file.media, file.title, file.fields, file.key, **more)


def _readme(book: ExportBook, writer: ExportFormat, files: Sequence[ExportFile]) -> str:
    columns = [f"  {m.name:<16} {m.meaning}" for m in book.columns.measures(book.release.schema.names)]
    listed = [f"  {file.path:<32} {file.title}" for file in files]
    facts = [f"{heading}: {text}" for heading, text in book.facts]
    parts = [
        [book.title],
        facts,
        ["Files", *listed, f"  {DATAPACKAGE:<32} the same for programs: a Frictionless data package"],
        ["Columns", *columns],
        ["Notes", *(f"  {number}. {note}" for number, note in enumerate(book.notes, 1))],
        how_to_read(writer.reading(files)),
    ]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
