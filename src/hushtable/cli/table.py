"""``hush table``: print one released marginal with its error bars."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import MOST_ROWS, emit, grid, print_csv, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import UsageError

if TYPE_CHECKING:
    import polars as pl

EXAMPLE = "Example: hush table out age sex --alpha 0.1"
NUMBERS = ["estimate", "std", "lower", "upper"]
WIDTH = 20
"""Letters of the longest bar: what a line of 80 leaves beside two attributes and four numbers."""


def table(
    folder: flags.ReleaseFolder,
    attributes: Annotated[
        list[str] | None,
        Argument("Attributes; none for the total; age=18-64 for an interval.", "ATTRIBUTE..."),
    ] = None,
    area: Annotated[str | None, Option("These categories of the tree together, as Alder,Elm.", "A,B")] = None,
    areas: Annotated[
        Path | None, Option("All areas of a CSV file with a column of categories and one of areas.", "FILE")
    ] = None,
    alpha: flags.Alpha = 0.05,
    simultaneous: Annotated[
        bool, Option("Intervals that hold for all cells of the table together; they are wider.")
    ] = False,
    csv: Annotated[bool, Option("Print CSV.")] = False,
    raw: flags.Raw = False,
    replicates: Annotated[
        int | None, Option("With --csv or --json: columns with as many draws of the noise.", "N")
    ] = None,
    rows: Annotated[int, Option("Print at most this many rows.", "N")] = MOST_ROWS,
    json: flags.Json = False,
) -> None:
    """Print a table: estimate, standard error and an interval for the true count at level 1 - alpha."""
    if replicates is not None and not (csv or json):
        raise UsageError("usage.replicates", "--replicates is for --csv and --json.", "Add --csv.")
    asked, leaves = attributes or [], [text.strip() for text in area.split(",")] if area is not None else []
    outline = ht.release.Outline.read(folder)
    if areas is not None:
        if area is not None or simultaneous or replicates is not None:
            raise UsageError(
                "usage.areas",
                "--areas comes without --area, --simultaneous and --replicates.",
                "Leave them out.",
            )
        ht.release.checked_areas(outline, areas, asked)
    elif replicates is None:
        outline.check_asked(asked, leaves, simultaneous=simultaneous)
    else:
        ht.release.checked_replicates(replicates)
        outline.check_table(asked)
    release = ht.Release.load(folder)
    shown = (
        ht.release.areas_of(release, areas, None, asked, alpha)
        if areas is not None
        else ht.release.asked_table(release, asked, leaves, alpha, simultaneous=simultaneous)
        if replicates is None
        else ht.release.replicates_of(release, replicates, asked)
    )
    if json:
        emit(shown.to_dict())
    elif csv:
        print_csv(shown.frame, raw=raw)
    else:
        print_table(shown.frame, list(shown.attributes), promise=shown.promise, rows=max(1, rows))


def print_table(frame: pl.DataFrame, attributes: list[str], *, promise: str, rows: int) -> None:
    """The first rows of a released table; the bar is solid up to the lower end and shaded up to the upper one."""
    scale = max(1.0, *frame["upper"].to_list())
    flagged = "measured" in frame.columns and set(frame["measured"]) != {ht.reconstruct.FULLY}
    shown = [
        [
            *(str(row[name]) if row[name] is not None else "(null)" for name in attributes),
            *(_number(row[name]) for name in NUMBERS),
            *([row["measured"]] if flagged else []),
            bar(row["lower"], row["upper"], scale),
        ]
        for row in frame.head(rows).to_dicts()
    ]
    grid([*attributes, *NUMBERS, *(["measured"] if flagged else []), ""], shown, right=NUMBERS)
    if frame.height > rows:
        say(f"... {frame.height - rows:,} more rows; --rows {frame.height} or --csv prints them all.")
    say(promise)
    if flagged:
        say(ht.release.MODELLED)


def bar(lower: float, upper: float, scale: float) -> str:
    """An interval as text.

    >>> bar(5, 10, 10)
    '██████████▒▒▒▒▒▒▒▒▒▒'
    """
    solid = round(WIDTH * max(0.0, lower) / scale)
    shaded = max(round(WIDTH * max(0.0, upper) / scale) - solid, 0)
    return "█" * solid + "▒" * shaded or ("▏" if upper > 0 else "")


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"
