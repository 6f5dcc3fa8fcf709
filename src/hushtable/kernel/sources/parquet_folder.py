"""Parquet files in a folder or a bucket, with columns in the names of folders where these are declared.

``parquet:FOLDER?partitions=year,sex`` and ``s3://BUCKET/FOLDER?partitions=year`` read all Parquet files below.  A
partition column must be declared to be one, and its values are text, as in a file of text; a declared column that a
file holds too is refused, because the two may disagree.  Which files there are, and how large and old they are, is
found out once, and any change between passes is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from hushtable.errors import SchemaError, SourceError
from hushtable.kernel.counter import Header
from hushtable.kernel.sources.arrow import fs, pa
from hushtable.kernel.sources.file_systems import buckets, opened_parquet
from hushtable.kernel.sources.files import PARQUET, Guard
from hushtable.kernel.sources.lake_url import LakeUrl
from hushtable.kernel.sources.opener import TableOpener
from hushtable.kernel.sources.row_tables import TYPED_ROWS, ArrowBlock, described
from hushtable.kernel.sources.versioned import above, refuse_versioned_files, refuse_versions
from hushtable.schema import Schema

_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class _Part:
    """A file, what its folders say, and what it looked like when it was found."""

    path: str
    stamp: tuple[int, int]
    values: dict[str, str | None]


class ParquetFolder:
    """All Parquet files below a place."""

    block = TYPED_ROWS
    shown = "the folder"

    def __init__(self, scheme: str, url: str) -> None:
        address = LakeUrl.read(url, scheme, ["partitions"])
        self._columns = [name for name in address.options.get("partitions", "").split(",") if name]
        self._files, self._root = _file_system(scheme, address.place)
        self._parts = self._found()
        if not self._parts:
            fix = "Check the place, and that you may read it."
            raise SourceError("source.missing-file", "There are no Parquet files at this place.", fix)
        self.headers = [
            described(f"File {k} of the folder", lambda part=part, k=k: self._header(k, part))
            for k, part in enumerate(self._parts, start=1)
        ]

    def _found(self) -> list[_Part]:
        """Files by name; what begins with a point or an underscore is no data, as elsewhere."""
        guard, infos = Guard(self.shown), list[Any]()
        with guard:
            info = self._files.get_file_info(self._root)
            if info.type == fs.FileType.File:
                infos = [info]
            elif info.type == fs.FileType.Directory:
                infos = self._files.get_file_info(fs.FileSelector(self._root, recursive=True))
        guard.raise_failure()
        self._refuse_versions(infos)
        parts: list[_Part] = []
        for info in sorted(infos, key=lambda info: info.path):
            below = info.path.removeprefix(self._root).strip("/").split("/")
            hidden = any(name.startswith((".", "_")) and "=" not in name for name in below)
            if info.type == fs.FileType.File and info.path.lower().endswith(PARQUET) and not hidden:
                parts.append(_Part(info.path, (info.size, info.mtime_ns), self._values(below[:-1])))
        return parts

    def _refuse_versions(self, infos: Sequence[Any]) -> None:
        """Raises for files of a table with versions; a bucket is asked for those folders alone that were not listed."""
        if isinstance(self._files, fs.LocalFileSystem):
            refuse_versioned_files([Path(path) for path in (self._root, *(info.path for info in infos))])
            return
        listed: dict[str, list[str]] = {}
        for info in infos:
            listed.setdefault(info.path.rpartition("/")[0], []).append(info.base_name)

        def holds(folder: str, ending: str) -> bool:
            inside = folder.startswith(f"{self._root}/")
            found = listed.get(folder, []) if inside else self._names_in(folder)
            return any(name.endswith(ending) for name in found)

        refuse_versions(sorted({*above(self._root), *listed}), holds)

    def _names_in(self, folder: str) -> list[str]:
        try:
            return [info.base_name for info in self._files.get_file_info(fs.FileSelector(folder))]
        except OSError:  # there is none, or it is not ours to list
            return []

    def _values(self, folders: Sequence[str]) -> dict[str, str | None]:
        """What folders say of the declared columns."""
        said = [name.split("=", 1) for name in folders if "=" in name]
        named = {unquote(name): unquote(value) for name, value in said}
        twice = [
            name for name in self._columns if [unquote(n).lower() for n, _ in said].count(name.lower()) > 1
        ]
        if twice:
            raise SchemaError(
                "source.partition-twice",
                f"A path says {twice[0]!r} twice.",
                "Keep one folder of each name, in capital or small letters, on a path.",
            )
        lacking = [name for name in self._columns if name not in named]
        if lacking:
            raise SchemaError(
                "source.no-partition",
                f"A file is in no folder that says its {lacking[0]!r}.",
                "Declare as `partitions` what every path has, as NAME=VALUE.",
            )
        return {name: None if named[name] == _NULL else named[name] for name in self._columns}

    def _header(self, number: int, part: _Part) -> Header:
        found = self._open(part)
        names, types = list(found.schema_arrow.names), list(found.schema_arrow.types)
        lower = {name.lower() for name in names}
        both = [name for name in self._columns if name.lower() in lower]
        if both:
            raise SchemaError(
                "source.partition-in-file",
                f"The partition column {both[0]!r} is in a file of the folder too, where it may say something else.",
                "Leave it out of `partitions`, or out of the files.",
            )
        leaves = [found.metadata.schema.column(k) for k in range(found.metadata.num_columns)]
        rounded = {leaf.path: "INT96" for leaf in leaves if leaf.physical_type == "INT96"}
        text = [pa.string()] * len(self._columns)
        return Header(f"File {number} of the folder", [*names, *self._columns], [*types, *text], rounded)

    def _open(self, part: _Part) -> Any:
        return opened_parquet(self._files, part.path)

    def blocks(self, columns: Sequence[str], size: int) -> Iterator[ArrowBlock]:
        """All rows, file by file."""
        self._require_unchanged()
        inside = [name for name in columns if name not in self._columns]
        for part in self._parts:
            for batch in self._open(part).iter_batches(size, columns=inside, use_threads=False):
                yield ArrowBlock([self._column(batch, part, name) for name in columns])
        self._require_unchanged()

    def _column(self, batch: Any, part: _Part, name: str) -> Any:
        if name not in self._columns:
            return batch.column(name)
        return pa.repeat(pa.scalar(part.values[name], pa.string()), batch.num_rows)

    def _require_unchanged(self) -> None:
        if self._found() != self._parts:
            raise SourceError(
                "source.changed",
                "The files of the folder have changed since it was opened.",
                "Open it again.",
            )


class ParquetFolderOpener(TableOpener):
    """Folders on this machine."""

    name = "parquet folder"
    what = "parquet:FOLDER"
    schemes = ("parquet",)

    def table(self, data: str, schema: Schema | None) -> ParquetFolder:
        return ParquetFolder("parquet", data)


class S3Opener(TableOpener):
    """Folders and files in a bucket; credentials come from the environment, never from the address."""

    name = "s3"
    what = "s3://BUCKET/FOLDER"
    schemes = ("s3",)
    slashes = True

    def table(self, data: str, schema: Schema | None) -> ParquetFolder:
        return ParquetFolder("s3", data)


def _file_system(scheme: str, place: str) -> tuple[Any, str]:
    """A file system and a path in it."""
    if scheme != "s3":
        return fs.LocalFileSystem(), place.rstrip("/")
    path = place.removeprefix("//").strip("/")
    if "@" in path.partition("/")[0]:
        raise SourceError(
            "source.password-in-url",
            "The address of a bucket holds a credential.",
            "Leave it out; use the environment (AWS_PROFILE, AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL).",
        )
    return buckets(), path
