"""pandas frames; pandas is used only when the caller hands over one of its frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.objects import CodedObjects, Objects
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, described
from hushtable.kernel.sources.typed import UNTYPED, unread
from hushtable.schema import Schema


class PandasFrame:
    """A pandas DataFrame; NaN, NaT and NA are nulls.  Columns of Python objects are read as ``objects`` says."""

    shown = "the data"
    block = TYPED_ROWS

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.headers = [described("The pandas frame", self._header)]

    def _header(self) -> Header:
        names = [str(name) for name in self._frame.columns]
        types = [_arrow_type(self._frame.iloc[:0, place]) for place in range(len(names))]
        return Header("The pandas frame", names, types)

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of these columns."""
        places = [self.headers[0].names.index(name) for name in columns]
        categories = {place: _categories(self._frame.iloc[:0, place]) for place in places}
        for start in range(0, len(self._frame), size):
            rows = self._frame.iloc[start : start + size]
            yield ArrowBlock([_column(rows.iloc[:, k], categories[k]) for k in places])


class PandasOpener(TableOpener):
    """pandas DataFrames, known by their name."""

    name = "pandas"
    what = "a pandas frame"

    def takes(self, data: object) -> bool:
        kind = type(data)
        return kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "DataFrame"

    def table(self, data: Any, schema: Schema | None) -> PandasFrame:
        return PandasFrame(data)


def _holds_objects(dtype: Any) -> bool:
    """Whether pandas keeps a column as Python objects: of any kind, or texts that Arrow may not be able to write."""
    return dtype.name == "object" or getattr(dtype, "storage", None) == "python"


def _arrow_type(empty: Any) -> Any:
    """By its name what Arrow cannot hold."""
    with suppress(Exception):
        untyped = _holds_objects(empty.dtype) or _categories(empty) is not None
        return UNTYPED if untyped else _column(empty, None).type
    return unread(_shown(empty.dtype), "pandas")


def _shown(dtype: Any) -> str:
    """The name of a type without what stands in brackets, where a value may be."""
    return str(dtype.name).partition("[")[0]


def _categories(empty: Any) -> Objects | None:
    """The categories of a column, where they are Python objects."""
    if empty.dtype.name != "category" or not _holds_objects(empty.cat.categories.dtype):
        return None
    return Objects(empty.cat.categories.tolist())


def _column(series: Any, categories: Objects | None) -> Any:
    if categories is not None:
        return CodedObjects(categories, series.cat.codes.to_numpy())
    if _holds_objects(series.dtype):
        return Objects(series.tolist())
    array = pa.array(series, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
