"""What a command says about an earlier run of itself: it asks before paying again, and tells how to go on."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import click

import hushtable as ht
from hushtable.cli import interrupts
from hushtable.cli.output import emit, note, say


def repeated(*, stored: bool, again: bool, quiet: bool) -> ht.release.Again:
    """What --stored and --again say; without them a person is asked, and a program is told how to say it."""
    alone = quiet or not (sys.stdin.isatty() and sys.stderr.isatty())
    return ht.release.Again(stored, again, None if alone else _takes_stored)


def _takes_stored(time: str) -> bool:
    note(f"The same was asked and paid for on {time}.  Rows that came later are not in what was stored.")
    answer = click.prompt("Write what was stored (s), pay for a new one (p), or stop (n)?", "n", err=True)
    if answer.strip().lower() not in ("s", "p"):
        raise click.Abort
    return answer.strip().lower() == "s"


def note_name(ledger: ht.Ledger, data: str) -> None:
    """Say where a ledger has the name of other data: it may be the account of other people."""
    note(*filter(None, [ht.ledger.other_name(ledger.name, data)]))


def note_stored(ledger: ht.Ledger, request: str) -> None:
    """Say that what was paid for earlier is only written again."""
    found = ledger.holding(request)
    if found is not None and found.state == "settled":
        time = found.reservation.time
        note(f"Written from what was stored on {time}: later rows are not in it, and nothing is spent.")


def tell_ended(ended: ht.ledger.Holding, account: ht.Ledger, how: str, *, as_json: bool) -> None:
    """What stays spent of a request that goes no further, and what is left."""
    if as_json:
        emit(ended.to_dict())
        return
    left = account.remaining()
    say(
        f"{how} {ended.reservation.request}: {ended.drawn} stays spent, {left} remains.",
        f"head {account.head}",
    )


@contextmanager
def telling_how_to_go_on(out: Path | None) -> Generator[None]:
    """Where somebody stops a command that writes a folder, say how it goes on."""
    try:
        yield
    except BaseException as error:
        if out is not None and (interrupts or isinstance(error, KeyboardInterrupt | click.Abort)):
            note(f"To go on, repeat the command as it was, or with --resume {out} instead of --out.")
        raise
