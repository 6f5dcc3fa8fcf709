"""Tables with typed columns as Arrow record batches: Arrow tables, polars and pandas frames.

Opening looks at names and types; rows are touched only during a pass, a batch at a time.  polars and pandas are used
only when the caller hands over one of their frames.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.files import Guard
from hushtable.kernel.sources.objects import CodedObjects, Objects
from hushtable.kernel.sources.typed import UNTYPED


@dataclass(frozen=True)
class Part:
    """One table of a source: how to name it, and the type of each column.

    ``rounded`` names the types of columns whose values the engine gives less exactly than they are stored.
    """

    shown: str
    names: list[str]
    types: list[Any]
    rounded: Mapping[str, str] = field(default_factory=dict[str, str])

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
        self.parts = [part_of("The polars frame", lambda: _Columns(_empty_frames(declared()), _polars_type))]

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
    """A pandas DataFrame; NaN, NaT and NA are nulls.  Columns of Python objects are read as ``objects`` says."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.parts = [part_of("The pandas frame", lambda: _Columns(self._series(), _pandas_type))]

    def _series(self) -> Iterator[tuple[str, Any]]:
        for place, name in enumerate(self._frame.columns):
            yield str(name), self._frame.iloc[:0, place]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        places = [self.parts[0].names.index(name) for name in columns]
        categories = {place: _categories(self._frame.iloc[:0, place]) for place in places}
        for start in range(0, len(self._frame), size):
            rows = self._frame.iloc[start : start + size]
            yield ArrowBlock([_pandas_column(rows.iloc[:, k], categories[k]) for k in places])


class _Columns:
    """Names and types of a frame; None for the type of a column that Arrow cannot hold."""

    def __init__(self, columns: Iterable[tuple[str, Any]], type_of: Callable[[Any], Any]) -> None:
        self.names: list[str] = []
        self.types: list[Any] = []
        self.rounded: dict[str, str] = {}
        for name, column in columns:
            self.names.append(name)
            self.types.append(_type_or_none(type_of, column))


def _type_or_none(type_of: Callable[[Any], Any], column: Any) -> Any:
    try:
        return type_of(column)
    except Exception:
        return None


def _empty_frames(schema: Any) -> Iterator[tuple[str, Any]]:
    """One frame without rows for each column."""
    empty = schema.to_frame()
    return ((name, empty.select(name)) for name in empty.columns)


def _polars_type(empty: Any) -> Any:
    """None for objects, which polars gives to Arrow as addresses in memory."""
    return None if empty.dtypes[0].is_object() else empty.to_arrow().schema.types[0]


def part_of(shown: str, schema: Callable[[], Any]) -> Part:
    """Names and types of a table that an engine describes."""
    guard, found = Guard(shown), None
    with guard:
        found = schema()
    guard.raise_failure()
    return Part(shown, [], []) if found is None else Part(shown, found.names, found.types, found.rounded)


def _holds_objects(dtype: Any) -> bool:
    """Whether pandas keeps a column as Python objects: of any kind, or texts that Arrow may not be able to write."""
    return dtype.name == "object" or getattr(dtype, "storage", None) == "python"


def _pandas_type(empty: Any) -> Any:
    if _holds_objects(empty.dtype) or _categories(empty) is not None:
        return UNTYPED
    return _pandas_column(empty, None).type


def _categories(empty: Any) -> Objects | None:
    """The categories of a column, where they are Python objects."""
    if empty.dtype.name != "category" or not _holds_objects(empty.cat.categories.dtype):
        return None
    return Objects(empty.cat.categories.tolist())


def _pandas_column(series: Any, categories: Objects | None) -> Any:
    if categories is not None:
        return CodedObjects(categories, series.cat.codes.to_numpy())
    if _holds_objects(series.dtype):
        return Objects(series.tolist())
    array = pa.array(series, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
