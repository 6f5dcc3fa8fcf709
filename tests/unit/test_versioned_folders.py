"""Files of tables with versions hold deleted rows: a release would count people who left, and others twice."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from hushtable.errors import SourceError
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


def test_files_of_a_delta_table_are_not_read_by_a_glob(tmp_path: Path) -> None:
    pl.DataFrame({"n": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    assert open_counter(str(tmp_path / "*.parquet"), SCHEMA)
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(SourceError, match="deleted"):
        open_counter(str(tmp_path / "*.parquet"), SCHEMA)
