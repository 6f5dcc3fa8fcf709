"""All released tables as one long frame: a marginal, its cell's values, estimate, error bar.

Works on a release in memory; the Parquet files of a bundle hold the same numbers by order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from hushtable.release.benchmarked import adjusts
from hushtable.release.tables import BENCHMARKED, NUMBERS, free_names

if TYPE_CHECKING:
    from hushtable.release.release import Release


def long_frame(release: Release, alpha: float = 0.05) -> pl.DataFrame:
    """One row per cell of every marginal: marginal, one column per attribute (null where it is not part of the
    marginal, labels elsewhere), estimate, std, lower, upper, measured, the unbiased interval, and
    what is adjusted to benchmarks."""
    return pl.concat(list(_parts(release, alpha)))


def _parts(release: Release, alpha: float) -> Iterator[pl.DataFrame]:
    names = release.schema.names
    adjusted = BENCHMARKED if adjusts(release.schema) else ()
    numbers = (*NUMBERS, *free_names(release.schema), *adjusted)
    kinds = {name: pl.Enum(attribute.labels) for name, attribute in release.schema.levels.items()}
    for attributes, table in release.tables(alpha):
        labels = [
            _labels(table[name], kinds[name]) if name in attributes else pl.lit(None, kinds[name]).alias(name)
            for name in names
        ]
        yield table.select(pl.lit(" x ".join(attributes) or "total").alias("marginal"), *labels, *numbers)


def _labels(values: pl.Series, kind: pl.Enum) -> pl.Series:
    """The values of a tidy table as their labels."""
    texts = values.cast(pl.String)
    if values.dtype == pl.Boolean:
        texts = texts.str.to_lowercase()
    return texts.fill_null("(null)").cast(kind)
