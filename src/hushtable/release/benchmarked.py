"""Released numbers adjusted to official figures, with intervals for what the exact tables would give, adjusted alike.

With one figure for each stretch of a table it is a ratio: figure times share of the stretch, and the noise of part and
whole is in the interval.  With several it is raking: cell times factor, each with an interval at half of alpha.  What
the figures alone allow, from 0 to the smallest of them, bounds all.  Nothing is spent; the unadjusted numbers stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.axes import Axes, summed_to
from hushtable.marginals import AttributeSet, repeated_along
from hushtable.planning import normal_spread
from hushtable.reconstruct import Margin, Zeros, margins_of, raked
from hushtable.release.ratios import NoisyPair, ratios_of_intervals
from hushtable.release.replicates import replicated
from hushtable.release.tables import BENCHMARKED, reordered

if TYPE_CHECKING:
    from hushtable.release.release import Release
    from hushtable.release.value_tables import CellTotals, ValueTables
    from hushtable.schema import Schema, SummedColumn

NEARLY_NOBODY = 1e-9
"""Of a table's mean, what cells below it count as before they are adjusted: a figure then finds a place also where all
estimates are 0 or less, and others move by less than is printed."""
DRAWS = 200
"""Draws of the noise from which the spread of raking factors is taken; it is then off by a twentieth."""
MOST_DRAWN = 20_000_000
"""Cells times draws, seconds; the factors of larger tables are given no spread, and their cells what figures allow."""


@dataclass(frozen=True, eq=False)
class AdjustedCells:
    """Adjusted numbers of a table, flat, its axes sorted, and the ends of their intervals."""

    estimate: Floats
    lower: Floats
    upper: Floats

    def columns(self, schema: Schema, axes: Sequence[int]) -> list[pl.Series]:
        """The columns of a frame whose attributes are in the order of ``axes``."""
        numbers = zip(BENCHMARKED, (self.estimate, self.lower, self.upper), strict=True)
        return [pl.Series(name, reordered(values, schema, axes)) for name, values in numbers]


def adjusts(schema: Schema) -> bool:
    """Whether tables have adjusted columns: there are benchmarks, and no attribute bears such a name."""
    return bool(schema.benchmarks) and not set(BENCHMARKED).intersection(schema.names)


class Adjusting:
    """One table of a release on its way to the figures."""

    def __init__(self, release: Release, values: ValueTables, key: AttributeSet, alpha: float) -> None:
        self._release, self._values, self._key, self._alpha = release, values, key, alpha
        self._axes = Axes.of(release.schema.sizes)
        self._shape = tuple(self._axes[a] for a in key)
        self._margins = margins_of(self._axes, key, release.schema.benchmarks)

    def cells(self, column: SummedColumn | None = None) -> AdjustedCells:
        """The counts (None), or the totals of a column, each times the factor of its cell."""
        whole = [np.ravel(margin.figures) for margin in self._margins if margin.axes == self._key]
        if column is None and whole:
            return AdjustedCells(whole[0], whole[0], whole[0])
        factors = self._times(self._start, raked(self._axes, self._start, self._key, self._margins))
        low, high = 0.0, 1.0
        if column is not None:
            low, high = min(column.bounds[0], 0.0), max(column.bounds[1], 0.0)
        part = self._values.linear(column, self._key, self._alpha / 2.0)
        estimate = (part.fitted if column is not None else self._start.reshape(-1)) * factors
        one = len(self._margins) == 1
        ends = self._ratio(part, column, low, high) if one else self._raked(part, factors)
        least = np.min([self._along(margin, margin.figures) for margin in self._margins], axis=0)
        lower, upper = np.maximum(ends[0], low * least), np.minimum(ends[1], high * least)
        estimate = np.clip(estimate, low * least, high * least)
        return AdjustedCells(estimate, np.minimum(lower, estimate), np.maximum(upper, estimate))

    @cached_property
    def _start(self) -> Floats:
        """The counts, a little above 0 wherever somebody may be."""
        counts = self._release.columns((self._key,), self._alpha).estimates.reshape(self._shape)
        floor = NEARLY_NOBODY * max(float(counts.mean()), 1.0)
        return Zeros.of(self._release.schema, (self._key,)).clear(self._key, np.maximum(counts, floor))

    @staticmethod
    def _times(start: Floats, made: Floats) -> Floats:
        """What each cell was multiplied by."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(start > 0.0, made / start, 1.0).reshape(-1)

    def _ratio(
        self, part: CellTotals, column: SummedColumn | None, low: float, high: float
    ) -> tuple[Floats, Floats]:
        """Figure times part over whole, the whole being the count of the stretch that the figure is of."""
        (margin,) = self._margins
        whole = self._values.linear(None, margin.axes, self._alpha / 2.0)
        figures, count, variance, least, most = (
            self._along(margin, values)
            for values in (margin.figures, whole.estimate, whole.variance, whole.lower, whole.upper)
        )
        if self._values.exact:
            # a cell is its stretch's mean and what differs from that, whose noise is of its own
            stretch = self._along(margin, summed_to(self._axes, np.ones(self._shape), self._key, margin.axes))
            middle = 1.0 if column is None else float(column.middle)
            pair = NoisyPair(part.estimate, count, part.variance, variance, middle * variance / stretch)
            lower, upper = pair.fieller(normal_spread(self._alpha), low, high)
        else:
            lower, upper = ratios_of_intervals((part.lower, part.upper), (least, most), low, high)
        return figures * lower, figures * upper

    def _raked(self, part: CellTotals, factors: Floats) -> tuple[Floats, Floats]:
        """An interval of the cell times one of its factor, each at half of alpha."""
        reach = np.exp(normal_spread(self._alpha / 2.0) * self._log_spread())
        ends = [end * factors * times for end in (part.lower, part.upper) for times in (reach, 1.0 / reach)]
        found = np.stack(ends)
        known = np.isfinite(found).all(axis=0)
        return (
            np.where(known, found.min(axis=0), -np.inf),
            np.where(known, found.max(axis=0), np.inf),
        )

    def _log_spread(self) -> Floats:
        """Standard deviation of the logarithm of each factor, over draws of the noise; infinite where none is known."""
        release, key, start = self._release, self._key, self._start
        if not release.estimates.measured(key) or start.size * DRAWS > MOST_DRAWN:
            return np.full(start.size, np.inf)
        found = np.empty((DRAWS, start.size))
        floor = float(start[start > 0.0].min(initial=1.0))
        for k, noise in enumerate(replicated(release.estimates, (key,), DRAWS, "benchmark")):
            drawn = np.where(start > 0.0, np.maximum(start + noise.reshape(self._shape), floor), 0.0)
            found[k] = np.log(self._times(drawn, raked(self._axes, drawn, key, self._margins)))
        return found.std(axis=0)

    def _along(self, margin: Margin, values: Floats) -> Floats:
        """A number for each stretch, in every cell of it."""
        shaped = np.asarray(values).reshape([self._axes[a] for a in margin.axes])
        return np.broadcast_to(
            repeated_along(self._axes, shaped, margin.axes, self._key), self._shape
        ).reshape(-1)


def adjusted_cells(
    release: Release,
    values: ValueTables,
    key: AttributeSet,
    alpha: float,
    column: SummedColumn | None = None,
) -> AdjustedCells:
    """One table of counts (None), or of the totals of a column, adjusted to the benchmarks of the schema."""
    return Adjusting(release, values, key, alpha).cells(column)
