"""``hush review``: walk through what a draft learnt from the data, and say what may become public."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import click

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import SchemaError, UsageError
from hushtable.outputs import whole_file
from hushtable.texts import counted

EXAMPLE = "Example: hush review people.yaml"


def review(
    schema: Annotated[Path, Argument("Schema that `hush init` drafted.", "SCHEMA")],
    accept: Annotated[
        list[str] | None, Option("Say that this attribute was reviewed; repeat for more.", "NAME")
    ] = None,
    drop: Annotated[list[str] | None, Option("Leave this attribute out; repeat for more.", "NAME")] = None,
    json: flags.Json = False,
) -> None:
    """Walk through the marks of a draft one by one on a terminal, and see what each makes public.

    With --accept and --drop it asks nothing.  Without a terminal it lists what is left to review.
    """
    text = ht.schema.read_text(schema)
    if accept or drop:
        text = ht.schema.reviewed_text(text, accept or (), drop or ())
        _write(schema, text)
    elif sys.stdin.isatty() and not json:
        text = _walk(schema, text)
    left = ht.schema.review_items(ht.Schema.loads(text))
    if json:
        emit({"schema": str(schema), "unreviewed": [item.to_dict() for item in left]})
    elif left:
        say(f"{counted(len(left), 'item')} left to review:", *(f"  {item.name}" for item in left))
    else:
        say(f"Nothing is left to review in {schema}.")


def _walk(schema: Path, text: str) -> str:
    """Ask for each item in turn; every answer is written at once."""
    items = ht.schema.review_items(ht.Schema.loads(text))
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
            text = ht.schema.reviewed_text(
                text, [item.name] if answer == "y" else [], [item.name] if answer == "d" else []
            )
            _write(schema, text)
        except SchemaError as error:
            say(f"{error.message} {error.fix}")
    return text


def _write(schema: Path, text: str) -> None:
    try:
        with whole_file(schema) as file:
            file.write(text.encode())
    except OSError:
        raise UsageError(
            "review.not-written", f"{schema} cannot be written.", "Check its permissions."
        ) from None
