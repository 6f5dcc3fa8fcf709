"""How far the numbers of a level are from adding up to those of the level above it.

Read without a model they do exactly.  Tables of maximum entropy are fitted one after the other and nearly do; what is
left is stated here, from released numbers alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hushtable.axes import Axes
from hushtable.marginals import AttributeSet, Layout, marginal_label, sorted_sets, summed_to

if TYPE_CHECKING:
    from hushtable.release.release import Release


def level_gaps_of(release: Release) -> pl.DataFrame:
    """One row for each released table and each of its levels that has one above: the largest difference.

    ``table`` and ``above`` are the two tables, ``largest_difference`` that of a number of ``above`` from the sum of its
    categories, ``in_std`` the same in standard errors of that number.
    """
    pairs = [
        (fine, above, axis)
        for fine in release.workload
        for axis in fine
        if (above := _above(fine, axis, Axes.of(release.schema.sizes))) is not None
    ]
    layout = Layout(
        release.schema.sizes, sorted_sets([(), *(s for fine, above, _ in pairs for s in (fine, above))])
    )
    numbers = release.columns(layout.sets, _ANY)
    rows: list[tuple[str, str, str, float, float]] = []
    for fine, above, axis in pairs:
        told = layout.view(numbers.estimates, above)
        apart = np.abs(summed_to(layout.axes, layout.view(numbers.estimates, fine), fine, above) - told)
        stds = layout.view(numbers.stds, above)
        names = release.schema.names
        labels = marginal_label(fine, names), marginal_label(above, names)
        rows.append((names[axis], *labels, float(apart.max()), _in_stds(apart.ravel(), stds.ravel())))
    columns = {"level": pl.String, "table": pl.String, "above": pl.String}
    return pl.DataFrame(
        rows, {**columns, "largest_difference": pl.Float64, "in_std": pl.Float64}, orient="row"
    )


_ANY = 0.05
"""A level of intervals, which are not looked at."""


def _above(fine: AttributeSet, axis: int, axes: Axes) -> AttributeSet | None:
    """The same table with one attribute on the level above; none where it is on its first."""
    parent = axes.parents[axis]
    return None if parent < 0 else tuple(sorted({*fine, parent} - {axis}))


def _in_stds(apart: Sequence[float] | np.ndarray, stds: np.ndarray) -> float:
    known = np.isfinite(stds) & (stds > 0)
    return float((np.asarray(apart)[known] / stds[known]).max(initial=0.0))
