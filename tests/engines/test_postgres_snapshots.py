"""One snapshot: all passes over a table of PostgreSQL see the same rows, or are refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from number_tables import CAPPED, LAYOUT, PLAIN
from servers import Server

from hushtable.errors import SourceError
from hushtable.kernel.sources import open_counter, open_source
from hushtable.kernel.sources.postgres import PostgresTable


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
    counter = open_counter(server.url(database, table="chance"), CAPPED)
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


def test_a_table_that_is_emptied_and_filled_while_it_is_opened_is_read_full(
    numbers: tuple[Any, str], server: Server, database: str
) -> None:
    """A snapshot from before the exclusive lock would see neither the old rows nor the new ones."""
    link, url = numbers
    found: list[int] = []
    with server.connect(database) as writer:
        writer.execute(
            "BEGIN; TRUNCATE numbers; INSERT INTO numbers SELECT 7, i FROM generate_series(1, 500) i"
        )
        reader = threading.Thread(target=lambda: found.append(open_counter(url, PLAIN).tabulate(LAYOUT)[0]))
        reader.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'numbers'::regclass"
        while link.execute(waiting).fetchone() != (1,):
            time.sleep(0.01)
        writer.execute("COMMIT")
    reader.join(60)
    assert found == [500]


@pytest.mark.parametrize("how", ["heir", "partition"])
def test_parts_that_come_later_are_refused_and_nobody_counts_twice(
    how: str, numbers: tuple[Any, str], server: Server, database: str
) -> None:
    """They were filled before the snapshot, so that it sees their rows; under a cap a person would have two."""
    link, _ = numbers
    part = "PARTITION BY RANGE (n)" if how == "partition" else ""
    link.execute(f"CREATE TABLE whole (n int, id int) {part}")
    first = "PARTITION OF whole FOR VALUES FROM (0) TO (5)" if how == "partition" else "() INHERITS (whole)"
    link.execute(f"CREATE TABLE low {first}; CREATE TABLE high (n int, id int)")
    link.execute(
        "INSERT INTO low SELECT n, id FROM numbers WHERE n < 5; INSERT INTO high SELECT 7, id FROM low"
    )
    counter = open_counter(server.url(database, table="whole"), CAPPED)
    assert counter.tabulate(LAYOUT)[0] == 500
    link.execute(
        "ALTER TABLE whole ATTACH PARTITION high FOR VALUES FROM (5) TO (10)"
        if how == "partition"
        else "ALTER TABLE high INHERIT whole"
    )
    with pytest.raises(SourceError) as caught:
        counter.tabulate(LAYOUT)
    assert caught.value.code == "source.changed"
    assert open_counter(server.url(database, table="whole"), CAPPED).tabulate(LAYOUT)[0] == 500


def test_a_snapshot_of_the_same_name_that_is_somebody_elses_is_not_read(numbers: tuple[Any, str]) -> None:
    """As after a crash of the server, when names are given anew."""
    link, url = numbers
    table = PostgresTable(url)
    link.execute("INSERT INTO numbers SELECT 1, 1")
    own = table._links[0].info.backend_pid
    link.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
    (table._snapshot,) = link.execute("SELECT pg_export_snapshot()").fetchone()
    link.execute("SELECT pg_terminate_backend(%s, 5000)", (own,))
    with pytest.raises(SourceError):
        list(table.blocks(["n"], 100))
    link.execute("ROLLBACK")


def test_all_passes_go_to_one_of_several_servers(
    numbers: tuple[Any, str], server: Server, database: str, start_server: Callable[..., Server]
) -> None:
    other = start_server(
        server.programs.parent.name if server.programs.parent.name.isdigit() else None, max_connections="20"
    )
    with other.connect() as link:
        link.execute(f"DROP DATABASE IF EXISTS {database}")
        link.execute(f"CREATE DATABASE {database}")
    with other.connect(database) as link:
        link.execute("CREATE TABLE numbers AS SELECT 3 AS n, i AS id FROM generate_series(1, 50) i")
    hosts = f"127.0.0.1:{server.port},127.0.0.1:{other.port}"
    url = f"postgresql://postgres@{hosts}/{database}?load_balance_hosts=random&table=numbers"
    seen = set()
    for _ in range(8):
        counter = open_counter(url, CAPPED)
        rows = {int(counter.tabulate(LAYOUT)[0]) for _ in range(2)}
        assert len(rows) == 1
        seen |= rows
    assert seen <= {1000, 50}
