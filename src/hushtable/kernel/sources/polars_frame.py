"""polars frames, eager and lazy; polars is used only when the caller hands over one of its frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, described
from hushtable.kernel.sources.staging import StagedTable
from hushtable.kernel.sources.typed import unread
from hushtable.schema import Schema


class PolarsFrame:
    """A polars DataFrame or LazyFrame; a lazy one runs again, and may give other rows, whenever it is read."""

    shown = "the data"
    block = TYPED_ROWS

    def __init__(self, frame: Any, *, lazy: bool) -> None:
        self._frame = frame
        self._lazy = lazy
        self.headers = [described("The polars frame", self._header)]

    def _header(self) -> Header:
        empty = (self._frame.collect_schema() if self._lazy else self._frame.schema).to_frame()
        types = [_arrow_type(empty.select(name)) for name in empty.columns]
        return Header("The polars frame", list(empty.columns), types)

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of these columns."""
        for frame in self._frames(list(columns), size):
            for batch in frame.to_arrow().to_batches(max_chunksize=size):
                yield ArrowBlock([batch.column(name) for name in columns])

    def _frames(self, columns: list[str], size: int) -> Iterator[Any]:
        if self._lazy:
            yield from self._frame.select(columns).collect_batches(chunk_size=size, maintain_order=True)
        else:
            yield from self._frame.select(columns).iter_slices(size)


class PolarsOpener(TableOpener):
    """polars DataFrames and LazyFrames, known by their names."""

    name = "polars"
    what = "a polars frame"

    def takes(self, data: object) -> bool:
        kind = type(data)
        return kind.__module__.partition(".")[0] == "polars" and kind.__name__ in ("DataFrame", "LazyFrame")

    def table(self, data: Any, schema: Schema | None) -> PolarsFrame | StagedTable:
        lazy = type(data).__name__ == "LazyFrame"
        frame = PolarsFrame(data, lazy=lazy)
        return StagedTable(frame, schema.columns) if lazy and schema is not None else frame


def _arrow_type(empty: Any) -> Any:
    """By its name what Arrow cannot hold, and objects, which polars gives to Arrow as addresses in memory."""
    kind = empty.dtypes[0]
    with suppress(Exception):
        if not kind.is_object():
            return empty.to_arrow().schema.types[0]
    return unread(str(kind.base_type()), "polars")
