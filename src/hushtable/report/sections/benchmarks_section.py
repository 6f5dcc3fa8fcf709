"""Counts beside those adjusted to official figures, by group."""

from __future__ import annotations

import polars as pl

from hushtable.release import ALPHA, adjusts
from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View

MOST_GROUPS = 2000
"""Groups that the page lists, 100 KB."""


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
    schema, frames = view.schema, list[pl.DataFrame]()
    for attributes in (s for s in view.small_sets if len(s) < 2):
        names = tuple(schema.names[a] for a in attributes)
        table = view.release.table(*names, alpha=ALPHA)
        kind = schema.of_axis(attributes[0]) if attributes else None
        labels = {
            "attribute": ["" if kind is None else kind.label or names[0]] * table.height,
            "value": ["all"] if kind is None else kind.labels,
        }
        shown = ("estimate", "lower", "upper", *(f"benchmarked{end}" for end in _ENDS))
        frames.append(pl.DataFrame({**labels, **{name: table[name] for name in shown}}))
    return pl.concat(frames)
