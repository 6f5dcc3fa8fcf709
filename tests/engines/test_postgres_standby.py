"""A real standby: it may be read, cancels what holds up its primary, and keeps no ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from number_tables import LAYOUT, PLAIN
from servers import Server

import hushtable as ht
from conftest import VERSIONS
from hushtable.cli.app import run
from hushtable.errors import LedgerError
from hushtable.kernel.sources import open_counter
from hushtable.kernel.sources.postgres import PostgresTable

pytestmark = pytest.mark.slow
ROWS = 60_000


@pytest.fixture(scope="module", params=sorted(VERSIONS, key=int) or ["none"])
def pair(
    request: pytest.FixtureRequest, start_server: Callable[..., Server]
) -> Iterator[tuple[Server, Server]]:
    """A primary and its standby, which waits for nobody that reads."""
    primary = start_server(request.param, fsync="on", log_statement="none")
    standby = Server(primary.programs, {"fsync": "on", "max_standby_streaming_delay": "0"}, primary)
    yield primary, standby
    standby.remove()


def follow(pair: tuple[Server, Server], done: str = "replay") -> None:
    """Wait until the standby has replayed, or received, all that the primary had written."""
    with pair[0].connect() as one, pair[1].connect() as two:
        (place,) = one.execute("SELECT pg_current_wal_lsn()").fetchone()
        until = time.monotonic() + 60
        asked = f"SELECT pg_last_wal_{done}_lsn() >= %s::pg_lsn"
        while two.execute(asked, (place,)).fetchone() != (True,):
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.fixture
def url(pair: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch) -> str:
    """A table on the primary, wide enough not to fit into what is sent ahead; its address on the standby."""
    for name, value in pair[0].environment.items():
        monkeypatch.setenv(name, value)
    with pair[0].connect() as link:
        link.execute("DROP TABLE IF EXISTS numbers")
        link.execute(
            "CREATE TABLE numbers AS SELECT (i % 10)::int AS n, repeat('x', 500) AS pad "
            f"FROM generate_series(1, {ROWS}) i"
        )
    follow(pair)
    return pair[1].url(table="numbers")


@pytest.mark.parametrize("conflict", ["DELETE FROM numbers; VACUUM numbers", "DROP TABLE numbers"])
def test_a_read_that_a_standby_cancels_half_way_is_refused_and_nothing_is_spent(
    conflict: str,
    pair: tuple[Server, Server],
    url: str,
    tmp_path: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pad = {"pad": {"type": "categorical", "values": ["x" * 500]}}
    declared = ht.Schema.from_dict({"attributes": PLAIN.to_dict()["attributes"] | pad})
    declared.save(tmp_path / "s.yaml")
    ledger = str(tmp_path / "l")
    assert run(["ledger", "create", ledger, "--budget", "rho=1"]) == 0
    spent = ht.Ledger.open(ledger).spent()
    original, struck = PostgresTable.blocks, []

    def blocks(table: PostgresTable, columns: Any, size: int) -> Iterator[Any]:
        for k, block in enumerate(original(table, columns, 1000)):
            if k == 1:
                with pair[0].connect() as link:
                    for statement in conflict.split("; "):
                        link.execute(statement)
                follow(pair, "receive")
                time.sleep(
                    1
                )  # until it is replayed; a server that waits for its client is cancelled afterwards
                struck.append(k)
            yield block

    monkeypatch.setattr(PostgresTable, "blocks", blocks)
    asked = f"--schema {tmp_path}/s.yaml --ledger {ledger} --order 1 --budget rho=1 --out {tmp_path}/out"
    capsys.readouterr()
    assert run(["release", url, *asked.split(), "--strategy", "identity"]) == 1
    said = capsys.readouterr().err
    assert struck, said
    assert "source.interrupted" in said and said.count("could not be read to its end") == 1
    assert ht.Ledger.open(ledger).spent() == spent and not list(tmp_path.glob("out*"))


def test_a_standby_gives_the_numbers_of_its_primary_and_no_ledger(
    pair: tuple[Server, Server], url: str
) -> None:
    assert open_counter(url, PLAIN).tabulate(LAYOUT).tolist() == [ROWS, *[ROWS // 10] * 10]
    ht.Ledger.create(pair[0].url(ledger="followed"), budget=ht.ZCDP(1))
    follow(pair)
    with pytest.raises(LedgerError) as caught:
        ht.Ledger.create(pair[1].url(ledger="new"), budget=ht.ZCDP(1))
    assert caught.value.code == "ledger.read-only"
    read = ht.Ledger.open(pair[1].url(ledger="followed"))
    with pytest.raises(LedgerError) as caught:
        read.grant("somebody", ht.ZCDP("0.1"))
    assert caught.value.code == "ledger.read-only"
