"""Relative standard errors with both parts, noise and sampling, of files that are samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from hushtable.arrays import Floats
from hushtable.marginals import REPLICATES
from hushtable.release.card import DesignEffect
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
    """A table with the coefficients of variation beside its numbers, where a design effect is declared or was measured.

    The errors of noise and of sampling are independent, so that squares add up.  Null where the estimate is not above
    0, or its std is not known; left out for values of which sampling says nothing without more.
    """
    drawn = None if any(name in frame.columns for name in CVS) else told_error(release, value)
    if drawn is None:
        return frame
    sampled = [
        None if estimate is None or estimate <= 0 or count <= 0 else drawn(count, estimate)
        for count, estimate in zip(counts, frame["estimate"].to_list(), strict=True)
    ]
    return beside_noise(frame, sampled)


def with_sampling_of_sums(
    release: Release, frame: pl.DataFrame, sums: Sequence[tuple[Floats, Floats] | None]
) -> pl.DataFrame:
    """The same for weighted sums of cells, by the unbiased counts of these and their weights; None where cells may
    have rows in common."""
    sampling, total = release.sampling, float(release.estimates.marginal(()))
    if told_error(release, TableValue(COUNT)) is None or sampling is None:
        return frame
    sampled = [
        None if one is None else sampling.sum_error(np.clip(one[0], 0.0, total) / total, one[1])
        for one in sums
    ]
    return beside_noise(frame, sampled)


def beside_noise(frame: pl.DataFrame, sampled: Sequence[float | None]) -> pl.DataFrame:
    """``CVS`` of a table, from its own numbers and the relative errors of sampling of its rows."""
    found: list[tuple[float | None, float | None, float | None]] = []
    cells = zip(sampled, frame["estimate"].to_list(), frame["std"].to_list(), strict=True)
    for drawn, estimate, std in cells:
        above = estimate is not None and estimate > 0
        noise = std / estimate if above and std is not None else None
        both = None if drawn is None or noise is None else (noise**2 + drawn**2) ** 0.5
        found.append((noise, drawn if above else None, both))
    columns = [pl.Series(name, [row[k] for row in found], pl.Float64) for k, name in enumerate(CVS)]
    return frame.with_columns(columns)


def has_sampling_errors(release: Release) -> bool:
    """Whether tables of counts have ``CVS``."""
    return told_error(release, TableValue(COUNT)) is not None


def told_error(release: Release, value: TableValue) -> SamplingError | None:
    """The error of sampling of a value, where its tables have ``CVS``."""
    sampling = release.sampling
    if sampling is None or not sampling.tells or any(name in release.schema.names for name in CVS):
        return None
    return drawn_error(release, sampling, value)


def sampling_of(release: Release) -> DrawnSample | None:
    """What is declared of a sample, with the design effect that was measured, if one was."""
    found, sampling = release.card.design_effect, release.schema.sampling
    return sampling if found is None or sampling is None else sampling.measured(found.effect, found.std)


def measured_effect(release: Release) -> DesignEffect | None:
    """The design effect by replicate weights, where they were measured.

    The variance of a count by replicates is ``scale`` times the sum of squares of their counts about the mean of these.
    Of noisy counts that is too large by the variance of the noise of all but one of them, which is subtracted.  Over
    the categories of an attribute, sums of such variances and of those of a simple random sample give the effect.
    """
    sampling, declared = release.schema.sampling, release.schema.replicates
    if sampling is None or declared is None or REPLICATES not in release.quantities:
        return None
    answers, counts = (
        release.quantities[REPLICATES],
        release.estimates.marginal(release.schema.axes(declared.by)),
    )
    total = float(counts.sum())
    simple = float((counts * (total - counts)).sum()) / (sampling.rows or 1)
    if simple <= 0:
        return None
    unit = float(release.schema.count_unit)
    noise, free = unit**2 * float(1 / answers.part.precisions[0]), declared.number - 1
    noisy = unit * answers.of((0, 1)).astype(np.float64)
    squares = float(((noisy - noisy.mean(axis=0)) ** 2).sum())
    drawn = max(squares - free * counts.size * noise, 0.0)
    error = sqrt(4.0 * noise * drawn + 2.0 * free * counts.size * noise**2)
    scale = float(declared.scale) / simple
    return DesignEffect(effect=scale * drawn, std=scale * error)


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
