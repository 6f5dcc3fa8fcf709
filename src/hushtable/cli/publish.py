"""``hush publish``: releases as a static site, for those who want no server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, progress, say
from hushtable.cli.parameters import Argument, Option
from hushtable.texts import counted

EXAMPLE = "Example: hush publish 2024 2025 --out site"


def publish(
    folders: Annotated[list[Path], Argument("Folders that `hush release` wrote.", "DIR...")],
    out: Annotated[
        Path, Option("Folder of the site; one that is there is replaced as a whole.", "SITE", short="-o")
    ],
    title: Annotated[str, Option("What stands over the list of releases.", "TEXT")] = "Published tables",
    format: Annotated[
        list[str] | None,
        Option(
            "Offer this export, one of {formats}; repeat for more.  Without it all that are installed.",
            "NAME",
            short="-f",
        ),
    ] = None,
    language: flags.Language = None,
    raw: flags.Raw = False,
    json: flags.Json = False,
) -> None:
    """Write releases as pages to explore, with permalinks, downloads, citations and hashes.  Nothing is spent."""
    for name in format or ():
        ht.release.exports.format_named(name).check_installed()
    for folder in folders:
        schema = ht.release.Outline.read(folder).schema
        if language is not None:
            schema.in_language(language)
    with progress(quiet=json) as steps:
        made = ht.report.write_site(
            folders, out, title=title, formats=format or None, language=language, raw=raw, progress=steps
        )
    if json:
        emit(made.to_dict())
    else:
        say(
            f"Wrote {counted(len(made.releases), 'release')} to {made.folder}: open {made.folder / 'index.html'}, or "
            "let any web server show the folder."
        )
