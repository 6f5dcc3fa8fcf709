"""``hush ledger``: create, show, grant, raise, end, verify, export."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

import click

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, say
from hushtable.cli.parameters import Argument, Group, Option
from hushtable.cli.pending import tell_ended
from hushtable.errors import LedgerError

app = Group(no_args_is_help=True, help="The account of privacy of one dataset.")

LedgerPlace = Annotated[str, Argument("A path, or postgresql://HOST/DATABASE?ledger=NAME.", "LEDGER")]


@app.verb(epilog='Example: hush ledger create people.ledger --budget "rho=0.5"')
def create(
    ledger: LedgerPlace,
    budget: flags.BudgetText,
    name: Annotated[str | None, Option("Label of the dataset.", "TEXT")] = None,
    json: flags.Json = False,
) -> None:
    """Open an account with a budget for everything that will ever be released of a dataset."""
    total = ht.privacy.Budget.parse(budget)  # before a ledger is loaded
    made = ht.Ledger.create(ledger, total, name=name)
    _tell(made, f"Created {ledger} for {made.name!r} with {made.budget} per person.", as_json=json)


@app.verb(epilog="Example: hush ledger show people.ledger")
def show(ledger: LedgerPlace, json: flags.Json = False) -> None:
    """What was spent, by whom and on what, and what is left."""
    account = ht.Ledger.open(ledger)
    if json:
        emit(account.to_dict())
    else:
        _print_summary(account)


@app.verb(epilog='Example: hush ledger grant people.ledger maria --budget "rho=0.05"')
def grant(
    ledger: LedgerPlace,
    spender: Annotated[str, Argument("Who may spend.", "NAME")],
    budget: flags.BudgetText,
    json: flags.Json = False,
) -> None:
    """Let somebody spend up to a total, under the dataset's budget."""
    total = ht.privacy.Budget.parse(budget)  # before a ledger is loaded
    account = ht.Ledger.open(ledger)
    account.grant(spender, total)
    left = account.remaining(spender)
    _tell(account, f"{spender} may spend {account.grants[spender]} in total; {left} is left.", as_json=json)


@app.verb("raise", epilog='Example: hush ledger raise people.ledger --budget "rho=1"')
def raise_budget(ledger: LedgerPlace, budget: flags.BudgetText, json: flags.Json = False) -> None:
    """Raise the dataset's budget to a new total; the raise is an entry that everybody can see."""
    total = ht.privacy.Budget.parse(budget)  # before a ledger is loaded
    account = ht.Ledger.open(ledger)
    account.raise_budget(total)
    _tell(account, f"The budget of {account.name!r} is now {account.budget} per person.", as_json=json)


@app.verb(epilog="Example: hush ledger end people.ledger 5d1c...")
def end(
    ledger: LedgerPlace,
    request: Annotated[str, Argument("Id of the request, as `show` lists it.", "REQUEST")],
    wait: flags.Wait = False,
    json: flags.Json = False,
) -> None:
    """End a request that nobody will finish: what was charged stays spent, what was only set aside is free again."""
    account = ht.Ledger.open(ledger)
    tell_ended(ht.session.end(account, request, wait=wait), account, "Ended", as_json=json)


@app.verb(epilog="Example: hush ledger verify people.ledger --head 3f0c...")
def verify(ledger: LedgerPlace, head: flags.Head = None, json: flags.Json = False) -> None:
    """Recompute the chain, the balances and the payloads' hashes; with --head, also find older copies."""
    report = ht.ledger.verify_ledger(ledger, head=head)
    if json:
        emit(report.to_dict())
    elif report.ok:
        say(
            f"{ledger}: {report.entries:,} {'entry' if report.entries == 1 else 'entries'}, all in order.",
            f"head {report.head}",
        )
    else:
        say(f"{ledger}: NOT in order.", *(f"  {finding}" for finding in report.findings))
    if not report.ok:
        raise click.exceptions.Exit(LedgerError.exit_code)


@app.verb(epilog="Example: hush ledger export people.ledger > people-ledger.json")
def export(ledger: LedgerPlace, json: flags.Json = True) -> None:
    """Every entry as JSON; all of it is covered by the chain."""
    account = ht.Ledger.open(ledger)
    emit({"ledger": account.name, "head": account.head, "entries": account.export()})


@app.verb(epilog="Example: hush ledger copy people.ledger 'postgresql://host/office?ledger=people'")
def copy(
    ledger: LedgerPlace,
    to: Annotated[
        str, Argument("Where it goes on: a path, or postgresql://HOST/DATABASE?ledger=NAME.", "TO")
    ],
    json: flags.Json = False,
) -> None:
    """Move a ledger to another place; the old one can be read, and spends nothing any more.  Repeat it if it failed."""
    account = ht.Ledger.copy(ledger, to)
    _tell(account, f"The ledger of {account.name!r} goes on at {account.path}.", as_json=json)


def _tell(account: ht.Ledger, done: str, *, as_json: bool) -> None:
    """What was written into an account, and its head from then on."""
    if as_json:
        emit(account.to_dict())
    else:
        say(done, f"head {account.head}")


def _print_summary(account: ht.Ledger) -> None:
    unit = "not bound yet (the first release binds it)" if account.unit is None else str(account.unit)
    share = _share(account.spent() + account.held(), account.limit())
    say(
        f"{account.name}: budget {account.budget} per person",
        f"  unit       {unit}",
        f"  spent      {account.spent()}",
        f"  held       {account.held()}",
        f"  remaining  {account.remaining()}  {_bar(share)}",
    )
    if account.moved_to is not None:
        say(f"  MOVED to {account.moved_to}: nothing can be spent here")
    if account.grants:
        say("")
        rows = [
            [name, str(budget), str(account.spent(name)), str(account.remaining(name))]
            for name, budget in account.grants.items()
        ]
        grid(["spender", "may spend", "spent", "remaining"], rows)
    spends = account.reservations()
    if spends:
        say("")
        columns = ["entry", "time", "kind", "spender", "spent", "state", "request"]
        grid(columns, [_row(holding) for holding in spends], right=["entry"])
    waiting = [
        str(held.reservation.request) for held in account.open_reservations() if ht.release.is_choice(held)
    ]
    if waiting:
        say("", "Choices that are neither finished nor abandoned (they count as spent):")
        say(*(f"  {name}" for name in waiting))
    say("", f"head {account.head}")


def _row(spend: ht.ledger.Holding) -> list[str]:
    entry = spend.reservation
    words = (entry.spender or "-", str(spend.drawn), _state(spend), entry.request or "-")
    return [str(entry.number), entry.time, entry.kind, *words]


def _state(spend: ht.ledger.Holding) -> str:
    state = spend.state if spend.state == "settled" else f"open, holds {spend.held}"
    return f"{state}, {spend.lost} draw lost" if spend.lost else state


def _share(used: ht.privacy.Cost, limit: ht.privacy.Cost) -> Fraction:
    pairs = ((used.xi, limit.xi), (used.rho, limit.rho), (used.delta, limit.delta))
    parts = [Fraction(part) / whole for part, whole in pairs if whole]
    return max(parts, default=Fraction(0))


def _bar(share: Fraction, width: int = 30) -> str:
    full = min(width, round(float(share) * width))
    return f"[{'#' * full}{'.' * (width - full)}] {float(share):.0%} used"
