"""Tidy frames of released marginals: one row per cell, with labels, estimate and error bar.

Works on released answers only.  A long file holds all marginals of one order; its rows are in the order of the
workload, cells in C order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hushtable.arrays import Floats, Ints
from hushtable.marginals import AttributeSet
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.release.parquet_check import Leaf
from hushtable.schema import Attribute, Schema
from hushtable.texts import counted

NUMBERS = ("estimate", "std", "lower", "upper", "measured")
BENCHMARKED = ("benchmarked", "benchmarked_lower", "benchmarked_upper")
"""The number adjusted to the benchmarks of the schema, and the ends of its interval."""
UNBIASED = ("unbiased", "unbiased_lower", "unbiased_upper")
"""The unbiased estimate with its own interval, which may reach below 0; null where not all was measured."""

CHUNK_CELLS = 1_000_000
"""Cells that are written at once, 8 MB a column: more take memory, fewer make more row groups."""


@dataclass(frozen=True, eq=False)
class CellNumbers:
    """The numbers of several marginals: flat arrays over their cells, and what was measured of each marginal.

    ``lower`` and ``upper`` are what is published, never negative.  ``unbiased`` and ``reach`` give the unbiased
    interval ``unbiased ± reach`` of marginals that were measured in full; nan elsewhere.
    """

    estimates: Floats
    lower: Floats
    upper: Floats
    unbiased: Floats
    reach: Floats
    stds: Floats
    measured: Sequence[str]


def columns_named(schema: Schema, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that a table has for some names: an attribute's own name stands for its finest level."""
    return tuple(schema.names[axis] for axis in schema.axes(names))


