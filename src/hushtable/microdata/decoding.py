"""From codes to values: numbers inside their bins, days inside their periods, categories as they were declared.

A value inside a bin is drawn evenly: integers and days among the whole steps, reals on the declared resolution or
anywhere in the bin; or the bin itself is given, as its label.  Where a file writes months, quarters or years alone, a
day is the first of one.  "(null)" becomes a missing value; "(other)" is a label among texts and missing among numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushtable.arrays import Codes, Ints
from hushtable.microdata import seeded
from hushtable.schema import Attribute, Binned, Boolean, Categorical, Real, Schema, months_of


def codes_from_counts(counts: NDArray[np.int64]) -> Codes:
    """One row of codes for each record of a table of counts, in the order of its cells."""
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    return np.stack(np.unravel_index(cells, counts.shape), axis=1).astype(np.int32)


def frame_from_codes(
    schema: Schema,
    codes: Codes,
    *,
    seed: object = 0,
    drawn: Mapping[str, NDArray[Any]] = MappingProxyType({}),
    labels: bool = False,
) -> pl.DataFrame:
    """A frame with one column per attribute; with ``labels`` numbers and dates are the labels of their bins.

    ``drawn`` has values of attributes that depend on one another.
    """
    columns: list[pl.Series] = []
    for k, (name, attribute) in enumerate(schema.attributes.items()):
        made = codes[:, k]
        if labels and isinstance(attribute, Binned):
            column = band_labels(attribute).gather(made.astype(np.int64))
        elif name in drawn and isinstance(attribute, Binned):
            column = _with_nulls(attribute, drawn[name], made)
        else:
            column = _column(attribute, made, seeded.seeded("value", name, seed))
        columns.append(column.alias(name))
    return pl.DataFrame(columns)


def band_labels(attribute: Binned) -> pl.Series:
    """What each code of a binned attribute is called; a missing value for "(null)"."""
    texts: list[str | None] = list(attribute.labels)
    if attribute.null_code is not None:
        texts[attribute.null_code] = None
    return pl.Series(texts, dtype=pl.String)


def _column(attribute: Attribute, codes: Codes, state: seeded.STATE) -> pl.Series:
    if isinstance(attribute, Binned):
        return _numbers(attribute, codes, state)
    return _categories(attribute).gather(codes.astype(np.int64))


def _categories(attribute: Attribute) -> pl.Series:
    """One value per code; integers and booleans keep their type unless there is an "(other)" category."""
    values = [attribute.values_of(code) for code in range(attribute.size)]
    if isinstance(attribute, Boolean) and attribute.other_code is None:
        return pl.Series(values, dtype=pl.Boolean)
    whole = isinstance(attribute, Categorical) and all(type(v) is int for v in attribute.values)
    if whole and attribute.other_code is None:
        return pl.Series(values, dtype=pl.Int64)
    if isinstance(attribute, Categorical):
        texts: list[Any] = list(attribute.texts)
    else:
        texts = ["false", "true"]
    if attribute.null_code is not None:
        texts.append(None)
    if attribute.other_code is not None:
        texts.append(attribute.labels[attribute.other_code])
    return pl.Series(texts, dtype=pl.String)


def _numbers(attribute: Binned, codes: Codes, state: seeded.STATE) -> pl.Series:
    inside = codes < attribute.regular
    bins = np.where(inside, codes, 0)
    low, end = attribute.edges[bins], attribute.edges[bins + 1]
    share = seeded.uniforms(state, len(codes))
    if isinstance(attribute, Real):
        return _with_nulls(attribute, _reals(attribute, low, end, share), codes)
    whole = low + np.minimum((share * (end - low)).astype(np.int64), end - low - 1)
    months = months_of(attribute.pattern)
    if months:
        whole = np.maximum(_first_days(whole, months), low)
    return _with_nulls(attribute, whole, codes)


def _first_days(days: NDArray[Any], months: int) -> NDArray[np.int64]:
    """The first day of the month, quarter or year of each day, as numbers since 1970."""
    counted = days.astype(np.int64).astype("M8[D]").astype("M8[M]").astype(np.int64)
    return (counted // months * months).astype("M8[M]").astype("M8[D]").astype(np.int64)


def _with_nulls(attribute: Binned, values: NDArray[Any], codes: Codes) -> pl.Series:
    """Numbers or days, missing where a record has no bin."""
    kept = values if isinstance(attribute, Real) else values.astype(np.int64)
    series = pl.Series(kept).set(pl.Series(codes >= attribute.regular), None)
    return series.cast(pl.Int32).cast(pl.Date) if attribute.kind == "date" else series


def _reals(attribute: Real, low: Any, end: Any, share: NDArray[np.float64]) -> NDArray[np.float64]:
    step = float(attribute.resolution) if attribute.resolution is not None else 0.0
    values = low + share * (end - low)
    if step <= 0.0:
        return values
    first = np.array([ceil(x / step - 1e-9) for x in attribute.edges[:-1]])
    last = np.array([max(ceil(x / step - 1e-9) - 1, floor(x / step - 1)) for x in attribute.edges[1:]])
    bins = cast("Ints", np.searchsorted(attribute.edges, low, side="right")) - 1
    count = last[bins] - first[bins] + 1
    on_grid = (first[bins] + np.minimum((share * count).astype(np.int64), count - 1)) * step
    return np.where(count > 0, on_grid, values)
