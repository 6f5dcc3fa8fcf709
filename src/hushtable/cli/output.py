"""What a command prints: tables and sentences for people, one JSON object for machines.

Results go to standard output; progress, warnings and errors to standard error.  Nothing here formats a value of
the confidential data, because none ever reaches the command line.  Names, labels and paths are strangers' text: their
control characters are printed as visible text.  ``rich`` is loaded for tables and bars only.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import hushtable as ht
from hushtable.errors import HushtableError
from hushtable.texts import visible, visible_json, visible_lines
from hushtable.watching import Watch, WatchJobs, WatchNotes

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console
    from rich.progress import Progress

NOT_ON_A_TERMINAL = 110
"""Columns of text for a reader that is no terminal: a table of four attributes with its numbers fits."""
MOST_ROWS = 60
"""Rows of a table that are printed unless more are asked for: a tall window.  Files and --csv have all of them."""


def console(*, error: bool = False) -> Console:
    """A console on the stream of the moment; wide enough for tables when it is not a terminal."""
    from rich.console import Console

    stream = sys.stderr if error else sys.stdout
    width = None if stream.isatty() else NOT_ON_A_TERMINAL
    return Console(file=stream, width=width, highlight=False, soft_wrap=False, markup=False, emoji=False)


def keep_streams_open_to_all_text() -> None:
    """Standard output and error never fail on a character that the terminal's encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(*lines: str) -> None:
    """Print each text on a line of its own."""
    for line in lines:
        sys.stdout.write(visible(line) + "\n")


def note(*lines: str) -> None:
    """Print lines on standard error."""
    for line in lines:
        sys.stderr.write(visible(line) + "\n")


def emit(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    unicode = (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(visible_json(value, ascii_only=not unicode) + "\n")


def print_csv(frame: pl.DataFrame, *, raw: bool) -> None:
    """Print a frame as CSV; on a terminal nothing invisible is printed, elsewhere every text is exact."""
    text = ht.spreadsheets.write_csv(frame, raw=raw)
    sys.stdout.write(visible_lines(text) if sys.stdout.isatty() and not raw else text)


def show_error(error: HushtableError, *, as_json: bool) -> None:
    """Print an error of ours: a sentence and what to type instead, or an object."""
    if as_json:
        emit({"error": {"code": error.code, "message": error.message, "fix": error.fix}})
    else:
        note(f"hush: {error.message}", *([f"  {error.fix}"] if error.fix else []), f"  [{error.code}]")


def grid(columns: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Print a plain table; the columns named in ``right`` are aligned to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in columns:
        table.add_column(visible(name), justify="right" if name in right else "left", no_wrap=name in right)
    for row in rows:
        table.add_row(*map(visible, row))
    console().print(table)


class StepBar:
    """A progress bar over named steps; silent when standard error is not a terminal."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=None) if progress is not None else None
        self._step = ("", 0, 0)

    def __call__(self, step: str, done: int, total: int) -> None:
        self._step = (step, done, total)
        self._show(step, done, total)

    def elsewhere(self, step: str, done: int, total: int) -> None:
        """Show how far a job of an engine is, and when it is done, the step that it was for."""
        if done < total:
            self._show(step, done, total)
        else:
            self._show(*self._step)

    def compiling(self, begins: bool) -> None:
        """Say so while loops are compiled, then show the step again."""
        if begins:
            self._show("compiling, once", 0, None)
        else:
            self._show(*self._step)

    def _show(self, step: str, done: int, total: int | None) -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, description=visible(step), completed=done, total=total)


@contextmanager
def progress(*, quiet: bool = False) -> Generator[StepBar]:
    """A progress bar for the time of a long job."""
    if quiet:
        yield StepBar(None)
        return
    if not sys.stderr.isatty():
        with WatchNotes(note):
            yield StepBar(None)
        return
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(error=True), transient=True) as bar:
        steps = StepBar(bar)
        with Watch(steps.compiling), WatchJobs(steps.elsewhere), WatchNotes(bar.console.print):
            yield steps
