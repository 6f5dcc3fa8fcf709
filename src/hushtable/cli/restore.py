"""``hush restore``: put a copy of a service back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hushtable import service
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Argument, Option

EXAMPLE = "Example: hush restore backup --config hush.toml --known 3f0c..."


def restore(
    folder: Annotated[Path, Argument("Folder that `hush backup` wrote.", "DIR")],
    config: Annotated[Path, Option("Configuration with a table [serve].", "FILE", short="-c")],
    known: Annotated[
        list[str] | None, Option("A head, or a folder of a release, that was seen; may be repeated.", "HEAD")
    ] = None,
    closed: Annotated[bool, Option("Come back with no budget left, however old the copy is.")] = False,
    json: flags.Json = False,
) -> None:
    """Put a backup where the configuration says the service is.

    It is refused if a known head, a release or a payload is newer: what was spent since would be spent again.  With
    --closed everything can be read, and nothing spent until a curator raises the budget.
    """
    done = service.restore_backup(service.ServeConfig.load(config), folder, known=known or (), closed=closed)
    if json:
        emit(done.to_dict())
    else:
        state = " with no budget left" if closed else ""
        say(f"Restored{state}.", *(f"  {name}: head {head}" for name, head in done.heads.items()))
