"""File systems by the scheme of a place, and how a Parquet file in one of them is opened.

Credentials come from the environment of whoever reads, never from an address.
"""

from __future__ import annotations

import os
from typing import Any

from hushtable.kernel.sources.arrow import fs, pq

_BUFFER = 1 << 20
"""Bytes of a column that are read at a time, as for single files."""
_BUCKETS = ("s3", "s3a", "s3n")


def buckets() -> Any:
    """Buckets of S3, at the endpoint that the environment names."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return fs.S3FileSystem(**({"endpoint_override": endpoint} if endpoint else {}))


def placed(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it, which is taken letter for letter."""
    scheme, found, rest = address.partition("://")
    if not found:
        return fs.LocalFileSystem(), address.removeprefix("file:")
    if scheme == "file":
        return fs.LocalFileSystem(), f"/{rest.partition('/')[2]}"
    if scheme in _BUCKETS:
        return buckets(), rest
    authority, _, below = rest.partition("/")
    files, root = fs.FileSystem.from_uri(f"{scheme}://{authority}/")
    return files, f"{root.rstrip('/')}/{below}"


def opened_parquet(files: Any, path: str) -> Any:
    """A Parquet file whose columns are read a piece at a time."""
    return pq.ParquetFile(
        files.open_input_file(path),
        buffer_size=_BUFFER,
        pre_buffer=False,
        coerce_int96_timestamp_unit="us",
    )
