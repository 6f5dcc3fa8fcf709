"""PostgreSQL and DuckDB as sources: the same integers as from any file, one snapshot, and clear refusals."""

from __future__ import annotations

import gc
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pyarrow as pa
import pytest
from made_people import SECRET, people, schema, shuffled
from servers import PASSWORD, Server
from tables import duck, load

import hushtable as ht
from bit_sources import SeededBits
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.kernel.sources import libpq, open_counter, open_source
from hushtable.kernel.sources.postgres import PostgresTable
from hushtable.marginals import Layout
from hushtable.privacy import bits, sampler


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


def payloads(ledger: Path) -> list[str]:
    found = ht.Ledger.open(ledger)
    stored = [c.sha256 for holding in found.reservations() for c in holding.charges]
    return [str(s) for s in stored]


@pytest.mark.parametrize("limit", [None, 2])
def test_the_same_bits_give_the_same_payloads(
    everywhere: Any, limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases of all strategies, a choice and checks, under bits that repeat and one ledger's id."""
    declared = schema(limit)
    workload = ht.Workload.all_marginals(declared, order=2)
    options = [ht.linear.marginals(declared, order=k) for k in (1, 2)]
    public = pl.from_arrow(people(500, seed=9)).select("sex", "age", "member")
    public = public.filter(pl.col("sex").is_in(["F", "M"]), pl.col("age").is_between(0, 99), pl.col("member"))
    rest = {
        "income": 1.0,
        "cost": 0.5,
        "born": date(1995, 1, 1),
        "seen": date(2020, 5, 5),
        "left": date(2020, 5, 6),
    }
    public = public.with_columns(**{name: pl.lit(value) for name, value in rest.items()}).select(
        declared.names
    )
    monkeypatch.setattr(sampler, "_SHARED", 1 << 20)  # one thread draws, so that the order of bits is fixed
    monkeypatch.setattr(secrets, "token_hex", lambda size: "00" * size)
    monkeypatch.setattr(ht.session.kernel, "place_of", lambda data: None)  # a choice's first payload has it
    found: dict[str, list[str]] = {}
    for name, data in everywhere(people(600)).items():
        monkeypatch.setattr(bits, "_SYSTEM", SeededBits(7))
        ledger = tmp_path / f"{name}.ledger"
        session = ht.Session.open(data, schema=declared, ledger=ledger, budget=ht.ZCDP(50))
        for strategy in ("auto", "aim", "residual-planner", "identity"):
            session.release(workload, budget=ht.ZCDP(0.2), strategy=strategy, request=strategy)
        session.choose(options, budget=ht.ZCDP(0.2)).finish(1)
        queries = [
            "COUNT WHERE sex = 'F'",
            "SUM(age) WHERE born IS NOT NULL",
            "MEDIAN(income)",
            "COUNT WHERE cost < 1",
        ]
        for query in queries:
            session.check(query, public, tau="10%", budget=ht.ZCDP(2))
        found[name] = payloads(ledger)
    for name, hashes in found.items():
        assert len(hashes) > 9 and hashes == found["parquet"], name


# -- one snapshot --------------------------------------------------------------------------------------------------

PLAIN = ht.Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}})
LAYOUT = Layout(PLAIN.sizes, ((), (0,)))


@pytest.fixture
def numbers(server: Server, database: str) -> Iterator[tuple[Any, str]]:
    """A connection, and the URL of a table of 1,000 whole numbers in it."""
    with server.connect(database) as link:
        link.execute(
            "CREATE TABLE numbers AS SELECT (i % 10)::int AS n, i AS id FROM generate_series(1, 1000) i"
        )
        yield link, server.url(database, table="numbers")


def test_all_passes_read_the_snapshot_of_the_opening(numbers: tuple[Any, str]) -> None:
    link, url = numbers
    counter = open_counter(url, PLAIN)
    before = counter.tabulate(LAYOUT)
    link.execute("UPDATE numbers SET n = 0; INSERT INTO numbers SELECT 5, 7 FROM generate_series(1, 99)")
    np.testing.assert_array_equal(counter.tabulate(LAYOUT), before)
    np.testing.assert_array_equal(counter.staged().tabulate(LAYOUT), before)
    anew = open_counter(url, PLAIN).tabulate(LAYOUT)
    assert anew[:2].tolist() == [1099, 1000]


def test_a_table_that_is_written_to_while_it_is_read(numbers: tuple[Any, str]) -> None:
    link, url = numbers
    source = open_source(url, PLAIN)
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            link.execute("UPDATE numbers SET n = (n + 1) % 10")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            found = np.concatenate([batch[0] for batch in source.batches()])
            assert np.bincount(found, minlength=10).tolist() == [100] * 10
    finally:
        done.set()
        writer.join()


