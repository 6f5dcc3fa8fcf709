"""``hush completion``: lines for the shell, so that Tab completes commands, flags and the names that they take."""

from __future__ import annotations

from typing import Annotated

import click
from click import shell_completion

from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Argument
from hushtable.errors import UsageError

EXAMPLE = "Example: hush completion bash > hush.bash"
SHELLS = ("bash", "zsh", "fish")


def completion(
    shell: Annotated[str, Argument("bash, zsh or fish.", "SHELL")], json: flags.Json = False
) -> None:
    """Print what a shell needs to complete hush; put it into ~/.bashrc, ~/.zshrc or ~/.config/fish/config.fish."""
    if shell not in SHELLS:
        raise UsageError("usage.shell", "This shell is not known.", f"Type one of {', '.join(SHELLS)}.")
    made = shell_completion.get_completion_class(shell)
    root = click.get_current_context().find_root()
    script = "" if made is None else made(root.command, {}, "hush", "_HUSH_COMPLETE").source()
    _ = emit({"shell": shell, "script": script}) if json else say(*script.split("\n"))
