"""What a command prints: tables and sentences for people, one JSON object for machines.

Results go to standard output; progress, warnings and errors to standard error.  Nothing here formats a value of
the confidential data, because none ever reaches the command line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from hushtable.errors import HushtableError

NOT_ON_A_TERMINAL = 110


def console(*, error: bool = False) -> Console:
    """A console on the stream of the moment; wide enough for tables when it is not a terminal."""
    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else NOT_ON_A_TERMINAL
    return Console(file=stream, width=width, highlight=False, soft_wrap=False, markup=False, emoji=False)


def say(*lines: str) -> None:
    """Print lines of text as they are."""
    for line in lines:
        console().print(line, soft_wrap=True)


def note(*lines: str) -> None:
    """Print lines on standard error."""
    for line in lines:
        console(error=True).print(line, soft_wrap=True)


def counted(number: int, noun: str) -> str:
    """``1 table``, ``2 tables``."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def emit(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def show_error(error: HushtableError, *, as_json: bool) -> None:
    """Print an error of ours: a sentence and what to type instead, or an object."""
    if as_json:
        emit({"error": {"code": error.code, "message": error.message, "fix": error.fix}})
    else:
        note(f"hush: {error.message}", *([f"  {error.fix}"] if error.fix else []), f"  [{error.code}]")


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a plain table; the columns named in ``right`` are aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=name in right)
    for row in rows:
        table.add_row(*row)
    console().print(table)


class Steps:
    """A progress bar over named steps; silent when standard error is not a terminal."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None) if progress is not None else None

    def __call__(self, step: str, done: int, total: int) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=step, completed=done, total=total)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Steps]:
    """A progress bar for the time of a long job."""
    if quiet or not sys.stderr.isatty():
        yield Steps(None)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(error=True), transient=True) as bar:
        yield Steps(bar)
