"""Who is counted well and who is not: errors of groups, from released numbers."""

from __future__ import annotations

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.release import ALPHA, QUALITY_FLAGS, quality_codes, relative_errors
from hushtable.report.bar_table import count_text
from hushtable.report.cells import Cells
from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View

MOST_TABLES = 2000
"""Tables whose cells are looked through group by group, which takes a second; of more, groups have their own counts
alone."""
MOST_GROUPS = 2000
"""Groups that the page lists, 100 KB."""


def groups_section(view: View) -> Section | None:
    """Every category of every attribute: its count, its error, and how much of the tables about it can be relied on."""
    data = None if view.cells is None else groups_data(view, view.cells)
    if data is None or data.is_empty():
        return None
    hidden = data.filter(pl.col("quality") == QUALITY_FLAGS[-1].name).height
    worst = data.row(0, named=True)
    text = (
        "The noise is the same for large and small groups, so small ones are known less well. "
        f"Of {data.height:,} groups, noise hides the count of {hidden:,}. The least known is "
        f"{worst['attribute']}: {worst['value']}, between {count_text(worst['lower'])} and "
        f"{count_text(worst['upper'])}.",
    )
    listed = data.head(MOST_GROUPS) if data.height > MOST_GROUPS else None
    caption = "Groups, the least known first"
    return Section(
        "groups", "Small groups", text, grids=(Grid("groups", caption, data, True, listed=listed),)
    )


def groups_data(view: View, cells: Cells) -> pl.DataFrame:
    """One row per group, the least known first."""
    singles = [s for s in cells.layout.sets if len(s) == 1]
    shares = _shares(cells) if len(cells.layout.sets) <= MOST_TABLES else {}
    frames: list[pl.DataFrame] = []
    for attributes in singles:
        (axis,) = attributes
        span = cells.span(attributes)
        numbers = cells.estimate[span], cells.lower[span], cells.upper[span]
        kind = view.schema.of_axis(axis)
        columns: dict[str, object] = {
            "attribute": [kind.label or view.schema.names[axis]] * kind.size,
            "value": kind.labels,
            "estimate": numbers[0],
            "lower": numbers[1],
            "upper": numbers[2],
            "relative": relative_errors(*numbers, ALPHA),
            "quality": [QUALITY_FLAGS[int(code)].name for code in quality_codes(*numbers, ALPHA).tolist()],
        }
        if axis in shares:
            columns |= {"reliable": shares[axis][0], "near_zero": shares[axis][1]}
        frames.append(pl.DataFrame(columns))
    if not frames:
        return pl.DataFrame()
    data = pl.concat(frames, how="diagonal")
    near = pl.col("quality") == QUALITY_FLAGS[-1].name
    ordered = data.sort(near, "relative", descending=True, maintain_order=True)
    return ordered.with_columns(pl.when(pl.col("relative").is_finite()).then("relative"))


def _shares(cells: Cells) -> dict[int, tuple[Floats, Floats]]:
    """For each axis and category the shares of reliable and of hidden numbers in larger tables about it."""
    found: dict[int, list[Floats]] = {}
    codes = quality_codes(cells.estimate, cells.lower, cells.upper, ALPHA)
    for attributes in cells.layout.sets:
        if len(attributes) < 2:
            continue
        table = cells.layout.view(codes, attributes)
        for k, axis in enumerate(attributes):
            others = tuple(j for j in range(len(attributes)) if j != k)
            counts = [(table == code).sum(axis=others) for code in (0, len(QUALITY_FLAGS) - 1)]
            size = np.full(table.shape[k], table.size // table.shape[k])
            added = np.stack([*counts, size]).astype(np.float64)
            found[axis] = [found[axis][0] + added] if axis in found else [added]
    return {axis: (sums[0][0] / sums[0][2], sums[0][1] / sums[0][2]) for axis, sums in found.items()}
