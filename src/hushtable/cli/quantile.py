"""``hush quantile``: medians, deciles and other quantiles of a released attribute, with intervals."""

from __future__ import annotations

from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import MOST_ROWS, emit, grid, print_csv, say
from hushtable.cli.parameters import Argument, Option

EXAMPLE = "Example: hush quantile out age --at 0.25 --at 0.5 --by sex"


def quantile(
    folder: flags.ReleaseFolder,
    attribute: Annotated[str, Argument("A number or a date of a released table.", "ATTRIBUTE")],
    at: Annotated[
        list[float] | None, Option("Share below it; 0.5, the median, by default.", "Q", between=(0, 1))
    ] = None,
    by: Annotated[str | None, Option("In every cell of these attributes.", "A,B")] = None,
    alpha: flags.Alpha = 0.05,
    csv: Annotated[bool, Option("Print CSV.")] = False,
    raw: flags.Raw = False,
    json: flags.Json = False,
) -> None:
    """Print quantiles of an ordered attribute, free from the answers that were released."""
    groups = [name.strip() for name in by.split(",")] if by else []
    ht.release.Outline.read(folder).check_quantile(attribute, groups)
    release = ht.Release.load(folder)
    found = ht.release.quantiles_of(release, attribute, at or [0.5], groups, alpha)
    frame = found.frame
    if json:
        emit(found.to_dict())
    elif csv:
        print_csv(frame, raw=raw)
    else:
        rows = [[str(value) for value in row] for row in frame.head(MOST_ROWS).rows()]
        grid(frame.columns, rows, right=["quantile", "estimate", "lower", "upper"])
        if frame.height > MOST_ROWS:
            say(f"... {frame.height - MOST_ROWS:,} more rows; --csv prints them all.")
        say(found.promise)
