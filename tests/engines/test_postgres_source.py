"""PostgreSQL and DuckDB as sources: the same integers as from any file, whatever a table is made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from made_people import people, schema, shuffled, weighed
from number_tables import LAYOUT, PLAIN
from payloads import stored_payloads
from row_sums import SQL, counted, summed_by
from servers import PASSWORD, Server
from tables import duck, load

import hushtable as ht
from hushtable.cli.app import run
from hushtable.kernel.sources import libpq, open_counter, open_source
from hushtable.kernel.sources.postgres import PostgresTable
from hushtable.marginals import Layout


@pytest.fixture
def everywhere(server: Server, database: str, tmp_path: Path) -> Callable[[pa.Table], dict[str, Any]]:
    """One table as every kind of source has it, in different orders; a text file has days in place of moments."""

    def made(table: pa.Table) -> dict[str, Any]:
        frame = pl.from_arrow(table)
        frame.with_columns(
            pl.col("seen").dt.strftime("%Y-%m-%d"), pl.col("left").dt.strftime("%Y-%m-%d")
        ).write_csv(tmp_path / "t.csv")
        pl.from_arrow(shuffled(table, 2)).write_parquet(tmp_path / "t.parquet")
        url = load(server, database, shuffled(table, 3))
        with server.connect(database) as link:
            link.execute("CREATE OR REPLACE VIEW seen_people AS SELECT * FROM people ORDER BY age, sex")
        return {
            "csv": tmp_path / "t.csv",
            "parquet": tmp_path / "t.parquet",
            "arrow": table,
            "polars": pl.from_arrow(shuffled(table, 4)),
            "pandas": shuffled(table, 5).to_pandas(types_mapper=pd_types),
            "duckdb": duck(shuffled(table, 6), tmp_path / "t.duckdb"),
            "postgresql": url,
            "a view": server.url(database, table="public.seen_people"),
        }

    return made


def pd_types(kind: pa.DataType) -> Any:
    import pandas as pd

    return pd.ArrowDtype(kind)


@pytest.mark.parametrize("limit", [None, 1, 2])
def test_every_source_gives_the_same_integers_in_tables_and_tallies(
    everywhere: Any, limit: int | None
) -> None:
    declared = schema(limit)
    layout = Layout(declared.sizes, ((), *((a, b) for a in range(8) for b in range(a))))
    tables, rows = {}, {}
    for name, data in everywhere(people(900)).items():
        counter = open_counter(data, declared).keyed("one ledger")
        tables[name] = counter.tabulate(layout).tolist()
        source = open_source(data, declared).keyed("one ledger")
        rows[name] = sorted(
            repr(row) for b in source.plain_batches() for row in zip(*(c.tolist() for c in b), strict=True)
        )
    for name in tables:
        assert tables[name] == tables["parquet"], name
        assert rows[name] == rows["parquet"], name
    assert tables["parquet"][0] > 100


@pytest.mark.parametrize("declared", [schema(), schema(2), weighed(2)], ids=["plain", "capped", "weighed"])
def test_the_same_bits_give_the_same_payloads(
    everywhere: Any, declared: ht.Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases of all strategies, a choice and checks, under bits that repeat and one ledger's id."""
    found = {
        name: stored_payloads(data, declared, tmp_path / f"{name}.ledger", monkeypatch)
        for name, data in everywhere(people(600)).items()
    }
    for name, hashes in found.items():
        assert len(hashes) > (9 if declared.weight is None else 3) and hashes == found["parquet"], name


def test_weights_totals_and_replicates_are_what_the_server_computes(
    everywhere: Any, server: Server, database: str
) -> None:
    data = everywhere(people(900))
    with server.connect(database) as link:
        nan = "(income IS NULL OR income = 'NaN')"
        expected = summed_by(link.execute(SQL.format(table="people", nan=nan)).fetchall())
    assert min(expected[0]) > 1000 and any(expected[2])
    for name in data:
        assert counted(data[name]) == expected, name


