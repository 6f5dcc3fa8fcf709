"""Sums of released cells with their own error bars: ranges, quantiles, shares, areas, any combination.

Everything follows from released answers; nothing is spent.  A sum's variance is exact, by the residuals, and not a sum
of half-widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.axes import Axes
from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, Layout, marginal_label
from hushtable.planning import normal_spread
from hushtable.reconstruct import (
    combined,
    least_upper,
    published_ends,
    reconstruction_named,
    sum_table,
    sum_variances,
)
from hushtable.release.area_maps import AreaMap, areas_in
from hushtable.release.promise import interval_promise, quantile_promise
from hushtable.release.sample_errors import with_sampling, with_sampling_of_sums
from hushtable.release.table_value import COUNT, TableValue
from hushtable.release.tables import ReleasedTable, category_column, columns_named
from hushtable.schema import RESERVED, Attribute, Binned, LabelError, Real

if TYPE_CHECKING:
    from hushtable.release.release import Release

LARGEST_WEIGHT = 1e100
"""In size, and its inverse the smallest: the error adds up their squares, which floating point holds up to 1e308."""
MOST_SUMS = 50_000_000
"""Weights of the sums of one call, 400 MB: a quantile of a thousand bins in fifty thousand groups.  More take
memory."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums along one axis of a table, by the cells of others: fitted and unbiased estimates, and deviations."""

    values: Floats
    unbiased: Floats
    stds: Floats

    def columns(self, alpha: float) -> list[pl.Series]:
        """``estimate``, ``std``, ``lower`` and ``upper`` of all sums, flat; counts are never below 0."""
        reach = normal_spread(alpha) * self.stds
        low, high = self.unbiased - reach, self.unbiased + reach
        lower, upper = published_ends(low, least_upper(low, high), self.values)
        named = {"estimate": self.values, "std": self.stds, "lower": lower, "upper": upper}
        return [pl.Series(name, values.ravel()) for name, values in named.items()]


def asked_table(
    release: Release,
    words: Sequence[str],
    area: Sequence[str] = (),
    alpha: float = 0.05,
    *,
    tree: str | None = None,
    simultaneous: bool = False,
) -> ReleasedTable:
    """A table by words: attributes; with ``age=18-64`` or an area, what these hold in every cell of the others.

    ``tree``: the attribute, or the level, whose categories the area names.
    """
    by, attribute, interval = release.outline.asked(words, area, simultaneous=simultaneous)
    if area:
        return area_of(release, area, tree, by, alpha)
    if attribute is None:
        return release.released_table(*by, alpha=alpha, simultaneous=simultaneous)
    return range_of(release, attribute, interval, None, by, alpha)


def range_of(
    release: Release, attribute: str, low: Any, high: Any, by: Sequence[str], alpha: float
) -> ReleasedTable:
    """The count of an interval of an ordered attribute, both ends included, in every cell of other attributes."""
    axis, codes, shown = _interval(release, attribute, low, high, by)
    matrix = np.zeros((1, release.schema.sizes[axis]))
    matrix[0, list(codes)] = 1.0
    axes, sums = _sums(release, axis, matrix, by)
    label = pl.Series(attribute, [shown]).new_from_index(0, sums.values.size)
    frame = _with_errors(release, [label, *_labels(release, axes[1:])], sums, alpha)
    return ReleasedTable(
        (attribute, *columns_named(release.schema, by)),
        frame,
        alpha,
        interval_promise(release.card, alpha, adjusted=False),
    )


def area_of(
    release: Release, leaves: Sequence[Any], attribute: str | None, by: Sequence[str], alpha: float
) -> ReleasedTable:
    """The count of some categories of an attribute together, in every cell of other attributes."""
    axis, codes = release.outline.area(leaves, attribute)
    matrix = np.zeros((1, release.schema.sizes[axis]))
    matrix[0, list(codes)] = 1.0
    axes, sums = _sums(release, axis, matrix, by)
    frame = _with_errors(release, _labels(release, axes[1:]), sums, alpha)
    return ReleasedTable(
        columns_named(release.schema, by), frame, alpha, interval_promise(release.card, alpha, adjusted=False)
    )


