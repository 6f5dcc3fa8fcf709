"""``hush compare``: whether the change between two releases is real."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import MOST_ROWS, emit, grid, print_csv, say
from hushtable.cli.parameters import Argument, Option

EXAMPLE = "Example: hush compare out-2026 out-2025 region sex"


def compare(
    this: Annotated[Path, Argument("Folder of a release.", "THIS")],
    last: Annotated[Path, Argument("Folder of an earlier one, or of another area or group.", "LAST")],
    attributes: Annotated[
        list[str] | None, Argument("A table; without it a summary of all.", "ATTRIBUTE...")
    ] = None,
    alpha: flags.Alpha = 0.05,
    csv: Annotated[bool, Option("Print CSV.")] = False,
    raw: flags.Raw = False,
    json: flags.Json = False,
) -> None:
    """Difference, interval and significance of every cell of two releases."""
    new, old = ht.release.Outline.read(this), ht.release.Outline.read(last)
    new.check_independent(old)
    new.check_same(old, attributes or ())
    for outline in (new, old) if attributes else ():
        outline.check_table(attributes or ())
    found = ht.compare(ht.Release.load(this), ht.Release.load(last), alpha=alpha)
    if json:
        emit(found.to_dict())
        return
    frame = found.table(*attributes) if attributes else found.summary()
    if csv:
        print_csv(frame, raw=raw)
        return
    rows = [[_shown(value) for value in row] for row in frame.head(MOST_ROWS).rows()]
    grid(frame.columns, rows, right=[c for c in frame.columns if frame[c].dtype.is_numeric()])
    if frame.height > MOST_ROWS:
        say(f"... {frame.height - MOST_ROWS:,} more rows; --csv prints them all.")
    say(
        f"A cell that did not change is called significant with probability {alpha:.10g}; one of a whole table among "
        "all with no more than that."
    )


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1 else f"{value:,.1f}"
    return "(null)" if value is None else str(value)
