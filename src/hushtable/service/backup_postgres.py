"""The service's tables in PostgreSQL, as a backup has them: one SQLite file, of one moment, and put back whole."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from hushtable.errors import RefusedError
from hushtable.lazily import Later
from hushtable.service.service_tables import TABLES
from hushtable.service.storage import unreachable_database

psycopg = Later("psycopg")
SCHEMA = "hush_service"
NAMES = tuple(found[1] for text in TABLES if (found := re.match(r"CREATE TABLE IF NOT EXISTS (\w+)", text)))
"""The tables, in the order in which they are made."""
PART = 1000
"""Rows that are fetched at once: some megabytes of the largest, those of jobs with their results."""


@contextlib.contextmanager
def still_database(address: str) -> Generator[tuple[Any, str]]:
    """A transaction that sees one moment, and the snapshot by which others of the database see the same."""
    settings = psycopg.conninfo.conninfo_to_dict(address) | {"connect_timeout": 5}
    try:
        with closing(psycopg.connect(**settings, autocommit=True)) as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection, connection.execute("SELECT pg_export_snapshot()").fetchall()[0][0]
            connection.execute("COMMIT")
    except psycopg.Error:
        raise unreachable_database() from None


def fetch_tables(connection: Any, target: Path) -> None:
    """Write what a transaction sees to a new SQLite file."""
    with closing(sqlite3.connect(target)) as copy, copy:
        for statement in TABLES:
            copy.execute(statement)
        for name in NAMES:
            with connection.cursor(f"all_of_{name}") as rows:
                rows.execute(f"SELECT * FROM {SCHEMA}.{name}")
                columns = [column.name for column in rows.description or ()]
                while found := rows.fetchmany(PART):
                    copy.executemany(_insert(name, columns, "?"), found)
    target.chmod(0o600)


def require_no_tables(address: str) -> None:
    """Refuse a database that has tables of a service."""
    with still_database(address) as (connection, _):
        if _has_tables(connection):
            raise _there()


def put_tables(copy: Path, address: str) -> None:
    """Make the tables of a SQLite file in a database that has none: all at once, or nothing."""
    settings = psycopg.conninfo.conninfo_to_dict(address) | {"connect_timeout": 5}
    try:
        with closing(sqlite3.connect(copy)) as old, psycopg.connect(**settings) as new:
            if _has_tables(new):
                raise _there()
            new.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            new.execute(f"SET LOCAL search_path = {SCHEMA}")
            for statement in TABLES:
                new.execute(statement)
            for name in NAMES:
                rows = old.execute(f"SELECT * FROM {name}")
                written = _insert(name, [column[0] for column in rows.description], "%s")
                while found := rows.fetchmany(PART):
                    new.cursor().executemany(written, found)
    except psycopg.Error:
        raise unreachable_database() from None


def _has_tables(connection: Any) -> bool:
    found: list[Any] = connection.execute(f"SELECT to_regclass('{SCHEMA}.setting')").fetchall()
    return found[0][0] is not None


def _insert(table: str, columns: list[str], mark: str) -> Any:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join([mark] * len(columns))})"


def _there() -> RefusedError:
    return RefusedError(
        "restore.exists",
        "The service's database has tables of a service already.",
        f"Give an empty database, or rename the schema {SCHEMA} there.",
    )