def areas_of(
    release: Release, areas: AreaMap, attribute: str | None, by: Sequence[str], alpha: float
) -> ReleasedTable:
    """The counts of all areas of another tree over the same categories, in every cell of other attributes."""
    name, found = areas_in(release.outline, areas, attribute)
    axis = release.outline.area(next(iter(found.values())), attribute)[0]
    matrix = np.zeros((len(found), release.schema.sizes[axis]))
    for row, leaves in enumerate(found.values()):
        matrix[row, list(release.outline.area(leaves, attribute)[1])] = 1.0
    axes, sums = _sums(release, axis, matrix, by)
    labels = _labels(release, axes[1:])
    cells = prod(release.schema.sizes[a] for a in axes[1:])
    taken = {column.name for column in labels} | RESERVED
    shown = pl.Series(name if name not in taken else "area", [area for area in found for _ in range(cells)])
    repeated = [pl.concat([column] * len(found)) for column in labels]
    frame = _with_errors(release, [shown, *repeated], sums, alpha)
    return ReleasedTable(
        (shown.name, *columns_named(release.schema, by)),
        frame,
        alpha,
        interval_promise(release.card, alpha, adjusted=False),
    )


def quantiles_of(
    release: Release, attribute: str, at: Sequence[float], by: Sequence[str], alpha: float
) -> ReleasedTable:
    """Quantiles of an ordered attribute with confidence intervals, in every cell of other attributes.

    The quantile lies in bin j exactly if at most a share q of the records lies below the bin and at least that share
    below its end; bins for which neither is refuted, each at half of ``alpha``, make up the interval.
    """
    if not at or not all(0.0 < q < 1.0 for q in at):
        raise WorkloadError(
            "quantile.share", "A quantile is a share between 0 and 1.", "Give for example 0.5."
        )
    axis, kind = _ordered(release, attribute, by)
    size, regular = release.schema.sizes[axis], kind.regular
    inside = np.where(np.arange(size) < regular, 1.0, 0.0)
    prefixes = np.tril(np.ones((regular + 1, size)), -1)
    frames: list[pl.DataFrame] = []
    for q in at:
        axes, sums = _sums(release, axis, prefixes - q * inside, by)
        rows = np.moveaxis(sums.values, 0, -1).reshape(-1, regular + 1)
        told = np.moveaxis(sums.unbiased, 0, -1).reshape(-1, regular + 1)
        reach = normal_spread(alpha) * np.moveaxis(sums.stds, 0, -1).reshape(-1, regular + 1)
        found = [_quantile(kind, *row) for row in zip(rows, told, reach, strict=True)]
        numbers = [
            pl.Series(name, [row[k] for row in found])
            for k, name in enumerate(("estimate", "lower", "upper"))
        ]
        share = pl.Series("quantile", [float(q)]).new_from_index(0, len(found))
        frames.append(pl.DataFrame([*_labels(release, axes[1:]), share, *numbers]))
    shown = (*columns_named(release.schema, by), attribute)
    return ReleasedTable(shown, pl.concat(frames), alpha, quantile_promise(release.card, alpha))


def shares_of(
    release: Release, attribute: str, low: Any, high: Any, by: Sequence[str], alpha: float
) -> pl.DataFrame:
    """The share of records in an interval, in every cell of other attributes (Fieller's interval)."""
    axis, codes, shown = _interval(release, attribute, low, high, by)
    size = release.schema.sizes[axis]
    inside = np.isin(np.arange(size), codes).astype(np.float64)
    whole = (np.arange(size) < release.schema.of_axis(axis).regular).astype(np.float64)
    axes, part = _sums(release, axis, np.stack([inside, whole - inside, whole]), by)
    values, told, stds = (x.reshape(3, -1) for x in (part.values, part.unbiased, part.stds))
    z2 = normal_spread(alpha) ** 2
    ends = [_fieller(told[0, k], told[2, k], stds[:, k] ** 2, z2) for k in range(values.shape[1])]
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = np.clip(values[0] / values[2], 0.0, 1.0)
    lower, upper = (np.array([end[k] for end in ends]) for k in (0, 1))
    label = pl.Series(attribute, [shown]).new_from_index(0, len(ends))
    numbers = {"estimate": estimate, "lower": np.fmin(lower, estimate), "upper": np.fmax(upper, estimate)}
    columns = [pl.Series(name, x, nan_to_null=True) for name, x in numbers.items()]
    return pl.DataFrame([label, *_labels(release, axes[1:]), *columns])


