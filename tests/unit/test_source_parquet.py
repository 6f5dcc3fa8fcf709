"""Parquet files: what a file holds counts, in file order, whatever its path or its names look like."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushtable.errors import SchemaError, SourceError
from hushtable.kernel.sources import open_source
from hushtable.kernel.sources.files import find
from hushtable.kernel.sources.parquet import ParquetFiles
from hushtable.schema import Schema

SEX = Schema.from_dict({"attributes": {"sex": {"type": "categorical", "values": ["F", "M"]}}})


def codes(data: Any, schema: Schema) -> list[tuple[int, ...]]:
    return [
        tuple(map(int, row))
        for batch in open_source(data, schema).batches()
        for row in zip(*batch, strict=True)
    ]


def blocks(path: Path, columns: list[str], size: int = 1 << 16) -> list[list[Any]]:
    found = ParquetFiles(find(path)).blocks(columns, size)
    return [[array.to_pylist() for array in block.columns()] for block in found]


@pytest.mark.parametrize("folder", ["sex=F", "sex=X", "sex=__HIVE_DEFAULT_PARTITION__"])
def test_folder_names_never_override_the_file(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    pq.write_table(pa.table({"sex": ["M", "M", "M"]}), tmp_path / folder / "p.parquet")
    glob = str(tmp_path / "**" / "*.parquet")
    for data in (tmp_path / folder / "p.parquet", glob):
        assert codes(data, SEX) == [(1,), (1,), (1,)]


def test_a_column_that_only_the_path_names_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "sex=F").mkdir()
    pq.write_table(pa.table({"age": [1]}), tmp_path / "sex=F" / "p.parquet")
    with pytest.raises(SchemaError) as caught:
        open_source(str(tmp_path / "*" / "*.parquet"), SEX)
    assert caught.value.code == "source.unknown-column"


def test_files_of_several_folders_are_one_table_of_their_contents(tmp_path: Path) -> None:
    for folder, value in (("sex=F", "M"), ("sex=M", "F")):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table({"sex": [value] * 2}), tmp_path / folder / "p.parquet")
    assert codes(str(tmp_path / "*" / "*.parquet"), SEX) == [(1,), (1,), (0,), (0,)]


@pytest.mark.parametrize("name", ["q[1].parquet", "it's; here.parquet", "what?.parquet", "s3:x.parquet"])
def test_a_file_name_is_never_read_as_a_pattern_or_an_address(tmp_path: Path, name: str) -> None:
    pq.write_table(pa.table({"sex": ["F"]}), pa.OSFile(str(tmp_path / name), "wb"))
    assert codes(tmp_path / name, SEX) == [(0,)]


@pytest.mark.parametrize("name", ['a"; DROP TABLE t; --', "a'b", "ä ö", "select", "*", "a.b", "a.", ".b"])
def test_a_column_name_is_never_read_as_anything_else(tmp_path: Path, name: str) -> None:
    table = pa.table({"a": pa.array([{"b": 8}, {"b": 9}]), "first": [9, 9], name: [4, 5]})
    pq.write_table(table, tmp_path / "t.parquet")
    assert blocks(tmp_path / "t.parquet", [name, "first"]) == [[[4, 5], [9, 9]]]


def test_rows_come_in_file_order_and_in_batches_of_the_size_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "long.parquet"
    pl.DataFrame({"a": range(300_000)}).write_parquet(path, row_group_size=40_000)
    found = blocks(path, ["a"])
    assert max(len(block[0]) for block in found) <= 1 << 16
    assert [x for block in found for x in block[0]] == list(range(300_000))


@pytest.mark.long
@pytest.mark.parametrize("different", [3, 70_000])
def test_text_is_the_same_from_small_and_from_large_dictionaries(tmp_path: Path, different: int) -> None:
    numbers = np.random.default_rng(4).integers(0, different, 150_000)
    texts = [f"value {k}" for k in numbers]
    pq.write_table(pa.table({"a": texts}), tmp_path / "t.parquet", row_group_size=60_000)
    assert [x for block in blocks(tmp_path / "t.parquet", ["a"]) for x in block[0]] == texts


def test_old_timestamps_outside_of_nanoseconds_are_read(tmp_path: Path) -> None:
    when = pa.array([datetime(1500, 6, 1), datetime(2500, 6, 1)], pa.timestamp("us"))
    pq.write_table(pa.table({"t": when}), tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    fields = {"type": "date", "bounds": ["1400-01-01", "2599-12-31"], "width": "100 years"}
    assert codes(tmp_path / "t.parquet", Schema.from_dict({"attributes": {"t": fields}})) == [(1,), (11,)]


def test_wide_decimals_keep_all_their_digits(tmp_path: Path) -> None:
    values = [Decimal("12345678901234567890123456789012345678901234567890"), Decimal(7)]
    pq.write_table(pa.table({"d": pa.array(values, pa.decimal256(60, 0))}), tmp_path / "t.parquet")
    assert blocks(tmp_path / "t.parquet", ["d"]) == [[values]]


def test_a_file_whose_columns_changed_between_passes_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"sex": ["F"]}), path)
    source = open_source(path, SEX)
    pq.write_table(pa.table({"sex": [1]}), path)
    with pytest.raises(SourceError) as caught:
        list(source.batches())
    assert caught.value.code == "source.changed"