def test_infinite_days_and_moments_lie_beyond_all_others(server: Server, database: str) -> None:
    with server.connect(database) as link:
        link.execute("CREATE TABLE ends (d date, t timestamp, z timestamptz)")
        ends = [
            ["infinity"] * 3,
            ["-infinity"] * 3,
            ["4713-01-01 BC"] * 3,
            ["5874897-01-01", *["294276-01-01"] * 2],
        ]
        link.cursor().executemany("INSERT INTO ends VALUES (%s::date, %s::timestamp, %s::timestamptz)", ends)
    bounds = {"type": "date", "bounds": ["2000-01-01", "2000-12-31"], "bins": 2, "outside": "clip"}
    declared = ht.Schema.from_dict({"attributes": dict.fromkeys("dtz", bounds)})
    source = open_source(server.url(database, table="ends"), declared)
    rows = [row for batch in source.batches() for row in zip(*(c.tolist() for c in batch), strict=True)]
    assert sorted(rows) == [(0, 0, 0), (0, 0, 0), (1, 1, 1), (1, 1, 1)]


def test_the_command_line_takes_a_table_by_flag_or_url(
    numbers: tuple[Any, str], server: Server, database: str, tmp_path: Path
) -> None:
    base, path = server.url(database), tmp_path / "s.yaml"
    assert run(["init", base, "--table", "numbers", "--out", str(path)]) == 0
    assert "n:" in path.read_text(encoding="utf-8")
    path.unlink()
    PLAIN.save(path)
    duck(pa.table({"n": pa.array(range(10), pa.int64())}), tmp_path / "d.duckdb", "some rows")
    ledger = str(tmp_path / "l")
    assert run(["ledger", "create", ledger, "--budget", "rho=20000"]) == 0
    asked = ["--schema", str(path), "--ledger", ledger, "--order", "1", "--budget", "rho=9000"]
    for k, url in enumerate([base, f"duckdb://{tmp_path}/d.duckdb"]):
        name = ["numbers", "some rows"][k]
        assert run(["release", url, "--table", name, *asked, "--out", f"{tmp_path}/out{k}"]) == 0
        total = ht.Release.load(tmp_path / f"out{k}").table("n").get_column("estimate").round().sum()
        assert total == [1000, 10][k]
    assert (
        b"127.0.0.1" not in (tmp_path / "l").read_bytes() and b"duckdb" not in (tmp_path / "l").read_bytes()
    )


def test_a_choice_that_is_finished_later_says_that_it_reads_anew(
    numbers: tuple[Any, str], tmp_path: Path, capsys: Any
) -> None:
    link, url = numbers
    PLAIN.save(tmp_path / "s.yaml")
    known = ["--ledger", f"{tmp_path}/l"]
    assert run(["ledger", "create", f"{tmp_path}/l", "--budget", "rho=9000"]) == 0
    begun = [
        "choose",
        url,
        "--schema",
        f"{tmp_path}/s.yaml",
        *known,
        "--orders",
        "0",
        "1",
        "--budget",
        "rho=9000",
    ]
    assert run(begun) == 0
    (choice,) = [h.reservation.request for h in ht.Ledger.open(f"{tmp_path}/l").reservations()]
    link.execute("INSERT INTO numbers SELECT 3, i FROM generate_series(1, 500) i")
    finish = [
        "choose",
        "finish",
        *known,
        "--choice",
        str(choice),
        "--option",
        "1",
        "--out",
        f"{tmp_path}/out",
    ]
    capsys.readouterr()
    assert run(finish) in (1, 2) and not (tmp_path / "out").exists()  # the ledger holds no address
    assert run([*finish, "--data", url]) == 0
    assert "anew" in capsys.readouterr().err


def test_a_role_that_may_read_some_columns_reads_them(
    numbers: tuple[Any, str], server: Server, database: str
) -> None:
    link, _ = numbers
    link.execute(
        f"CREATE ROLE some{database} LOGIN PASSWORD '{PASSWORD}'; GRANT SELECT (n) ON numbers TO some{database}"
    )
    url = server.url(database, user=f"some{database}", table="numbers")
    assert open_counter(url, PLAIN).tabulate(LAYOUT)[0] == 1000


