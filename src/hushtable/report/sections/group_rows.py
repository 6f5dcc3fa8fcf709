"""Numbers of every group of one attribute, as one table of a page."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from hushtable.release import ALPHA
from hushtable.report.view import View

MOST_GROUPS = 2000
"""Groups that the page lists, 100 KB."""


def group_rows(view: View, columns: Sequence[str]) -> pl.DataFrame:
    """These columns of released tables: a row of all together, then one of each category of each attribute."""
    schema, frames = view.schema, list[pl.DataFrame]()
    for attributes in (s for s in view.small_sets if len(s) < 2):
        names = tuple(schema.names[a] for a in attributes)
        table = view.release.table(*names, alpha=ALPHA)
        kind = schema.of_axis(attributes[0]) if attributes else None
        labels = {
            "attribute": ["" if kind is None else kind.label or names[0]] * table.height,
            "value": ["all"] if kind is None else kind.labels,
        }
        frames.append(pl.DataFrame({**labels, **{name: table[name] for name in columns}}))
    return pl.concat(frames)
