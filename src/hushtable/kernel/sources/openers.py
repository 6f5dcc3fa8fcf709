"""The kinds of data by name: the one list from which opening, drafting and refusals take them.

A new kind is a file with an ``Opener`` and a line here, or a call of ``register`` from somebody else's code.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any, cast

from hushtable.addresses import scheme_of
from hushtable.errors import SourceError, UsageError
from hushtable.kernel.counter import Counter
from hushtable.kernel.sources import files
from hushtable.kernel.sources.arrow_table import ArrowOpener
from hushtable.kernel.sources.delta_table import DeltaOpener
from hushtable.kernel.sources.duckdb_file import DuckOpener
from hushtable.kernel.sources.engines import SparkLakeOpener, SparkOpener
from hushtable.kernel.sources.iceberg_table import IcebergOpener
from hushtable.kernel.sources.labelled_files import LabelledOpener
from hushtable.kernel.sources.look import Look
from hushtable.kernel.sources.opener import Opener, TableOpener
from hushtable.kernel.sources.pandas_frame import PandasOpener
from hushtable.kernel.sources.parquet import ParquetOpener
from hushtable.kernel.sources.parquet_folder import ParquetFolderOpener, S3Opener
from hushtable.kernel.sources.polars_frame import PolarsOpener
from hushtable.kernel.sources.postgres import PostgresOpener
from hushtable.kernel.sources.row_tables import Table, require_fit
from hushtable.kernel.sources.source import Source
from hushtable.kernel.sources.text_opener import TextOpener
from hushtable.kernel.sources.xlsx_sheet import XlsxOpener
from hushtable.plugins import Registry
from hushtable.schema import Schema

OPENERS: Registry[Opener] = Registry()


def register(opener: Opener) -> None:
    """Make a kind of data known, in place of one that had its name."""
    OPENERS[opener.name] = opener


for _opener in (
    TextOpener(),
    ParquetOpener(),
    XlsxOpener(),
    LabelledOpener(),
    ArrowOpener(),
    PolarsOpener(),
    PandasOpener(),
    PostgresOpener(),
    DuckOpener(),
    SparkLakeOpener(),
    SparkOpener(),
    DeltaOpener(),
    IcebergOpener(),
    ParquetFolderOpener(),
    S3Opener(),
):
    register(_opener)


def open_counter(data: Any, schema: Schema) -> Counter:
    """The counter of whatever data are of a known kind, if the schema fits them."""
    schema.csv.require_lines()
    opener, given = _recognised(data)
    counter = opener.open(given, schema)
    require_fit(counter.probe(), schema)
    return counter


def open_source(data: Any, schema: Schema, *, threads: int | None = None) -> Source:
    """The rows of data that are encoded here, as ``open_counter`` will count them."""
    schema.csv.require_lines()
    opener, given = _row_opener(data)
    source = opener.source(given, schema, threads)
    require_fit(source.headers, schema)
    return source


def open_table(data: Any, schema: Schema) -> Table:
    """The table whose rows are encoded here, for the curator's own look; whether the schema fits is not asked."""
    schema.csv.require_lines()
    opener, given = _row_opener(data)
    return opener.table(given, schema)


def look_at(data: Any, header: bool | None = None) -> Look:
    """The curator's own look at data: not private, and free."""
    opener, given = _recognised(data)
    guard, found = files.Guard("the data"), None
    with guard:
        found = opener.look(given, header)
    guard.raise_failure()
    return found or Look()


def pinned(data: Any) -> Any:
    """The same data; a table with versions, by the address of the version of now."""
    opener, _ = (None, data) if _scheme(data) is None else _recognised(data)
    return data if opener is None else opener.pinned(data)


def place_of(data: Any) -> str | None:
    """Where a ledger may say that the data are: the path of files, or a pinned table.

    Other URLs may hold a password, and are not kept.
    """
    if _scheme(data) is not None:
        return data if _recognised(data)[0].keeps_place else None
    return (
        str(Path(cast("str | PathLike[str]", data)).absolute()) if isinstance(data, str | PathLike) else None
    )


def _row_opener(data: Any) -> tuple[TableOpener, Any]:
    opener, given = _recognised(data)
    if not isinstance(opener, TableOpener):
        raise UsageError(
            "source.no-rows",
            f"Rows of {opener.what} are counted where they lie, and none are looked at here.",
            "Write those to look at to a Parquet file and give that; `coverage: 1%` in the schema publishes what a "
            "release leaves out.",
        )
    return opener, given


def _recognised(data: Any) -> tuple[Opener, Any]:
    """The kind of the data, and what its opener is given."""
    if (scheme := _scheme(data)) is not None:
        rest = str(data).partition(":")[2].removeprefix("//").lower()
        for opener in OPENERS.values():
            if scheme in opener.schemes and rest.startswith(opener.begins):
                return opener, data
        message = f"Data at a {scheme}: URL cannot be read, and a URL is not a path."
        raise SourceError("source.unknown-scheme", message, _known())
    if isinstance(data, str | PathLike) or _is_path_list(data):
        return _by_suffix(files.find(cast("str | PathLike[str] | list[str | PathLike[str]]", data)))
    for opener in OPENERS.values():
        if opener.takes(data):
            return opener, data
    raise SourceError("source.unknown-kind", f"Data of type {type(data).__name__} cannot be read.", _known())


def _scheme(data: Any) -> str | None:
    bare = {scheme for opener in OPENERS.values() if not opener.slashes for scheme in opener.schemes}
    return scheme_of(data, bare)


def _is_path_list(data: Any) -> bool:
    items: Any = data
    if not isinstance(data, list | tuple) or not all(isinstance(item, str | PathLike) for item in items):
        return False
    if any(map(_scheme, items)):
        raise SourceError("source.url-in-list", "A list of files cannot hold a URL.", _known())
    return True


def _by_suffix(found: list[files.DataFile]) -> tuple[Opener, list[files.DataFile]]:
    known = [(suffix, opener) for opener in OPENERS.values() for suffix in opener.suffixes]
    kinds: dict[str, Opener] = {}
    for file in found:
        kind = next((opener for suffix, opener in known if file.path.name.lower().endswith(suffix)), None)
        if kind is None:
            suffixes = ", ".join(suffix for suffix, _ in known)
            message = f"The kind of the file {file.shown} is not known."
            raise SourceError(
                "source.unknown-kind", message, f"Known are: {suffixes}; text with separators is .csv."
            )
        kinds[kind.name] = kind
    if len(kinds) > 1:
        raise SourceError(
            "source.mixed-kinds",
            f"{' and '.join(kinds).capitalize()} files cannot be read as one table.",
            "Convert them to one kind.",
        )
    return next(iter(kinds.values())), found


def _known() -> str:
    known = list(dict.fromkeys(opener.what for opener in OPENERS.values()))
    return f"Give {', '.join(known[:-1])} or {known[-1]}."
