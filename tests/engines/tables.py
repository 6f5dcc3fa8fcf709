"""Arrow tables as tables of PostgreSQL and files of DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from servers import Server

TYPES = {
    pa.string(): "text",
    pa.int64(): "bigint",
    pa.int32(): "integer",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
    pa.decimal128(9, 2): "numeric(9,2)",
}


def ident(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def load(
    server: Server, database: str, table: pa.Table, name: str = "people", types: dict[str, str] | None = None
) -> str:
    """The table in a database, and its URL."""
    from psycopg import sql

    kinds = {field.name: TYPES[field.type] for field in table.schema} | (types or {})
    columns = ", ".join(f"{ident(column)} {kind}" for column, kind in kinds.items()).replace("%", "%%")
    with server.connect(database) as link:
        link.execute(f"DROP TABLE IF EXISTS {ident(name)}")
        link.execute(f"CREATE TABLE {ident(name)} ({columns})")
        with link.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(name))) as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    return server.url(database, table=name)


def duck(table: pa.Table, path: Path, name: str = "people") -> str:
    """The table in a file of DuckDB, and its URL."""
    import duckdb

    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as link:
        link.register("given", table)
        link.execute(f"CREATE TABLE {ident(name)} AS SELECT * FROM given")
    return f"duckdb://{path}?table={name}"


def one(link: Any, query: str) -> Any:
    return link.execute(query).fetchone()[0]
