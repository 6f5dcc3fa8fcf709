"""Whole numbers to publish: nonnegative, adding up on every level and across all tables, near to the estimates.

There is always a file of rows whose tables they are: one row has one value of a column, so that attributes which read
the same column agree too.  They are made from released answers alone and cost nothing.  The interval of a whole number
is the released one, rounded outwards and widened until it holds the number: it covers the true count at least as often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushtable.arrays import Floats, Ints
from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, Layout, closure, marginal_label, sorted_sets
from hushtable.microdata import (
    MOST_JOINT,
    JointCells,
    WantedTables,
    WholeTables,
    joint_table,
    whole_from_cells,
    whole_from_records,
)
from hushtable.notebook import html_card
from hushtable.planning import normal_spread
from hushtable.release.modelled import modelled_tables
from hushtable.release.record_fits import generated_records
from hushtable.release.tables import reordered
from hushtable.schema import Schema, shared_columns
from hushtable.texts import counted

if TYPE_CHECKING:
    from hushtable.release.release import Release

FINEST = 0.5
"""Standard error below which a number counts as if it had this one: half a record is what rounding alone moves it by,
and exact numbers would otherwise outweigh all others."""


@dataclass(frozen=True, eq=False, repr=False)
class WholeNumbers:
    """Whole numbers of some tables of a release, with their intervals at ``1 - alpha``.

    ``finished``: no further pass would have brought them nearer to speak of; otherwise the limit on work was reached.
    """

    release: Release
    alpha: float
    made: WholeTables
    lower: Ints
    upper: Ints
    estimates: Floats

    @property
    def finished(self) -> bool:
        """Whether the search ended by itself."""
        return self.made.finished

    def counts(self, attributes: Sequence[str]) -> Ints:
        """The whole numbers of one table, its attributes in the order asked for, flat.

        A table that was not among those made is the sum of a finer one that was.
        """
        axes = self.release.check_table(attributes)
        return self._ordered(self._numbers(tuple(sorted(axes)))[0], axes)

    def columns(self, attributes: Sequence[str]) -> list[pl.Series]:
        """``published``, ``published_lower`` and ``published_upper`` of one table."""
        axes = self.release.check_table(attributes)
        numbers = self._numbers(tuple(sorted(axes)))
        names = ("published", "published_lower", "published_upper")
        return [pl.Series(n, self._ordered(flat, axes)) for n, flat in zip(names, numbers, strict=True)]

    def table(self, *attributes: str) -> pl.DataFrame:
        """One table: attributes, the whole number with its interval, and the columns of ``Release.table``."""
        frame = self.release.table(*attributes, alpha=self.alpha)
        width = len(attributes)
        return pl.DataFrame(
            [*frame.get_columns()[:width], *self.columns(attributes), *frame.get_columns()[width:]]
        )

    def distances(self) -> pl.DataFrame:
        """One row per table: how far the whole numbers are from the estimates, in the mean and at most."""
        layout = self.made.layout
        apart = np.abs(self.made.counts - self.estimates)
        rows = [layout.at(apart, k) for k in range(len(layout.sets))]
        return pl.DataFrame(
            {
                "marginal": [marginal_label(s, self.release.schema.names) for s in layout.sets],
                "cells": [row.size for row in rows],
                "mean_distance": [float(row.mean()) for row in rows],
                "largest_distance": [float(row.max()) for row in rows],
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        told = {"alpha": self.alpha, "finished": self.finished, "passes": self.made.passes}
        return {**told, "tables": self.distances().to_dicts()}

    def __repr__(self) -> str:
        return f"<WholeNumbers of {counted(len(self.made.layout.sets), 'table')}>"

    def _repr_html_(self) -> str:
        shown = self.distances()
        return html_card(repr(self).strip("<>"), {"finished": self.finished}, shown.columns, shown.rows())

    def _numbers(self, key: AttributeSet) -> tuple[Ints, Ints, Ints]:
        """The whole numbers of a table and their ends, flat; sums of a finer table have the released interval."""
        layout = self.made.layout
        if key in layout.index:
            own = layout.index[key]
            return (
                layout.at(self.made.counts, own),
                layout.at(self.lower, own),
                layout.at(self.upper, own),
            )
        finer = [s for s in layout.sets if layout.axes.tells(key, s)]
        if not finer:
            label = marginal_label(key, self.release.schema.names)
            raise WorkloadError(
                "whole.table",
                f"The table {label} is not among those with whole numbers, nor inside one of them.",
                "Name it where whole numbers are made: `release.whole_numbers(tables=[...])`.",
            )
        made = _summed(
            layout, self.made.counts, min(finer, key=lambda s: layout.lengths[layout.index[s]]), key
        )
        found = self.release.columns((key,), self.alpha)
        return made, *_widened(found.lower, found.upper, made)

    def _ordered(self, flat: Ints, axes: Sequence[int]) -> Ints:
        return reordered(flat.astype(np.float64), self.release.schema, axes).astype(np.int64)


def whole_numbers_of(
    release: Release, tables: Sequence[Sequence[str]] = (), alpha: float = 0.05
) -> WholeNumbers:
    """Whole numbers of some tables, by default of all that were asked for, and of the total.

    All tables count alike, in each of them a number by its precision.  Did all numbers count alike, the many small
    cells that cannot go below zero would lift a nation's total by many times its error.
    """
    schema = release.schema
    asked = [tuple(names) for names in tables] or list(release.marginals)
    sets = sorted_sets([(), *(tuple(sorted(release.check_table(names))) for names in asked)])
    layout = Layout(schema.sizes, sets)
    numbers = release.columns(sets, alpha)
    wide = (numbers.upper - numbers.lower) / (2.0 * normal_spread(alpha))
    spread = np.maximum(np.where(np.isfinite(numbers.stds), numbers.stds, wide), FINEST)
    weights = 1.0 / (spread**2 * np.repeat(layout.lengths, layout.lengths))
    wanted = WantedTables(layout, numbers.estimates, weights, shared_columns(schema.attributes))
    made = _made(release, wanted)
    lower, upper = _widened(numbers.lower, numbers.upper, made.counts)
    return WholeNumbers(release, alpha, made, lower, upper, numbers.estimates)


def _widened(lower: Floats, upper: Floats, counts: Ints) -> tuple[Ints, Ints]:
    """Released ends, rounded outwards and as far as the whole numbers lie."""
    low = np.minimum(np.floor(lower), counts).astype(np.int64)
    return low, np.maximum(np.ceil(upper), counts).astype(np.int64)


def _summed(layout: Layout, flat: Ints, finer: AttributeSet, key: AttributeSet) -> Ints:
    """The sums of a table over what a coarser one leaves out, flat."""
    table = layout.view(flat, finer)
    for k, axis in reversed(list(enumerate(finer))):
        level = next((a for a in key if a in layout.axes.chains[axis]), -1)
        cells = layout.axes[level] if level >= 0 else 1
        made = np.zeros((cells, *np.delete(table.shape, k)), np.int64)
        np.add.at(made, layout.axes.codes_above(axis, level), np.moveaxis(table, k, 0))
        table = np.moveaxis(made, 0, k) if level >= 0 else made[0]
    return table.reshape(-1)


def _made(release: Release, wanted: WantedTables) -> WholeTables:
    schema = release.schema
    if wanted.joint.cells > MOST_JOINT:
        return whole_from_records(wanted, generated_records(release), _rules(schema, wanted.joint))
    inside = closure(wanted.layout.sets, schema.sizes)
    fitted = modelled_tables(release, inside, afresh=not all(map(release.holds, inside)))
    start = joint_table(wanted, np.maximum(fitted.estimate_all(wanted.layout), 0.0))
    return whole_from_cells(wanted, start, _possible(schema, wanted.joint))


def _possible(schema: Schema, joint: JointCells) -> NDArray[np.float64]:
    """1 for each cell that someone may be in, 0 for those that the schema declares impossible, whatever lies inside.

    All are possible where the rules would leave none.
    """
    never = np.zeros(joint.shape, bool)
    for rule in _rules(schema, joint):
        ruled = np.ones((1,) * len(joint.shape), bool)
        for k, size in enumerate(joint.shape):
            along = [1] * len(joint.shape)
            along[k] = size
            ruled = ruled & rule[k, :size].reshape(along)
        never |= ruled
    return np.ones(joint.shape) if never.all() else np.where(never, 0.0, 1.0)


def _rules(schema: Schema, joint: JointCells) -> NDArray[np.bool_]:
    """Which categories of each joint axis a rule names in full; rules of attributes that no table has are left out."""
    axes = {joint.sizes.owners[a]: (k, a) for k, axis in enumerate(joint.axes) for a in axis.axes}
    found = [np.zeros((0, len(joint.shape), max(joint.shape, default=0)), bool)]
    for rule in schema.impossible:
        if any(joint.sizes.owners[leaf] not in axes for leaf, _ in rule.codes):
            continue
        named = np.ones((1, *found[0].shape[1:]), bool)
        for leaf, codes in rule.codes:
            k, level = axes[joint.sizes.owners[leaf]]
            outside = ~np.isin(np.arange(joint.sizes[leaf]), codes)
            reached = np.bincount(joint.sizes.codes_above(leaf, level)[outside], minlength=joint.sizes[level])
            named[0, k, : joint.shape[k]] &= joint.spread(reached == 0, (level,)).reshape(-1)
        found.append(named)
    return np.concatenate(found)
