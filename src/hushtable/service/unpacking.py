"""What a Parquet file that somebody uploaded would fill the memory with: known before it is read whole."""

from __future__ import annotations

import io
from typing import Any

from hushtable.errors import UsageError

LEAST_BYTES, MOST_BYTES = 2, 8
"""Bytes of a value in a CSV file, a digit and a comma, and of a number in memory.  A Parquet file, which may be packed
a million times smaller, holds no more values and no more text than the largest CSV file could."""
ROWS = 65_536
"""Rows of which the text is measured at once: half a megabyte of lengths."""


def require_readable(content: bytes, most: int) -> None:
    """Refuse what is no Parquet, has lists, or holds more than a CSV file of ``most`` bytes could."""
    import pyarrow
    import pyarrow.parquet

    try:
        told: Any = pyarrow.parquet.read_metadata(io.BytesIO(content))
        columns = [told.schema.column(number) for number in range(told.num_columns)]
        if any(one.max_repetition_level or one.path != one.name for one in columns):
            raise UsageError(
                "upload.format", "A column of the file has several values in a row.", "Send plain columns."
            )
        values, packed = int(told.num_rows) * int(told.num_columns), _unpacked(told)
        if values > most // LEAST_BYTES or packed > most // LEAST_BYTES * MOST_BYTES:
            raise _too_many(most)
        texts = [one.path for one in columns if one.physical_type == "BYTE_ARRAY"]
        fixed = sum(max(0, one.length) for one in columns if one.physical_type == "FIXED_LEN_BYTE_ARRAY")
        if int(told.num_rows) * fixed + _text(content, texts, most) > most:
            raise _too_many(most)
    except (pyarrow.ArrowException, OSError, ValueError):
        raise UsageError("upload.format", "The file is no Parquet.", "Send CSV or Parquet.") from None


def _unpacked(told: Any) -> int:
    """Bytes of all pages when they are unpacked, as the file says."""
    groups = [told.row_group(number) for number in range(told.num_row_groups)]
    return sum(
        int(one.column(number).total_uncompressed_size) for one in groups for number in range(one.num_columns)
    )


def _text(content: bytes, names: list[str], most: int) -> int:
    """Bytes of all texts, up to where they are too many; one that stands in many rows is in memory once meanwhile."""
    import pyarrow.compute
    import pyarrow.parquet

    total = 0
    file: Any = pyarrow.parquet.ParquetFile(io.BytesIO(content), read_dictionary=names)
    for batch in file.iter_batches(ROWS, columns=names) if names else ():
        for column in batch.columns:
            lengths: Any = pyarrow.compute.binary_length(column.dictionary.cast("binary"))
            total += pyarrow.compute.sum(lengths.take(column.indices)).as_py() or 0
        if total > most:
            break
    return total


def _too_many(most: int) -> UsageError:
    return UsageError(
        "upload.too-many-values",
        f"The file holds more than {most // LEAST_BYTES:,} values, or more text than {most:,} letters.",
        "Send fewer rows, or only the columns of the schema.",
    )
