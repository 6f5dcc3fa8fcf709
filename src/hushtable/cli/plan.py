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
        Option(
            'Accuracy instead of a budget: "age,sex=50" is plus or minus 50; "mean(income) by sex=500" a mean\'s.',
            "TABLE=WIDTH",
        ),
    ] = None,
    alpha: flags.Alpha = 0.05,
    json: flags.Json = False,
) -> None:
    """Show price and expected error of every table, or ask backwards: what budget gives plus or minus 50?"""
    given, wishes = _given(budget, want)
    if given is not None:
        chosen = ht.planning.strategy_named(strategy)
        chosen.check_payable(given)
        if not json:
            chosen.check_foreseen()  # what is shown are errors
    declared = ht.Schema.load(schema)
    asked = flags.workload_from(declared, order, workload)
    if given is None:
        price = ht.release.budget_wanted(
            declared, asked, wishes, alpha=alpha, strategy=strategy, objective=objective
        )
        given = ht.ZCDP(price)
    way = ht.release.Way(strategy, options=ht.planning.PlanOptions(objective))
    made = ht.release.plan_release(declared, asked, given, way)
    if json:
        emit(made.to_dict(alpha))
    else:
        _print(made, alpha, wishes)


def _given(
    budget: str | None, want: list[str] | None
) -> tuple[ht.privacy.Budget | None, list[ht.release.Wish]]:
    """The budget, or the half-widths for which one is to be found."""
    if (budget is None) == (not want):
        raise UsageError("usage.budget", "Give either --budget or --want.", 'Type --budget "rho=0.1".')
    given = None if budget is None else ht.privacy.Budget.parse(budget)
    return given, [ht.release.Wish.parse(text) for text in want or []]


def _print(made: ht.Plan, alpha: float, wishes: list[ht.release.Wish]) -> None:
    tables = sorted(made.table_errors(alpha), key=lambda table: table.half_width)
    if wishes:
        for wish in wishes:
            say(f"Wanted: {wish}")
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
