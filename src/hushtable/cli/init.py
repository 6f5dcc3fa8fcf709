"""``hush init``: draft a schema by looking at the data, with every guess marked for review."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, say
from hushtable.cli.parameters import Argument, Option
from hushtable.errors import UsageError
from hushtable.outputs import can_make, is_taken, whole_file
from hushtable.texts import counted

EXAMPLE = "Example: hush init people.csv --out people.yaml"


def init(
    data: Annotated[
        str | None, Argument("A file, a quoted glob, or the URL of a PostgreSQL or DuckDB table.", "[DATA]")
    ] = None,
    out: Annotated[Path | None, Option("Write here, not to the terminal.", "FILE", short="-o")] = None,
    header: Annotated[
        bool | None,
        Option("Whether the first line of a text file names the columns.", name="--header/--no-header"),
    ] = None,
    codebook: Annotated[
        Path | None, Option("Make the schema of this codebook (.csv, .xml, .json) instead of data.", "FILE")
    ] = None,
    table: flags.TableName = None,
    json: flags.Json = False,
) -> None:
    """Draft a schema.  What it learnt from the data is marked; a release refuses it until you have reviewed it.

    With --codebook no data are looked at: a CSV of column, value, label; DDI-Codebook; or a Frictionless table schema.
    """
    if (data is None) == (codebook is None):
        raise UsageError(
            "usage.init", "Give either DATA or --codebook.", "Type `hush init people.csv --out people.yaml`."
        )
    data = None if data is None else flags.at_table(data, table)
    if out is not None and is_taken(out):
        raise UsageError(
            "init.exists", f"{out} exists already.", "Give --out another name, or remove the file."
        )
    if out is not None and not can_make(out):
        raise _not_written(out)
    text = ht.session.draft(data, header=header) if codebook is None else ht.schema.codebook_text(codebook)
    drafted = ht.Schema.loads(text)
    if out is not None:
        _write(out, text)
    if json:
        emit(drafted.to_dict())
    elif out is None:
        sys.stdout.write(text)
    else:
        learnt = (
            f"{len(drafted.unreviewed)} lines learnt from the data."
            if codebook is None
            else "nothing learnt from data."
        )
        say(f"Wrote {out}: {counted(len(drafted.names), 'attribute')}, {learnt}")
        if codebook is None:
            review = f"hush review {quote(str(out))}"
            say(f"Check each marked line against what is publicly known: `{review}` walks through them.")
        for line in text.splitlines():
            if line.lstrip().startswith("# ") and " is left out: " in line:
                say(f"  {line.lstrip().removeprefix('# ')}")
        if header is None and not drafted.csv.header:
            say(
                "The first line does not look like names of columns: the draft reads it as a row (`header: false`).",
                "Name the columns in the draft, or run `hush init --header` if the first line does name them.",
            )


def _write(out: Path, text: str) -> None:
    try:
        with whole_file(out) as file:
            file.write(text.encode())
    except OSError:
        raise _not_written(out) from None


def _not_written(out: Path) -> UsageError:
    return UsageError("init.not-written", f"{out} cannot be written.", "Give --out another place.")
