"""What the tables leave out: rows that were dropped or changed, by field and reason."""

from __future__ import annotations

import polars as pl

from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View


def coverage_section(view: View) -> Section | None:
    """Noisy counts of dropped and clipped rows, where the schema has them measured."""
    found = view.card.coverage
    if found is None:
        return None
    told = next((one for one in found if not one.field), None)
    text = [
        "Rows that lack a value, or have one that the schema does not know, are not in the tables. These counts are "
        "noisy, as all others are; a row with several faults is counted for the first few of them."
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
    also = {"reason": ("Reason", "{}"), "rows": ("Rows", "{:,.0f}")}
    grid = Grid("coverage", "Rows that were dropped or changed", data, data.height > 20, also=also)
    return Section("coverage", "What is left out", tuple(text), grids=(grid,))
