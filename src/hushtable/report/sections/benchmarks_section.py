"""Counts beside those adjusted to official figures, by group."""

from __future__ import annotations

import polars as pl

from hushtable.release import adjusts
from hushtable.report.pieces import Grid, Section
from hushtable.report.sections.group_rows import MOST_GROUPS, group_rows
from hushtable.report.view import View


def benchmarks_section(view: View) -> Section | None:
    """Of every category of every attribute, and of all together: the count of the file and the adjusted one."""
    if not adjusts(view.schema):
        return None
    data = benchmarks_data(view)
    sources = ", ".join(f"{table.label} ({table.source})" for table in view.schema.benchmarks)
    text = (
        f"Counts adjusted to official figures of {sources}: each is multiplied so that the table adds up to the "
        "figures. The intervals of adjusted counts cover the noise in the file's own proportions, at 95%, and no error "
        "of the figures. The unadjusted counts stand beside them, and in all other places of this page.",
    )
    numbers = {"estimate": "Count", "lower": "Count, lower end", "upper": "Count, upper end"}
    numbers |= {f"benchmarked{end}": f"Adjusted{words}" for end, words in _ENDS.items()}
    also = {name: (title, "{:,.0f}") for name, title in numbers.items()}
    listed = data.head(MOST_GROUPS) if data.height > MOST_GROUPS else None
    grid = Grid("benchmarks", "Counts and adjusted counts by group", data, True, also=also, listed=listed)
    return Section("benchmarks", "Official totals", text, grids=(grid,))


_ENDS = {"": "", "_lower": ", lower end", "_upper": ", upper end"}


def benchmarks_data(view: View) -> pl.DataFrame:
    """One row per group: of all, then of each attribute's categories."""
    return group_rows(view, ("estimate", "lower", "upper", *(f"benchmarked{end}" for end in _ENDS)))
