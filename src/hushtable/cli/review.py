"""``hush review``: walk through what a draft learnt from the data, and say what may become public."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import SchemaError
from hushtable.texts import counted

if TYPE_CHECKING:
    from hushtable.schema import Review

EXAMPLE = "Example: hush review people.yaml"


def review(
    schema: Annotated[Path, Argument("Schema that `hush init` drafted.", "SCHEMA")],
    accept: Annotated[
        list[str] | None, Option("Say that this attribute was reviewed; repeat for more.", "NAME")
    ] = None,
    drop: Annotated[list[str] | None, Option("Leave this attribute out; repeat for more.", "NAME")] = None,
    ledger: Annotated[
        str | None,
        Option("Review what changed after a preflight beside this ledger, too.", "FILE", short="-l"),
    ] = None,
    json: flags.Json = False,
) -> None:
    """Walk through the marks of a draft one by one on a terminal, and see what each makes public.

    With --accept and --drop it asks nothing.  Without a terminal it lists what is left to review.  With --ledger, what
    changed after a preflight is marked too, and what you accept is noted.
    """
    if sys.stdin.isatty() and not (accept or drop or json):
        found = _walk(schema, ledger)
    else:
        found = ht.ledger.review_schema(schema, ledger=ledger, accept=accept or (), drop=drop or ())
    if json:
        emit(found.to_dict())
    elif left := found.left:
        say(f"{counted(len(left), 'item')} left to review:", *(f"  {item.name}" for item in left))
    else:
        say(f"Nothing is left to review in {schema}.")


def _walk(schema: Path, ledger: str | None) -> Review:
    """Ask for each item in turn; every answer is written at once."""
    found = ht.ledger.review_schema(schema, ledger=ledger)
    items = found.left
    for number, item in enumerate(items, 1):
        say(
            "",
            f"[{number} of {len(items)}] {item.name}: this becomes public",
            *(f"  {line}" for line in item.public),
        )
        answer = click.prompt(
            "Is it known to everybody, or may it be? [y]es, [n]ot yet, [d]rop the attribute, [q]uit",
            type=click.Choice(["y", "n", "d", "q"]),
            show_choices=False,
        )
        if answer == "q":
            break
        if answer == "n":
            continue
        try:
            accept, drop = ([item.name], []) if answer == "y" else ([], [item.name])
            found = ht.ledger.review_schema(schema, ledger=ledger, accept=accept, drop=drop)
        except SchemaError as error:
            say(f"{error.message} {error.fix}")
    return found
