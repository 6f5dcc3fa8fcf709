"""Tables in a lake as others write them: a catalog of Iceberg, and commits by hand that delete rows."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyiceberg.catalog
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.typedef import Record
from pyiceberg.utils.config import Config
from pyroaring import BitMap

Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(data: bytes) -> str:
    data += b"\0" * (-len(data) % 4)
    words = [int.from_bytes(data[k : k + 4], "big") for k in range(0, len(data), 4)]
    return "".join(Z85[word // 85**k % 85] for word in words for k in (4, 3, 2, 1, 0))


def mark_deleted(folder: Path, rows: list[int], features: tuple[str, ...] = ("deletionVectors",)) -> None:
    """A commit that marks rows of the table's one file as deleted, written by hand as the protocol says."""
    first = [json.loads(line) for line in (folder / "_delta_log" / f"{0:020}.json").read_text().splitlines()]
    add = next(action["add"] for action in first if "add" in action)
    stored = struct.pack("<IQI", 1681511377, 1, 0) + BitMap(rows).serialize()
    vector = {
        "storageType": "i",
        "pathOrInlineDv": z85(stored),
        "sizeInBytes": len(stored),
        "cardinality": len(rows),
    }
    needs = {"minReaderVersion": 3, "minWriterVersion": 7}
    actions = [
        {"protocol": needs | {"readerFeatures": features, "writerFeatures": features}},
        {"remove": {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}},
        {"add": add | {"deletionVector": vector}},
    ]
    (folder / "_delta_log" / f"{1:020}.json").write_text("\n".join(map(json.dumps, actions)))


def sql_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SqlCatalog:
    """A catalog `town` with an empty namespace `lake`, which addresses can name."""
    places = {"uri": f"sqlite:///{tmp_path / 'catalog.db'}", "warehouse": f"file://{tmp_path / 'warehouse'}"}
    (tmp_path / "warehouse").mkdir()
    for name, value in {"type": "sql", **places}.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__TOWN__{name.upper()}", value)
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())  # read once, when it was imported
    made = SqlCatalog("town", **places)
    made.create_namespace("lake")
    return made


class DeleteManifest(ManifestWriterV2):
    """A list of files that say which rows are deleted, as engines that merge on reading write it."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


def with_deletes(made: Any, rows: pa.Table, folder: Path, content: DataFileContent, **more: Any) -> str:
    """The address of the table after a commit that deletes rows, written by hand as the specification says."""
    pq.write_table(rows, folder / "deletes.parquet")
    file = DataFile.from_args(
        content=content,
        file_path=f"file://{folder / 'deletes.parquet'}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(rows),
        file_size_in_bytes=(folder / "deletes.parquet").stat().st_size,
        **more,
    )
    file.spec_id = 0
    last, number = made.current_snapshot(), made.metadata.last_sequence_number + 1
    output = made.io.new_output(f"file://{folder / 'deletes.avro'}")
    with DeleteManifest(made.spec(), made.schema(), output, last.snapshot_id, "null") as writer:
        status = ManifestEntryStatus.ADDED
        writer.add_entry(ManifestEntry.from_args(status=status, snapshot_id=last.snapshot_id, data_file=file))
    listed = made.io.new_output(f"file://{folder / 'list.avro'}")
    with write_manifest_list(2, listed, last.snapshot_id, None, number, "null") as manifests:
        manifests.add_manifests([*last.manifests(made.io), writer.to_manifest_file()])
    metadata = json.loads(made.metadata.model_dump_json())
    metadata["last-sequence-number"] = number
    for snapshot in metadata["snapshots"]:
        if snapshot["snapshot-id"] == last.snapshot_id:
            snapshot |= {"manifest-list": listed.location, "sequence-number": number}
    (folder / "v9.metadata.json").write_text(json.dumps(metadata))
    return f"iceberg:{folder / 'v9.metadata.json'}"


@dataclass(frozen=True)
class Growing:
    """A table of whole numbers `n`: its address, and a commit that adds more of them."""

    url: str
    add: Callable[[range], None]


def growing(kind: str, folder: Path, catalog: SqlCatalog) -> Growing:
    """An empty address of a kind, which has a table from the first commit on."""
    if kind == "delta":
        place = folder / "growing"
        return Growing(
            f"delta:{place}",
            lambda part: write_deltalake(place, pa.table({"n": pa.array(part)}), mode="append"),
        )
    made = catalog.create_table("lake.growing", schema=pa.schema([("n", pa.int64())]))
    return Growing(
        "iceberg:lake.growing?catalog=town", lambda part: made.append(pa.table({"n": pa.array(part)}))
    )