def test_a_view_with_a_volatile_function_is_read_once(
    numbers: tuple[Any, str], server: Server, database: str
) -> None:
    link, _ = numbers
    link.execute("CREATE VIEW chance AS SELECT floor(random() * 10)::int AS n, id % 300 AS id FROM numbers")
    capped = ht.Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}, "person": "id"})
    counter = open_counter(server.url(database, table="chance"), capped)
    first = counter.tabulate(LAYOUT)
    assert first[0] == 300
    np.testing.assert_array_equal(counter.tabulate(LAYOUT), first)


def test_a_pass_that_is_given_up_leaves_the_snapshot(numbers: tuple[Any, str]) -> None:
    _, url = numbers
    source = open_source(url, PLAIN)
    source._size = 10
    stream = source.batches()
    next(stream)
    stream.close()
    assert sum(len(batch[0]) for batch in source.batches()) == 1000


# -- refusals ------------------------------------------------------------------------------------------------------


def refusal(url: str, declared: ht.Schema = PLAIN) -> HushtableError:
    with pytest.raises(HushtableError) as caught:
        open_counter(url, declared)
    assert caught.value.__context__ is None
    error = caught.value.with_traceback(None)
    del caught
    gc.collect()  # frames of the traceback hold the table, and the table its locks
    return error


def test_a_row_policy_is_not_obeyed_in_silence(
    numbers: tuple[Any, str], server: Server, database: str
) -> None:
    link, _ = numbers
    link.execute(f"CREATE ROLE reader{database} LOGIN PASSWORD '{PASSWORD}'")
    link.execute(f"GRANT SELECT ON numbers TO reader{database}")
    url = server.url(database, user=f"reader{database}", table="numbers")
    assert open_counter(url, PLAIN).tabulate(LAYOUT)[0] == 1000
    link.execute("ALTER TABLE numbers ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON numbers USING (n < 3)")
    link.execute("CREATE VIEW through WITH (security_invoker) AS SELECT * FROM numbers")
    link.execute(f"GRANT SELECT ON through TO reader{database}")
    assert refusal(url).code == "source.not-allowed"
    assert refusal(url.replace("table=numbers", "table=through")).code == "source.not-allowed"
    link.execute(f"REVOKE SELECT ON numbers FROM reader{database}")
    assert refusal(url).code == "source.not-allowed"


