"""A table that may give other rows when it is read again, as one that is read once: into a private file.

The file holds the columns that the schema reads.  It has no name from the moment it is made, where the system allows
that, is readable by nobody else, and is gone when its table is, however the process ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from tempfile import TemporaryFile
from typing import Any

from hushtable.kernel.sources.arrow import pa
from hushtable.kernel.sources.row_tables import ArrowBlock, Table


class StagedTable:
    """The rows of a table whose blocks are Arrow arrays, read the first time that they are asked for."""

    def __init__(self, table: Table, columns: Sequence[str]) -> None:
        self.headers, self.shown, self.block = table.headers, table.shown, table.block
        self._table, self._columns = table, list(columns)
        self._file: Any = None

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows of these columns, in blocks of the size that was asked for first."""
        if self._file is None:
            self._file = self._read(size)
        self._file.seek(0)
        places = [self._columns.index(name) for name in columns]
        with pa.ipc.open_stream(pa.PythonFile(self._file, "r")) as stream:
            for batch in stream:
                yield ArrowBlock([batch.column(place) for place in places])

    def _read(self, size: int) -> Any:
        file, writer = TemporaryFile(prefix="hush-"), None  # noqa: SIM115
        for block in self._table.blocks(self._columns, size):
            batch = pa.RecordBatch.from_arrays(list(block.columns()), self._columns)
            writer = writer or pa.ipc.new_stream(pa.PythonFile(file, "w"), batch.schema)
            writer.write_batch(batch)
        if writer is None:
            types = [self.headers[0].type_of(name) for name in self._columns]
            writer = pa.ipc.new_stream(
                pa.PythonFile(file, "w"), pa.schema(zip(self._columns, types, strict=True))
            )
        writer.close()
        return file
