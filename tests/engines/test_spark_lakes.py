"""Delta and Iceberg tables counted on Spark: the same integers as without it, in one version, and clear refusals."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from lakes import growing, mark_deleted, with_deletes
from made_people import people, schema, shuffled
from payloads import stored_payloads
from pinned_versions import (
    finishes_in_the_version_of_its_beginning,
    goes_on_with_the_version_of_its_beginning,
)
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import DataFileContent
from pyiceberg.types import DoubleType, LongType
from spark_sessions import Sparks

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.kernel import draft_schema
from hushtable.kernel.sources import open_counter
from hushtable.kernel.sources.engines import spark_lake
from hushtable.marginals import Layout

ROWS = 600
LAKES = pytest.mark.parametrize("lake", ["delta", "iceberg"])
KINDS = pytest.mark.parametrize("kind", ["local", "connect"])
SMALL = {"type": "integer", "bounds": [0, 9], "null": "category"}
PLAIN = ht.Schema.from_dict({"attributes": {"n": SMALL}})
BOTH = ht.Schema.from_dict({"attributes": dict.fromkeys(("n", "m"), SMALL)})
Use = Callable[[str], None]


@pytest.fixture
def use(sparks: Sparks, monkeypatch: pytest.MonkeyPatch) -> Use:
    """Makes one of the two sessions the one that runs."""

    def session(kind: str) -> None:
        monkeypatch.setattr(spark_lake, "running_session", lambda: getattr(sparks, kind))

    session("local")
    return session


def counted(data: Any, declared: ht.Schema = BOTH) -> list[int]:
    axes = range(len(declared.sizes))
    layout = Layout(declared.sizes, ((), *((a,) for a in axes), *((a, b) for a in axes for b in range(a))))
    return open_counter(data, declared).keyed("a").tabulate(layout).tolist()


def refused(data: Any, declared: ht.Schema = BOTH) -> str:
    with pytest.raises(HushtableError) as caught:
        counted(data, declared)
    assert caught.value.exit_code in (1, 2) and "planted" not in str(caught.value)
    return caught.value.code


@LAKES
@KINDS
def test_the_same_bits_give_the_payloads_of_parquet(
    kind: str, lake: str, use: Use, catalog: SqlCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, rows = people(ROWS), shuffled(people(ROWS), 4)
    pq.write_table(table, tmp_path / "t.parquet")
    url = f"spark:delta:{tmp_path / 'd'}"
    if lake == "delta":
        for start in range(0, ROWS, 150):
            write_deltalake(tmp_path / "d", rows.slice(start, 150), mode="append")
    else:
        url = "spark:iceberg:lake.people?catalog=town"
        made = catalog.create_table("lake.people", schema=table.schema)
        for start in range(0, ROWS, 150):
            made.append(rows.slice(start, 150))
    use(kind)
    for limit in (None, 2):
        expected = stored_payloads(
            tmp_path / "t.parquet", schema(limit), tmp_path / f"{limit}.a", monkeypatch
        )
        found = stored_payloads(url, schema(limit), tmp_path / f"{limit}.b", monkeypatch)
        assert len(found) > 9 and found == expected


@LAKES
def test_work_that_was_begun_keeps_its_version(
    lake: str, use: Use, catalog: SqlCatalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, holds in (("choice", None), ("release", monkeypatch)):
        folder = tmp_path / name
        folder.mkdir()
        table = growing(lake, folder, catalog)
        if holds is None:
            finishes_in_the_version_of_its_beginning(table, f"spark:{table.url}", folder)
        else:
            goes_on_with_the_version_of_its_beginning(table, f"spark:{table.url}", folder, holds)
        if lake == "iceberg":
            catalog.drop_table("lake.growing")


@KINDS
def test_all_passes_read_the_version_of_the_opening(kind: str, use: Use, tmp_path: Path) -> None:
    use(kind)
    url = f"spark:delta:{tmp_path / 'd'}"
    write_deltalake(tmp_path / "d", pa.table({"n": pa.array(range(5))}))
    counter = open_counter(url, PLAIN)
    layout = Layout(PLAIN.sizes, ((0,),))
    before = counter.tabulate(layout).tolist()
    write_deltalake(tmp_path / "d", pa.table({"n": pa.array(range(10))}), mode="overwrite")
    assert counter.tabulate(layout).tolist() == before == [1] * 5 + [0] * 6
    assert counted(f"{url}?version=0", PLAIN)[1:] == before
    assert counted(url, PLAIN)[1:] == [1] * 10 + [0]


def test_columns_that_came_later_changed_or_say_a_partition(use: Use, tmp_path: Path) -> None:
    """Of each kind that a partition may be of, with nulls and signs that paths escape."""
    said = {
        "town": ["a b/%é", None, "x=y", "*[?]{a,b}"],
        "day": [date(1990, 5, 1), None, date(1991, 1, 1), date(1990, 5, 1)],
        "seen": [datetime(1990, 5, 1, 23, 30, tzinfo=UTC), None, datetime(1991, 1, 1, tzinfo=UTC), None],
        "cost": [Decimal("1.50"), None, Decimal("2.00"), Decimal("1.50")],
        "yes": [True, None, False, True],
        "k": [1, None, 3, 1],
    }
    rows = pa.table({"n": [1, 2, 3, 4], **said})
    write_deltalake(tmp_path / "d", rows, partition_by=list(said))
    write_deltalake(
        tmp_path / "d", rows.append_column("m", pa.array([5, 5, 6, None])), mode="append", schema_mode="merge"
    )
    days = {"type": "date", "bounds": ["1990-01-01", "1999-12-31"], "width": "1 year", "null": "category"}
    declared = ht.Schema.from_dict(
        {
            "attributes": {
                "n": SMALL,
                "m": SMALL,
                "town": {"type": "categorical", "values": ["a b/%é", "x=y", "*[?]{a,b}"], "null": "category"},
                "day": days,
                "seen": days,
                "cost": {"type": "real", "bounds": [0, 3], "width": 0.5, "null": "category"},
                "yes": {"type": "boolean", "null": "category"},
                "k": SMALL,
            },
            "person": "town",
            "max_rows_per_person": 3,
        }
    )
    url = f"delta:{tmp_path / 'd'}"
    whole = pa.concat_tables(
        [rows.append_column("m", pa.nulls(4, pa.int64())), rows.append_column("m", pa.array([5, 5, 6, None]))]
    )
    expected = counted(whole, declared)
    assert expected[0] == 6  # rows without a person do not count
    assert counted(f"spark:{url}", declared) == counted(url, declared) == expected
    assert refused(f"spark:{url}?version=0", declared) == "source.unknown-column"


@KINDS
def test_columns_of_iceberg_are_found_by_their_numbers(kind: str, use: Use, catalog: SqlCatalog) -> None:
    """Renamed, dropped, made wider, and added again under an old name."""
    use(kind)
    made = catalog.create_table(
        "lake.n", schema=pa.schema([("old", pa.int32()), ("m", pa.int32()), ("x", pa.float32())])
    )
    first = {"old": pa.array([1, 2], pa.int32()), "m": pa.array([4, 4], pa.int32())}
    made.append(pa.table(first | {"x": pa.array([0.5, None], pa.float32())}))
    with made.update_schema() as change:
        change.rename_column("old", "n")
        change.delete_column("m")
        change.update_column("x", DoubleType())
    with made.update_schema() as change:
        change.update_column("n", LongType())
        change.add_column("m", LongType())
    made.append(pa.table({"n": [7], "x": [2.5], "m": [8]}))
    declared = ht.Schema.from_dict(
        {
            "attributes": {
                "n": SMALL,
                "m": SMALL,
                "x": {"type": "real", "bounds": [0, 3], "width": 0.5, "null": "category"},
            }
        }
    )
    whole = pa.table({"n": [1, 2, 7], "m": [None, None, 8], "x": [0.5, None, 2.5]})
    url = "iceberg:lake.n?catalog=town"
    assert counted(f"spark:{url}", declared) == counted(url, declared) == counted(whole, declared)


def test_partitions_of_iceberg_and_files_without_numbers(
    use: Use, catalog: SqlCatalog, tmp_path: Path
) -> None:
    made = catalog.create_table("lake.p", schema=pa.schema([("n", pa.int64()), ("m", pa.int64())]))
    with made.update_spec() as change:
        change.add_identity("m")
    whole = pa.table({"n": [1, 2, 3, 4], "m": pa.array([None, 7, 7, None], pa.int64())})
    made.append(whole)
    url = "iceberg:lake.p?catalog=town"
    assert counted(f"spark:{url}") == counted(url) == counted(whole)
    other = catalog.create_table("lake.q", schema=pa.schema([("n", pa.int64()), ("m", pa.int64())]))
    pq.write_table(pa.table({"m": [9, 1], "n": [9, 2]}), tmp_path / "plain.parquet")
    other.add_files([str(tmp_path / "plain.parquet")])
    url = "iceberg:lake.q?catalog=town"
    assert counted(f"spark:{url}") == counted(url) == counted(pa.table({"n": [9, 2], "m": [9, 1]}))


def test_files_of_which_nobody_says_what_their_columns_are_spend_nothing(
    use: Use, catalog: SqlCatalog, tmp_path: Path
) -> None:
    """Neither numbers in the files nor names in the table: they must not count as if they were null."""
    made = catalog.create_table("lake.q", schema=pa.schema([("n", pa.int64()), ("m", pa.int64())]))
    pq.write_table(pa.table({"m": [9, 1], "n": [9, 2]}), tmp_path / "plain.parquet")
    made.add_files([str(tmp_path / "plain.parquet")])
    url, key = "iceberg:lake.q?catalog=town", "schema.name-mapping.default"
    assert counted(f"spark:{url}") == counted(url)
    for known in ('[{"field-id": 1, "names": ["n"]}]', None):
        with made.transaction() as change:
            change.remove_properties(key) if known is None else change.set_properties({key: known})
        assert refused(f"spark:{url}") == refused(url) == "source.unreadable"
        opened = ht.Session.open(f"spark:{url}", schema=BOTH, ledger=tmp_path / "l", budget=ht.ZCDP(1))
        with pytest.raises(HushtableError):
            opened.release(ht.Workload.all_marginals(BOTH, order=1), budget=ht.ZCDP(0.5))
    assert not ht.Ledger.open(tmp_path / "l").reservations()


def test_a_column_that_a_file_has_in_other_letters_is_refused(use: Use, tmp_path: Path) -> None:
    """Spark's own readers would find it, others would take it for null."""
    write_deltalake(tmp_path / "d", pa.table({"n": [1, 2]}))
    pq.write_table(pa.table({"N": [1, 2]}), DeltaTable(tmp_path / "d").file_uris()[0])
    assert refused(f"spark:delta:{tmp_path / 'd'}", PLAIN) == "source.unreadable"


