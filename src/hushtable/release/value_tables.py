"""Tables of totals, means, shares and rates, with their intervals.

All follow from released answers; nothing is spent.  A total is ``middle count + unit sum`` of a measured sum about the
middle of the bounds (proofs/sums.md), so that the count's noise is part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, Layout
from hushtable.planning import normal_spread
from hushtable.reconstruct import ResidualEstimates, reconstruction_named, sum_variances
from hushtable.release.benchmarked import AdjustedCells, adjusted_cells, adjusts
from hushtable.release.promise import approximate, value_promise
from hushtable.release.ratios import NoisyPair, ratios_of_intervals
from hushtable.release.sample_errors import with_sampling
from hushtable.release.table_value import COUNT, MEAN, RATE, SHARE, SUM, TableValue
from hushtable.release.tables import ReleasedTable, category_column, columns_named, reordered
from hushtable.schema import SummedColumn, total_of

if TYPE_CHECKING:
    from hushtable.release.release import Release

MAY_BE_EMPTY = "may be empty"
"""Said of a group whose count cannot be told from 0: a ratio in it can be anything that the schema allows."""
MAY_BE_ZERO = "divisor may be 0"
"""The same of a group in which that holds for the total that is divided by: how many rows it has says nothing."""
NOTE = "note"


@dataclass(frozen=True, eq=False)
class ValueNumbers:
    """The numbers of one table, flat, its axes sorted; ``empty`` marks groups that may have no row."""

    estimate: Floats
    std: Floats
    lower: Floats
    upper: Floats
    empty: Floats


@dataclass(frozen=True, eq=False)
class CellTotals:
    """``middle count + unit sum``, of a table's cells or of sums over one of its axes.

    ``fitted`` is as tables show it; estimate and variance are unbiased.  ``covariance`` is that of the count with it.
    """

    fitted: Floats
    estimate: Floats
    variance: Floats
    covariance: Floats
    lower: Floats
    upper: Floats

    @property
    def negative(self) -> CellTotals:
        """The same with the other sign."""
        swapped = -self.upper, -self.lower
        return CellTotals(-self.fitted, -self.estimate, self.variance, -self.covariance, *swapped)


class ValueTables:
    """The values of one release."""

    def __init__(self, release: Release, alpha: float) -> None:
        self._release, self._alpha = release, alpha
        reads = reconstruction_named(release.reconstruction)
        self.exact = (  # whether estimates are unbiased, with normal noise that was known beforehand
            reads.unbiased and not approximate(release.card) and release.answers.part.noise.law.normal
        )

    def numbers(self, value: TableValue, key: AttributeSet) -> ValueNumbers:
        """The numbers of one table."""
        if value.kind == SUM:
            return self._sums(self._summed(value.first), key)
        return self._ratios(value, key)

    def _summed(self, name: str) -> SummedColumn:
        if total_of(name) not in self._release.quantities:
            raise WorkloadError(
                "table.no-sum",
                f"The release has no totals of {name!r}.",
                "They were lost while they were drawn: release again.",
            )
        return self._release.schema.sums[name]

    def _sums(self, column: SummedColumn, key: AttributeSet) -> ValueNumbers:
        total = self.linear(column, key, self._alpha)
        low, high = column.bounds
        lower = np.maximum(total.lower, 0.0) if low >= 0 else total.lower
        upper = np.minimum(total.upper, 0.0) if high <= 0 else total.upper
        estimate = np.clip(total.fitted, 0.0 if low >= 0 else -inf, 0.0 if high <= 0 else inf)
        ends = np.minimum(lower, estimate), np.maximum(upper, estimate)
        return ValueNumbers(estimate, np.sqrt(total.variance), *ends, np.zeros(len(estimate)))

    def _ratios(self, value: TableValue, key: AttributeSet) -> ValueNumbers:
        low, high, signed = *self._range(value), self._signed(value)
        part, whole, pair = self._pair(value, key)
        if self.exact:
            lower, upper = pair.fieller(normal_spread(self._alpha), low, high)
        elif value.kind == MEAN:
            lower, upper = self._mean_ends(self._summed(value.first), key, whole)
        else:
            ends = (part.lower, part.upper), (whole.lower, whole.upper)
            lower, upper = ratios_of_intervals(*ends, low, high, signed=signed)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = part.fitted / whole.fitted
        inside = np.isfinite(ratio) & ((whole.fitted > 0.0) | signed)
        middle = (low + high) / 2.0 if np.isfinite(low + high) else np.nan
        estimate = np.clip(np.where(inside, ratio, middle), low, high)
        nothing = (whole.lower <= 0.0) & ((whole.upper >= 0.0) | (not signed))
        return ValueNumbers(
            estimate,
            pair.std(signed=signed),
            np.fmin(lower, estimate),
            np.fmax(upper, estimate),
            nothing.astype(np.float64),
        )

    def _mean_ends(self, column: SummedColumn, key: AttributeSet, count: CellTotals) -> tuple[Floats, Floats]:
        """By the intervals of the sum about the middle and of the count, each at half of alpha."""
        own, layout = self._totals(column, key), Layout(self._release.schema.sizes, (key,))
        sums, reach = own.estimate_all(layout), own.model.half_widths_of(layout, self._alpha / 2.0)
        most = float(column.largest)
        ends = ratios_of_intervals((sums - reach, sums + reach), (count.lower, count.upper), -most, most)
        lower, upper = (float(column.middle) + float(column.unit) * end for end in ends)
        return lower, upper

    def _range(self, value: TableValue) -> tuple[float, float]:
        """What the schema lets a ratio be; a count is never below 0."""
        sums = self._release.schema.sums
        if value.kind == MEAN:
            return sums[value.first].bounds
        if value.kind == RATE:
            (a, b), (c, d) = sums[value.first].bounds, sums[value.second].bounds
            if c > 0 or d < 0:
                ends = [x / y for x in (a, b) for y in (c, d)]
                return min(ends), max(ends)
            above, below = (
                (a >= 0 and c >= 0) or (b <= 0 and d <= 0),
                (a >= 0 and d <= 0) or (b <= 0 and c >= 0),
            )
            return (0.0 if above else -inf), (0.0 if below else inf)
        return (-inf, inf) if self._signed(value) else (0.0, 1.0)

    def _divisor(self, value: TableValue) -> SummedColumn | None:
        """The column whose total is divided by; None where that is a count."""
        return self._release.schema.sums[value.second] if value.second else None

    def _signed(self, value: TableValue) -> bool:
        """Whether what is divided by can be above 0 and below."""
        column = self._divisor(value)
        return column is not None and column.bounds[0] < 0.0 < column.bounds[1]

    def _pair(self, value: TableValue, key: AttributeSet) -> tuple[CellTotals, CellTotals, NoisyPair]:
        """What is divided, by what, and both with their noise; both with the other sign where the second has no number
        above 0."""
        part, whole, pair = self._as_summed(value, key)
        column = self._divisor(value)
        if column is None or column.bounds[1] > 0.0:
            return part, whole, pair
        turned = NoisyPair(-pair.part, -pair.whole, pair.part_variance, pair.whole_variance, pair.covariance)
        return part.negative, whole.negative, turned

    def _as_summed(self, value: TableValue, key: AttributeSet) -> tuple[CellTotals, CellTotals, NoisyPair]:
        half = self._alpha / 2.0
        if value.kind == SHARE:
            return self._share(value, key, half)
        part = self.linear(self._summed(value.first), key, half)
        if value.kind == MEAN:
            whole = self.linear(None, key, half)
            covariance = part.covariance
        else:
            other = self._summed(value.second)
            whole = self.linear(other, key, half)
            covariance = part.covariance * float(other.middle)
        pair = NoisyPair(part.estimate, whole.estimate, part.variance, whole.variance, covariance)
        return part, whole, pair

    def linear(self, column: SummedColumn | None, key: AttributeSet, alpha: float) -> CellTotals:
        """The count (None), or the total of a column, in every cell of a table."""
        release = self._release
        layout = Layout(release.schema.sizes, (key,))
        counts = release.columns((key,), alpha if self.exact or column is None else alpha / 2.0)
        known = np.isfinite(counts.unbiased)
        count, variance = np.where(known, counts.unbiased, counts.estimates), counts.stds**2
        if column is None:
            return CellTotals(counts.estimates, count, variance, variance, counts.lower, counts.upper)
        own = self._totals(column, key)
        middle, unit = float(column.middle), float(column.unit)
        sums = layout.view(own.estimate_all(layout), key).reshape(-1) * unit
        spread = own.model.variances_of(layout) * unit**2
        whole = middle**2 * variance + spread
        estimate, fitted = middle * count + sums, middle * counts.estimates + sums
        if self.exact:
            reach = normal_spread(alpha) * np.sqrt(whole)
            ends = estimate - reach, estimate + reach
        else:
            reach = own.model.half_widths_of(layout, alpha / 2.0) * unit
            low, high = sorted_ends(middle * counts.lower, middle * counts.upper)
            ends = low + sums - reach, high + sums + reach
        return CellTotals(fitted, estimate, whole, middle * variance, *ends)

    def _totals(self, column: SummedColumn, key: AttributeSet) -> ResidualEstimates:
        found = self._release.totals[column.name]
        if not found.measured(key):
            raise self._release.outline.not_released(key)
        return found

    def _share(
        self, value: TableValue, key: AttributeSet, alpha: float
    ) -> tuple[CellTotals, CellTotals, NoisyPair]:
        """Cells, and what they add up to along an axis, in the shape of the cells."""
        release, sizes = self._release, self._release.schema.sizes
        axis = release.schema.axis(value.first)
        if axis not in key:
            raise WorkloadError(
                "table.share",
                f"The share of {value.first!r} is asked for in a table without it.",
                "Name it among the attributes.",
            )
        column = self._summed(value.second) if value.second else None
        n, place, above = sizes[axis], key.index(axis), tuple(a for a in key if a != axis)
        shape = [sizes[a] for a in key]

        def spread(values: Floats) -> Floats:
            """A number for each cell of the other axes, in every cell of the table."""
            there = np.expand_dims(values.reshape([sizes[a] for a in above]), place)
            return np.broadcast_to(there, shape).reshape(-1)

        def widened(linear: CellTotals) -> CellTotals:
            return CellTotals(*(spread(getattr(linear, name)) for name in CellTotals.__dataclass_fields__))

        part = self.linear(column, key, alpha)
        whole = widened(self.linear(column, above, alpha))
        covariance = self._with_sum(release.estimates, key, place, n)
        if column is not None:
            own = self._with_sum(self._totals(column, key), key, place, n) * float(column.unit) ** 2
            covariance = covariance * float(column.middle) ** 2 + own
        pair = NoisyPair(part.estimate, whole.estimate, part.variance, whole.variance, covariance)
        return part, whole, pair

    def _with_sum(self, estimates: ResidualEstimates, key: AttributeSet, place: int, n: int) -> Floats:
        """Covariance of each cell with the sum along an axis: by the variances of both and of their difference."""
        sizes = self._release.schema.sizes
        cells, rest = np.eye(n), 1.0 - np.eye(n)

        def variances(matrix: Floats) -> Floats:
            matrices = [matrix if k == place else np.eye(sizes[a]) for k, a in enumerate(key)]
            return sum_variances(estimates, key, matrices)

        whole = np.repeat(variances(np.ones((1, n))), n, axis=place)
        return ((variances(cells) + whole - variances(rest)) / 2.0).reshape(-1)


def sorted_ends(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """The smaller and the larger of two ends."""
    return np.minimum(one, other), np.maximum(one, other)


def benchmarked_counts(release: Release, key: AttributeSet, alpha: float) -> AdjustedCells:
    """The counts of one table, adjusted to the benchmarks of the schema."""
    return adjusted_cells(release, ValueTables(release, alpha), key, alpha)


def benchmarked_tables(release: Release, sets: Sequence[AttributeSet], alpha: float) -> list[Floats]:
    """The same of several tables, flat: adjusted numbers, lower and upper ends."""
    found = [benchmarked_counts(release, key, alpha) for key in sets]
    return [
        np.concatenate([getattr(cells, name) for cells in found]) for name in ("estimate", "lower", "upper")
    ]


def value_table(release: Release, attributes: Sequence[str], written: str, alpha: float) -> ReleasedTable:
    """A table of a value as a frame: attributes, estimate, std, lower, upper, measured, note."""
    value = TableValue.parse(written, release.schema)
    if value.kind == COUNT:
        return release.released_table(*attributes, alpha=alpha)
    axes = release.check_table(attributes)
    key = tuple(sorted(axes))
    values = ValueTables(release, alpha)
    found = values.numbers(value, key)
    schema = release.schema
    codes = np.indices([schema.sizes[a] for a in axes]).reshape(len(axes), found.estimate.size)
    labels = [
        category_column(schema.of_axis(axis)).gather(codes[k]).alias(schema.names[axis])
        for k, axis in enumerate(axes)
    ]
    shown = {
        name: reordered(getattr(found, name), schema, axes) for name in ("estimate", "std", "lower", "upper")
    }
    columns = [pl.Series(name, values, nan_to_null=True) for name, values in shown.items()]
    (flag,) = release.columns((key,), alpha).measured
    measured = pl.Series("measured", [flag]).new_from_index(0, found.estimate.size)
    empty = reordered(found.empty, schema, axes) > 0.0
    notes = (
        []
        if NOTE in schema.names
        else [
            pl.Series(
                NOTE, np.where(empty, MAY_BE_ZERO if value.second else MAY_BE_EMPTY, "").tolist(), pl.String
            )
        ]
    )
    adjusted: list[pl.Series] = []
    if value.kind == SUM and adjusts(schema):
        cells = adjusted_cells(release, values, key, alpha, schema.sums[value.first])
        adjusted = cells.columns(schema, axes)
    frame = pl.DataFrame([*labels, *columns, measured, *adjusted, *notes])
    counts = reordered(release.columns((key,), alpha).estimates, schema, axes)
    frame = with_sampling(release, frame, value, counts.tolist())
    promise = value_promise(release.card, str(value), alpha)
    return ReleasedTable(columns_named(schema, attributes), frame, alpha, promise, str(value))
