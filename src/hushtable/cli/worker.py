"""``hush worker``: the process that opens data for a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from hushtable import service
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Option

EXAMPLE = "Example: hush worker --config worker.toml"


def worker(
    config: Annotated[Path, Option("Configuration with a table [worker].", "FILE", short="-c")],
    json: flags.Json = False,
) -> None:
    """Do the jobs of a service: the only process of it that opens data.

    Its file says where the service's configuration is and where the rows of each dataset are; nobody else needs to
    read it.  Several workers need a service on PostgreSQL.  --json prints one line when it begins.
    """
    service.require_installed()
    if json:
        emit({"working": str(config)})
    else:
        say("Working; Ctrl-C ends it after the job at hand.")
    service.work(config)