BAD = {
    "no server": ("postgresql://postgres@127.0.0.1:1/x?table=t", "source.no-server"),
    "no such host": ("postgresql://postgres@no.such.host.invalid/x?table=t", "source.no-server"),
    "no database": ("{base}/nothing?table=numbers", "source.no-access"),
    "no table": ("{base}/{database}?table=nothing", "source.no-table"),
    "another spelling": ("{base}/{database}?table=Numbers", "source.no-table"),
    "another schema": ("{base}/{database}?table=pg_catalog.numbers", "source.no-table"),
    "an index": ("{base}/{database}?table=key", "source.no-table"),
    "SQL": ("{base}/{database}?table=numbers; DROP TABLE numbers", "source.no-table"),
    "no name": ("{base}/{database}", "source.no-table-named"),
    "an empty name": ("{base}/{database}?table=", "source.no-table-named"),
    "two names": ("{base}/{database}?table=a&table=b", "source.no-table-named"),
    "a password": ("postgresql://u:{secret}@127.0.0.1/x?table=t", "source.password-in-url"),
    "a password below": ("postgresql://127.0.0.1/x?password={secret}&table=t", "source.password-in-url"),
    "a password with a mark": ("postgresql://u:{secret}#x@127.0.0.1/x?table=t", "source.password-in-url"),
    "a password that asks": (
        "postgresql://u:{secret}?x@127.0.0.1/x?sslmode=prefer&table=t",
        "source.password-in-url",
    ),
    "half an address": ("postgresql://[{secret}/x?table=t", "source.bad-url"),
    "an unknown option": ("{base}/{database}?table=numbers&{secret}=1", "source.bad-url"),
    "an unknown service": ("postgresql://?service={secret}&table=t", "source.no-server"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_opened_is_refused_in_one_sentence_and_nothing_is_spent(
    case: str, numbers: tuple[Any, str], server: Server, database: str, tmp_path: Path, capsys: Any
) -> None:
    link, _ = numbers
    link.execute("CREATE INDEX key ON numbers (id)")
    text, code = BAD[case]
    base = f"postgresql://postgres@127.0.0.1:{server.port}"
    url = text.format(base=base, database=database, secret=SECRET)
    error = refusal(url)
    assert error.code == code
    PLAIN.save(tmp_path / "s.yaml")
    ledger = str(tmp_path / "l")
    assert run(["ledger", "create", ledger, "--budget", "rho=1"]) == 0
    head = ht.Ledger.open(ledger).head
    asked = f"--schema {tmp_path}/s.yaml --ledger {ledger} --order 1 --budget rho=1 --out {tmp_path}/out"
    assert run(["release", url, *asked.split()]) in (1, 2)
    said = capsys.readouterr().err
    assert SECRET not in said and PASSWORD not in said and code in said
    assert ht.Ledger.open(ledger).head == head and not list(tmp_path.glob("out*"))


def test_a_wrong_password_is_refused(numbers: tuple[Any, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    error = refusal(numbers[1])
    assert error.code == "source.no-access" and SECRET not in str(error)


def test_a_password_file_and_a_service_are_enough(
    server: Server, database: str, numbers: tuple[Any, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD")
    (tmp_path / "pass").write_text(f"127.0.0.1:{server.port}:*:postgres:{PASSWORD}\n")
    (tmp_path / "pass").chmod(0o600)
    (tmp_path / "services").write_text(
        f"[town]\nhost=127.0.0.1\nport={server.port}\nuser=postgres\ndbname={database}\n"
    )
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "pass"))
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert open_counter("postgresql://?service=town&table=numbers", PLAIN).tabulate(LAYOUT)[0] == 1000
    assert open_counter(numbers[1] + "&sslmode=prefer", PLAIN).tabulate(LAYOUT)[0] == 1000
    assert refusal(numbers[1] + "&sslmode=verify-full").code == "source.no-server"


READ = {
    "text": "'x'",
    "varchar(9)": "'x'",
    "uuid": "gen_random_uuid()",
    "bigint": "7",
    "numeric(9,2)": "7.5",
    "date": "'2020-01-01'",
    "timestamptz": "now()",
    "boolean": "true",
    "bytea": "'\\xff'",
    "mood": "'sad'",
    "words": "'x'",
}
LOOSE = {
    "char(3)": "char(n)",
    "real": "real",
    "double precision": "double precision",
    "numeric": "numeric without a scale",
    'text COLLATE "loose"': "nondeterministic collation",
    "interval": "interval",
    "json": "json",
    "money": "money",
    "oid": "oid",
    "integer[]": "_int4",
    "time": "time",
    "citext": "citext",
    "few": "real",
}


def test_person_columns_are_taken_or_refused_by_their_type(
    numbers: tuple[Any, str], server: Server, database: str
) -> None:
    link, _ = numbers
    link.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN words AS text; CREATE DOMAIN few AS real"
    )
    with_icu = False
    with suppress(psycopg.errors.FeatureNotSupported):
        link.execute(
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        with_icu = True
    with_citext = link.execute(
        "SELECT count(*) FROM pg_available_extensions WHERE name = 'citext'"
    ).fetchone()[0]
    if with_citext:
        link.execute("CREATE EXTENSION citext")
    declared = ht.Schema.from_dict(
        {"attributes": {"n": {"type": "integer", "bounds": [0, 9]}}, "person": "who"}
    )
    for kind, value in READ.items():
        link.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t (n int, who {kind})")
        link.execute(f"INSERT INTO t SELECT i, {value}::{kind} FROM generate_series(0, 4) i")
        rows = open_counter(server.url(database, table="t"), declared).tabulate(LAYOUT)[0]
        assert rows == (5 if kind == "uuid" else 1), kind
    for kind, called in LOOSE.items():
        if (kind == "citext" and not with_citext) or ("COLLATE" in kind and not with_icu):
            continue
        link.execute(f"DROP TABLE IF EXISTS t; CREATE TABLE t (n int, who {kind})")
        error = refusal(server.url(database, table="t"), declared)
        assert error.code == "source.column-type" and called in str(error), kind


def test_a_column_that_is_missing_or_cannot_be_read_is_named(numbers: tuple[Any, str]) -> None:
    link, url = numbers
    link.execute("ALTER TABLE numbers ADD doc json")
    missing = ht.Schema.from_dict({"attributes": {"N": {"type": "boolean"}}})
    assert refusal(url, missing).code == "source.unknown-column"
    error = refusal(
        url, ht.Schema.from_dict({"attributes": {"doc": {"type": "categorical", "values": ["a"]}}})
    )
    assert error.code == "source.column-type" and "json" in str(error)


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


@pytest.mark.parametrize("how", ["terminated", "cancelled"])
def test_a_read_that_ends_half_way_is_refused_and_nothing_is_spent(
    how: str, numbers: tuple[Any, str], server: Server, database: str, tmp_path: Path
) -> None:
    link, url = numbers
    link.execute(
        "ALTER TABLE numbers ADD pad text; INSERT INTO numbers SELECT 3, i FROM generate_series(1, 200000) i"
    )
    link.execute("UPDATE numbers SET pad = repeat('x', 500)")
    pad = {"pad": {"type": "categorical", "values": ["x" * 500]}}
    declared = ht.Schema.from_dict({"attributes": {"n": {"type": "integer", "bounds": [0, 9]}, **pad}})
    session = ht.Session.open(url, schema=declared, ledger=tmp_path / "l", budget=ht.ZCDP(1))
    head = session.ledger.head
    call = {"terminated": "pg_terminate_backend", "cancelled": "pg_cancel_backend"}[how]
    table: Any = session._counter._source._table
    original = table.blocks

    def struck(columns: Any, size: int) -> Iterator[Any]:
        for k, block in enumerate(original(columns, size)):
            if k == 1:
                where = f"datname = '{database}' AND pid <> pg_backend_pid() AND query LIKE 'COPY%'"
                assert link.execute(f"SELECT {call}(pid) FROM pg_stat_activity WHERE {where}").fetchall()
            yield block

    table.blocks = struck
    with pytest.raises(HushtableError) as caught:
        session.release(ht.Workload.all_marginals(declared, order=1), budget=ht.ZCDP(1), strategy="identity")
    assert caught.value.code == "source.interrupted" and caught.value.__context__ is None
    assert session.ledger.head == head
    table.blocks = original
    session.release(ht.Workload.all_marginals(declared, order=1), budget=ht.ZCDP(1), strategy="identity")


def test_a_table_in_use_cannot_be_dropped_and_one_that_is_gone_is_refused(numbers: tuple[Any, str]) -> None:
    link, url = numbers
    counter = open_counter(url, PLAIN)
    link.execute("SET lock_timeout = '200ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        link.execute("DROP TABLE numbers")
    assert counter.tabulate(LAYOUT)[0] == 1000
    del counter
    link.execute("DROP TABLE numbers")
    assert refusal(url).code == "source.no-table"


def test_values_never_reach_the_servers_log_or_our_words(
    server: Server, database: str, tmp_path: Path, capsys: Any
) -> None:
    table = people(300)
    url = load(server, database, table)
    server.log.write_bytes(b"")  # what loading wrote is not ours
    schema(1).save(tmp_path / "s.yaml")
    known = ["--schema", f"{tmp_path}/s.yaml", "--ledger", f"{tmp_path}/l"]
    assert run(["ledger", "create", f"{tmp_path}/l", "--budget", "rho=3"]) == 0
    order = ["--order", "2", "--budget", "rho=1", "--out", f"{tmp_path}/out"]
    assert run(["release", url, *known, *order]) == 0
    assert run(["choose", url, *known, "--orders", "1", "2", "--budget", "rho=1"]) == 0
    text = server.log.read_text(errors="replace") + "".join(capsys.readouterr())
    text += "".join(p.read_bytes().decode("latin-1") for p in tmp_path.rglob("*") if p.is_file())
    for value in (SECRET, SECRET.encode().decode("latin-1"), PASSWORD, PASSWORD.replace(" ", "%20")):
        assert value not in text
    assert "COPY" in text


def test_a_view_that_fails_on_a_value_is_refused_without_it(
    server: Server, database: str, tmp_path: Path, capsys: Any
) -> None:
    with server.connect(database) as link:
        link.execute("CREATE TABLE words (word text)")
        link.execute("INSERT INTO words SELECT i::text FROM generate_series(0, 9) i")
        link.execute("INSERT INTO words VALUES (%s)", (SECRET,))
        link.execute("CREATE VIEW numbers AS SELECT word::int AS n FROM words")
    PLAIN.save(tmp_path / "s.yaml")
    ledger = str(tmp_path / "l")
    assert run(["ledger", "create", ledger, "--budget", "rho=1"]) == 0
    asked = f"--schema {tmp_path}/s.yaml --ledger {ledger} --order 1 --budget rho=1 --out {tmp_path}/out"
    before = ht.Ledger.open(ledger).spent()
    assert run(["release", server.url(database, table="numbers"), *asked.split()]) == 1
    said = "".join(capsys.readouterr())
    assert "source.interrupted" in said and SECRET not in said
    assert ht.Ledger.open(ledger).spent() == before and not list(tmp_path.glob("out*"))


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


# -- what is copied, and how ---------------------------------------------------------------------------------------


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
