"""What became of the rows: the numbers of a preflight, in the confidential report alone."""

from __future__ import annotations

import polars as pl

from hushtable.report.headings import Heading
from hushtable.report.pieces import Grid, Section
from hushtable.schema import Preflight

_COLUMNS: dict[str, Heading] = {
    "attribute": ("Attribute", "{}"),
    "nulls": ("Nulls", "{:,}"),
    "unreadable": ("No value", "{:,}"),
    "below": ("Below", "{:,}"),
    "above": ("Above", "{:,}"),
    "clipped": ("Clipped", "{:,}"),
    "dropped": ("Rows dropped", "{:,}"),
    "alone": ("By it alone", "{:,}"),
}
_OFFENDERS: dict[str, Heading] = {
    "attribute": ("Attribute", "{}"),
    "text": ("Text", "{}"),
    "what": ("What", "{}"),
    "rows": ("Rows", "{:,}"),
}


def rows_section(found: Preflight) -> Section:
    """Rows read, lost and counted; by attribute; what does not fit."""
    columns = pl.DataFrame(
        [{name: getattr(column, name) for name in _COLUMNS} for column in found.columns],
        schema={name: pl.String if name == "attribute" else pl.Int64 for name in _COLUMNS},
    )
    offenders = pl.DataFrame(
        [(c.attribute, repr(o.text), o.what, o.rows) for c in found.columns for o in c.offenders],
        schema={name: pl.Int64 if name == "rows" else pl.String for name in _OFFENDERS},
        orient="row",
    )
    grids = [Grid("rows-by-attribute", "Rows by attribute", columns, also=_COLUMNS)]
    if offenders.height:
        grids.append(Grid("offenders", "What does not fit, most frequent first", offenders, True, _OFFENDERS))
    return Section("rows", "What became of the rows", _sentences(found), _facts(found), grids=tuple(grids))


def _sentences(found: Preflight) -> tuple[str, ...]:
    hints = (f"{hint.message} {hint.fix}" for hint in found.hints)
    return tuple(filter(None, (found.warning, *hints)))


def _facts(found: Preflight) -> tuple[tuple[str, str], ...]:
    facts = [("Rows read", found.rows)]
    facts += [(f"Malformed: {kind.reason}", kind.rows) for kind in found.malformed]
    facts += [("Dropped by the rules null and outside", found.dropped)]
    if found.people is not None:
        facts += [("Without a person", found.nobody), ("Beyond the cap per person", found.cut)]
        facts += [("People", found.people.persons), ("Most rows of one person", found.people.most)]
    facts += [("Rows counted", found.counted)]
    return tuple((name, f"{number:,}") for name, number in facts)
