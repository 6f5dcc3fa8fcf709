"""Flags that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import hushtable as ht
from hushtable.addresses import DUCKDB, POSTGRES, scheme_of, split_table
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import UsageError

Data = Annotated[
    str,
    Argument(
        "CSV, TSV, Parquet, XLSX, SPSS or Stata file, a quoted glob of them, or the address of a table: of PostgreSQL, "
        "DuckDB, Spark, Delta or Iceberg, or of a folder or bucket.",
        "DATA",
    ),
]
TableName = Annotated[str | None, Option("Table or view of the database that DATA is the URL of.", "NAME")]
SchemaFile = Annotated[Path, Option("Schema in YAML; `hush init DATA` drafts one.", "FILE", short="-s")]
LedgerFile = Annotated[
    str, Option("Ledger of this dataset; `hush ledger create` makes one.", "FILE", short="-l")
]
BudgetText = Annotated[str, Option('"rho=0.1", "epsilon=1" or "epsilon=1,delta=1e-9".', "BUDGET", short="-b")]
OutFolder = Annotated[Path | None, Option("Folder to write; must not exist.", "DIR", short="-o")]
ReleaseFolder = Annotated[Path, Argument("Folder that `hush release` wrote.", "DIR")]
Head = Annotated[str | None, Option("A published head that the ledger must contain.", "HASH")]
RequestId = Annotated[str | None, Option("Name of this spend; repeating it spends nothing.", "ID")]
Order = Annotated[int | None, Option("All marginals of this many attributes.", "K", short="-k")]
WorkloadFile = Annotated[
    Path | None, Option("YAML list of marginals, each a list of attributes.", "FILE", short="-w")
]
StrategyFlag = Annotated[str, Option("One of {strategies}.", "NAME")]
Objective = Annotated[str, Option("What the noise plan minimises: sum_variance or max_variance.", "NAME")]
Alpha = Annotated[float, Option("Intervals miss the truth with this probability.", "A", between=(0, 1))]
Spender = Annotated[str | None, Option("Spend from the grant of this name.", "NAME", name="--as")]
Raw = Annotated[bool, Option("In CSV, no apostrophe before text that a spreadsheet would run.")]
Wait = Annotated[bool, Option("Wait while another process works on the same request.")]
StoredFlag = Annotated[bool, Option("Where the same was paid for before, write that; nothing is spent.")]
PayAgain = Annotated[bool, Option("Pay for a new one, also where the same was paid for before.")]
Language = Annotated[str | None, Option("Labels of this language, where the schema has them.", "CODE")]
Json = Annotated[bool, Option("Print one JSON object.")]
Memory = Annotated[str | None, Option('Most memory to use, as "8GB".', "SIZE")]


def workload_from(schema: ht.Schema, order: int | None, file: Path | None) -> ht.Workload:
    """All marginals of an order, or those that a file lists; refuses both, and neither."""
    if (order is None) == (file is None):
        raise UsageError(
            "usage.workload",
            "Give either --order or --workload.",
            "Type --order 2 for all pairs of attributes.",
        )
    return ht.Workload.load(file) if file else ht.Workload.all_marginals(schema, order=order or 0)


def at_table(data: str, table: str | None) -> str:
    """The URL of a table in a database, from that of the database; other data as they are."""
    if table is not None and scheme_of(data, ()) is None:
        raise UsageError(
            "usage.table", "--table is for the URL of a database, and DATA is none.", "Leave --table out."
        )
    url = data if table is None else f"{data}{'&' if '?' in data else '?'}table={quote(table)}"
    if scheme_of(data, ()) in (*POSTGRES, *DUCKDB):
        split_table(url)  # refuses what names no table or holds a password, before a library is loaded
    return url
