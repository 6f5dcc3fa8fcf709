"""Options that are one table over buckets of attributes: ages in 4, 9 or 23 buckets, by sex.  Exact.

What completes a coarser table follows from the options alone, so that only noisy integers are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from hushtable import linear, measurement, release
from hushtable.lazily import Later
from hushtable.release.choices.families.family import AnyRelease, Family, MeasuredChoice

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from hushtable.arrays import Floats
    from hushtable.linear import BucketTable, LinearGaussian, OptionMechanism, Signal
    from hushtable.measurement import Part
    from hushtable.release import Card
    from hushtable.schema import Schema
else:
    np, pl = Later("numpy"), Later("polars")


class BucketTables(Family):
    """One table of bucket counts with independent noise."""

    name = "buckets"
    example = "buckets: {age: [18, 45, 65], sex: all}"

    @property
    def mechanism(self) -> type[OptionMechanism]:
        return linear.BucketTable

    def text(self, option: BucketTable, names: Sequence[str]) -> str:
        return f"a table of {option.variances.size:,} cells over buckets"

    def from_file(self, schema: Schema, wanted: Any) -> OptionMechanism | None:
        """For each attribute of the table, the positions of the categories that start a new bucket, or ``all``."""
        cuts = cast("dict[str, Any]", wanted if isinstance(wanted, dict) else {"": None})
        if not all(map(_is_cuts, cuts.values())):
            return None
        axes = dict(zip(schema.axes(cuts), cuts.values(), strict=True))
        return linear.bucket_table([_buckets(n, axes.get(i, [])) for i, n in enumerate(schema.sizes)])

    def missing(
        self, sizes: tuple[int, ...], target: BucketTable, before: BucketTable | None, drawn: Sequence[Part]
    ) -> Part | None:
        if before is None:
            return measurement.CellPart(target)
        left = linear.residual(target, before)
        return measurement.DeviationPart(left) if isinstance(left, linear.BucketResidual) else None

    def signal(self, measured: MeasuredChoice, option: int) -> Signal:
        step: BucketTable = measured.step
        noise = measured.options[option].coarse_variances(step.partitions).astype(np.float64)
        variances = step.variances.astype(np.float64)
        return linear.signal_to_noise(_cells(measured, None).ravel(), variances.ravel(), noise.ravel())

    def released(self, measured: MeasuredChoice, option: int | None, card: Card) -> AnyRelease:
        target: BucketTable = measured.step if option is None else measured.options[option]
        labels, variances = bucket_labels(measured.schema, target), target.variances.astype(np.float64)
        return release.QueryRelease(
            labels, _cells(measured, option).ravel(), variances.ravel(), card, counts=True
        )

    def evidence(self, measured: MeasuredChoice) -> tuple[LinearGaussian, Floats]:
        return measured.step.dense(), _cells(measured, None).ravel()


def _cells(measured: MeasuredChoice, option: int | None) -> Floats:
    """Cells of the table that all parts add up to, each step recreated from the one before."""
    cells, before = np.empty(0), None
    for one in measured.parts:
        if one.role == "option" and option is None:
            continue
        if isinstance(one.part, measurement.DeviationPart) and before is not None:
            cells = linear.bucket_recreate(one.part.residual, before, cells, *one.part.outputs(one.values))
        elif one.part is not None:
            cells = one.values.reshape(one.target.variances.shape).astype(np.float64)
        before = one.target
    return cells


def bucket_labels(schema: Schema, table: BucketTable) -> pl.DataFrame:
    """One row per cell: for every attribute with buckets, the first and last value of the cell's bucket."""
    shape = table.variances.shape
    codes = np.indices(shape).reshape(len(shape), -1)
    columns: dict[str, list[str]] = {
        name: [_bucket_names(schema.attributes[name].labels, buckets)[c] for c in codes[axis]]
        for axis, (name, buckets) in enumerate(zip(schema.names, table.partitions, strict=True))
        if max(buckets) > 0
    }
    return pl.DataFrame(columns) if columns else pl.DataFrame({"query": ["total"]})


def _bucket_names(labels: Sequence[str], buckets: Sequence[int]) -> list[str]:
    members: dict[int, list[str]] = {}
    for label, bucket in zip(labels, buckets, strict=True):
        members.setdefault(bucket, []).append(label)
    return [m[0] if len(m) == 1 else f"{m[0]} to {m[-1]}" for m in members.values()]


def _is_cuts(value: Any) -> bool:
    return value == "all" or (
        isinstance(value, list) and all(type(c) is int for c in cast("list[Any]", value))
    )


def _buckets(size: int, cuts: Any) -> tuple[int, ...]:
    return linear.buckets(size, range(1, size) if cuts == "all" else cuts)
