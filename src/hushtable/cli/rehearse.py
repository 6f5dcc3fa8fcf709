"""``hush rehearse``: a whole release on data that are not confidential, to show how wrong it would be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, progress, say
from hushtable.cli.parameters import Option

EXAMPLE = (
    "Example: hush rehearse people-2015.csv --schema people.yaml --order 2 "
    '--budget "rho=0.1" --runs 20 --out rehearsal.html'
)


def rehearse(
    data: flags.Data,
    schema: flags.SchemaFile,
    budget: flags.BudgetText,
    order: flags.Order = None,
    workload: flags.WorkloadFile = None,
    strategy: flags.StrategyFlag = "auto",
    reconstruct: Annotated[
        str | None, Option("One of {reconstructions}; else the way of the strategy.", "NAME")
    ] = None,
    runs: Annotated[int, Option("How often the release is made.", "N")] = 20,
    out: Annotated[Path | None, Option("Write a page that shows it all.", "FILE", short="-o")] = None,
    ledger: Annotated[
        str | None, Option("Refuse the data that this ledger knows as confidential.", "FILE", short="-l")
    ] = None,
    json: flags.Json = False,
) -> None:
    """Make the whole release on public or old data, several times, and show its true errors.  Nothing is charged."""
    spent = ht.privacy.Budget.parse(budget)
    declared = ht.Schema.load(schema)
    asked = flags.workload_from(declared, order, workload)
    way = ht.release.Way(strategy, reconstruct)
    with progress(quiet=json) as steps:
        found = ht.rehearse(
            data,
            schema=declared,
            workload=asked,
            budget=spent,
            way=way,
            runs=runs,
            ledger=ledger,
            progress=steps,
        )
    file = None if out is None else ht.report.write_rehearsal_report(found, out)
    if json:
        emit(found.to_dict())
        return
    say(f"{ht.release.REHEARSED}.")
    for frame in (found.sizes, found.levels):
        rows = [[_shown(value) for value in row] for row in frame.rows()]
        grid(frame.columns, rows, right=frame.columns[1:])
    if file is not None:
        say(f"Wrote {file.path}.")


def _shown(value: object) -> str:
    return (
        f"{value:,.3f}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )
