"""``hush export``: the tables of a release in the formats that others read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, progress, say
from hushtable.cli.parameters import Option
from hushtable.texts import counted

EXAMPLE = "Example: hush export out --format xlsx --table age,sex"


def export(
    folder: flags.ReleaseFolder,
    format: Annotated[str, Option("One of {formats}.", "NAME", short="-f")],
    out: Annotated[Path | None, Option("Folder to write; by default DIR-NAME.", "FOLDER", short="-o")] = None,
    table: Annotated[
        list[str] | None,
        Option(
            "This table, as age,sex; repeat for more.  Without it all that were asked for.",
            "NAMES",
            short="-t",
        ),
    ] = None,
    alpha: flags.Alpha = 0.05,
    language: flags.Language = None,
    raw: flags.Raw = False,
    publish: Annotated[
        bool, Option("Whole numbers that add up on every level and across the tables stand first.")
    ] = False,
    value: Annotated[str, Option("What the cells show, as `hush table --value` has it.", "VALUE")] = "count",
    json: flags.Json = False,
) -> None:
    """Write tables with error columns, quality flags and notes, a data package and a README.  Nothing is spent."""
    ht.release.exports.format_named(format).check_installed()
    names = [tuple(name.strip() for name in text.split(",") if name.strip()) for text in table or []]
    outline = ht.release.Outline.read(folder)
    if language is not None:
        outline.schema.in_language(language)
    outline.check_tables(names)
    outline.check_value(value)
    release = ht.Release.load(folder)
    if language is not None:
        release = release.in_language(language)
    beside = folder if folder.name.strip(".") else folder.resolve()
    place = out or beside.with_name(f"{beside.name}-{format}")
    columns = ht.release.exports.export_columns(value, publish=publish)
    with progress(quiet=json) as steps:
        done = ht.release.write_export(
            release, place, format, tables=names, alpha=alpha, columns=columns, raw=raw, progress=steps
        )
    if json:
        emit(done.to_dict())
    else:
        say(f"Wrote {counted(done.tables, 'table')} to {done.folder}; its README.txt says how to open them.")
