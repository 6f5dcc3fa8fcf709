"""``hush microdata``: whole records from released answers, and what they cost against the tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, progress, say
from hushtable.cli.parameters import Option
from hushtable.errors import BundleError, UsageError
from hushtable.outputs import can_make, is_taken, whole_file
from hushtable.texts import counted

EXAMPLE = "Example: hush microdata out --out people.parquet --explain"
MOST_TABLES = 25
"""Tables that are listed, those farthest off: a screen's worth.  With more, the first lines scroll away."""


def microdata(
    folder: flags.ReleaseFolder,
    out: Annotated[Path | None, Option("File to write: .csv or .parquet.", "FILE", short="-o")] = None,
    fit: Annotated[str, Option("One of {fits}.", "NAME")] = "reweighted",
    priority: Annotated[
        list[str] | None,
        Option(
            "With --fit sequential: a marginal to keep first, as age,sex; repeat in order of importance.",
            "A,B",
        ),
    ] = None,
    rows: Annotated[int | None, Option("Number of records; by default as many as the fit has.", "N")] = None,
    seed: Annotated[int, Option("Another number, another draw.", "N")] = 0,
    levels: Annotated[str | None, Option("Coarser levels to add to the records.", "A,B")] = None,
    labels: Annotated[bool, Option("Write numbers and dates as their bands, as in tables.")] = False,
    explain: Annotated[bool, Option("Say how far records and tables lie apart; kept in DIR.")] = False,
    raw: flags.Raw = False,
    json: flags.Json = False,
) -> None:
    """Make records that any tool can read from released answers.  Nothing is spent."""
    if out is None and not explain:
        raise UsageError("usage.flags", "--out is missing.", "Give --out people.csv, or --explain alone.")
    ht.microdata.checked_method(fit, ordered=bool(priority))
    if rows is not None:
        ht.microdata.whole_rows(rows)
    if out is not None:
        _check_place(out)
    above = tuple(name.strip() for name in levels.split(",")) if levels else ()
    named = [tuple(name.strip() for name in text.split(",") if name.strip()) for text in priority or []]
    outline = ht.release.Outline.read(folder)
    outline.check_levels(above)
    for names in named:
        outline.schema.axes(names)
    release = ht.Release.load(folder)
    order = ht.release.complete_priorities(release, named) if named else None
    with progress(quiet=json) as steps:
        made = ht.release.make_microdata(
            release,
            fit=fit,
            priorities=order,
            rows=rows,
            seed=seed,
            progress=steps,
            columns=ht.release.RecordColumns(above, labels),
        )
    if out is not None:
        _write(release.schema, made, out, raw=raw)
    if explain:
        ht.release.add_explanation(folder, made.explanation)
    _report(made, out, explain=explain, as_json=json)


def _check_place(out: Path) -> None:
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError("microdata.format", "--out must end in .csv or .parquet.", "Give --out people.csv.")
    places = (out, *_beside(out))
    if any(map(is_taken, places)) or not all(map(can_make, places)):
        raise BundleError(
            "microdata.exists",
            f"{out} or the dictionary beside it exists, or its folder takes no files.",
            "Give --out another file.",
        )


def _beside(out: Path) -> tuple[Path, Path]:
    """The data dictionary and the data package of a file of records."""
    return out.with_name(f"{out.name}.dictionary.csv"), out.with_name(f"{out.name}.datapackage.json")


def _write(schema: ht.Schema, made: ht.release.Microdata, out: Path, *, raw: bool) -> None:
    dictionary, package = _beside(out)
    told = ht.release.records_package(schema, made.frame, out.name, dictionary.name)
    try:
        with whole_file(dictionary) as file:
            ht.spreadsheets.write_csv(made.dictionary, file, raw=raw)
        with whole_file(package) as file:
            file.write(told.to_json().encode())
        with whole_file(out) as file:
            if out.suffix.lower() == ".csv":
                ht.spreadsheets.write_csv(made.frame, file, raw=raw)
            else:
                made.frame.write_parquet(file)
    except OSError:
        raise BundleError(
            "microdata.not-written", f"{out} could not be written.", "Free some space and repeat the command."
        ) from None


def _report(made: ht.release.Microdata, out: Path | None, *, explain: bool, as_json: bool) -> None:
    if as_json:
        emit(made.to_dict())
        return
    told, where = made.explanation, "" if out is None else f" to {out}, described in {_beside(out)[0].name}"
    width = sum(name != ht.schema.RECORD_WEIGHT for name in made.frame.columns)
    rows, columns = counted(made.frame.height, "record"), counted(width, "attribute")
    say(f"{rows} of {columns} ({told.fit}){where}", *told.notes)
    if explain:
        _show(made.explanation)


def _show(found: ht.microdata.Explanation) -> None:
    total = found.sum
    std = "" if total.std is None else f" ± {total.std:,.1f}"
    if total.released is not None:
        say("", f"Total: {total.released:,.1f}{std} released, {total.microdata:,} records")
    columns = ["marginal", "cells", "std", "rms", "largest", "beyond 2", "L1 share", "read from"]
    worst = sorted(found.tables, key=lambda t: -(t.rms_deviation or 0.0))[:MOST_TABLES]
    grid(columns, [_row(table) for table in worst], right=columns[1:-1])
    if len(found.tables) > MOST_TABLES:
        say(f"... {len(found.tables) - MOST_TABLES:,} more tables, all nearer; --json prints them.")
    if found.small_cells:
        say("", "Bias of the records by size of the released cell:")
        names = ["released cell", "cells", "bias", "bias of their sum"]
        bands = [
            [band.released, f"{band.cells:,}", f"{band.bias:+,.2f}", f"{band.bias_of_their_sum:+,.0f}"]
            for band in found.small_cells
        ]
        grid(names, bands, right=names[1:])
    say("", found.reading)


def _row(table: ht.microdata.TableGap) -> list[str]:
    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    return [
        table.marginal,
        f"{table.cells:,}",
        number(table.std, ",.1f"),
        number(table.rms_deviation, ".2f"),
        number(table.largest_deviation, ".1f"),
        number(table.beyond_two, ".1%"),
        number(table.l1_share, ".3f"),
        table.read_from,
    ]
