"""``hush preflight``: what a release would lose of the rows, for the curator's own terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import hushtable as ht
from hushtable.cli import flags
from hushtable.cli.output import emit, grid, progress, say
from hushtable.cli.parameters import Option
from hushtable.texts import CONFIDENTIAL, counted

if TYPE_CHECKING:
    from hushtable.schema import ColumnFindings, Preflight

EXAMPLE = "Example: hush preflight people.csv --schema people.yaml --ledger people.ledger"


def preflight(
    data: flags.Data,
    schema: flags.SchemaFile,
    ledger: Annotated[
        str | None,
        Option("Note beside this ledger, there or not, that it was done.", "FILE", short="-l"),
    ] = None,
    table: flags.TableName = None,
    json: flags.Json = False,
) -> None:
    """Count, before anything is spent, what a release would lose of the rows, and say what to try.

    What it prints is exact and not private: keep it to yourself.  With --ledger it is noted that a preflight was run
    (never what it found): `hush release` stops reminding, and what you then change in the schema's values and bounds
    needs a mark that you reviewed it.
    """
    data = flags.at_table(data, table)
    declared = ht.Schema.load(schema)
    with progress(quiet=json) as steps:
        steps("reading", 0, 1)
        found = ht.preflight(data, schema=declared, ledger=ledger)
    if json:
        emit(found.to_dict())
        return
    _show(found)
    if ledger is None:
        say(
            "",
            "Add --ledger L to have it noted that a preflight was run; `hush release` reminds you until then.",
        )


def _show(found: Preflight) -> None:
    say(f"{CONFIDENTIAL.upper()}. For the curator alone: publish no number of it.", "")
    if found.warning:
        say(f"!! {found.warning}", "")
    say(
        f"Rows of {found.data}",
        f"  read        {found.rows:>12,}",
        *(
            f"  malformed   {kind.rows:>12,}  {kind.reason}: {_lines(kind.lines, kind.rows)}"
            for kind in found.malformed
        ),
        f"  dropped     {found.dropped:>12,}  by `null` and `outside`",
    )
    if found.people is not None:
        people = found.people
        say(
            f"  nobody's    {found.nobody:>12,}  without a person",
            f"  cut         {found.cut:>12,}  of {counted(people.over, 'person')} with more rows than count",
        )
    say(f"  counted     {found.counted:>12,}")
    _show_columns(found)
    for line in _other_lines(found):
        say(line)
    for hint in found.hints:
        say("", f"? {hint.message}", f"  {hint.fix}")


def _show_columns(found: Preflight) -> None:
    say("")
    head = ("attribute", "nulls", "no value", "below", "above", "clipped", "rows dropped", "by it alone")
    rows = [
        (
            c.attribute,
            *(f"{n:,}" for n in (c.nulls, c.unreadable, c.below, c.above, c.clipped, c.dropped, c.alone)),
        )
        for c in found.columns
    ]
    grid(head, rows, right=head[1:])
    listed = [(c.attribute, o) for c in found.columns for o in c.offenders]
    if listed:
        say("", "What does not fit, most frequent first")
        grid(
            ("attribute", "text", "what", "rows"),
            [(name, repr(o.text), o.what, f"{o.rows:,}") for name, o in listed],
            right=("rows",),
        )
    for column in found.columns:
        if (rest := _rest(column)) != "":
            say(rest)


def _rest(column: ColumnFindings) -> str:
    if column.different is None:
        return f"{column.attribute}: very many different texts; counts may be too small"
    more = column.different - len(column.offenders)
    return f"{column.attribute}: and {more:,} more" if more > 0 else ""


def _other_lines(found: Preflight) -> Iterator[str]:
    if found.people is not None:
        spread = ", ".join(
            f"{counted(people, 'person')} with {rows:,}" for rows, people in found.people.spread
        )
        yield ""
        yield f"People {found.people.persons:,}; rows of one person at most {found.people.most:,} ({spread})"
    if found.unused:
        yield f"Columns that the schema does not use: {', '.join(found.unused)}"
    if found.look is not None:
        first = "names columns" if found.look.header else "is a row"
        cut = repr(found.look.delimiter)
        yield f"The file looks like {found.look.encoding}, separated by {cut}; its first line {first}."


def _lines(lines: tuple[str, ...], rows: int) -> str:
    return f"line {', '.join(lines)}{', ...' if rows > len(lines) else ''}"
