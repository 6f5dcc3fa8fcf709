"""``hush serve``: the same verbs for many people, over HTTP."""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import click

from hushtable import service
from hushtable.cli import flags
from hushtable.cli.output import emit, note, say
from hushtable.cli.parameters import Option
from hushtable.errors import UsageError

EXAMPLE = "Example: hush serve --demo"
TOWN = 20_000
"""People of the demonstration: enough for tables that say something, made in half a second."""


def serve(
    config: Annotated[Path | None, Option("Configuration with a table [serve].", "FILE", short="-c")] = None,
    demo: Annotated[bool, Option("A made-up town on loopback, with people to sign in as.")] = False,
    port: Annotated[
        int | None, Option("Listen here instead; 0 takes one that is free.", "N", between=(0, 65535))
    ] = None,
    json: flags.Json = False,
) -> None:
    """Serve datasets to people who must not see their rows: tables, checks, choices and the account.

    The web processes open no data; a worker does, which is started along with them where the configuration names its
    file.  --json prints the address when it listens.
    """
    if (config is None) == (not demo):
        raise UsageError(
            "usage.serve", "Give either --config or --demo.", "Type `hush serve --demo` to look."
        )
    service.require_installed()
    if config is not None:
        if not service.ServeConfig.load(config).slots:
            note(
                "SLOTS ARE OFF: how long a job takes tells about rows.  Only for tests and for trusted analysts."
            )
        _leave(service.serve(config, port=port, ready=lambda url: _tell(url, as_json=json)))
        return
    with tempfile.TemporaryDirectory(prefix="hush-serve-") as folder:
        from hushtable.cli.simulate import write_town  # arrays and frames, which a usage error does without

        made = service.Demonstration(Path(folder), *write_town(Path(folder), TOWN))
        made.prepare()
        threading.Thread(target=made.publish_first, daemon=True).start()
        _leave(service.serve(made.config, port=port, ready=lambda url: _tell(url, as_json=json, demo=True)))


def _tell(url: str, *, as_json: bool, demo: bool = False) -> None:
    people = {name: role.value for name, role in service.ACCOUNTS.items()} if demo else {}
    if as_json:
        emit({"url": url, **({"people": people, "password": service.PASSWORD} if demo else {})})
        sys.stdout.flush()
        return
    say(f"Listening at {url}")
    if demo:
        say(*(f"  {name:8} {role}" for name, role in people.items()), f"  password: {service.PASSWORD}")
        note("A demonstration: made-up people, and everything is forgotten when it stops (Ctrl-C).")
    sys.stdout.flush()


def _leave(code: int) -> None:
    if code:
        raise click.exceptions.Exit(code)
