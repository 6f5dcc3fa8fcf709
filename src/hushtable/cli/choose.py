"""``hush choose``: release what several analyses share, then take one of them, or none."""

from __future__ import annotations

from contextlib import nullcontext
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import click

import hushtable as ht
from hushtable.addresses import name_of
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, note, progress, say
from hushtable.cli.parameters import Group, Option
from hushtable.cli.pending import note_name, note_stored, repeated, tell_ended, telling_how_to_go_on
from hushtable.errors import UsageError
from hushtable.texts import counted

START = "start"
EXAMPLE = (
    "Example: hush choose people.csv --schema people.yaml --ledger people.ledger "
    '--orders 1 2 --budget "rho=0.1" --snr 0.5:5'
)


class DefaultStart(Group):
    """`hush choose DATA ...` starts a choice; `--orders 1 2` and `--options A.yaml B.yaml` take several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = _spread(args)
        if rest and rest[0] not in self.commands and rest[0] not in ("-h", "--help"):
            near = get_close_matches(rest[0], self.commands, n=1, cutoff=0.7)
            if near and rest[0].isalpha() and not Path(rest[0]).exists():
                raise click.exceptions.NoSuchCommand(rest[0], possibilities=near, ctx=ctx)
            rest.insert(0, START)
        return super().parse_args(ctx, rest)


def _spread(arguments: list[str]) -> list[str]:
    """Repeat a flag before each of the values that follow it."""
    result: list[str] = []
    flag = ""
    for word in arguments:
        several = word.isdigit() if flag == "--orders" else word.endswith((".yaml", ".yml"))
        if word.startswith("-"):
            flag = word if word in ("--orders", "--options") else ""
        elif flag and several and result[-1] != flag:
            result.append(flag)
        elif not several:
            flag = ""
        result.append(word)
    return result


app = DefaultStart(
    help="Release what several analyses share, look, then take one of them and pay exactly its price. "
    "`hush choose DATA ...` starts a choice.",
    epilog=EXAMPLE,
    no_args_is_help=True,
)
ChoiceId = Annotated[str, Option("Id of the choice.", "ID", short="-c")]
Snr = Annotated[
    str | None,
    Option(
        "Rule X:Y: go finer while a share X of the cells has a ratio of count to noise of at least Y.", "X:Y"
    ),
]
Frozen = Annotated[bool, Option("Your word that no row changes while the choice is open: cheaper tables.")]
Where = Annotated[str | None, Option("The data, if they have moved since.", "DATA")]


@app.verb(START, epilog=EXAMPLE)
def start(
    data: flags.Data,
    schema: flags.SchemaFile,
    ledger: flags.LedgerFile,
    budget: flags.BudgetText,
    orders: Annotated[
        list[int] | None, Option("An option for each: all tables of K attributes.", "K ...")
    ] = None,
    options: Annotated[list[Path] | None, Option("An option for each workload file.", "FILE ...")] = None,
    snr: Snr = None,
    rule: Annotated[str, Option("How --snr judges: point or three-sigma.", "RULE")] = "point",
    stop_early: Annotated[bool, Option("Take nothing when even the first option is too weak.")] = False,
    out: flags.OutFolder = None,
    spender: flags.Spender = None,
    request: flags.RequestId = None,
    memory: flags.Memory = None,
    frozen: Frozen = False,
    wait: flags.Wait = False,
    stored: flags.StoredFlag = False,
    again: flags.PayAgain = False,
    table: flags.TableName = None,
    json: flags.Json = False,
) -> None:
    """Release what the options have in common and hold the price of the dearest.

    Options go from coarse to fine.  With --snr a rule decides; with --out as well, the option is taken and written.
    If the command is interrupted, repeat it as it was; a choice that is open goes on, at no further cost.
    """
    if out is not None and snr is None:
        raise UsageError(
            "usage.out-without-snr",
            "--out is for the option that a rule takes, and no rule is given.",
            "Add --snr 0.5:5, or leave --out out and give it to `hush choose finish`.",
        )
    data = flags.at_table(data, table)
    earlier = repeated(stored=stored, again=again, quiet=json)
    wanted, judged = None if snr is None else _rule(snr), ht.linear.checked_rule(rule)
    price = ht.privacy.Budget.parse(budget)
    limit = ht.planning.memory_limit(memory)
    if bool(orders) == bool(options):
        raise UsageError(
            "usage.options",
            "Give either --orders or --options.",
            "Type --orders 1 2 to choose between single attributes and pairs.",
        )
    session = ht.Session.open(data, schema=schema, ledger=ledger, spender=spender, now=False)
    offered = ht.release.choices.options_from(session.schema, orders=orders or (), files=options or ())
    resumable = None if out is None else ht.release.Resumable(out, data, ledger)
    holds = frozen or session.schema.frozen
    asking = ht.release.Asking.for_choice(
        session.schema, session.spender, offered, price, data=name_of(data), frozen=holds
    )
    name = earlier.request(asking, session.ledger, request, resumable)
    note_stored(session.ledger, name)
    note_name(session.ledger, data)
    noted = nullcontext() if resumable is None else resumable.under_way(name, session.ledger, again=again)
    with telling_how_to_go_on(out), noted:
        with progress(quiet=json) as steps:
            steps("measuring what the options share", 0, 2)
            choice = session.choose(
                offered, budget=price, request=name, memory=limit, frozen=holds, wait=wait
            )
            if wanted is not None:
                steps("taking the option", 1, 2)
                share, ratio = wanted
                choice.follow(
                    share=share, ratio=ratio, rule=judged, stop_early=stop_early, take=out is not None
                )
            if choice.state == "finished" and out is not None:
                ht.release.write_once(out, name, lambda: choice.result().save(out))
        _report(choice, ledger, as_json=json)


@app.verb(epilog="Example: hush choose finish --ledger people.ledger --choice ID --option 1 --out out")
def finish(
    ledger: flags.LedgerFile,
    choice: ChoiceId,
    option: Annotated[int, Option("Number of the option, from 0.", "I")],
    out: Annotated[Path, Option("Folder to write; must not exist.", "DIR", short="-o")],
    data: Where = None,
    frozen: Frozen = False,
    wait: flags.Wait = False,
    json: flags.Json = False,
) -> None:
    """Take an option: measure what is missing of it, pay the difference, free the rest, write the tables."""
    if ht.release.request_in(out) != choice:
        ht.release.check_free(out)
    opened = ht.session.open_choice(ledger, choice, data=data, frozen=frozen, wait=wait)
    if opened.taken != option:
        note("The data are read anew, as they are now: they may have changed since the choice was begun.")
    with progress(quiet=json) as steps:
        steps("measuring", 0, 2)
        made = opened.take(option)
        steps("writing tables", 1, 2)
        ht.release.write_once(out, choice, lambda: made.save(out))
    _report_taken(opened, out, as_json=json)


@app.verb(epilog="Example: hush choose advance --ledger people.ledger --choice ID")
def advance(
    ledger: flags.LedgerFile,
    choice: ChoiceId,
    data: Where = None,
    frozen: Frozen = False,
    wait: flags.Wait = False,
    json: flags.Json = False,
) -> None:
    """Pass the coarsest open option by, and measure what the finer ones have in common beyond it."""
    opened = ht.session.open_choice(ledger, choice, data=data, frozen=frozen, wait=wait)
    with progress(quiet=json) as steps:
        steps("measuring what the finer options share", 0, 1)
        opened.advance()
    _report(opened, ledger, as_json=json)


@app.verb(epilog="Example: hush choose refine --ledger people.ledger --choice ID --rho 0.01")
def refine(
    ledger: flags.LedgerFile,
    choice: ChoiceId,
    rho: Annotated[str, Option("What the better look may cost per person, a spend of its own.", "RHO")],
    data: Where = None,
    frozen: Frozen = False,
    wait: flags.Wait = False,
    json: flags.Json = False,
) -> None:
    """Buy what the options share once more, to decide with more certainty."""
    opened = ht.session.open_choice(ledger, choice, data=data, frozen=frozen, wait=wait)
    with progress(quiet=json) as steps:
        steps("measuring what the options share", 0, 1)
        opened.refine(rho=rho)
    _report(opened, ledger, as_json=json)


@app.verb(
    epilog="Example: hush choose outlook --ledger people.ledger --choice ID --prior-variance 1000 --datasets 200"
)
def outlook(
    ledger: flags.LedgerFile,
    choice: ChoiceId,
    prior_variance: Annotated[
        float | None, Option("Think of counts as independent beforehand, with this variance.", "V")
    ] = None,
    datasets: Annotated[
        int, Option("Draw as many datasets that the shared answers allow.", "N", between=(0, 10_000))
    ] = 0,
    json: flags.Json = False,
) -> None:
    """What each open option would teach beyond what is known, for options that are not nested.  Spends nothing."""
    opened = ht.release.ChoiceView(ht.Ledger.open(ledger), choice)
    found = opened.outlook(prior_variance=prior_variance, datasets=datasets)
    if json:
        emit(found.to_dict())
        return
    say("Mean share of the present variance of an option's queries that taking it would remove:")
    grid(
        ["option", "queries", "under the prior", "over datasets"],
        [
            [str(one.option), f"{len(one.queries):,}", _share(one.gain), _share(one.gain_over_datasets)]
            for one in found.options
        ],
        right=["queries", "under the prior", "over datasets"],
    )
    say("--json prints mean and spread of every query.")


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


@app.verb(epilog="Example: hush choose abandon --ledger people.ledger --choice ID")
def abandon(
    ledger: flags.LedgerFile, choice: ChoiceId, wait: flags.Wait = False, json: flags.Json = False
) -> None:
    """Take no option: what was measured stays spent, the rest is free again."""
    account = ht.Ledger.open(ledger)
    tell_ended(ht.session.abandon_choice(account, choice, wait=wait), account, "Abandoned", as_json=json)


@app.verb(epilog="Example: hush choose show --ledger people.ledger --choice ID")
def show(
    ledger: flags.LedgerFile, choice: ChoiceId, out: flags.OutFolder = None, json: flags.Json = False
) -> None:
    """How a choice stands; with --out, write again what was taken, or what the options share.  Spends nothing."""
    opened = ht.release.ChoiceView(ht.Ledger.open(ledger), choice)
    if out is not None:
        (opened.common if opened.taken is None else opened.result()).save(out)
    _report(opened, ledger, as_json=json)


def _rule(written: str) -> tuple[float, float]:
    share, colon, ratio = written.partition(":")
    try:
        pair = (float(share), float(ratio))
    except ValueError:
        pair = (0.0, 0.0)
    if not colon or not 0 < pair[0] <= 1 or not 0 < pair[1] < float("inf"):
        raise UsageError(
            "usage.snr",
            "The value of --snr is not a share and a ratio.",
            "Type --snr 0.5:5 for half of the cells at a ratio of 5.",
        )
    return pair


def _report(choice: ht.release.ChoiceView, ledger: str, *, as_json: bool) -> None:
    if as_json:
        emit(choice.to_dict())
        return
    say(
        f"Choice {choice.id} between {counted(len(choice.options), 'option')}, {choice.state}",
        f"  charged    {choice.charged} per person, held {choice.held}",
        f"  unit       {choice.card.unit}",
        f"  remaining  {choice.remaining}",
        *(f"  note       {n}" for n in choice.notes),
        "",
        "Share of the primary cells whose count is at least R times the noise that an option adds:",
    )
    rows = choice.standings
    ratios = [f"R={each.ratio}" for each in rows[0].shares]
    both = any(r.frozen_rho != r.rho for r in rows)
    grid(
        ["option", "price", *(["if frozen"] if both else []), "usual way", *ratios],
        [
            [
                f"{r.option}: {r.what}",
                f"rho={r.rho}",
                *([f"rho={r.frozen_rho}"] if both else []),
                f"rho={r.usual_way_rho}",
                *(f"{each.share:.0%}" for each in r.shares),
            ]
            for r in rows
        ],
        right=ratios,
    )
    say("The usual way is to measure what is shared first, and then to start again with the option.")
    say("", *_next(choice, ledger))


def _next(choice: ht.release.ChoiceView, ledger: str) -> list[str]:
    """What the reader can do now."""
    if choice.state == "finished":
        return [f"Option {choice.taken} was taken."]
    if choice.state == "abandoned":
        return ["No option was taken; the rest of the budget is free again."]
    flags = f"--ledger {ledger} --choice {choice.id}"
    said = [] if choice.decision is None else [f"The rule says option {choice.decision}."]
    option = len(choice.options) - 1 if choice.decision is None else choice.decision
    return [
        *said,
        f"  hush choose finish {flags} --option {option} --out DIR",
        *([f"  hush choose advance {flags}"] if choice.stage < len(choice.options) - 2 else []),
        f"  hush choose abandon {flags}",
        "Until then the dearest option counts as spent.",
    ]


def _report_taken(choice: ht.release.ChoiceView, out: Path, *, as_json: bool) -> None:
    if as_json:
        emit(choice.to_dict())
        return
    card, made = choice.result().card, choice.standing
    say(
        f"Took option {choice.taken} of {choice.id}, written to {out}",
        f"  charged    {card.charged} per person",
        f"  unit       {card.unit}",
        f"  saved      rho={made.saved_rho}: measuring first would have needed rho={made.usual_way_rho}",
        f"  remaining  {choice.remaining}",
        f"  head       {card.ledger.head}",
    )
