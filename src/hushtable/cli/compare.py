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
    out: Annotated[
        Path | None, Option("Write a page with all tables, or with --format a folder.", "PLACE", short="-o")
    ] = None,
    format: Annotated[
        str | None, Option("Export all tables as one of {formats}.", "NAME", short="-f")
    ] = None,
    raw: flags.Raw = False,
    json: flags.Json = False,
) -> None:
    """Difference, interval and significance of every cell of two releases."""
    if format is not None:
        ht.release.exports.format_named(format).check_installed()
    new, old = ht.release.Outline.read(this), ht.release.Outline.read(last)
    new.check_independent(old)
    new.check_same(old, attributes or ())
    for outline in (new, old) if attributes else ():
        outline.check_table(attributes or ())
    found = ht.compare(ht.Release.load(this), ht.Release.load(last), alpha=alpha)
    written = _write(found, out, format, raw=raw)
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
    if found.resting:
        say(found.resting)
    if written is not None:
        say(f"Wrote {written}.")


def _write(
    found: ht.release.ReleaseComparison, out: Path | None, format: str | None, *, raw: bool
) -> Path | None:
    """The page or the export that was asked for."""
    if format is not None:
        return found.export(out or Path(f"changes-{format}"), format, raw=raw).folder
    return None if out is None else ht.report.write_comparison_report(found, out).path


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return f"{value:,.3g}" if abs(value) < 1 else f"{value:,.1f}"
    return "(null)" if value is None else str(value)
