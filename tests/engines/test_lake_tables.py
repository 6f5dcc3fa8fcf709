"""Tables in a lake: Delta, Iceberg, Parquet folders and buckets give the rows that they have, in one version."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from lakes import growing, mark_deleted, with_deletes
from made_people import people, schema, shuffled, weighed
from moto.server import ThreadedMotoServer
from payloads import stored_payloads
from pinned_versions import (
    finishes_in_the_version_of_its_beginning,
    goes_on_with_the_version_of_its_beginning,
)
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFileContent,
)
from pyiceberg.types import LongType

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.kernel.sources import open_counter
from hushtable.kernel.sources.iceberg_table import IcebergOpener
from hushtable.marginals import Layout

ROWS = 600
NUMBERS = ht.Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}})
LAYOUT = Layout(NUMBERS.sizes, ((0,),))
BOTH_KINDS = pytest.mark.parametrize("kind", ["delta", "iceberg"])
SMALL = {"type": "integer", "bounds": [0, 9], "null": "category"}


def counted(data: Any, declared: ht.Schema = NUMBERS, layout: Layout = LAYOUT) -> list[int]:
    return open_counter(data, declared).keyed("a").tabulate(layout).tolist()


def refused(data: Any, declared: ht.Schema = NUMBERS) -> str:
    with pytest.raises(HushtableError) as caught:
        open_counter(data, declared)
    return caught.value.code


def test_delta_gives_the_payloads_of_parquet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(ROWS)
    pq.write_table(table, tmp_path / "t.parquet")
    write_deltalake(tmp_path / "delta", shuffled(table, 4).slice(0, 250))
    write_deltalake(tmp_path / "delta", shuffled(table, 4).slice(250), mode="append")
    url = f"delta:{tmp_path / 'delta'}"
    for number, declared in enumerate((schema(), schema(2), weighed(2))):
        expected = stored_payloads(tmp_path / "t.parquet", declared, tmp_path / f"{number}.a", monkeypatch)
        assert stored_payloads(url, declared, tmp_path / f"{number}.b", monkeypatch) == expected


def numbers(folder: Path, *parts: range) -> str:
    for part in parts:
        write_deltalake(folder, pa.table({"n": pa.array(part)}), mode="append")
    return f"delta:{folder}"


def test_a_delta_table_is_read_in_the_version_of_its_opening(tmp_path: Path) -> None:
    url = numbers(tmp_path / "d", range(5))
    counter = open_counter(url, NUMBERS)
    before = counter.tabulate(LAYOUT).tolist()
    numbers(tmp_path / "d", range(10), range(10))
    assert counter.tabulate(LAYOUT).tolist() == before == [1] * 5 + [0] * 5
    assert counted(url) == [3] * 5 + [2] * 5
    assert counted(f"{url}?version=0") == before and counted(f"{url}?version=1") == [2] * 5 + [1] * 5


@BOTH_KINDS
def test_the_finish_of_a_choice_reads_the_version_of_its_beginning(
    kind: str, catalog: SqlCatalog, tmp_path: Path
) -> None:
    table = growing(kind, tmp_path, catalog)
    finishes_in_the_version_of_its_beginning(table, table.url, tmp_path)


@BOTH_KINDS
def test_an_interrupted_release_goes_on_with_the_version_of_its_beginning(
    kind: str, catalog: SqlCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = growing(kind, tmp_path, catalog)
    goes_on_with_the_version_of_its_beginning(table, table.url, tmp_path, monkeypatch)


BOTH = ht.Schema.from_dict({"attributes": dict.fromkeys(("n", "m"), SMALL)})
EACH = Layout(BOTH.sizes, ((0,), (1,)))


def test_delta_tables_whose_columns_came_later_have_nulls_before(tmp_path: Path) -> None:
    url = numbers(tmp_path / "d", range(4))
    more = pa.table({"n": pa.array([5, 6]), "m": pa.array([7, 7])})
    write_deltalake(tmp_path / "d", more, mode="append", schema_mode="merge")
    whole = pa.table({"n": [0, 1, 2, 3, 5, 6], "m": pa.array([None] * 4 + [7, 7], pa.int64())})
    assert counted(url, BOTH, EACH) == counted(whole, BOTH, EACH)
    assert refused(f"{url}?version=0", BOTH) == "source.unknown-column"


def test_partition_columns_of_delta_tables_may_be_null_or_odd(tmp_path: Path) -> None:
    whole = pa.table({"n": [1, 2, 3, 4], "m": pa.array([None, 7, 7, None], pa.int64())})
    write_deltalake(tmp_path / "d", whole, partition_by=["m"])
    assert counted(f"delta:{tmp_path / 'd'}", BOTH, EACH) == counted(whole, BOTH, EACH)
    towns = ["a b/%é", "x=y"]
    named = pa.table({"n": [1, 2, 3, 4], "town": [None, *towns, "x=y"]})
    write_deltalake(tmp_path / "named", named, partition_by=["town"])
    declared = ht.Schema.from_dict(
        {"attributes": {"n": SMALL, "town": {"type": "categorical", "values": towns, "null": "category"}}}
    )
    layout = Layout(declared.sizes, ((0, 1),))
    assert counted(f"delta:{tmp_path / 'named'}", declared, layout) == counted(named, declared, layout)


def test_a_delta_version_whose_files_are_gone_is_refused(tmp_path: Path) -> None:
    url = numbers(tmp_path / "d", range(4))
    write_deltalake(tmp_path / "d", pa.table({"n": pa.array(range(3))}), mode="overwrite")
    DeltaTable(tmp_path / "d").vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(HushtableError) as caught:
        counted(f"{url}?version=0")
    assert caught.value.code == "source.unreadable"
    assert counted(url) == [1] * 3 + [0] * 7


def test_deleted_people_do_not_count_in_delta(tmp_path: Path) -> None:
    url = numbers(tmp_path / "d", range(10))
    mark_deleted(tmp_path / "d", [2, 5, 7])
    assert counted(url) == [1, 1, 0, 1, 1, 0, 1, 0, 1, 1]
    assert counted(f"{url}?version=0") == [1] * 10


def test_tables_with_other_features_and_absent_ones_are_refused(tmp_path: Path) -> None:
    url = numbers(tmp_path / "d", range(10))
    assert refused(f"{url}?version=7") == "source.no-version"
    assert refused(f"{url}?version=x") == refused(f"{url}?other=1") == "source.bad-url"
    assert refused(f"{url}?version=²") == refused(f"{url}?version=٣") == "source.bad-url"
    assert refused(f"delta:{tmp_path / 'nowhere'}") == "source.no-table"
    write_deltalake(
        tmp_path / "mapped",
        pa.table({"n": pa.array(range(3))}),
        configuration={"delta.columnMapping.mode": "none"},
    )
    log = tmp_path / "mapped" / "_delta_log" / f"{0:020}.json"
    log.write_text(log.read_text().replace('"none"', '"name"').replace('\\"none\\"', '\\"name\\"'))
    assert refused(f"delta:{tmp_path / 'mapped'}") in ("source.table-feature", "source.no-table")


def test_iceberg_gives_the_integers_of_parquet_in_one_snapshot(catalog: SqlCatalog, tmp_path: Path) -> None:
    table = people(ROWS)
    made = catalog.create_table("lake.people", schema=table.schema)
    made.append(shuffled(table, 4).slice(0, 250))
    made.append(shuffled(table, 4).slice(250))
    url = "iceberg:lake.people?catalog=town"
    for limit in (None, 2):
        declared = schema(limit)
        layout = Layout(declared.sizes, tuple((a, b) for a in range(8) for b in range(a)))
        assert counted(url, declared, layout) == counted(table, declared, layout)
    counter = open_counter(url, schema())
    layout = Layout(schema().sizes, ((),))
    before = counter.tabulate(layout).tolist()
    first = made.history()[0].snapshot_id
    made.append(table)
    assert counter.tabulate(layout).tolist() == before
    assert counted(url, schema(), layout)[0] == 2 * before[0]
    assert counted(f"{url}&snapshot={first}", schema(), layout)[0] < before[0]
    assert refused(f"{url}&snapshot=12", schema()) == "source.no-version"
    assert refused("iceberg:lake.nobody?catalog=town", schema()) == "source.no-table"
    assert counted(f"iceberg:{made.metadata_location}", schema(), layout)[0] == before[0] * 2


@pytest.mark.parametrize("how", ["by position", "by equality"])
def test_deletes_in_iceberg_are_applied_or_refused(how: str, catalog: SqlCatalog, tmp_path: Path) -> None:
    made = catalog.create_table("lake.n", schema=pa.schema([("n", pa.int64())]))
    made.append(pa.table({"n": pa.array(range(10))}))
    made.delete("n >= 7")
    assert counted("iceberg:lake.n?catalog=town") == [1] * 7 + [0] * 3
    if how == "by position":
        (task,) = made.scan().plan_files()
        gone = pa.table({"file_path": [task.file.file_path] * 3, "pos": [1, 2, 4]})
        url = with_deletes(made, gone, tmp_path, DataFileContent.POSITION_DELETES)
        assert counted(url) == [1, 0, 0, 1, 0, 1, 1, 0, 0, 0]
    else:
        gone = pa.table({"n": pa.array([1, 2, 4])})
        url = with_deletes(made, gone, tmp_path, DataFileContent.EQUALITY_DELETES, equality_ids=[1])
        assert refused(url) == "source.table-feature"


def test_iceberg_tables_have_the_columns_of_now_or_those_of_a_snapshot(catalog: SqlCatalog) -> None:
    """A column that was dropped is not read, though the rows of the last snapshot were written with it."""
    made = catalog.create_table("lake.n", schema=pa.schema([("old", pa.int32()), ("m", pa.int32())]))
    made.append(pa.table({"old": pa.array([1, 2, 3], pa.int32()), "m": pa.array([4, 4, 4], pa.int32())}))
    first = made.current_snapshot()
    with made.update_schema() as change:
        change.rename_column("old", "n")
        change.delete_column("m")
    with made.update_schema() as change:
        change.add_column("m", LongType())
    url = "iceberg:lake.n?catalog=town"
    now = pa.table({"n": [1, 2, 3], "m": pa.array([None] * 3, pa.int64())})
    assert counted(url, BOTH, EACH) == counted(now, BOTH, EACH)
    pinned = IcebergOpener().pinned(url)
    made.append(pa.table({"n": pa.array([5], pa.int32()), "m": pa.array([6])}))
    with made.update_schema() as change:
        change.rename_column("m", "other")
    assert counted(pinned, BOTH, EACH) == counted(now, BOTH, EACH)
    assert refused(url, BOTH) == "source.unknown-column"
    assert refused(f"{url}&snapshot={first.snapshot_id}", BOTH) == "source.unknown-column"
    assert refused(f"{url}&schema=77", BOTH) == "source.no-version"
    then = ht.Schema.from_dict({"attributes": dict.fromkeys(("old", "m"), SMALL)})
    was = pa.table({"old": [1, 2, 3], "m": [4, 4, 4]})
    assert counted(f"{url}&snapshot={first.snapshot_id}", then, EACH) == counted(was, then, EACH)


def test_partition_columns_of_iceberg_tables_may_be_null(catalog: SqlCatalog) -> None:
    made = catalog.create_table("lake.p", schema=pa.schema([("n", pa.int64()), ("m", pa.int64())]))
    with made.update_spec() as change:
        change.add_identity("m")
    whole = pa.table({"n": [1, 2, 3, 4], "m": pa.array([None, 7, 7, None], pa.int64())})
    made.append(whole)
    assert counted("iceberg:lake.p?catalog=town", BOTH, EACH) == counted(whole, BOTH, EACH)


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A bucket on a loopback server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    client = boto3.client("s3")
    client.create_bucket(Bucket="town")
    yield client
    server.stop()


PARTITIONED = ht.Schema.from_dict(
    {
        "attributes": {
            "n": {"type": "integer", "bounds": [0, 9]},
            "year": {"type": "integer", "bounds": [2020, 2029], "null": "category"},
            "sex": {"type": "categorical", "values": ["F", "M é"]},
        }
    }
)
ALL = Layout(PARTITIONED.sizes, ((0, 1, 2),))


def partitioned(folder: Path) -> pa.Table:
    """A table in folders that say year and sex, and the same table as it would be in one file."""
    whole: list[pa.Table] = []
    for year, sex, part in ((2021, "F", range(4)), (2022, "M%20%C3%A9", range(3, 9)), (None, "F", range(2))):
        place = folder / f"year={'__HIVE_DEFAULT_PARTITION__' if year is None else year}" / f"sex={sex}"
        place.mkdir(parents=True)
        rows = pa.table({"n": pa.array(part)})
        pq.write_table(rows, place / "part-0.parquet")
        said = {"year": year, "sex": "M é" if sex != "F" else sex}
        columns = {name: pa.array([value] * len(rows)) for name, value in said.items()}
        kinds = {"year": pa.int64(), "sex": pa.string()}
        for name, column in columns.items():
            rows = rows.append_column(name, column.cast(kinds[name]))
        whole.append(rows)
    (folder / "_SUCCESS").write_text("")
    (folder / "_temporary").mkdir()
    pq.write_table(pa.table({"n": [1]}), folder / "_temporary" / "x.parquet")
    return pa.concat_tables(whole)


def test_partition_columns_are_those_that_are_declared(tmp_path: Path) -> None:
    whole = partitioned(tmp_path / "p")
    url = f"parquet:{tmp_path / 'p'}"
    assert counted(f"{url}?partitions=year,sex", PARTITIONED, ALL) == counted(whole, PARTITIONED, ALL)
    assert sum(counted(url)) == len(whole)
    assert refused(f"{url}?partitions=year", PARTITIONED) == "source.unknown-column"
    assert refused(f"{url}?partitions=town", PARTITIONED) == "source.no-partition"
    inside = tmp_path / "p" / "year=2021" / "sex=F" / "part-1.parquet"
    pq.write_table(pa.table({"n": [1], "year": [1999]}), inside)
    assert refused(f"{url}?partitions=year,sex", PARTITIONED) == "source.partition-in-file"
    assert refused(f"parquet:{tmp_path / 'nothing'}") == "source.missing-file"


def test_a_folder_that_changes_between_passes_is_refused(tmp_path: Path) -> None:
    partitioned(tmp_path / "p")
    counter = open_counter(f"parquet:{tmp_path / 'p'}?partitions=year,sex", PARTITIONED)
    counter.tabulate(ALL)
    pq.write_table(pa.table({"n": [1]}), tmp_path / "p" / "year=2021" / "sex=F" / "new.parquet")
    with pytest.raises(HushtableError) as caught:
        counter.tabulate(ALL)
    assert caught.value.code == "source.changed"


def test_buckets_are_read_like_folders(bucket: Any, tmp_path: Path) -> None:
    whole = partitioned(tmp_path / "p")
    for file in (tmp_path / "p").rglob("*.parquet"):
        bucket.upload_file(str(file), "town", f"people/{file.relative_to(tmp_path / 'p')}")
    url = "s3://town/people?partitions=year,sex"
    assert counted(url, PARTITIONED, ALL) == counted(whole, PARTITIONED, ALL)
    counter = open_counter(url, PARTITIONED)
    bucket.put_object(Bucket="town", Key="people/year=2021/sex=F/part-9.parquet", Body=b"")
    with pytest.raises(HushtableError) as caught:
        counter.tabulate(ALL)
    assert caught.value.code == "source.changed"
    assert refused("s3://town/nobody") == "source.missing-file"
    assert refused("s3://key:secret@town/people") == "source.password-in-url"


def test_partition_values_follow_the_rules_of_text_files(tmp_path: Path) -> None:
    """Whatever a folder says, it counts as the same text does in a file of text."""
    said = ["7", "07", " 7", "7.0", "seven", "", "-1", "1e1", "+5"]
    declared = ht.Schema.from_dict(
        {"attributes": {"n": {"type": "integer", "bounds": [0, 9], "null": "category", "outside": "drop"}}}
    )
    for k, text in enumerate(said):
        place = tmp_path / "p" / f"n={text}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"other": np.arange(k + 1)}), place / "0.parquet")
    (tmp_path / "t.csv").write_text(
        "n,x\n" + "".join(f"{text},{k}\n" * (k + 1) for k, text in enumerate(said)), encoding="utf-8"
    )
    layout = Layout(declared.sizes, ((0,),))
    found = counted(f"parquet:{tmp_path / 'p'}?partitions=n", declared, layout)
    assert found == counted(tmp_path / "t.csv", declared, layout)


def test_the_delta_reader_is_the_one_that_leaves_out_the_deleted(tmp_path: Path) -> None:
    """Another reader of the same package counts deleted rows; if that changes, ours still has to be right."""
    numbers(tmp_path / "d", range(10))
    mark_deleted(tmp_path / "d", [0, 1])
    assert DeltaTable(tmp_path / "d").count() in (8, 10)
    assert sum(counted(f"delta:{tmp_path / 'd'}")) == 8
