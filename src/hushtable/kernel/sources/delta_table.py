"""Delta tables, read by ``deltalake`` in one version of theirs.

The version is that of the moment of opening, or the one that the address names, for every pass.  Rows come out of the
package's query reader, which leaves out those that a deletion vector marks; tables with features that change how rows
are read otherwise are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from hushtable.errors import SourceError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.database import package, quoted
from hushtable.kernel.sources.files import Guard
from hushtable.kernel.sources.lake_files import LakeColumn, LakeFiles, LakePart, deletes_not_applied
from hushtable.kernel.sources.lake_url import LakeUrl
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock
from hushtable.schema import Schema

_READ = frozenset({"deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of a table with which rows are read as they should be; what others do to rows is not known here."""


class DeltaTable:
    """A table in one version."""

    block = TYPED_ROWS
    shown = "the table"

    def __init__(self, url: str) -> None:
        self._package = package("deltalake", "delta")
        address = LakeUrl.read(url, "delta", ["version"])
        version = address.number("version")
        self._table: Any = None
        guard, features = Guard(self.shown), set[str]()
        with guard:
            self._table = self._package.DeltaTable(address.place, version=version)
            features = _features(self._table)
        if self._table is None:
            raise _absent(version)
        guard.raise_failure()
        if features - _READ:
            fix = "Write its rows to a table without column mapping and the like, or give a frame of Spark's connector."
            raise SourceError("source.table-feature", "The table has features that change its rows.", fix)
        self.version = int(self._table.version())
        schema = pa.schema(self._table.schema().to_arrow())
        self.headers = [Header("The table", list(schema.names), list(schema.types))]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows that the version has, in any order."""
        chosen = ", ".join(quoted((name,)) for name in columns)
        reader = self._package.QueryBuilder().register("rows", self._table)
        stream = pa.RecordBatchReader.from_stream(reader.execute(f"SELECT {chosen} FROM rows"))
        for batch in stream:
            for start in range(0, len(batch), size):
                yield ArrowBlock(batch.slice(start, size).columns)

    def files(self) -> LakeFiles:
        """The files of the version, for whoever reads them elsewhere; refused where rows of theirs are deleted."""
        guard, inside, root = Guard(self.shown), False, ""
        columns, parts, marked = list[LakeColumn](), list[LakePart](), True
        with guard:
            marked = "deletionVectors" in _features(self._table) and _rows(self._table.deletion_vectors()) > 0
            outside = set[str](self._table.metadata().partition_columns)
            kinds = dict(zip(self.headers[0].names, self.headers[0].types, strict=True))
            columns = [LakeColumn(name, kind, in_files=name not in outside) for name, kind in kinds.items()]
            url = str(self._table.table_uri).rstrip("/")
            named = url.removeprefix("file://")  # of a file's name only the part below the folder is decoded
            root = unquote(named) if named != url else url
            for added in pa.table(self._table.get_add_actions()).to_batches():
                said: Any = added.column("partition") if outside else None
                for k, size in enumerate(added.column("size_bytes").to_pylist()):
                    values = {name: said[k][name].cast(kinds[name]) for name in outside}
                    parts.append(LakePart(unquote(added.column("path")[k].as_py()), size, values))
            inside = sorted(f"{named}/{part.path}" for part in parts) == sorted(self._table.file_uris())
        guard.raise_failure()
        if marked:
            raise deletes_not_applied("delta")
        if not inside:
            fix = "Read it as delta:FOLDER, without Spark."
            raise SourceError("source.table-feature", "The table's files lie outside of its folder.", fix)
        return LakeFiles.of(columns, [replace(part, path=f"{root}/{part.path}") for part in parts])


class DeltaOpener(TableOpener):
    """Tables by the folder of their log."""

    name = "delta"
    what = "delta:FOLDER"
    schemes = ("delta",)
    keeps_place = True

    def table(self, data: str, schema: Schema | None) -> DeltaTable:
        return DeltaTable(data)

    def pinned(self, data: str) -> str:
        return LakeUrl.read(data, "delta", ["version"]).written("delta", version=DeltaTable(data).version)


def _features(table: Any) -> set[str]:
    found = table.protocol()
    features = set[str](found.reader_features or ())
    mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
    return features | ({"columnMapping"} if mapped else set[str]())


def _rows(stream: Any) -> int:
    return sum(map(len, pa.RecordBatchReader.from_stream(stream)))


def _absent(version: int | None) -> SourceError:
    if version is not None:
        fix = "Name a version that its log still has."
        return SourceError("source.no-version", "The table has no such version, or is not there.", fix)
    fix = "Give the folder that holds _delta_log, and check that you may read it."
    return SourceError("source.no-table", "There is no Delta table at this place.", fix)
