"""``hush table``: print one released marginal with its error bars."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from hushtable.cli.options import Alpha, Json
from hushtable.cli.output import console, emit, grid, say
from hushtable.release import Release

EXAMPLE = "Example: hush table out age sex --alpha 0.1"
MOST_ROWS = 60


def table(
    folder: Annotated[Path, typer.Argument(help="Folder that `hush release` wrote.", metavar="DIR")],
    attributes: Annotated[
        list[str] | None, typer.Argument(help="Attributes; none for the total.", metavar="ATTRIBUTE...")
    ] = None,
    alpha: Alpha = 0.05,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    rows: Annotated[
        int, typer.Option("--rows", help="Print at most this many rows.", metavar="N")
    ] = MOST_ROWS,
    json: Json = False,
) -> None:
    """Print a table: estimate, standard error and the interval that holds the truth with probability 1 - alpha."""
    frame = Release.load(folder).table(*(attributes or []), alpha=alpha)
    if json:
        emit({"attributes": attributes or [], "alpha": alpha, "rows": frame.to_dicts()})
    elif csv:
        console().file.write(frame.write_csv())
    else:
        print_table(frame, attributes or [], alpha=alpha, rows=max(1, rows))


def print_table(frame: pl.DataFrame, attributes: list[str], *, alpha: float, rows: int) -> None:
    """The first rows of a released table, with a bar for each estimate."""
    largest = max(1.0, frame["estimate"].max() or 0.0)
    shown = [
        [
            *(str(row[name]) if row[name] is not None else "(null)" for name in attributes),
            f"{row['estimate']:,.1f}",
            f"{row['std']:,.1f}",
            f"{row['lower']:,.1f}",
            f"{row['upper']:,.1f}",
            "█" * round(20 * max(0.0, row["estimate"]) / largest),
        ]
        for row in frame.head(rows).to_dicts()
    ]
    numbers = ["estimate", "std", "lower", "upper"]
    grid([*attributes, *numbers, ""], shown, right=numbers)
    if frame.height > rows:
        say(f"... {frame.height - rows:,} more rows; --rows {frame.height} or --csv prints them all.")
    say(f"Each interval holds the true count with probability {1 - alpha:.0%}.")
