"""``hush release``: measure a workload, charge the ledger, write the tables."""

from __future__ import annotations

import json as json_text
import uuid
from pathlib import Path
from typing import Annotated, Any

import typer

from hushtable.cli.options import (
    BudgetText,
    Data,
    Json,
    LedgerFile,
    Memory,
    Objective,
    Order,
    SchemaFile,
    Spender,
    Strategy,
    WorkloadFile,
)
from hushtable.cli.output import emit, progress, say
from hushtable.cli.workloads import workload_from
from hushtable.privacy import Budget
from hushtable.release import Release, check_free
from hushtable.schema import Schema
from hushtable.session import Session

EXAMPLE = (
    "Example: hush release people.csv --schema people.yaml --ledger people.ledger "
    '--order 2 --budget "rho=0.1" --out out'
)


def release(
    data: Data,
    schema: SchemaFile,
    ledger: LedgerFile,
    budget: BudgetText,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; must not exist.", metavar="DIR")],
    order: Order = None,
    workload: WorkloadFile = None,
    strategy: Strategy = "residual-planner",
    reconstruct: Annotated[str | None, typer.Option("--reconstruct", help="mle.", metavar="NAME")] = None,
    objective: Objective = "sum_variance",
    spender: Spender = None,
    request: Annotated[
        str | None,
        typer.Option("--request", help="Name of this spend; repeating it spends nothing.", metavar="ID"),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", help="A published head that the ledger must contain.", metavar="HASH"),
    ] = None,
    memory: Memory = None,
    json: Json = False,
) -> None:
    """Publish noisy tables with an error bar on every number.

    If the command is interrupted, repeat it as it was: what was paid for is not paid for again.
    """
    pending = _Pending(out)
    spent = Budget.parse(budget)
    declared = Schema.load(schema)
    asked = workload_from(declared, order, workload)
    opened = Session.open(data, schema=declared, ledger=ledger, spender=spender, head=head)
    name = request or pending.request()
    with progress(quiet=json) as steps:
        made = opened.release(
            asked,
            budget=spent,
            strategy=strategy,
            reconstruct=reconstruct,
            objective=objective,
            request=name,
            memory=memory,
            progress=steps,
        )
        steps("writing tables", 3, 4)
        made.save(out)
    pending.done()
    _report(made, out, str(opened.remaining), as_json=json)


class _Pending:
    """The request id of an unfinished release, kept beside its folder so that repeating the command resumes it."""

    def __init__(self, out: Path) -> None:
        check_free(out)
        self._file = out.absolute().with_name(f".{out.absolute().name}.request")

    def request(self) -> str:
        """The id of the interrupted release, or a new one that is written down before anything is spent."""
        try:
            return str(json_text.loads(self._file.read_text(encoding="utf-8"))["request"])
        except (OSError, ValueError, KeyError, TypeError):
            name = uuid.uuid4().hex
            self._file.write_text(json_text.dumps({"request": name}), encoding="utf-8")
            return name

    def done(self) -> None:
        """Forget the id: the next release is a new spend."""
        self._file.unlink(missing_ok=True)


def _report(made: Release, out: Path, remaining: str, *, as_json: bool) -> None:
    card: dict[str, Any] = made.card
    if as_json:
        emit({"out": str(out), "remaining": remaining, "card": card, "accuracy": made.accuracy().to_dicts()})
        return
    plan, entry = card["plan"], card["ledger"]
    worst = made.accuracy().sort("half_width").tail(1).to_dicts()[0]
    guarantees = ", ".join(f"epsilon {e:.4g} at delta {d}" for d, e in card["epsilon_by_delta"].items())
    say(
        f"Released {plan['marginals']:,} tables, {plan['cells']:,} cells, to {out}",
        f"  charged    {_amount(card)} per person ({guarantees})",
        f"  unit       {card['unit']['person']}",
        f"  widest     {worst['marginal']}: 95% of cells within ± {worst['half_width']:,.1f}",
        f"  remaining  {remaining}",
        f"  request    {entry['request']}",
        f"  head       {entry['head']}",
    )


def _amount(card: dict[str, Any]) -> str:
    charged = card["charged"]
    parts = [
        f"{name}={charged[key]}" for key, name in (("xi", "epsilon"), ("rho", "rho")) if charged[key] != "0"
    ]
    return ",".join(parts)
