"""What of PostgreSQL cannot be opened or read is refused in one sentence, and nothing is spent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from made_people import SECRET, people, schema
from number_tables import LAYOUT, PLAIN, refusal
from servers import PASSWORD, Server
from tables import load

import hushtable as ht
from hushtable.cli.app import run
from hushtable.errors import HushtableError
from hushtable.kernel.sources import open_counter


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
    "another secret": (
        "postgresql://127.0.0.1/x?oauth_client_secret={secret}&table=t",
        "source.password-in-url",
    ),
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


@pytest.mark.parametrize("kind", ["(a int)", "AS (a int, b text)", "AS RANGE (subtype = date)"])
@pytest.mark.parametrize("name", ["int4", "numeric", "text", "timestamptz", "uuid"])
def test_a_type_that_has_only_the_name_of_a_known_one_is_not_read(
    name: str, kind: str, numbers: tuple[Any, str], server: Server, database: str
) -> None:
    link, _ = numbers
    made = f"CREATE TYPE odd.{name} {kind}" if "AS" in kind else f"CREATE TABLE odd.{name} {kind}"
    link.execute(f"CREATE SCHEMA odd; {made}; CREATE TABLE t (n odd.{name}, id odd.{name}, m int)")
    url = server.url(database, table="t")
    for declared in (PLAIN, ht.Schema.from_dict({"attributes": {"m": {"type": "boolean"}}, "person": "id"})):
        error = refusal(url, declared)
        assert error.code == "source.column-type" and name in str(error)


def test_a_person_of_duckdb_whose_collation_calls_texts_equal_is_refused(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "d.duckdb")) as link:
        link.execute(
            "CREATE TABLE t (n INT, amount DECIMAL(9, 2), exact VARCHAR, who VARCHAR COLLATE NOCASE)"
        )
        link.execute(
            "CREATE VIEW v AS SELECT n, exact COLLATE NOACCENT AS who, 'x' AS exact, 1.5 AS amount FROM t"
        )
        link.execute("INSERT INTO t VALUES (1, 2.5, 'A', 'A'), (2, 2.5, 'a', 'a')")
    for table in ("t", "v"):
        url = f"duckdb://{tmp_path}/d.duckdb?table={table}"
        declared = [
            ht.Schema.from_dict(PLAIN.to_dict() | {"person": name}) for name in ("who", "exact", "amount")
        ]
        error = refusal(url, declared[0])
        assert error.code == "source.column-type" and "VARCHAR with a collation" in str(error)
        found = [open_counter(url, one).tabulate(LAYOUT)[0] for one in declared[1:]]
        assert found == ([2, 1] if table == "t" else [1, 1])
