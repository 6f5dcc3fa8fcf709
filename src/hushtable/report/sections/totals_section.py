"""Totals and means of the columns that the schema sums, by group."""

from __future__ import annotations

from math import ceil, inf, isfinite, log10

import polars as pl

from hushtable.release import ALPHA, MODELLED
from hushtable.report.headings import Heading
from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View
from hushtable.schema import total_of
from hushtable.texts import counted

MOST_GROUPS = 2000
"""Groups that the page lists, 100 KB."""
MOST_DECIMALS = 6
"""More are noise of the arithmetic, whatever the unit."""


def totals_section(view: View) -> Section | None:
    """Of every category of every attribute, and of all together: total and mean, with their intervals."""
    if not view.release.totals:
        return None
    data = totals_data(view)
    empty = data.filter(pl.col("note") != "").height
    text = [
        "A total is the sum of a column over the rows of a group, each value inside the bounds that the schema "
        "declares; a mean is the total over the count. Intervals are for the true values, at 95%."
    ]
    if empty:
        whose = "its" if empty == 1 else "their"
        text.append(
            f"Of {counted(data.height, 'group')}, {empty:,} may be empty: {whose} count cannot be told from zero, and "
            "a mean there may be anything that the schema allows."
        )
    else:
        data = data.drop("note")
    if set(view.release.accuracy()["measured"]) != {"fully"}:
        text.append(MODELLED)
    listed = data.head(MOST_GROUPS) if data.height > MOST_GROUPS else None
    also = {
        **_headings(data, "total", "Total"),
        **_headings(data, "mean", "Mean"),
        "column": ("Of", "{}"),
        "note": ("Note", "{}"),
    }
    grid = Grid("totals", "Totals and means by group", data, True, also=also, listed=listed)
    return Section("totals", "Totals and means", tuple(text), grids=(grid,))


def _headings(data: pl.DataFrame, name: str, title: str) -> dict[str, Heading]:
    """A number and its ends, all with as many decimals as the narrowest interval needs."""
    width = (data[f"{name}_upper"] - data[f"{name}_lower"]).to_numpy()
    pattern = f"{{:,.{decimals(float(width[width > 0].min(initial=inf)))}f}}"
    ends = {"": "", "_lower": ", lower end", "_upper": ", upper end"}
    return {f"{name}{end}": (f"{title}{words}", pattern) for end, words in ends.items()}


def decimals(width: float) -> int:
    """How many decimals tell the ends of an interval apart, to a hundredth of its width.

    >>> decimals(7000.0), decimals(3.0), decimals(0.04), decimals(inf)
    (0, 2, 4, 0)
    """
    return min(MOST_DECIMALS, max(0, ceil(2.0 - log10(width) - 1e-9))) if isfinite(width) else 0


def totals_data(view: View) -> pl.DataFrame:
    """One row per column and group: of all rows, then of each attribute's categories."""
    release, schema = view.release, view.schema
    frames: list[pl.DataFrame] = []
    for name in release.totals:
        for attributes in (s for s in view.small_sets if len(s) < 2):
            names = tuple(schema.names[a] for a in attributes)
            total = release.table(*names, alpha=ALPHA, value=total_of(name))
            mean = release.table(*names, alpha=ALPHA, value=f"mean({name})")
            kind = schema.of_axis(attributes[0]) if attributes else None
            notes = mean["note"] if "note" in mean.columns else pl.Series([""] * mean.height)
            frames.append(
                pl.DataFrame(
                    {
                        "column": [name] * mean.height,
                        "attribute": ["" if kind is None else kind.label or names[0]] * mean.height,
                        "value": ["all"] if kind is None else kind.labels,
                        "total": total["estimate"],
                        "total_lower": total["lower"],
                        "total_upper": total["upper"],
                        "mean": mean["estimate"],
                        "mean_lower": mean["lower"],
                        "mean_upper": mean["upper"],
                        "note": notes,
                    }
                )
            )
    return pl.concat(frames)
