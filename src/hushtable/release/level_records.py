"""Records of attributes with levels: what they are made of, and which category of each level a record is in.

A record has each attribute on its finest level.  Tables on coarser levels take part as the most random tables below
them, so that records add up to them.  Released answers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hushtable.arrays import Codes
from hushtable.axes import Axes
from hushtable.errors import WorkloadError
from hushtable.marginals import Layout, closure
from hushtable.microdata import Method, Targets, affordable
from hushtable.release.modelled import modelled_tables
from hushtable.release.tables import category_column
from hushtable.schema import Schema

if TYPE_CHECKING:
    from hushtable.release.release import Release

MOST_CELLS = 5_000_000
"""Cells of a table on the finest levels that records are drawn to, 40 MB; larger ones were asked for on coarser levels,
and records follow those of their attributes that are smaller."""


def record_targets(release: Release, count: int) -> Targets:
    """The tables that ``count`` records are drawn to, by attribute numbers."""
    schema, axes = release.schema, Axes.of(release.schema.sizes)
    inside = closure(release.workload, schema.sizes)
    found = dict.fromkeys(tuple(axes.owners[a] for a in s) for s in inside)
    sizes = schema.record_sizes
    fine = [s for s in found if s and prod(sizes[k] for k in s) <= MOST_CELLS]
    sets = affordable(fine, sizes, count)
    fitted = modelled_tables(release, inside)
    wanted = Layout(schema.sizes, tuple(tuple(axes.finest[k] for k in s) for s in sets))
    return Targets(Layout(sizes, sets), fitted.estimate_all(wanted))


def on_axes(schema: Schema, codes: Codes) -> Codes:
    """Records by the codes of every axis, from those of every attribute."""
    if not schema.has_levels:
        return codes
    columns = Axes.of(schema.sizes).every([*codes.T])
    return np.stack(columns, axis=1).astype(np.int32)


def level_columns(schema: Schema, codes: Codes, names: Sequence[str]) -> list[pl.Series]:
    """The category of each record on some coarser levels."""
    every = on_axes(schema, codes)
    kinds = [(name, schema.axis(name)) for name in names]
    return [
        category_column(schema.of_axis(a)).gather(every[:, a].astype(np.int64)).alias(name)
        for name, a in kinds
    ]


def require_generated(schema: Schema, way: Method) -> None:
    """Refuse fits that are of the whole table or of nothing: they know no levels."""
    if schema.has_levels and not way.yields:
        raise WorkloadError(
            "microdata.no-levels",
            f"The fit {way.name} does not know attributes with levels.",
            "Leave --fit out: records are then generated from the released tables.",
        )
