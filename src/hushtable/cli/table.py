"""``hush table``: print one released marginal with its error bars."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import MOST_ROWS, emit, grid, print_csv, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import UsageError

EXAMPLE = "Example: hush table out age sex --alpha 0.1"
NUMBERS = ["estimate", "std", "lower", "upper"]
ADJUSTED = ["benchmarked", "benchmarked_lower", "benchmarked_upper"]
SHARE_PLACES = 4
"""Places after the point of shares and rates: a hundredth of a per cent."""
SAMPLED = {"cv_noise": "cv_noise", "cv_sampling": "... sampling", "cv_total": "... total"}
"""Relative errors of a sample, and what stands above them."""
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
    attribute: Annotated[
        str | None,
        Option(
            "Attribute or level that --area and --areas name categories of; else the only tree's.", "NAME"
        ),
    ] = None,
    value: Annotated[
        str,
        Option("What the cells show: count, sum(X), mean(X), share(A), share(A, X), rate(X, Y).", "VALUE"),
    ] = "count",
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
    outline.check_value(value, simultaneous=simultaneous)
    if value != "count" and (areas is not None or area is not None or replicates is not None):
        raise UsageError(
            "usage.value",
            "--value comes without --area, --areas and --replicates.",
            "Leave them out, or ask for counts.",
        )
    if attribute is not None and area is None and areas is None:
        raise UsageError("usage.attribute", "--attribute is for --area and --areas.", "Add --area A,B.")
    if areas is not None:
        if area is not None or simultaneous or replicates is not None:
            raise UsageError(
                "usage.areas",
                "--areas comes without --area, --simultaneous and --replicates.",
                "Leave them out.",
            )
        ht.release.checked_areas(outline, areas, asked, attribute)
    elif replicates is None:
        outline.check_asked(asked, leaves, tree=attribute, simultaneous=simultaneous)
    else:
        ht.release.checked_replicates(replicates)
        outline.check_table(asked)
    release = ht.Release.load(folder)
    shown = (
        release.released_table(*asked, alpha=alpha, value=value)
        if value != "count"
        else ht.release.areas_of(release, areas, attribute, asked, alpha)
        if areas is not None
        else ht.release.asked_table(release, asked, leaves, alpha, tree=attribute, simultaneous=simultaneous)
        if replicates is None
        else ht.release.replicates_of(release, replicates, asked)
    )
    if json:
        emit(shown.to_dict())
    elif csv:
        print_csv(shown.frame, raw=raw)
    else:
        print_table(shown, rows=max(1, rows))


def print_table(table: ht.release.ReleasedTable, *, rows: int) -> None:
    """The first rows of a released table; the bar is solid up to the lower end and shaded up to the upper one."""
    frame, attributes = table.frame, list(table.attributes)
    places = SHARE_PLACES if table.value.startswith(("share", "rate")) else 1
    numbers = [*NUMBERS, *(name for name in ADJUSTED if name in frame.columns and name not in attributes)]
    relative = [name for name in SAMPLED if name in frame.columns and name not in attributes]
    scale = max(1.0, *(end for end in frame["upper"].to_list() if isfinite(end)))
    noted = ["note"] if "note" in frame.columns and "note" not in attributes else []
    flagged = "measured" in frame.columns and set(frame["measured"]) != {ht.reconstruct.FULLY}
    shown = [
        [
            *(str(row[name]) if row[name] is not None else "(null)" for name in attributes),
            *(_number(row[name], places) for name in numbers),
            *("–" if row[name] is None else f"{row[name]:.1%}" for name in relative),
            *([row["measured"]] if flagged else []),
            *(row[name] for name in noted),
            bar(row["lower"], row["upper"], scale),
        ]
        for row in frame.head(rows).to_dicts()
    ]
    heads = [name.replace("benchmarked_", "... ") for name in numbers]
    heads += [SAMPLED[name] for name in relative]
    grid([*attributes, *heads, *(["measured"] if flagged else []), *noted, ""], shown, right=heads)
    if frame.height > rows:
        say(f"... {frame.height - rows:,} more rows; --rows {frame.height} or --csv prints them all.")
    say(table.promise)
    if flagged:
        say(ht.release.MODELLED)


def bar(lower: float, upper: float, scale: float) -> str:
    """An interval as text.

    >>> bar(5, 10, 10)
    '██████████▒▒▒▒▒▒▒▒▒▒'
    """
    solid = round(WIDTH * max(0.0, lower) / scale)
    shaded = max(round(WIDTH * min(max(0.0, upper), scale) / scale) - solid, 0)
    return "█" * solid + "▒" * shaded or ("▏" if upper > 0 else "")


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:,.{places}f}"
