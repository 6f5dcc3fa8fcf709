"""``hush plan``: what a release would cost and how wrong its tables would be; nothing is read or spent."""

from __future__ import annotations

from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, say
from hushtable.cli.parameters import Option
from hushtable.errors import UsageError
from hushtable.texts import counted

EXAMPLE = (
    'Examples: hush plan --schema people.yaml --order 2 --budget "rho=0.1"; '
    'hush plan --schema people.yaml --order 2 --want "age,sex=50"'
)
MOST_ROWS = 40
"""Tables that are listed: a screen's worth.  With more, price and advice scroll away."""


def plan(
    schema: flags.SchemaFile,
    budget: Annotated[
        str | None, Option('"rho=0.1", "epsilon=1" or "epsilon=1,delta=1e-9".', "BUDGET", short="-b")
    ] = None,
    order: flags.Order = None,
    workload: flags.WorkloadFile = None,
    strategy: flags.StrategyFlag = "residual-planner",
    objective: flags.Objective = "sum_variance",
    want: Annotated[
        list[str] | None,
        Option('Accuracy instead of a budget: "age,sex=50" is plus or minus 50.', "TABLE=WIDTH"),
    ] = None,
    alpha: flags.Alpha = 0.05,
    json: flags.Json = False,
) -> None:
    """Show price and expected error of every table, or ask backwards: what budget gives plus or minus 50?"""
    given, target = _given(budget, want)
    if given is not None:
        chosen = ht.planning.strategy_named(strategy)
        chosen.check_payable(given)
        if not json:
            chosen.check_foreseen()  # what is shown are errors
    declared = ht.Schema.load(schema)
    asked = flags.workload_from(declared, order, workload)
    if given is None:
        price = ht.planning.budget_for(
            asked.resolve(declared),
            target,
            alpha=alpha,
            strategy=strategy,
            objective=objective,
            rows=declared.most_per_person,
        )
        given = ht.ZCDP(price)
    way = ht.release.Way(strategy, options=ht.planning.PlanOptions(objective))
    made = ht.release.plan_release(declared, asked, given, way)
    if json:
        emit(made.to_dict(alpha))
    else:
        _print(made, alpha, backwards=bool(want))


def _given(
    budget: str | None, want: list[str] | None
) -> tuple[ht.privacy.Budget | None, dict[tuple[str, ...], float]]:
    """The budget, or the half-widths for which one is to be found."""
    if (budget is None) == (not want):
        raise UsageError("usage.budget", "Give either --budget or --want.", 'Type --budget "rho=0.1".')
    return None if budget is None else ht.privacy.Budget.parse(budget), dict(map(_wanted, want or []))


def _wanted(text: str) -> tuple[tuple[str, ...], float]:
    """``age,sex=50`` as attributes and a half-width."""
    names, equals, width = text.rpartition("=")
    try:
        half_width = float(width)
    except ValueError:
        equals = ""
        half_width = 0.0
    if not equals or not names:
        raise UsageError(
            "usage.want", "--want cannot be read.", 'Type --want "age,sex=50" for plus or minus 50.'
        )
    return tuple(name.strip() for name in names.split(",")), half_width


def _print(made: ht.Plan, alpha: float, *, backwards: bool) -> None:
    tables = sorted(made.table_errors(alpha), key=lambda table: table.half_width)
    if backwards:
        say(f'The smallest budget that reaches it: --budget "{made.budget}"', "")
    say(*str(made).split("\n"), "")
    rows = [
        [r.marginal, f"{r.cells:,}", f"{r.std:,.1f}", f"± {r.half_width:,.1f}", f"{r.expected_l1:,.0f}"]
        for r in tables[:MOST_ROWS]
    ]
    columns = ["table", "cells", "std of a cell", f"{1 - alpha:.0%} of cells within", "expected L1"]
    grid(columns, rows, right=columns[1:])
    if len(tables) > MOST_ROWS:
        say(
            f"... and {counted(len(tables) - MOST_ROWS, 'table')} with wider intervals; --json prints them all."
        )
