"""Relative standard errors with both parts, noise and sampling, of files that are samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from hushtable.schema import DrawnSample

if TYPE_CHECKING:
    from hushtable.release.release import Release

CVS = ("cv_noise", "cv_sampling", "cv_total")


def with_sampling(release: Release, sampling: DrawnSample, frame: pl.DataFrame) -> pl.DataFrame:
    """A table of counts with the coefficients of variation beside its numbers, where a design effect is declared.

    By sampling alone a count with share p of everybody has the relative variance ``deff (1 - p) / (n p)``; the two
    errors are independent, so that squares add up.  Null where the estimate is not above 0, or its std is not known.
    """
    if sampling.design_effect is None or any(name in release.schema.names for name in CVS):
        return frame
    total = float(release.estimates.marginal(()))
    rows = zip(frame["estimate"].to_list(), frame["std"].to_list(), strict=True)
    found: list[tuple[float | None, float | None, float | None]] = []
    for estimate, std in rows:
        drawn = sampling.relative_error(min(estimate / total, 1.0)) if total > 0 else None
        noise = std / estimate if std is not None and estimate > 0 else None
        both = None if drawn is None or noise is None else (noise**2 + drawn**2) ** 0.5
        found.append((noise, drawn, both))
    columns = [pl.Series(name, [row[k] for row in found], pl.Float64) for k, name in enumerate(CVS)]
    return frame.with_columns(columns)
