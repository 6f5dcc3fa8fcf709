"""Files of tables with versions hold deleted rows: a release would count people who left, and others twice."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hushtable.errors import SchemaError, SourceError
from hushtable.kernel.sources import open_counter
from hushtable.schema import Schema

SCHEMA = Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}})


@pytest.mark.parametrize(
    ("mark", "kind"),
    [("_delta_log/00000000000000000000.json", "delta"), ("metadata/v1.metadata.json", "iceberg")],
)
def test_a_folder_of_a_table_with_versions_is_not_read_as_parquet(
    mark: str, kind: str, tmp_path: Path
) -> None:
    pl.DataFrame({"n": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    assert open_counter(f"parquet:{tmp_path}", SCHEMA)
    (tmp_path / mark).parent.mkdir()
    (tmp_path / mark).write_text("{}")
    with pytest.raises(SourceError, match="deleted") as refused:
        open_counter(f"parquet:{tmp_path}", SCHEMA)
    assert refused.value.code == "source.versioned-folder" and f"{kind}:" in str(refused.value.fix)


LOG, METADATA = "_delta_log/00000000000000000000.json", "metadata/v1.metadata.json"


@pytest.fixture(params=[LOG, METADATA], ids=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A table of one file in a folder of a partition."""
    home = tmp_path / "lake" / "t"
    (home / request.param).parent.mkdir(parents=True)
    (home / request.param).write_text("{}")
    (home / "data" / "p=1").mkdir(parents=True)
    pl.DataFrame({"n": [1, 2]}).write_parquet(home / "data" / "p=1" / "a.parquet")
    return home


def ways(table: Path, beside: Path) -> list[str]:
    """How somebody could name the file, the folders that hold it, and links to any of them."""
    part = table / "data" / "p=1"
    (beside / "link").symlink_to(part, target_is_directory=True)
    (beside / "linked.parquet").symlink_to(part / "a.parquet")
    (beside / "plain").mkdir()
    (beside / "plain" / "b.parquet").symlink_to(part / "a.parquet")
    folders = [
        table.parent,
        table,
        table / "data",
        part,
        part / ".." / "p=1",
        beside / "link",
        beside / "plain",
    ]
    files = [part / "a.parquet", beside / "linked.parquet", beside / "link" / "a.parquet"]
    globs = [part / "*.parquet", table.parent / "**" / "*.parquet", beside / "plain" / "*.parquet"]
    return [*(f"parquet:{place}" for place in folders + files), *map(str, files + globs)]


def test_files_of_a_table_with_versions_are_refused_however_they_are_named(
    table: Path, tmp_path: Path
) -> None:
    for named in ways(table, tmp_path):
        with pytest.raises(SourceError, match="deleted"):
            open_counter(named, SCHEMA)


def test_files_beside_a_table_with_versions_are_read(table: Path) -> None:
    pl.DataFrame({"n": [1, 2]}).write_parquet(table.parent / "a.parquet")
    assert open_counter(str(table.parent / "a.parquet"), SCHEMA)
    assert open_counter(str(table.parent / "*.parquet"), SCHEMA)
    (table / "notes.csv").write_text("n\n1\n")
    assert open_counter(str(table / "notes.csv"), SCHEMA)


@pytest.mark.parametrize(
    ("path", "inside", "code"),
    [
        ("p=1/p=2", "n", "source.partition-twice"),
        ("p=1/P=2", "n", "source.partition-twice"),
        ("p=1", "P", "source.partition-in-file"),
    ],
)
def test_a_partition_that_two_places_tell_is_refused(
    path: str, inside: str, code: str, tmp_path: Path
) -> None:
    (tmp_path / path).mkdir(parents=True)
    pl.DataFrame({"n": [1], inside: [2]}).write_parquet(tmp_path / path / "a.parquet")
    with pytest.raises(SchemaError) as refused:
        open_counter(f"parquet:{tmp_path}?partitions=p", SCHEMA)
    assert refused.value.code == code
