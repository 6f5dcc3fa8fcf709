"""What the tables leave out: rows that were dropped or changed, by field and reason."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View
from hushtable.schema import MISSING, OUTSIDE, UNKNOWN, Attribute, fates_of

_FATES = {
    MISSING: "lack a value",
    UNKNOWN: "have one that the schema does not know",
    OUTSIDE: "have one beyond its bounds",
}


def coverage_section(view: View) -> Section | None:
    """Noisy counts of dropped and clipped rows, where the schema has them measured."""
    found = view.card.coverage
    if found is None:
        return None
    told = next((one for one in found if not one.field), None)
    text = [
        f"{left_out(view.schema.row_fields)} These counts are noisy, as all others are; a row with several faults is "
        "counted for the first few of them."
    ]
    if told is not None:
        text.append(f"Of all rows, between {told.lower:,.0f} and {told.upper:,.0f} were dropped.")
    names = {a.name: a.label or a.name for a in view.schema.row_fields}
    data = pl.DataFrame(
        {
            "attribute": [names.get(one.field, "any") for one in found],
            "reason": [one.reason for one in found],
            "rows": [one.rows for one in found],
            "lower": [one.lower for one in found],
            "upper": [one.upper for one in found],
        }
    )
    whole = {name: (name.capitalize(), "{:,.0f}") for name in ("rows", "lower", "upper")}
    also = {"reason": ("Reason", "{}"), **whole}
    grid = Grid("coverage", "Rows that were dropped or changed", data, data.height > 20, also=also)
    return Section("coverage", "What is left out", tuple(text), grids=(grid,))


def left_out(fields: Iterable[Attribute]) -> str:
    """Which rows the rules of a schema drop, and that the others are kept."""
    known = {a.label or a.name: fates_of(a) for a in fields}
    told: list[str] = []
    for fate, words in _FATES.items():
        names = [name for name, fates in known.items() if fate in fates]
        if names:
            told.append(words if len(names) == len(known) else f"{words} ({', '.join(names)})")
    if not told:
        return "No row is left out of the tables for a value that is missing or unknown."
    return f"Rows that {', or '.join(told)}, are not in the tables."
