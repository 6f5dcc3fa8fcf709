"""``hush release``: measure a workload, charge the ledger, write the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import hushtable as ht
from hushtable.addresses import name_of
from hushtable.cli import flags
from hushtable.cli.output import MOST_ROWS, emit, grid, note, progress, say
from hushtable.cli.parameters import Option
from hushtable.cli.pending import note_name, note_stored, repeated, telling_how_to_go_on
from hushtable.cli.report import draw_report
from hushtable.errors import UsageError
from hushtable.texts import counted

EXAMPLE = (
    "Example: hush release people.csv --schema people.yaml --ledger people.ledger "
    '--order 2 --budget "rho=0.1" --out out'
)


def release(
    data: flags.Data,
    schema: flags.SchemaFile,
    ledger: flags.LedgerFile,
    budget: flags.BudgetText,
    out: flags.OutFolder = None,
    order: flags.Order = None,
    workload: flags.WorkloadFile = None,
    counts: Annotated[
        str | None, Option("Counts of all combinations of attributes, to make records of.", "A,B")
    ] = None,
    accurate: Annotated[
        str | None, Option("With --counts: point (each count) or sum (their sum).", "WORD")
    ] = None,
    strategy: flags.StrategyFlag = "auto",
    reconstruct: Annotated[
        str | None, Option("One of {reconstructions}; else the way of the strategy.", "NAME")
    ] = None,
    objective: flags.Objective = "sum_variance",
    spender: flags.Spender = None,
    request: flags.RequestId = None,
    head: flags.Head = None,
    memory: flags.Memory = None,
    time: Annotated[str | None, Option('Stop by counted work that takes about "90s" or "5min".', "T")] = None,
    resume: Annotated[
        Path | None, Option("Go on with the interrupted release to this folder.", "DIR")
    ] = None,
    reuse: Annotated[bool, Option("Charge only what earlier releases in the ledger do not answer.")] = False,
    wait: flags.Wait = False,
    stored: flags.StoredFlag = False,
    again: flags.PayAgain = False,
    no_report: Annotated[bool, Option("Do not write report.html beside the tables.")] = False,
    table: flags.TableName = None,
    json: flags.Json = False,
) -> None:
    """Publish noisy tables with an error bar on every number, and a report that shows them.

    If the command is interrupted, repeat it as it was, or with --resume instead of --out: what was paid for is not
    paid for again.  Where the same was released before, --stored writes that and --again pays for a new one.
    """
    data = flags.at_table(data, table)
    folder = _folder(out, resume)
    choice = repeated(stored=stored, again=again, quiet=json)
    spent = ht.privacy.Budget.parse(budget)
    usual = strategy == "auto" and objective == "sum_variance"
    plain = order is None and workload is None and usual and not (reuse or time or reconstruct)
    attributes = _counted(counts, accurate, plain=plain)
    limit = ht.planning.memory_limit(memory)
    opened = ht.Session.open(data, schema=schema, ledger=ledger, spender=spender, head=head, now=False)
    if (version := ht.release.begun_version(folder, data)) is not None:
        opened.pinned = version
    if attributes:
        plan = opened.plan_counts(attributes, budget=spent, accurate=accurate or "sum")
    else:
        asked = flags.workload_from(opened.schema, order, workload)
        way: dict[str, Any] = {"strategy": strategy, "objective": objective, "reconstruct": reconstruct}
        plan = opened.plan(asked, budget=spent, **way, time=time, reuse=reuse)
    resumable = ht.release.Resumable(folder, data, ledger, must_exist=resume is not None)
    name = choice.request(plan.asking(spender, name_of(data)), opened.ledger, request, resumable)
    note_stored(opened.ledger, name)
    note(*filter(None, [ht.ledger.PreflightNotes(ledger).reminder(data)]))
    note_name(opened.ledger, data)
    under_way = resumable.under_way(name, opened.ledger, again=again, version=opened.pinned)
    with telling_how_to_go_on(folder), under_way:
        with progress(quiet=json) as steps:
            made = opened.run(plan, request=name, memory=limit, wait=wait, progress=steps)
            steps("writing tables and report", 3, 4)
            also = None if no_report else draw_report
            ht.release.write_once(folder, name, lambda: made.save(folder, also=also))
        _report(made, folder, str(opened.remaining), as_json=json)


def _counted(counts: str | None, accurate: str | None, *, plain: bool) -> list[str]:
    """The attributes of --counts; it comes alone, without a workload, a strategy and an objective."""
    if counts is None and accurate is None:
        return []
    names = [name.strip() for name in (counts or "").split(",")]
    if not all(names) or not plain:
        raise UsageError(
            "usage.counts",
            "--counts names attributes, alone or with --accurate, in place of a workload, a strategy and an objective.",
            "Type --counts age,sex --accurate sum.",
        )
    return names


def _folder(out: Path | None, resume: Path | None) -> Path:
    folder = resume if out is None else out
    if folder is None or (out is not None and resume is not None):
        raise UsageError("usage.out", "Give either --out or --resume.", "Type --out DIR for a new release.")
    return folder


def _report(made: ht.Release, out: Path, remaining: str, *, as_json: bool) -> None:
    if as_json:
        emit(made.to_dict())
        return
    plan, entry = made.card.plan, made.card.ledger
    known = made.accuracy().drop_nulls("half_width").sort("half_width")
    partly = sum(measured != "fully" for measured in made.accuracy()["measured"])
    widest = known.tail(1).to_dicts()
    often = "about 95%" if ht.release.approximate(made.card) else "95%"
    _print_rounds(made)
    say(
        f"Released {counted(plan.marginals or 0, 'table')}, {counted(plan.cells or 0, 'cell')}, to {out}",
        f"  charged    {made.card}",
        f"  unit       {made.card.unit}",
        *(f"  widest     {w['marginal']}: {often} of cells within ± {w['half_width']:,.1f}" for w in widest),
        *_promised(made),
        *([f"  modelled   {counted(partly, 'table')}: rely on bounds, not on estimates"] * (partly > 0)),
        *_without_model(made),
        f"  remaining  {remaining}",
        f"  request    {entry.request}",
        f"  head       {entry.head}",
    )


def _without_model(made: ht.Release) -> list[str]:
    """That tables are read without the model that they were measured for; in how many it matters is noisy."""
    if not made.reads_roughly:
        return []
    return ["  rough      larger tables were measured for a model: --reconstruct maxent reads them better"]


def _promised(made: ht.Release) -> list[str]:
    """What records made by sequential fitting will not exceed, where theory promises it."""
    found = ht.release.counts_promise(made.answers, made.schema.count_unit)
    if found is None:
        return []
    sizes = f"± {found.sum_error**0.5:,.1f} in their sum, ± {found.point_error**0.5:,.1f} in any count"
    return [f"  records    by --fit sequential err at most {sizes} (root mean square)"]


def _print_rounds(made: ht.Release) -> None:
    """The rounds of an adaptive release: what was asked, the noise, the share of the budget."""
    if made.history is None:
        return
    rows = made.history.head(MOST_ROWS).to_dicts()
    grid(
        ("round", "question", "marginal", "noise", "budget"),
        [
            (str(r["round"]), r["action"], r["marginal"] or "", f"{r['sigma']:,.1f}", f"{r['share']:.2%}")
            for r in rows
        ],
        right=("round", "noise", "budget"),
    )
    if made.history.height > MOST_ROWS:
        say(f"  and {counted(made.history.height - MOST_ROWS, 'more round')} in history.parquet")
