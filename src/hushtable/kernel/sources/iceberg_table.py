"""Iceberg tables, read by ``pyiceberg`` in one snapshot of theirs.

A table is named as its catalog has it, or by the path of a metadata file.  Snapshot and columns are those of the
moment of opening, for every pass; of a snapshot that the address names, the columns are those that it had, unless the
address names them too.  Rows that positional deletes mark are left out by the
package; tables with deletes by equality, which it cannot apply, are refused when they are opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hushtable.errors import SourceError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.database import package
from hushtable.kernel.sources.files import Guard
from hushtable.kernel.sources.lake_files import LakeColumn, LakeFiles, LakePart, deletes_not_applied
from hushtable.kernel.sources.lake_url import LakeUrl
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock
from hushtable.schema import Schema

_OPTIONS = ("snapshot", "catalog", "schema")


class IcebergTable:
    """A table in one snapshot."""

    block = TYPED_ROWS
    shown = "the table"

    def __init__(self, url: str) -> None:
        address = LakeUrl.read(url, "iceberg", _OPTIONS)
        tables = package("pyiceberg.table", "iceberg")
        catalogs = package("pyiceberg.catalog", "iceberg")
        self._table: Any = None
        guard, names, types = Guard(self.shown), list[str](), list[Any]()
        with guard:
            if address.place.endswith(".metadata.json"):
                self._table = tables.StaticTable.from_metadata(address.place)
            else:
                self._table = catalogs.load_catalog(address.options.get("catalog")).load_table(address.place)
        if self._table is None:
            fix = (
                "Give its name in a catalog that pyiceberg is configured for, or the path of a metadata file."
            )
            raise SourceError("source.no-table", "There is no Iceberg table of this name.", fix)
        self.snapshot = self._snapshot(address)
        self.schema = self._schema(address)
        guard = Guard(self.shown)
        with guard:
            self._table.metadata = _with_columns(self._table.metadata, self.snapshot, self.schema)
            schema = self._scan(("*",)).projection().as_arrow()
            names, types = list(schema.names), list(schema.types)
        guard.raise_failure()
        self._require_applicable()
        self.headers = [Header("The table", names, types)]

    def _snapshot(self, address: LakeUrl) -> int | None:
        """The snapshot to read; None of a table that never had a row."""
        wanted = address.number("snapshot")
        if wanted is not None and self._table.snapshot_by_id(wanted) is None:
            fix = "Name a snapshot that it still has."
            raise SourceError("source.no-version", "The table has no such snapshot.", fix)
        current = self._table.current_snapshot()
        return wanted if wanted is not None or current is None else int(current.snapshot_id)

    def _schema(self, address: LakeUrl) -> int:
        """The number of the columns to read: they may have been renamed, dropped or added since the last rows."""
        wanted = address.number("schema")
        known = [schema.schema_id for schema in self._table.metadata.schemas]
        if wanted is not None and wanted not in known:
            raise SourceError("source.no-version", "The table has no such columns.", "Leave `schema` out.")
        if wanted is None and address.number("snapshot") is not None:
            wanted = self._table.snapshot_by_id(self.snapshot).schema_id
        return int(self._table.metadata.current_schema_id if wanted is None else wanted)

    def _scan(self, columns: Sequence[str]) -> Any:
        return self._table.scan(selected_fields=tuple(columns), snapshot_id=self.snapshot)

    def _require_applicable(self) -> None:
        """Refuse a snapshot with deletes that would not be applied: people who were deleted must not count."""
        guard, planned = Guard(self.shown), False
        with guard:
            for _ in self._scan(("*",)).plan_files():
                pass
            planned = True
        if not planned:
            fix = "Rewrite its data files so that deletes are applied, or hand over a frame of Spark's own connector."
            text = "The table marks rows as deleted in a way that cannot be applied here."
            raise SourceError("source.table-feature", text, fix)

    def files(self) -> LakeFiles:
        """The files of the snapshot, for whoever reads them elsewhere; refused where rows of theirs are deleted."""
        guard, plain, applied = Guard(self.shown), False, False
        columns, parts, names = list[LakeColumn](), list[LakePart](), dict[str, int]()
        with guard:
            kinds = dict(zip(self.headers[0].names, self.headers[0].types, strict=True))
            fields = self._scan(("*",)).projection().fields
            columns = [LakeColumn(field.name, kinds[field.name], field.field_id) for field in fields]
            tasks = list(self._scan(("*",)).plan_files())
            applied = not any(task.delete_files for task in tasks)
            plain = all(task.file.file_format.value.lower() == "parquet" for task in tasks)
            plain &= all(field.initial_default is None for field in fields)
            parts = [
                LakePart(task.file.file_path, task.file.file_size_in_bytes, self._known(task.file, columns))
                for task in tasks
            ]
            mapped = self._table.metadata.name_mapping()
            known = () if mapped is None else mapped.root
            names = {name: one.field_id for one in known for name in one.names if one.field_id}
        guard.raise_failure()
        if not applied:
            raise deletes_not_applied("iceberg")
        if not plain:
            fix = "Read it as iceberg:NAME, without Spark."
            text = "The table has files that are not Parquet, or columns with a value of their own."
            raise SourceError("source.table-feature", text, fix)
        return LakeFiles.of(columns, parts, names)

    def _known(self, file: Any, columns: Sequence[LakeColumn]) -> dict[str, Any]:
        """What a file need not hold: the one value of a column by which it was put where it is."""
        spec = self._table.specs()[file.spec_id]
        said = {
            part.source_id: file.partition[place]
            for place, part in enumerate(spec.fields)
            if str(part.transform) == "identity"
        }
        return {
            column.name: _scalar(said[column.number], column.type)
            for column in columns
            if said.get(column.number or 0) is not None
        }

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows that the snapshot has, in any order."""
        for batch in self._scan(columns).to_arrow_batch_reader():
            for start in range(0, len(batch), size):
                part = batch.slice(start, size)
                yield ArrowBlock([part.column(name) for name in columns])


def _scalar(value: Any, kind: Any) -> Any:
    """A value of a log, where days and moments are whole numbers."""
    if isinstance(value, int) and (pa.types.is_date32(kind) or pa.types.is_timestamp(kind)):
        whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.scalar(value, whole).cast(kind)
    return pa.scalar(value, kind)


def _with_columns(metadata: Any, snapshot: int | None, schema: int) -> Any:
    """Metadata by which a scan of the snapshot has the columns of a schema: by itself it has those of its rows, also of
    columns that were dropped since."""
    snapshots = [
        known.model_copy(update={"schema_id": schema}) if known.snapshot_id == snapshot else known
        for known in metadata.snapshots
    ]
    return metadata.model_copy(update={"snapshots": snapshots, "current_schema_id": schema})


class IcebergOpener(TableOpener):
    """Tables by name, or by metadata file."""

    name = "iceberg"
    what = "iceberg:NAME"
    schemes = ("iceberg",)
    keeps_place = True

    def table(self, data: str, schema: Schema | None) -> IcebergTable:
        return IcebergTable(data)

    def pinned(self, data: str) -> str:
        table = IcebergTable(data)
        more = {} if table.snapshot is None else {"snapshot": table.snapshot}
        return LakeUrl.read(data, "iceberg", _OPTIONS).written("iceberg", schema=table.schema, **more)
