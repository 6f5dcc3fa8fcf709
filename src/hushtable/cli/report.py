"""``hush report``: the public report of a release, or the curator's confidential one.

The charts' libraries take a second to load, so they are loaded when a report is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, note, progress, say
from hushtable.cli.parameters import Option
from hushtable.errors import BundleError, UsageError

EXAMPLE = "Example: hush report out --ledger people.ledger --table age,sex"


def report(
    folder: flags.ReleaseFolder,
    out: Annotated[
        Path | None, Option("Write here; by default report.html in DIR.", "FILE", short="-o")
    ] = None,
    ledger: Annotated[
        str | None, Option("Show the budget, checks and choices of this ledger.", "FILE", short="-l")
    ] = None,
    table: Annotated[
        list[str] | None, Option("Open with this table, as age,sex; repeat for more.", "NAMES", short="-t")
    ] = None,
    microdata: Annotated[
        Path | None, Option("Show these records beside the intervals.", "FILE", short="-m")
    ] = None,
    against: Annotated[str | None, Option("Compare with the confidential data instead.", "DATA")] = None,
    confidential: Annotated[
        bool, Option("I know that the result is not private and must stay with me.")
    ] = False,
    language: flags.Language = None,
    raw: flags.Raw = False,
    json: flags.Json = False,
) -> None:
    """Write one HTML file that works offline: what was released, how far to trust it, what it cost."""
    if against is not None or confidential:
        _write_confidential(folder, against, confidential, out, raw=raw, as_json=json)
        return
    tables = [tuple(name.strip() for name in text.split(",")) for text in table or []]
    if microdata is not None and not _is_file(microdata):
        raise UsageError(
            "report.microdata", f"{microdata} is not a file.", "Give the --out of `hush microdata`."
        )
    outline = ht.release.Outline.read(folder)
    if language is not None:
        outline.schema.in_language(language)
    for names in tables:
        outline.check_table(names)
    with progress(quiet=json) as steps:
        steps("drawing the report", 0, 1)
        wanted: dict[str, Any] = {"ledger": ledger, "tables": tables, "microdata": microdata}
        file = ht.report.write_report(folder, out=out, **wanted, raw=raw, language=language)
    if json:
        emit(file.to_dict())
    else:
        size = file.path.stat().st_size / 1e6
        say(f"Wrote {file.path} ({size:.1f} MB); the data behind its charts is beside it.")


def draw_report(folder: Path) -> None:
    """The report that comes with a release; where it cannot be written, the release stands without it."""
    try:
        ht.report.write_report(folder)
    except BundleError as error:
        note(f"hush: {error.message} {error.fix} The release is complete; `hush report` draws it again.")


def _is_file(path: Path) -> bool:
    """Whether there is a file; a name that the operating system refuses to look up is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def _write_confidential(
    folder: Path, against: str | None, confidential: bool, out: Path | None, *, raw: bool, as_json: bool
) -> None:
    if against is None:
        raise UsageError(
            "report.against", "--confidential needs the data to compare with.", "Add --against DATA."
        )
    release = ht.Release.load(folder)
    with progress(quiet=as_json) as steps:
        steps("counting", 0, 2)
        frames = ht.session.evaluate_release(against, release, confidential=confidential)
        rows = ht.preflight(against, schema=release.schema)
        steps("drawing the report", 1, 2)
        file = ht.report.write_confidential_report(folder, frames, release.card, out, raw=raw, rows=rows)
    if as_json:
        emit(file.to_dict())
    else:
        say(f"Wrote {file.path} ({ht.report.STAMP}: keep it to yourself).")
