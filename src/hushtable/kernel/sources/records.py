"""Confidential rows in frames of compact columns that WHERE clauses are run on.

One byte per row for most attributes.  A frame has the kinds that ``deciders`` reads without converting:
categories as enumerations, whole numbers in the smallest type that holds the bounds.  It never leaves the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushtable.kernel.sources.plain_values import PlainArray, PlainReader
from hushtable.kernel.sources.source import Source
from hushtable.schema import Attribute, Categorical

FRAME_BYTES = 2**25
"""Bytes of a frame: three times that is held while it is made, and with less the fixed cost of a query is paid more
often (3 million rows in three frames instead of one: 10% more time for five queries)."""


def record_frames(source: Source, size: int = FRAME_BYTES) -> Iterator[pl.DataFrame]:
    """All rows that the schema keeps, in frames of about ``size`` bytes; at least one frame."""
    attributes = list(source.schema.attributes.values())
    empty: list[PlainArray] = [np.empty(0, PlainReader(attribute).dtype) for attribute in attributes]
    waiting, held = [empty], 0
    for batch in source.plain_batches():
        waiting.append(batch)
        held += sum(column.nbytes for column in batch)
        if held >= size:
            yield record_frame(attributes, waiting)
            waiting, held = [], 0
    if waiting:
        yield record_frame(attributes, waiting)


def record_frame(attributes: Sequence[Attribute], batches: Sequence[Sequence[PlainArray]]) -> pl.DataFrame:
    columns = zip(attributes, zip(*batches, strict=True), strict=True)
    return pl.DataFrame([_column(attribute, np.concatenate(parts)) for attribute, parts in columns])


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