def combination_of(release: Release, weights: Any, alpha: float) -> ReleasedTable:
    """Any sums of released cells: a row of ``weights`` names a cell, by the columns that are not null, and its weight.

    Rows that share a ``name`` are one sum.
    """
    frame = weights if isinstance(weights, pl.DataFrame) else _frame(weights)
    names = release.outline.check_weights(frame.columns)
    if frame.is_empty():
        raise WorkloadError(
            "combine.empty", "The weights name no cell.", "Give one row per cell with its weight."
        )
    keyed = frame if "name" in frame.columns else frame.with_columns(name=pl.lit("sum"))
    found: list[tuple[str, float, float]] = []
    groups: list[tuple[Floats, Floats] | None] = []
    for (name,), rows in keyed.group_by(["name"], maintain_order=True):
        terms = _terms(release, rows, names)
        estimate, variance = combined(release.estimates, terms)
        if not np.isfinite(variance):
            raise _not_measured("A cell of the combination")
        found.append((str(name), estimate, sqrt(variance)))
        groups.append(_alone(release, terms))
    reach = normal_spread(alpha)
    rows = [(name, value, std, value - reach * std, value + reach * std) for name, value, std in found]
    made = pl.DataFrame(rows, ["name", "estimate", "std", "lower", "upper"], orient="row")
    made = with_sampling_of_sums(release, made, groups)
    return ReleasedTable(("name",), made, alpha, interval_promise(release.card, alpha, adjusted=False))


def _with_errors(release: Release, labels: Sequence[pl.Series], sums: Sums, alpha: float) -> pl.DataFrame:
    """Labels and numbers, of a sample with its own error beside that of noise."""
    frame = pl.DataFrame([*labels, *sums.columns(alpha)])
    return with_sampling(release, frame, TableValue(COUNT), frame["estimate"].to_list())


def _alone(release: Release, terms: Sequence[tuple[AttributeSet, Floats]]) -> tuple[Floats, Floats] | None:
    """Counts and weights of the cells of a sum, if they are of one marginal and so have no row in common."""
    if len(terms) != 1:
        return None
    ((key, weights),) = terms
    return release.estimates.marginal(key).ravel(), weights.ravel()


def _frame(weights: Any) -> pl.DataFrame:
    """A frame from what makes one."""
    try:
        return pl.DataFrame(weights)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        raise WorkloadError(
            "combine.weights",
            "The weights are no table.",
            "Give a frame, or a list of rows such as {'district': 'Elm', 'weight': 1}.",
        ) from None


def _terms(release: Release, rows: pl.DataFrame, names: Sequence[str]) -> list[tuple[AttributeSet, Floats]]:
    """Weights of the cells of each marginal that some rows name."""
    terms: dict[AttributeSet, Floats] = {}
    for row in rows.to_dicts():
        cell = {release.schema.axis(name): row[name] for name in names if row[name] is not None}
        key = tuple(sorted(cell))
        if not Axes.of(release.schema.sizes).is_set(key):
            raise WorkloadError(
                "table.two-levels", "A cell names two levels of one attribute.", "Name the finer one."
            )
        if key not in terms:
            terms[key] = np.zeros([release.schema.sizes[a] for a in key])
        try:
            codes = [release.schema.of_axis(a).codes_matching(cell[a]) for a in key]
        except LabelError:
            raise WorkloadError(
                "combine.cell",
                "A row of the weights names no released cell.",
                "Write labels as tables show them.",
            ) from None
        terms[key][np.ix_(*codes)] += _weight(row["weight"])
    return list(terms.items())


def _weight(given: Any) -> float:
    try:
        weight = float(given)
    except (TypeError, ValueError):
        weight = inf
    if not isfinite(weight):
        raise WorkloadError(
            "combine.not-a-number",
            "A weight is not a finite number.",
            "Give each row a weight such as 1 or -0.5.",
        )
    if weight and not 1.0 / LARGEST_WEIGHT <= abs(weight) <= LARGEST_WEIGHT:
        raise WorkloadError(
            "combine.size",
            "A weight is too large or too small for the error of its sum.",
            f"Give weights between {1.0 / LARGEST_WEIGHT:g} and {LARGEST_WEIGHT:g} in size, or 0.",
        )
    return weight


def _sums(release: Release, axis: int, matrix: Floats, by: Sequence[str]) -> tuple[tuple[int, ...], Sums]:
    """Sums along an axis in every cell of others: the axes, that one first, and the numbers in this order."""
    axes = release.outline.sum_axes(axis, by)
    key, sizes = tuple(sorted(axes)), release.schema.sizes
    cells = prod(sizes[a] for a in axes[1:])
    if matrix.shape[0] * cells > MOST_SUMS:
        raise WorkloadError("combine.too-many", "There are too many sums.", "Leave out an attribute of `by`.")
    matrices = [matrix if a == axis else np.eye(sizes[a]) for a in key]
    variances = sum_variances(release.estimates, key, matrices)
    if not np.isfinite(variances).all():
        raise _not_measured(f"The marginal {marginal_label(key, release.schema.names)}")
    layout, order = Layout(sizes, (key,)), [key.index(a) for a in axes]
    unbiased = sum_table(release.estimates.marginal(key), matrices)
    values = unbiased
    if not reconstruction_named(release.reconstruction).unbiased and release.holds(key):
        values = sum_table(layout.view(release.fitted.estimate_all(layout), key), matrices)
    return axes, Sums(values.transpose(order), unbiased.transpose(order), np.sqrt(variances).transpose(order))


