"""``hush report``: the public report of a release, or the curator's confidential one.

The charts' libraries take a second to load, so they are loaded when a report is asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli.options import Json, Raw
from hushtable.cli.output import emit, note, progress, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import BundleError, UsageError

EXAMPLE = "Example: hush report out --ledger people.ledger --table age,sex"


def report(
    folder: Annotated[Path, Argument(help="Folder that `hush release` wrote.", metavar="DIR")],
    out: Annotated[
        Path | None,
        Option("--out", "-o", help="Write here; by default report.html in DIR.", metavar="FILE"),
    ] = None,
    ledger: Annotated[
        Path | None,
        Option("--ledger", "-l", help="Show the budget, checks and choices of this ledger.", metavar="FILE"),
    ] = None,
    table: Annotated[
        list[str] | None,
        Option("--table", "-t", help="Chart this table, as age,sex; repeat for more.", metavar="NAMES"),
    ] = None,
    microdata: Annotated[
        Path | None,
        Option("--microdata", "-m", help="Show these records beside the intervals.", metavar="FILE"),
    ] = None,
    against: Annotated[
        str | None,
        Option("--against", help="Compare with the confidential data instead.", metavar="DATA"),
    ] = None,
    confidential: Annotated[
        bool,
        Option("--confidential", help="I know that the result is not private and must stay with me."),
    ] = False,
    raw: Raw = False,
    json: Json = False,
) -> None:
    """Write one HTML file that works offline: what was released, how far to trust it, what it cost."""
    if against is not None or confidential:
        _write_confidential(folder, against, confidential, out, raw=raw, as_json=json)
        return
    tables = [tuple(name.strip() for name in text.split(",")) for text in table or []]
    with progress(quiet=json) as steps:
        steps("drawing the report", 0, 1)
        file = ht.report.write_report(
            folder, out=out, ledger=ledger, tables=tables, microdata=microdata, raw=raw
        )
    if json:
        emit({"report": str(file), "bytes": file.stat().st_size})
    else:
        say(f"Wrote {file} ({file.stat().st_size / 1e6:.1f} MB); the data behind its charts is beside it.")


def draw_report(folder: Path) -> None:
    """The report that comes with a release; where it cannot be written, the release stands without it."""
    try:
        ht.report.write_report(folder)
    except BundleError as error:
        note(f"hush: {error.message} {error.fix} The release is complete; `hush report` draws it again.")


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
        steps("drawing the report", 1, 2)
        file = ht.report.write_confidential_report(folder, frames, release.card, out, raw=raw)
    if as_json:
        emit({"report": str(file), "stamp": ht.report.STAMP})
    else:
        say(f"Wrote {file} ({ht.report.STAMP}: keep it to yourself).")
