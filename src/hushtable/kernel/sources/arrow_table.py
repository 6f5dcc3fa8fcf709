"""Arrow tables and record batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hushtable.kernel.counter import Header
from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock
from hushtable.schema import Schema


class ArrowTable:
    """A pyarrow Table."""

    shown = "the data"
    block = TYPED_ROWS

    def __init__(self, table: Any) -> None:
        self._table = table
        self.headers = [Header("The Arrow table", list(table.schema.names), list(table.schema.types))]

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of these columns."""
        for batch in self._table.select(list(columns)).to_batches(max_chunksize=size):
            yield ArrowBlock([batch.column(name) for name in columns])


class ArrowOpener(TableOpener):
    """pyarrow Tables and RecordBatches."""

    name = "arrow"
    what = "an Arrow table"

    def takes(self, data: object) -> bool:
        return isinstance(data, pa.Table | pa.RecordBatch)

    def table(self, data: Any, schema: Schema | None) -> ArrowTable:
        return ArrowTable(pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data)
