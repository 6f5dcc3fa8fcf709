"""Relative standard errors with both parts, noise and sampling, of files that are samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from hushtable.release.table_value import COUNT, MEAN, SHARE, SUM, TableValue

if TYPE_CHECKING:
    from hushtable.release.release import Release
    from hushtable.schema import DrawnSample

CVS = ("cv_noise", "cv_sampling", "cv_total")
SamplingError = Callable[[float, float], float | None]
"""Relative error by sampling alone, of a cell with this count and this value."""


def with_sampling(
    release: Release, frame: pl.DataFrame, value: TableValue, counts: list[float]
) -> pl.DataFrame:
    """A table with the coefficients of variation beside its numbers, where a design effect is declared.

    The errors of noise and of sampling are independent, so that squares add up.  Null where the estimate is not above
    0, or its std is not known; left out for values of which sampling says nothing without more.
    """
    sampling = release.schema.sampling
    if sampling is None or not sampling.tells or any(name in release.schema.names for name in CVS):
        return frame
    drawn = drawn_error(release, sampling, value)
    if drawn is None:
        return frame
    found: list[tuple[float | None, float | None, float | None]] = []
    cells = zip(counts, frame["estimate"].to_list(), frame["std"].to_list(), strict=True)
    for count, estimate, std in cells:
        if estimate is None or estimate <= 0 or count <= 0:
            found.append((None, None, None))
            continue
        noise = None if std is None else std / estimate
        sampled = drawn(count, estimate)
        both = None if sampled is None or noise is None else (noise**2 + sampled**2) ** 0.5
        found.append((noise, sampled, both))
    columns = [pl.Series(name, [row[k] for row in found], pl.Float64) for k, name in enumerate(CVS)]
    return frame.with_columns(columns)


def drawn_error(release: Release, sampling: DrawnSample, value: TableValue) -> SamplingError | None:
    """How the error of sampling follows from a count and a value; None where it does not."""
    total = float(release.estimates.marginal(()))
    if total <= 0:
        return None
    if value.kind == COUNT:
        return lambda count, estimate: sampling.relative_error(min(count / total, 1.0))
    if value.kind == SHARE and not value.second:  # a count among the rows of its group
        return lambda count, estimate: sampling.relative_error(
            min(estimate, 1.0), min(count / total / estimate, 1.0)
        )
    if value.kind not in (MEAN, SUM):
        return None
    low, high = release.schema.sums[value.first].bounds

    def relative(count: float, estimate: float) -> float | None:
        mean = min(max(estimate if value.kind == MEAN else estimate / count, low), high)
        share = min(count / total, 1.0)
        own = sampling.mean_error(share, mean, low, high)
        beside = sampling.relative_error(share) if value.kind == SUM else 0.0
        return None if own is None or beside is None else (own**2 + beside**2) ** 0.5

    return relative