@dataclass(frozen=True, eq=False, repr=False)
class ReleasedTable:
    """One marginal with its error bars, and what its intervals promise at ``1 - alpha``."""

    attributes: tuple[str, ...]
    frame: pl.DataFrame
    alpha: float
    promise: str
    value: str = "count"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, one row per cell."""
        told = {"attributes": list(self.attributes), "alpha": self.alpha, "promise": self.promise}
        shown = {} if self.value == "count" else {"value": self.value}
        return {**told, **shown, "rows": self.frame.to_dicts()}

    def __repr__(self) -> str:
        name = " x ".join(self.attributes) or "total"
        return f"<ReleasedTable {name}: {counted(self.frame.height, 'row')}>"

    def _repr_html_(self) -> str:
        shown = self.frame.head(MOST_ROWS)
        facts = {"intervals": self.promise}
        return html_card(
            repr(self).strip("<>"), facts, shown.columns, shown.rows(), self.frame.height - shown.height
        )


def tidy(schema: Schema, axes: Sequence[int], columns: CellNumbers) -> pl.DataFrame:
    """One marginal as a frame: its attributes in the order of ``axes``, ``NUMBERS``, and what is free of ``UNBIASED``.

    ``columns`` hold this marginal alone, its axes sorted.
    """
    codes = np.indices([schema.sizes[a] for a in axes]).reshape(len(axes), columns.estimates.size)
    labels = [
        category_column(schema.of_axis(axis)).gather(codes[k]).alias(schema.names[axis])
        for k, axis in enumerate(axes)
    ]
    (flag,) = columns.measured
    unbiased, reach = (reordered(values, schema, axes) for values in (columns.unbiased, columns.reach))
    numbers = [
        pl.Series("estimate", reordered(columns.estimates, schema, axes)),
        pl.Series("std", reordered(columns.stds, schema, axes), nan_to_null=True),
        pl.Series("lower", reordered(columns.lower, schema, axes)),
        pl.Series("upper", reordered(columns.upper, schema, axes)),
        pl.Series("measured", [flag]).new_from_index(0, unbiased.size),
        pl.Series("unbiased", unbiased, nan_to_null=True),
        pl.Series("unbiased_lower", unbiased - reach, nan_to_null=True),
        pl.Series("unbiased_upper", unbiased + reach, nan_to_null=True),
    ]
    wanted = (*NUMBERS, *free_names(schema))
    return pl.DataFrame([*labels, *(column for column in numbers if column.name in wanted)])


def free_names(schema: Schema) -> tuple[str, ...]:
    """The columns of ``UNBIASED`` whose names no attribute bears; the others are left out of frames."""
    return tuple(name for name in UNBIASED if name not in schema.names)


def reordered(values: Floats, schema: Schema, axes: Sequence[int]) -> Floats:
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
        kinds: set[type] = {type(value) for value in values if value is not None}
        if kinds in ({int}, {bool}):
            return pl.Series(values)
    return pl.Series(attribute.labels, dtype=pl.String)


class LongFile:
    """Writes the marginals of one order into one Parquet file, chunk by chunk."""

    def __init__(self, path: Path, schema: Schema, order: int, *, adjusted: bool = False) -> None:
        self._sizes = schema.sizes
        self._order = order
        self._attributes = pa.array(schema.names, pa.string())
        labels = [attribute.labels for attribute in schema.levels.values()]
        self._first_label = np.cumsum([0, *(len(entry) for entry in labels)])
        self._labels = pa.array([text for entry in labels for text in entry], pa.string())
        words = pa.dictionary(pa.int32(), pa.string())
        fields: list[tuple[str, Any]] = []
        for k in range(1, order + 1):
            fields += [(f"attribute_{k}", words), (f"value_{k}", words)]
        repeated = [*(name for name, _ in fields), "std", "measured"]
        more = (*UNBIASED, *(BENCHMARKED if adjusted else ()))
        fields += [(name, words if name == "measured" else pa.float64()) for name in (*NUMBERS, *more)]
        self._schema = pa.schema(fields)
        # Noise does not compress, so columns that are nothing else take the fast codec; statistics of the words, which
        # few readers use, would take as long as all numbers.
        options: dict[str, Any] = {
            "compression": {name: "snappy" if name in more else "zstd" for name, _ in fields},
            "use_dictionary": repeated,
            "write_statistics": [name for name in NUMBERS if name != "measured"],
        }
        self._writer = pq.ParquetWriter(path, self._schema, **options)

    def write(
        self, sets: Sequence[AttributeSet], numbers: CellNumbers, adjusted: Sequence[Floats] = ()
    ) -> None:
        """Append whole marginals; ``adjusted``: what stands in ``BENCHMARKED``, where the file has these columns."""
        lengths = np.array([prod(self._sizes[i] for i in s) for s in sets], np.int64)
        columns: list[pa.Array] = []
        for k in range(self._order):
            axes = np.array([s[k] for s in sets], np.int32)
            values = np.concatenate([self._first_label[s[k]] + self._axis_codes(s, k) for s in sets])
            columns.append(_words(np.repeat(axes, lengths), self._attributes))
            columns.append(_words(values, self._labels))
        columns += [pa.array(numbers.estimates), pa.array(numbers.stds, from_pandas=True)]
        columns += [pa.array(numbers.lower), pa.array(numbers.upper)]
        flags = sorted(set(numbers.measured))
        codes = np.array([flags.index(flag) for flag in numbers.measured], np.int32)
        columns.append(_words(np.repeat(codes, lengths), pa.array(flags, pa.string())))
        reach = numbers.reach
        unbiased = (numbers.unbiased, numbers.unbiased - reach, numbers.unbiased + reach)
        columns += [pa.array(values, from_pandas=True) for values in unbiased]
        columns += map(pa.array, adjusted)
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def close(self) -> None:
        """Finish the file."""
        self._writer.close()

    def _axis_codes(self, attributes: AttributeSet, k: int) -> Ints:
        """Code of the ``k``-th attribute in every cell of a marginal, in C order."""
        shape = [self._sizes[i] for i in attributes]
        inner, outer = prod(shape[k + 1 :]), prod(shape[:k])
        return np.tile(np.repeat(np.arange(shape[k]), inner), outer)


def table_columns(order: int) -> tuple[dict[str, Leaf], dict[str, Leaf]]:
    """The columns of a long file as they lie on disk, and those that are not in every bundle."""
    words = [f"{kind}_{k}" for k in range(1, order + 1) for kind in ("attribute", "value")]
    always = {name: Leaf("BYTE_ARRAY") for name in words}
    always |= {name: Leaf("BYTE_ARRAY" if name == "measured" else "DOUBLE") for name in NUMBERS}
    return always, {name: Leaf("DOUBLE") for name in (*UNBIASED, *BENCHMARKED)}


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
