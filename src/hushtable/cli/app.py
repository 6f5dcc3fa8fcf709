"""The entry point: the list of commands, and what happens when one fails.

Exit codes: 0 done, 1 refused with a code, 2 bad usage, 130 interrupted.  Whatever goes wrong, the user sees one
sentence, what to type instead and a code, never a traceback: a traceback can carry values of the data.
"""

from __future__ import annotations

import sys
from collections import UserDict
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import hushtable as ht
from hushtable.cli import FAREWELL, INTERRUPTED, interrupts
from hushtable.cli.newcomer import welcome
from hushtable.cli.output import keep_streams_open_to_all_text, note, say, show_error
from hushtable.cli.parameters import Group, command
from hushtable.errors import HushtableError, RefusedError, UsageError, unexpected

COMMANDS = (
    "init",
    "review",
    "preflight",
    "plan",
    "rehearse",
    "release",
    "table",
    "quantile",
    "combine",
    "compare",
    "export",
    "microdata",
    "report",
    "publish",
    "check",
    "choose",
    "bounds",
    "ledger",
    "serve",
    "worker",
    "user",
    "backup",
    "restore",
    "demo",
    "bench",
    "selftest",
    "completion",
)
"""In the order in which a newcomer meets them; each is a module beside this one."""


class Commands(UserDict[str, Any]):
    """Commands by name, each made of its module when it is asked for.

    A module has an ``app`` of several commands, or one function of its own name with an ``EXAMPLE``.
    """

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(dict.fromkeys(names))

    def __getitem__(self, name: str) -> Any:
        if super().__getitem__(name) is None:
            self[name] = _made(name)
        return super().__getitem__(name)


def _made(name: str) -> click.Command:
    module = import_module(f"hushtable.cli.{name}")
    several: Group | None = getattr(module, "app", None)
    return several or command(getattr(module, name), name, module.EXAMPLE)


@click.group(
    cls=Group,
    commands=Commands(COMMANDS),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(ht.__version__, message="hushtable %(version)s", help="Show it.")
@click.pass_context
def app(context: click.Context) -> None:
    """Publish tables from confidential records under differential privacy, with an error bar on every number."""
    if context.invoked_subcommand is None:
        say(*welcome(Path.cwd()))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    as_json = "--json" in arguments
    keep_streams_open_to_all_text()
    try:
        return _run(arguments)
    except HushtableError as error:
        show_error(error, as_json=as_json)
        return error.exit_code
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            say(*error.message.split("\n"))
            return 0
        show_error(_usage(error), as_json=as_json)
        return UsageError.exit_code
    except (KeyboardInterrupt, click.Abort):
        note(FAREWELL)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return RefusedError.exit_code
    except (OSError, MemoryError) as error:
        show_error(_system(error), as_json=as_json)
        return RefusedError.exit_code
    except Exception as error:
        show_error(unexpected(error), as_json=as_json)
        return RefusedError.exit_code


def _run(arguments: Sequence[str]) -> int:
    try:
        result = app(list(arguments), standalone_mode=False, prog_name="hush")
    except Exception as error:
        if interrupts:
            raise KeyboardInterrupt from error
        raise
    return result if isinstance(result, int) else 0


def _usage(error: click.ClickException) -> UsageError:
    """A usage error that names the flag, never what was typed behind it."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "hush"
    parameter = getattr(error, "param", None)
    near = getattr(error, "possibilities", None)
    meant = f" Did you mean {near[0]}?" if near else ""
    if parameter is not None:
        named = (
            max(parameter.opts, key=len)
            if parameter.opts[0].startswith("-")
            else parameter.metavar or parameter.name
        )
        missing, low = "Missing" in type(error).__name__, getattr(parameter.type, "min", None)
        wrong = "cannot be read" if low is None else f"must lie between {low} and {parameter.type.max}"
        message = f"{named} is missing." if missing else f"The value of {named} {wrong}."
    elif hasattr(error, "option_name"):
        message = f"{command} has no such option.{meant}"
    elif "command" in error.message:
        message = f"{command} has no such command.{meant}"
    else:
        message = f"{command} got more arguments than it takes, or an option without its value."
    return UsageError("usage.flags", message, f"Type `{command} --help` for an example.")


def _system(error: OSError | MemoryError) -> HushtableError:
    """What the operating system refused: its reason may be shown, its path may not."""
    reason = (
        "Cannot allocate memory" if isinstance(error, MemoryError) else error.strerror or "unknown reason"
    )
    return RefusedError(
        "system.refused",
        f"The operating system refused ({reason}).",
        "Check space, memory and permissions and repeat the command; the ledger shows what was charged.",
    )