def _interval(
    release: Release, attribute: str, low: Any, high: Any, by: Sequence[str]
) -> tuple[int, tuple[int, ...], str]:
    """The finest released level of an attribute whose whole bins make up an interval, their codes, and its label."""
    for axis, codes in release.outline.intervals(attribute, low, high):
        if release.estimates.measured(tuple(sorted(release.outline.sum_axes(axis, by)))):
            return axis, codes, _shown(release.schema.of_axis(axis), codes)
    tells = release.estimates.measured
    raise release.outline.no_interval(
        attribute, low, high, tuple(release.outline.levels_by(attribute, by, tells))
    )


def _shown(kind: Attribute, codes: Sequence[int]) -> str:
    low, high = kind.values_of(codes[0])[0], kind.values_of(codes[-1])[1]
    return f"{low} to {high}"


def _ordered(release: Release, attribute: str, by: Sequence[str]) -> tuple[int, Binned]:
    """The finest released level of an ordered attribute."""
    for axis, kind in release.outline.ordered(attribute):
        if release.estimates.measured(tuple(sorted(release.outline.sum_axes(axis, by)))):
            return axis, kind
    raise release.outline.no_order(attribute)


def _labels(release: Release, axes: Sequence[int]) -> list[pl.Series]:
    """The categories of all cells of some axes, in C order."""
    schema = release.schema
    shape = [schema.sizes[a] for a in axes]
    codes = np.indices(shape).reshape(len(axes), prod(shape))
    return [
        category_column(schema.of_axis(a)).gather(codes[k]).alias(schema.names[a]) for k, a in enumerate(axes)
    ]


def _quantile(kind: Binned, values: Floats, told: Floats, reach: Floats) -> tuple[Any, Any, Any]:
    """Estimate and interval from ``C_j - q N`` at the edges of all bins: fitted, unbiased, and how far the noise goes.

    The first edge has no record below it and the last none above, whatever was measured.
    """
    regular = kind.regular
    possible = np.ones(regular, bool)
    possible[1:] &= told[1:regular] <= reach[1:regular]
    possible[:-1] &= told[1:regular] >= -reach[1:regular]
    bins_left = np.flatnonzero(possible)
    rising = np.maximum.accumulate(values[1:regular]) if regular > 1 else values[:0]
    chosen = int(np.searchsorted(rising, 0.0, side="left"))
    if not len(bins_left):
        bins_left = np.array([0, regular - 1])
    first, last = min(int(bins_left[0]), chosen), max(int(bins_left[-1]), chosen)
    below = values[chosen] if chosen else min(float(values[0]), 0.0)
    above = values[chosen + 1] if chosen + 1 < regular else max(float(values[regular]), 0.0)
    share = min(1.0, max(0.0, -below / (above - below))) if above > below else 0.5
    return _value(kind, chosen, share), kind.values_of(first)[0], kind.values_of(last)[1]


def _value(kind: Binned, code: int, share: float) -> Any:
    """The value a share of the way through a bin."""
    low, high = kind.values_of(code)
    if isinstance(kind, Real):
        return low + share * (high - low)
    return low + (high - low) * share if kind.kind == "date" else low + round(share * (high - low))


def _fieller(part: float, whole: float, variances: Floats, z2: float) -> tuple[float, float]:
    """All r with ``(part - r whole)^2 <= z2 Var(part - r whole)``, inside 0 and 1."""
    inside, _, total = variances
    cross = (
        variances[0] + variances[2] - variances[1]
    ) / 2.0  # of the part and the whole, the rest being their difference
    a, b, c = whole**2 - z2 * total, part * whole - z2 * cross, part**2 - z2 * inside
    root = b**2 - a * c
    if a <= 0.0 or root < 0.0 or whole <= 0.0:
        return 0.0, 1.0
    return max(0.0, (b - sqrt(root)) / a), min(1.0, (b + sqrt(root)) / a)


def _not_measured(what: str) -> WorkloadError:
    return WorkloadError(
        "combine.not-measured",
        f"{what} was not measured in full, so its error is not known.",
        "Release it, for example with --strategy residual-planner.",
    )