def test_deleted_people_are_refused_before_anything_is_spent(
    use: Use, catalog: SqlCatalog, tmp_path: Path
) -> None:
    write_deltalake(tmp_path / "d", pa.table({"n": pa.array(range(10))}))
    mark_deleted(tmp_path / "d", [2, 5])
    url = f"spark:delta:{tmp_path / 'd'}"
    assert counted(f"{url}?version=0", PLAIN)[0] == 10
    made = catalog.create_table("lake.n", schema=pa.schema([("n", pa.int64())]))
    made.append(pa.table({"n": pa.array(range(10))}))
    made.delete("n >= 7")
    assert counted("spark:iceberg:lake.n?catalog=town", PLAIN)[0] == 7
    (task,) = made.scan().plan_files()
    gone = pa.table({"file_path": [task.file.file_path] * 2, "pos": [1, 2]})
    places = [with_deletes(made, gone, tmp_path, DataFileContent.POSITION_DELETES)]
    for address in (url, *(f"spark:{place}" for place in places)):
        ledger = tmp_path / "l"
        with pytest.raises(HushtableError) as caught:
            ht.Session.open(address, schema=PLAIN, ledger=ledger, budget=ht.ZCDP(1))
        assert caught.value.code == "source.table-feature" and not ledger.exists()
    gone = pa.table({"n": pa.array([1, 2, 4])})
    place = with_deletes(made, gone, tmp_path, DataFileContent.EQUALITY_DELETES, equality_ids=[1])
    assert refused(f"spark:{place}", PLAIN) == "source.table-feature"


