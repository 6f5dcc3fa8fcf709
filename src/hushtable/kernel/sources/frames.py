"""Tables with typed columns as Arrow record batches: Arrow tables, polars and pandas frames.

Opening looks at names and types; rows are touched only during a pass, a batch at a time.  polars and pandas are used
only when the caller hands over one of their frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Protocol

from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.files import Guard


@dataclass(frozen=True)
class Part:
    """One table of a source: how to name it, and the type of each column."""

    shown: str
    names: list[str]
    types: list[Any]

    def type_of(self, column: str) -> Any:
        """Arrow type of a column."""
        return self.types[self.names.index(column)]


@dataclass(frozen=True)
class ArrowBlock:
    """A batch of rows."""

    arrays: list[Any]

    def columns(self) -> list[Any]:
        """The wanted columns, in the order asked for."""
        return self.arrays


class Table(Protocol):
    """What every kind of typed table offers."""

    parts: list[Part]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of the named columns, at most ``size`` at a time."""
        ...


class ArrowTable:
    """A pyarrow Table."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.parts = [Part("The Arrow table", list(table.schema.names), list(table.schema.types))]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        for batch in self._table.select(list(columns)).to_batches(max_chunksize=size):
            yield ArrowBlock([batch.column(name) for name in columns])


class PolarsFrame:
    """A polars DataFrame or LazyFrame; a lazy one runs again for every pass."""

    def __init__(self, frame: Any, *, lazy: bool) -> None:
        self._frame = frame
        self._lazy = lazy
        declared = frame.collect_schema if lazy else lambda: frame.schema
        self.parts = [part_of("The polars frame", lambda: declared().to_frame().to_arrow().schema)]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        for frame in self._frames(list(columns), size):
            for batch in frame.to_arrow().to_batches(max_chunksize=size):
                yield ArrowBlock([batch.column(name) for name in columns])

    def _frames(self, columns: list[str], size: int) -> Iterator[Any]:
        if self._lazy:
            yield from self._frame.select(columns).collect_batches(chunk_size=size, maintain_order=True)
        else:
            yield from self._frame.select(columns).iter_slices(size)


class PandasFrame:
    """A pandas DataFrame; NaN, NaT and NA are nulls.

    Columns of Python objects are read as text: texts as they are, numbers, booleans and dates as a file would hold
    them, anything else as text that fits no attribute.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.parts = [part_of("The pandas frame", self._schema)]

    def _schema(self) -> Any:
        arrays = [_pandas_array(self._frame.iloc[:0, k]) for k in range(self._frame.shape[1])]
        return pa.schema(
            [(str(name), array.type) for name, array in zip(self._frame.columns, arrays, strict=True)]
        )

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        places = [self.parts[0].names.index(name) for name in columns]
        for start in range(0, len(self._frame), size):
            rows = self._frame.iloc[start : start + size]
            yield ArrowBlock([_pandas_array(rows.iloc[:, k]) for k in places])


def part_of(shown: str, schema: Callable[[], Any]) -> Part:
    """Names and types of a table that an engine describes."""
    guard, found = Guard(shown), None
    with guard:
        found = schema()
    guard.raise_failure()
    return Part(shown, [] if found is None else list(found.names), [] if found is None else list(found.types))


def _pandas_array(series: Any) -> Any:
    if series.dtype == object:
        return pa.array([_object_text(value) for value in series.tolist()], pa.large_string())
    if series.dtype.name == "category" and series.cat.categories.dtype == object:
        categories = [_object_text(value) for value in series.cat.categories.tolist()]
        indices = pa.array(series.cat.codes.to_numpy(), pa.int32(), mask=series.isna().to_numpy())
        return pa.DictionaryArray.from_arrays(indices, pa.array(categories, pa.large_string()))
    array = pa.array(series, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _object_text(value: Any) -> str | None:
    """What a file would hold for one Python object."""
    if value is None or value != value:  # NaN and NaT differ from themselves
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return "\0"
