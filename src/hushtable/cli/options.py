"""Flags that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hushtable.cli.parameters import Argument, Option

Data = Annotated[
    str, Argument(help="CSV, CSV.GZ, TSV or Parquet file, or a quoted glob of them.", metavar="DATA")
]
SchemaFile = Annotated[
    Path, Option("--schema", "-s", help="Schema in YAML; `hush init DATA` drafts one.", metavar="FILE")
]
LedgerFile = Annotated[
    Path,
    Option("--ledger", "-l", help="Ledger of this dataset; `hush ledger create` makes one.", metavar="FILE"),
]
BudgetText = Annotated[
    str,
    Option("--budget", "-b", help='"rho=0.1", "epsilon=1" or "epsilon=1,delta=1e-9".', metavar="BUDGET"),
]
Order = Annotated[
    int | None, Option("--order", "-k", help="All marginals of this many attributes.", metavar="K")
]
WorkloadFile = Annotated[
    Path | None,
    Option("--workload", "-w", help="YAML list of marginals, each a list of attributes.", metavar="FILE"),
]
Strategy = Annotated[str, Option("--strategy", help="One of {strategies}.", metavar="NAME")]
Objective = Annotated[
    str,
    Option(
        "--objective", help="What the noise plan minimises: sum_variance or max_variance.", metavar="NAME"
    ),
]
Alpha = Annotated[
    float, Option("--alpha", help="Intervals miss the truth with this probability.", metavar="A")
]
Spender = Annotated[str | None, Option("--as", help="Spend from the grant of this name.", metavar="NAME")]
Raw = Annotated[bool, Option("--raw", help="In CSV, no apostrophe before text that a spreadsheet would run.")]
Wait = Annotated[bool, Option("--wait", help="Wait while another process works on the same request.")]
Stored = Annotated[
    bool, Option("--stored", help="Where the same was paid for before, write that; nothing is spent.")
]
PayAgain = Annotated[
    bool, Option("--again", help="Pay for a new one, also where the same was paid for before.")
]
Json = Annotated[bool, Option("--json", help="Print one JSON object.")]
Memory = Annotated[str | None, Option("--memory", help='Most memory to use, as "8GB".', metavar="SIZE")]