def test_tables_of_every_kind_give_all_rows(server: Server, database: str) -> None:
    """Parts, heirs, columns that are computed, and results that were kept: some cannot be copied without a query."""
    columns = "n int, doubled int GENERATED ALWAYS AS (n * 2) STORED"
    with server.connect(database) as link:
        link.execute(
            f"CREATE TABLE plain ({columns}); INSERT INTO plain SELECT i % 5 FROM generate_series(1, 100) i"
        )
        link.execute("CREATE TABLE parent (n int); CREATE TABLE heir (more text) INHERITS (parent)")
        link.execute(
            "INSERT INTO parent SELECT 1 FROM generate_series(1, 10); INSERT INTO heir SELECT 2, 'x'"
        )
        link.execute("CREATE TABLE parts (n int) PARTITION BY RANGE (n)")
        link.execute("CREATE TABLE low PARTITION OF parts FOR VALUES FROM (0) TO (5)")
        link.execute("CREATE TABLE high PARTITION OF parts FOR VALUES FROM (5) TO (10)")
        link.execute("INSERT INTO parts SELECT i % 10 FROM generate_series(1, 70) i")
        link.execute("CREATE MATERIALIZED VIEW kept AS SELECT n FROM parts WHERE n > 2")
        link.execute("CREATE TEMP TABLE not_seen (n int); CREATE TABLE empty (n int)")
    expected = {"plain": 100, "parent": 11, "heir": 1, "parts": 70, "high": 35, "kept": 49, "empty": 0}
    for name, rows in expected.items():
        assert open_counter(server.url(database, table=name), PLAIN).tabulate(LAYOUT)[0] == rows, name
    computed = ht.Schema.from_dict(
        {
            "attributes": {
                "n": {"type": "integer", "bounds": [0, 9]},
                "doubled": {"type": "integer", "bounds": [0, 9]},
            }
        }
    )
    layout = Layout(computed.sizes, ((0, 1),))
    found = open_counter(server.url(database, table="plain"), computed).tabulate(layout).reshape(10, 10)
    assert [found[n, 2 * n] for n in range(5)] == [20] * 5 and found.sum() == 100


def test_numbers_are_read_as_the_server_writes_them(server: Server, database: str) -> None:
    """Decimals of all sizes, whose bytes are put together here, against the server's own text."""
    with server.connect(database) as link:
        link.execute("CREATE TABLE amounts (amount numeric, written text)")
        link.execute(
            "INSERT INTO amounts SELECT a, a::text FROM (SELECT (random() - 0.5)::numeric * 10::numeric ^ "
            "(i % 60 - 30) AS a FROM generate_series(1, 3000) i) s"
        )
        values = "0 0.00 -0.0001 10000 100000000 9999.9999 1e-200 123456789012345678901234567890 1e130 NaN"
        values += " Infinity -Infinity" if int(link.info.server_version) >= 140000 else ""
        for value in values.split():
            link.execute(f"INSERT INTO amounts SELECT a, a::text FROM (SELECT '{value}'::numeric AS a) s")
    table = PostgresTable(server.url(database, table="amounts"))
    rows = 0
    for block in table.blocks(["amount", "written"], 1000):
        amounts, written = block.columns()
        assert amounts.to_pylist() == written.to_pylist()
        rows += len(amounts)
    assert rows > 3005