def test_what_is_not_there_is_refused_in_a_sentence(use: Use, catalog: SqlCatalog, tmp_path: Path) -> None:
    url = f"spark:delta:{tmp_path / 'd'}"
    write_deltalake(tmp_path / "d", pa.table({"n": pa.array(range(4)), "l": [[1]] * 4}))
    listed = ht.Schema.from_dict({"attributes": {"l": SMALL}})
    assert refused(url, listed) == "source.column-type"
    assert refused(f"{url}?version=7", PLAIN) == "source.no-version"
    assert refused(f"{url}?other=7", PLAIN) == "source.bad-url"
    assert refused("spark:delta:", PLAIN) == "source.bad-url"
    assert refused(f"spark:delta:{tmp_path / 'nowhere'}", PLAIN) == "source.no-table"
    assert refused("spark:iceberg:lake.nobody?catalog=town", PLAIN) == "source.no-table"
    connected = "spark:delta.`nowhere`"  # a name of Spark's own, which needs its connector
    assert refused(connected, PLAIN) in ("source.no-table", "source.interrupted")
    write_deltalake(tmp_path / "yes", pa.table({"yes": [True, False] * 20}))
    assert "type: boolean" in draft_schema(f"spark:delta:{tmp_path / 'yes'}")


@KINDS
def test_a_version_whose_files_are_gone_spends_nothing(kind: str, use: Use, tmp_path: Path) -> None:
    use(kind)
    write_deltalake(tmp_path / "d", pa.table({"n": pa.array(range(4))}))
    write_deltalake(tmp_path / "d", pa.table({"n": pa.array(range(3))}), mode="overwrite")
    DeltaTable(tmp_path / "d").vacuum(0, dry_run=False, enforce_retention_duration=False)
    url = f"spark:delta:{tmp_path / 'd'}"
    opened = ht.Session.open(f"{url}?version=0", schema=PLAIN, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    with pytest.raises(HushtableError) as caught:
        opened.release(ht.Workload.all_marginals(PLAIN, order=1), budget=ht.ZCDP(0.5))
    assert caught.value.code == "source.unreadable"
    assert not ht.Ledger.open(tmp_path / "l").reservations()
    assert counted(url, PLAIN)[0] == 3


def test_partition_values_and_names_of_files_are_nowhere(use: Use, sparks: Sparks, tmp_path: Path) -> None:
    """Not even in the line of the log that names files, because Spark reads none: our tasks do."""
    planted = "planted-Ulaanbaatar"
    rows = pa.table({"n": [1, 2, 3], "place": [planted, "planted-Umtata", planted]})
    write_deltalake(tmp_path / "d", rows, partition_by=["place"])
    declared = ht.Schema.from_dict({"attributes": {"n": SMALL}, "person": "place"})
    for kind in ("local", "connect"):
        use(kind)
        assert counted(f"spark:delta:{tmp_path / 'd'}", declared)[0] == 2
        gone = DeltaTable(tmp_path / "d").file_uris()[0]
        Path(gone).rename(f"{gone}.away")
        assert refused(f"spark:delta:{tmp_path / 'd'}", declared) == "source.unreadable"
        Path(f"{gone}.away").rename(gone)
    assert b"planted-U" not in sparks.logs() + sparks.pages.read()
