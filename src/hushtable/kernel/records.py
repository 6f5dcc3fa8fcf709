"""The confidential rows, decoded once and kept between decisions: compact columns that WHERE clauses are run on.

One byte per row for most attributes.  The frame has the kinds that ``deciders`` reads without converting:
categories as enumerations, whole numbers in the smallest type that holds the bounds.  It never leaves the kernel.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushtable.kernel.sources import Source
from hushtable.kernel.sources.plain import PlainReader
from hushtable.schema import Attribute, Categorical


class Records:
    """The rows of one source, read when they are first needed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.schema = source.schema

    @cached_property
    def frame(self) -> pl.DataFrame:
        """All rows that the schema keeps, one column per attribute."""
        attributes = list(self.schema.attributes.values())
        parts: list[list[NDArray[Any]]] = [
            [np.empty(0, PlainReader(attribute).dtype)] for attribute in attributes
        ]
        for batch in self._source.plain_batches():
            for kept, column in zip(parts, batch, strict=True):
                kept.append(column)
        columns: list[pl.Series] = []
        for attribute in attributes:
            columns.append(_column(attribute, np.concatenate(parts.pop(0))))
        return pl.DataFrame(columns)


def _column(attribute: Attribute, plain: NDArray[Any]) -> pl.Series:
    if isinstance(attribute, Categorical):
        return _categories(attribute, plain)
    series = pl.Series(attribute.name, plain)
    if attribute.null == "category" or attribute.outside == "other":
        missing = PlainReader(attribute).missing
        absent = series.is_nan() if series.dtype.is_float() else series == missing
        series = series.set(absent, None)
    if attribute.kind == "boolean":
        return series.cast(pl.Boolean)
    return series.cast(pl.Date) if attribute.kind == "date" else series


def _categories(attribute: Categorical, codes: NDArray[Any]) -> pl.Series:
    """Categories by code; "(null)" becomes null, "(other)" a category that equals no declared one."""
    whole = [value for value in attribute.values if isinstance(value, int) and not isinstance(value, bool)]
    numeric = len(whole) == len(attribute.values)
    declared: list[Any] = list(whole) if numeric else list(attribute.texts)
    other: Any = max(whole) + 1 if numeric else _unlike(attribute.texts)
    by_code = [*declared, *([None] if attribute.null_code is not None else []), other]
    if numeric:
        return pl.Series(attribute.name, by_code, dtype=pl.Int64).shrink_dtype().gather(codes)
    places = np.array([declared.index(text) if text in declared else len(declared) for text in by_code])
    series = pl.Series(attribute.name, places.astype(np.uint32)[codes])
    if attribute.null_code is not None:
        series = series.set(pl.Series(codes == attribute.null_code), None)
    return series.cat.to(pl.Enum([*declared, other]))


def _unlike(texts: tuple[str, ...]) -> str:
    """A text that is none of these."""
    return "(" * (1 + max(len(text) for text in texts)) + "other"
