"""Attributes with levels: how many categories each has, how exact its numbers are, and how nearly they add up."""

from __future__ import annotations

import numpy as np
import polars as pl

from hushtable.axes import Axes
from hushtable.reconstruct import reconstruction_named
from hushtable.release import ALPHA
from hushtable.report.pieces import Grid, Section
from hushtable.report.view import View

_MEANING = (
    "A level's numbers are measured where the budget is best spent, not divided from those above. A category with "
    "fewer neighbours in its block is more exact; errors are those of the median category."
)
_EXACT = "The categories of a level add up to those above exactly."
_WHOLE = "Whole numbers that add up exactly come from hush export --publish."
_NEARLY = f"The categories of a level add up to those above in every table, but for rounding. {_WHOLE}"
HARDLY = 0.05
"""Of a record: less would be written as 0.0, the precision that the page has for counts."""


def levels_section(view: View) -> Section | None:
    """One row for each level that a released table tells; nothing where no attribute has several."""
    axes = Axes.of(view.schema.sizes)
    if not axes.has_levels:
        return None
    rows: list[tuple[str, str, int, float | None, float | None, float | None]] = []
    for leaf in axes.finest:
        chain = axes.chains[leaf]
        for axis in chain if len(chain) > 1 else ():
            if view.release.holds((axis,)):
                name = list(view.schema.attributes)[axes.owners[axis]]
                rows.append((name, view.schema.names[axis], axes[axis], *_errors(view, axis)))
    if not rows:
        return None
    columns = ["attribute", "level", "categories", "std", "half_width", "relative"]
    data = pl.DataFrame(rows, columns, orient="row")
    return Section(
        "levels",
        "Levels",
        (_MEANING, _adding_up(view)),
        grids=(Grid("levels", "Levels of attributes", data),),
    )


def _errors(view: View, axis: int) -> tuple[float | None, float | None, float | None]:
    """Of the median category: standard error, half the interval, and the standard error beside the number."""
    numbers = view.release.columns(((axis,),), ALPHA)
    known = np.isfinite(numbers.stds) & (numbers.estimates > 0)
    half = float(np.median(numbers.upper - numbers.lower)) / 2.0
    if not known.any():
        return None, half, None
    stds = numbers.stds[known]
    return float(np.median(stds)), half, float(np.median(stds / numbers.estimates[known]))


def _adding_up(view: View) -> str:
    if reconstruction_named(view.release.reconstruction).unbiased:
        return _EXACT
    gaps = view.release.level_gaps().sort("largest_difference", descending=True)
    if not gaps.height:
        return "No table has a level with one above it."
    worst = gaps.row(0, named=True)
    if worst["largest_difference"] < HARDLY:
        return _NEARLY
    return (
        "The categories of a level add up to those above within "
        f"{worst['largest_difference']:,.1f} records in every table ({worst['in_std']:.2f} standard errors, in "
        f"{worst['table']}). {_WHOLE}"
    )
