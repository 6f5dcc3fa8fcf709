"""The engine that reads Parquet can reach the named file and nothing else."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest

from hushtable.errors import SourceError
from hushtable.kernel.sources import open_source
from hushtable.kernel.sources.engine import identifier, literal, locked, parquet_batches
from hushtable.schema import Schema


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("mine", "other"):
        pl.DataFrame({"a": [1, 2, 3]}).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path / "mine.parquet", tmp_path / "other.parquet"


def test_only_the_named_file_can_be_read(files: tuple[Path, Path]) -> None:
    mine, other = files
    with closing(locked([mine])) as connection:
        assert connection.sql(f"SELECT sum(a) FROM read_parquet({literal(str(mine))})").fetchall() == [(6,)]
        for statement in (
            f"SELECT * FROM read_parquet({literal(str(other))})",
            "SELECT * FROM read_csv('/etc/passwd')",
            f"COPY (SELECT 1) TO {literal(str(other.with_name('out.csv')))}",
            f"ATTACH {literal(str(other.with_name('x.duckdb')))}",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET threads = 2",
            "SET lock_configuration = false",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)


@pytest.mark.parametrize("name", ['a"; DROP TABLE t; --', "a'b", 'x"y', "ä ö", "select", "*", "a.b"])
def test_a_column_name_is_never_read_as_sql(tmp_path: Path, name: str) -> None:
    path = tmp_path / "it's here.parquet"
    pl.DataFrame({"first": [9, 9], name: [4, 5]}).write_parquet(path)
    batches = list(parquet_batches(path, [name], 10))
    assert [batch.column(0).to_pylist() for batch in batches] == [[4, 5]]
    assert identifier(name).startswith('"')


def test_rows_come_in_file_order_and_in_batches_of_the_size_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    pl.DataFrame({"a": range(300_000)}).write_parquet(path, row_group_size=40_000)
    batches = list(parquet_batches(path, ["a"], 1 << 16))
    assert max(batch.num_rows for batch in batches) <= 1 << 16
    assert [x for batch in batches for x in batch.column(0).to_pylist()] == list(range(300_000))


def test_a_path_that_looks_like_a_pattern_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "q[1].parquet")
    schema = Schema.from_dict({"attributes": {"a": {"type": "integer", "bounds": [0, 9], "width": 1}}})
    with pytest.raises(SourceError) as caught:
        open_source(tmp_path / "q[1].parquet", schema)
    assert caught.value.code == "source.bad-name"
