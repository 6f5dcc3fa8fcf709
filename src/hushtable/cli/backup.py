"""``hush backup``: a copy of a service, taken while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hushtable import service
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Option

EXAMPLE = "Example: hush backup --config hush.toml --out backup"


def backup(
    config: Annotated[Path, Option("Configuration with a table [serve].", "FILE", short="-c")],
    out: Annotated[Path, Option("Folder to write; must not exist.", "DIR", short="-o")],
    json: flags.Json = False,
) -> None:
    """Copy database, ledgers, payloads and releases of a service, in files or in PostgreSQL, while it runs.

    The confidential data and the worker's file are no part of it.  Keep the heads that it prints elsewhere: they tell
    later whether a copy is the newest.
    """
    made = service.make_backup(service.ServeConfig.load(config), out)
    if json:
        emit(made.to_dict())
    else:
        say(f"Copied to {made.folder}.", *(f"  {name}: head {head}" for name, head in made.heads.items()))
