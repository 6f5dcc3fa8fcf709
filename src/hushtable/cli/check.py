"""``hush check``: can a number of a synthetic file be trusted?  A verdict for a price, or a plan for nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, progress, say
from hushtable.cli.parameters import Option
from hushtable.cli.pending import note_name
from hushtable.errors import UsageError

EXAMPLE = (
    "Example: hush check people.csv --schema people.yaml --ledger people.ledger --synthetic synthetic.csv "
    "--query \"COUNT WHERE age >= 30 AND sex = 'F'\" --tau 5% --budget epsilon=0.25 --plan"
)
BAR = 40
"""Letters of the longest bar: half of a line of 80, so that its number and words stay on the line."""


def check(
    data: flags.Data,
    schema: flags.SchemaFile,
    ledger: flags.LedgerFile,
    synthetic: Annotated[Path, Option("CSV, TSV or Parquet file, one column per attribute.", "FILE")],
    tau: Annotated[str, Option("Close enough: a number, or 5% of the synthetic answer.", "TAU")],
    budget: flags.BudgetText,
    query: Annotated[
        list[str] | None,
        Option("COUNT, SUM, AVG, MEDIAN or QUANTILE, with WHERE; may be repeated.", "QUERY", short="-q"),
    ] = None,
    queries: Annotated[Path | None, Option("A file with one query per line.", "FILE")] = None,
    decider: Annotated[str, Option("auto, or one of {deciders}.", "NAME")] = "auto",
    largest: Annotated[
        float | None, Option("Largest value you suppose to occur in a SUM; public knowledge.", "X")
    ] = None,
    plan: Annotated[bool, Option("Show price and errors; read no confidential row, spend nothing.")] = False,
    beta: Annotated[float, Option("With --plan: the error you would accept.", "P", between=(0, 1))] = 0.05,
    distance: Annotated[
        list[float] | None, Option("With --plan: errors at this distance; may be repeated.", "D")
    ] = None,
    spender: flags.Spender = None,
    head: flags.Head = None,
    wait: flags.Wait = False,
    table: flags.TableName = None,
    json: flags.Json = False,
) -> None:
    """Say whether answers of a synthetic file are within tau of the truth, how sure that is, and what it costs.

    Several questions share the budget equally and are charged once.  A question that was asked before costs nothing.
    """
    data = flags.at_table(data, table)
    if not query and queries is None:
        raise UsageError(
            "usage.query", "--query or --queries is missing.", 'Type --query "COUNT WHERE age >= 30".'
        )
    spent = ht.privacy.Budget.parse(budget)
    asked = [*(query or []), *(ht.deciders.load_batch(queries) if queries else ())]
    wanted: dict[str, Any] = {"tau": tau, "budget": spent, "decider": decider, "largest": largest}
    if plan:
        made = ht.deciders.plan_check(
            ht.Schema.load(schema),
            asked,
            synthetic,
            currency=lambda: ht.release.verdicts.currency_in(ht.Ledger.open(ledger, head=head), spender),
            **wanted,
        )
        _show_plan(made, beta, distance or [], as_json=json)
        return
    opened = ht.Session.open(data, schema=schema, ledger=ledger, spender=spender, head=head, now=False)
    with progress(quiet=json) as steps:
        checked = opened.check(asked, synthetic, **wanted, wait=wait, progress=steps)
    note_name(opened.ledger, data)
    if json:
        emit(checked.to_dict())
    else:
        say(*str(checked).split("\n"))


def _show_plan(made: ht.deciders.CheckPlan, beta: float, distances: list[float], *, as_json: bool) -> None:
    if as_json:
        emit(made.to_dict(beta, distances))
        return
    say(f"Nothing is spent.  The check would cost {made.cost} per person.")
    for one in made.planned:
        _explain(one, beta, distances)


def _explain(one: ht.deciders.PlannedQuestion, beta: float, distances: list[float]) -> None:
    question, number = one.question, ht.deciders.number_text
    threshold, needed = one.threshold(beta), one.epsilon_needed(beta)
    known = "depends on the data" if threshold is None else f"{threshold:,.4g}"
    provided = [f"  provided that      {one.claim.assumes}"] if one.claim.assumes else []
    supposing = [f"  both suppose that  {one.supposes}"] if one.supposes else []
    say(
        "",
        str(question.query),
        f"  synthetic answer   {number(question.synthetic)}, close enough within {number(question.tau)}",
        f"  decider            {question.decider.name}: {question.reason}",
        f"  price              {one.cost} per person (epsilon {float(one.epsilon):.4g})",
        f"  wrong at most      {ht.deciders.chance_text(one.claim.error)} of the time, at distance 0 and from 2 tau on",
        *provided,
        f"  smallest tau       {known} for an error of {beta:g}",
        f"  epsilon needed     {needed:.4g} per person to decide this tau with an error of {beta:g}",
        *supposing,
        *(f"  note               {text}" for text in one.warnings),
        "",
        "If the true rows were the synthetic ones, and the synthetic answer this far from theirs:",
    )
    rows = [
        [f"{d:,.4g}", f"{p:.4f}", f"{e:.4f}", _bar(p)]
        for d, p, e in (*one.profile()[::2], *one.at(distances))
    ]
    grid(
        ["if the distance is", "says yes", "is wrong", ""],
        rows,
        right=["if the distance is", "says yes", "is wrong"],
    )


def _bar(share: float) -> str:
    return "█" * round(BAR * share)
