"""``hush user``: let people in to a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click

from hushtable import service
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Argument, Group, Option
from hushtable.errors import UsageError

app = Group(no_args_is_help=True, help="The people of a service.")


@app.verb(epilog="Example: hush user add maria --config hush.toml --role curator --dataset town")
def add(
    name: Annotated[str, Argument("What they sign in as.", "NAME")],
    config: Annotated[Path, Option("Configuration with a table [serve].", "FILE", short="-c")],
    dataset: Annotated[str | None, Option("The dataset that they get a role in.", "NAME")] = None,
    role: Annotated[str | None, Option("curator, analyst, auditor or reader.", "ROLE")] = None,
    founder: Annotated[bool, Option("They may make new datasets.")] = False,
    password: Annotated[
        str | None,
        Option("File with the password; without it you are asked.", "FILE", name="--password-file"),
    ] = None,
    json: flags.Json = False,
) -> None:
    """Add somebody who signs in with a password, and give them a role: the first curator, above all."""
    if (dataset is None) != (role is None):
        raise UsageError("usage.role", "--dataset and --role come together.", "Give both, or neither.")
    given = None if role is None else _role(role)
    service.require_installed()
    opened = service.Service.open(service.ServeConfig.load(config))
    if dataset is not None and opened.catalogue.named(dataset) is None:
        raise UsageError("usage.dataset", "The service has no dataset of this name.", "Look at its file.")
    person = opened.users.add(name, _password(password), founder=founder)
    if dataset is not None and given is not None:
        opened.users.set_role(person, dataset, given)
    opened.deeds.note("user add", "done", person=person.id, dataset=dataset)
    if json:
        emit(person.to_dict())
    else:
        say(f"{person.name} may sign in" + ("." if given is None else f", as {given} of {dataset}."))


def _role(word: str) -> service.Role:
    try:
        return service.Role(word)
    except ValueError:
        raise UsageError(
            "usage.role", "The value of --role is no role.", f"Give one of {', '.join(service.Role)}."
        ) from None


def _password(file: str | None) -> str:
    if file is None:
        return click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    try:
        return Path(file).read_text(encoding="utf-8").rstrip("\n")
    except (OSError, ValueError):
        raise UsageError(
            "usage.password", "The file of --password-file cannot be read.", "Give a text file."
        ) from None
