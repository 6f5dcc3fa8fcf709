"""Flags that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Data = Annotated[
    str, typer.Argument(help="CSV, CSV.GZ, TSV or Parquet file, or a quoted glob of them.", metavar="DATA")
]
SchemaFile = Annotated[
    Path, typer.Option("--schema", "-s", help="Schema in YAML; `hush init DATA` drafts one.", metavar="FILE")
]
LedgerFile = Annotated[
    Path,
    typer.Option(
        "--ledger", "-l", help="Ledger of this dataset; `hush ledger create` makes one.", metavar="FILE"
    ),
]
BudgetText = Annotated[
    str,
    typer.Option(
        "--budget", "-b", help='"rho=0.1", "epsilon=1" or "epsilon=1,delta=1e-9".', metavar="BUDGET"
    ),
]
Order = Annotated[
    int | None, typer.Option("--order", "-k", help="All marginals of this many attributes.", metavar="K")
]
WorkloadFile = Annotated[
    Path | None,
    typer.Option(
        "--workload", "-w", help="YAML list of marginals, each a list of attributes.", metavar="FILE"
    ),
]
Strategy = Annotated[
    str, typer.Option("--strategy", help="auto, aim, residual-planner or identity.", metavar="NAME")
]
Objective = Annotated[
    str,
    typer.Option(
        "--objective", help="What the noise plan minimises: sum_variance or max_variance.", metavar="NAME"
    ),
]
Alpha = Annotated[
    float, typer.Option("--alpha", help="Intervals miss the truth with this probability.", metavar="A")
]
Spender = Annotated[
    str | None, typer.Option("--as", help="Spend from the grant of this name.", metavar="NAME")
]
Raw = Annotated[
    bool, typer.Option("--raw", help="In CSV, no apostrophe before text that a spreadsheet would run.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait while another process works on the same request.")]
Stored = Annotated[
    bool, typer.Option("--stored", help="Where the same was paid for before, write that; nothing is spent.")
]
PayAgain = Annotated[
    bool, typer.Option("--again", help="Pay for a new one, also where the same was paid for before.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Memory = Annotated[str | None, typer.Option("--memory", help='Most memory to use, as "8GB".', metavar="SIZE")]
