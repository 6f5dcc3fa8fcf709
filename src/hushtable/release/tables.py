"""Tidy frames of released marginals: one row per cell, with labels, estimate and error bar.

Works on released answers only.  A long file holds all marginals of one order; its rows are in the order of the
workload, cells in C order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hushtable.marginals import AttributeSet
from hushtable.reconstruct.bounds import CellBounds
from hushtable.schema import Attribute, Schema

CHUNK_CELLS = 1_000_000
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def tidy(schema: Schema, axes: Sequence[int], estimate: Floats, bounds: CellBounds) -> pl.DataFrame:
    """One marginal as a frame: its attributes in the order of ``axes``, estimate, std, lower, upper, measured.

    ``estimate`` has its axes in that order; ``bounds`` are flat, in the order of the sorted axes.
    """
    flat = np.ascontiguousarray(estimate).ravel()
    codes = np.indices(estimate.shape).reshape(len(axes), flat.size)
    labels = [
        category_column(attribute_at(schema, axis)).gather(codes[k]).alias(schema.names[axis])
        for k, axis in enumerate(axes)
    ]
    numbers = [
        pl.Series("estimate", flat),
        pl.Series("std", np.full(flat.size, bounds.std), nan_to_null=True),
        pl.Series("lower", _reordered(bounds.lower, schema, axes)),
        pl.Series("upper", _reordered(bounds.upper, schema, axes)),
        pl.Series("measured", [bounds.measured]).new_from_index(0, flat.size),
    ]
    return pl.DataFrame([*labels, *numbers])


def _reordered(values: Floats, schema: Schema, axes: Sequence[int]) -> Floats:
    """Flat values of the sorted axes in the order of ``axes``."""
    key = sorted(axes)
    table = values.reshape([schema.sizes[a] for a in key])
    return np.ascontiguousarray(table.transpose([key.index(a) for a in axes])).reshape(-1)


def category_column(attribute: Attribute) -> pl.Series:
    """One value per code: integers and booleans as they were declared, everything else as labels.

    "(null)" is a missing value where the values are not texts; with an "(other)" category all values are labels.
    """
    plain = attribute.kind in ("categorical", "boolean") and attribute.other_code is None
    if plain and not getattr(attribute, "value_labels", {}):
        values = [attribute.values_of(code) for code in range(attribute.size)]
        kinds = {type(value) for value in values if value is not None}
        if kinds in ({int}, {bool}):
            return pl.Series(values)
    return pl.Series(attribute.labels, dtype=pl.String)


def attribute_at(schema: Schema, axis: int) -> Attribute:
    """The attribute of an axis."""
    return schema.attributes[schema.names[axis]]


class LongFile:
    """Writes the marginals of one order into one Parquet file, chunk by chunk."""

    def __init__(self, path: Path, schema: Schema, order: int) -> None:
        self._sizes = schema.sizes
        self._order = order
        self._attributes = pa.array(schema.names, pa.string())
        labels = [attribute_at(schema, axis).labels for axis in range(len(schema.names))]
        self._first_label = np.cumsum([0, *(len(entry) for entry in labels)])
        self._labels = pa.array([text for entry in labels for text in entry], pa.string())
        words = pa.dictionary(pa.int32(), pa.string())
        fields: list[tuple[str, Any]] = []
        for k in range(1, order + 1):
            fields += [(f"attribute_{k}", words), (f"value_{k}", words)]
        fields += [(name, pa.float64()) for name in ("estimate", "std", "lower", "upper")]
        self._schema = pa.schema([*fields, ("measured", words)])
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")

    def write(
        self,
        sets: Sequence[AttributeSet],
        estimates: Floats,
        stds: Sequence[float],
        lower: Floats,
        upper: Floats,
        measured: Sequence[str],
    ) -> None:
        """Append whole marginals; ``estimates``, ``lower`` and ``upper`` are flat in their order; a std may be nan."""
        lengths = np.array([prod(self._sizes[i] for i in s) for s in sets], np.int64)
        columns: list[pa.Array] = []
        for k in range(self._order):
            axes = np.array([s[k] for s in sets], np.int32)
            values = np.concatenate([self._first_label[s[k]] + self._axis_codes(s, k) for s in sets])
            columns.append(_words(np.repeat(axes, lengths), self._attributes))
            columns.append(_words(values, self._labels))
        deviations = np.repeat(np.asarray(stds, np.float64), lengths)
        columns += [pa.array(estimates), pa.array(deviations, from_pandas=True)]
        columns += [pa.array(lower), pa.array(upper)]
        flags = sorted(set(measured))
        codes = np.array([flags.index(flag) for flag in measured], np.int32)
        columns.append(_words(np.repeat(codes, lengths), pa.array(flags, pa.string())))
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()

    def _axis_codes(self, attributes: AttributeSet, k: int) -> Codes:
        """Code of the ``k``-th attribute in every cell of a marginal, in C order."""
        shape = [self._sizes[i] for i in attributes]
        inner, outer = prod(shape[k + 1 :]), prod(shape[:k])
        return np.tile(np.repeat(np.arange(shape[k]), inner), outer)


def chunks(sets: Sequence[AttributeSet], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of consecutive sets of about ``CHUNK_CELLS`` cells each."""
    ranges: list[tuple[int, int]] = []
    start = cells = 0
    for k, attributes in enumerate(sets):
        cells += prod(sizes[i] for i in attributes)
        if cells >= CHUNK_CELLS or k == len(sets) - 1:
            ranges.append((start, k + 1))
            start, cells = k + 1, 0
    return ranges


def _words(codes: NDArray[Any], dictionary: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), dictionary)