@pytest.mark.parametrize("wide", [False, True])
def test_rows_come_alike_from_the_library_and_from_the_driver(
    server: Server, database: str, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server.connect(database) as link:
        text = "repeat(md5(i::text), i * 50000)" if wide else "CASE WHEN i % 3 > 0 THEN i::text END"
        rows = 8 if wide else 20_000  # the widest has 13 MB
        link.execute(f"CREATE TABLE t AS SELECT i, {text} AS x FROM generate_series(1, {rows}) i")
    table = PostgresTable(server.url(database, table="t"))

    def found() -> Any:
        columns = zip(*(block.columns() for block in table.blocks(["i", "x"], 4096)), strict=True)
        return [pa.chunked_array(list(column)) for column in columns]

    assert libpq._calls(type(table._links[0].pgconn)) is not None, "the compiled loop is not in use"
    fast = found()
    monkeypatch.setattr(libpq, "_calls", lambda kind: None)
    slow = found()
    assert sorted(fast[0].to_pylist()) == list(range(1, rows + 1))
    assert all(a.combine_chunks().equals(b.combine_chunks()) for a, b in zip(fast, slow, strict=True))


def test_a_database_in_another_encoding_is_read_as_text(server: Server, database: str) -> None:
    with server.connect() as link:
        link.execute(
            f"CREATE DATABASE latin{database} ENCODING LATIN1 TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    with server.connect(f"latin{database}") as link:
        link.execute("CREATE TABLE t AS SELECT 'é'::text AS x FROM generate_series(1, 5)")
    declared = ht.Schema.from_dict({"attributes": {"x": {"type": "categorical", "values": ["é", "e"]}}})
    url = server.url(f"latin{database}", table="t")
    assert open_counter(url, declared).tabulate(Layout(declared.sizes, ((0,),))).tolist() == [5, 0]
    assert (
        open_counter(url + "&client_encoding=latin1", declared).tabulate(Layout(declared.sizes, ((0,),)))[0]
        == 5
    )


def test_a_database_without_an_encoding_is_read_byte_for_byte(
    server: Server, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where bytes are no text in any encoding, and where the environment asks for none."""
    with server.connect() as link:
        link.execute(
            f"CREATE DATABASE ascii{database} ENCODING SQL_ASCII TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    with server.connect(f"ascii{database}") as link:
        odd = "convert_from(decode('e9', 'hex'), 'SQL_ASCII')"
        link.execute(f"CREATE TABLE t AS SELECT 1 AS n, {odd} AS who UNION ALL SELECT 2, {odd}")
        link.execute("INSERT INTO t VALUES (3, 'e'), (3, chr(233)), (4, chr(233))")
    declared = ht.Schema.from_dict(PLAIN.to_dict() | {"person": "who"})
    for encoding in ("UTF8", "SQL_ASCII", "LATIN1"):
        monkeypatch.setenv("PGCLIENTENCODING", encoding)
        assert open_counter(server.url(f"ascii{database}", table="t"), declared).tabulate(LAYOUT)[0] == 2


KINDS_OF_PERSON = {
    "uuid": "md5((i / 3)::text)::uuid",
    "date": "CASE i % 5 WHEN 0 THEN date 'infinity' WHEN 1 THEN '-infinity' WHEN 2 THEN '4713-01-01 BC' "
    "WHEN 3 THEN '12000-05-06' ELSE date '2020-01-01' + i / 3 END",
    "timestamptz": "CASE i % 3 WHEN 0 THEN timestamptz 'infinity' ELSE now() - i / 3 * interval '1 h' END",
    "numeric(9,2)": "CASE i % 4 WHEN 0 THEN numeric 'NaN' ELSE i / 3 END",
    "boolean": "i % 2 = 0",
    "mood": "CASE i % 2 WHEN 0 THEN 'sad' ELSE 'ok' END::mood",
    "bytea": "decode(md5((i / 3)::text), 'hex')",
    "bigint": "(i / 3 - 20)::bigint * 461168601842738790",
}


@pytest.mark.parametrize("kind", KINDS_OF_PERSON)
def test_a_person_of_any_type_counts_once_and_alike_as_text(
    kind: str, server: Server, database: str, tmp_path: Path
) -> None:
    value = KINDS_OF_PERSON[kind]
    declared = ht.Schema.from_dict(PLAIN.to_dict() | {"person": "who"})
    with server.connect(database) as link:
        link.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        link.execute(
            f"CREATE TABLE t AS SELECT i % 10 AS n, ({value})::{kind} AS who FROM generate_series(1, 90) i"
        )
        rows = link.execute("SELECT n, who::text FROM t").fetchall()
    counter = open_counter(server.url(database, table="t"), declared).keyed("x")
    found = counter.tabulate(LAYOUT)
    assert found[0] == len({who for _, who in rows})
    if kind in ("uuid", "mood", "numeric(9,2)", "bigint"):
        written = pl.DataFrame(rows, schema=["n", "who"], orient="row")
        written.write_csv(tmp_path / "t.csv")
        np.testing.assert_array_equal(
            open_counter(tmp_path / "t.csv", declared).keyed("x").tabulate(LAYOUT), found
        )
