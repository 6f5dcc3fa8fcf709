"""Which files a path, a glob or a list of them stands for, and of what kind they are.

Looks at names and existence only.  Messages repeat what the user typed and no other path.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hushtable.errors import HushtableError, SourceError

Kind = Literal["text", "parquet"]

_SUFFIXES: tuple[tuple[str, Kind], ...] = (
    (".csv", "text"),
    (".csv.gz", "text"),
    (".tsv", "text"),
    (".tsv.gz", "text"),
    (".parquet", "parquet"),
    (".pq", "parquet"),
)


@dataclass(frozen=True)
class DataFile:
    """A file and how to name it in a message."""

    path: Path
    shown: str

    @property
    def tabbed(self) -> bool:
        """Whether the name says that tabs separate the fields."""
        return self.path.name.lower().removesuffix(".gz").endswith(".tsv")

    @property
    def packed(self) -> bool:
        """Whether the name says that the file is compressed with gzip."""
        return self.path.name.lower().endswith(".gz")


def find(data: str | Path | Sequence[str | Path]) -> tuple[Kind, list[DataFile]]:
    """All files, sorted within each glob, and their common kind."""
    typed = [data] if isinstance(data, str | Path) else list(data)
    if not typed:
        raise SourceError("source.missing-file", "The list of files is empty.", "Name at least one file.")
    files = [file for item in typed for file in _matches(str(item))]
    kinds: set[Kind] = {_kind(file) for file in files}
    if len(kinds) > 1:
        raise SourceError(
            "source.mixed-kinds",
            "Text and Parquet files cannot be read as one table.",
            "Convert them to one kind.",
        )
    return kinds.pop(), files


def _matches(typed: str) -> list[DataFile]:
    path = Path(typed)
    if _is_file(path):
        return [DataFile(path, repr(typed))]
    found = sorted(glob.glob(typed, recursive=True)) if glob.has_magic(typed) else []  # noqa: PTH207
    files = [Path(name) for name in found if _is_file(Path(name))]
    if not files:
        fix = "Check the path, or use a glob such as 'people/*.parquet' for a folder."
        raise SourceError("source.missing-file", f"There is no file {typed!r}.", fix)
    return [DataFile(file, f"{typed!r} (file {i + 1} of {len(files)})") for i, file in enumerate(files)]


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _kind(file: DataFile) -> Kind:
    name = file.path.name.lower()
    for suffix, kind in _SUFFIXES:
        if name.endswith(suffix):
            return kind
    known = ", ".join(suffix for suffix, _ in _SUFFIXES)
    raise SourceError(
        "source.unknown-kind", f"The kind of the file {file.shown} is not known.", f"Known are: {known}."
    )


class Guard:
    """Swallows what an engine raises inside ``with guard:``, whose message may quote a row.

    ``raise_failure`` afterwards raises an error of ours that does not carry the engine's as its context.
    """

    def __init__(self, shown: str) -> None:
        self._shown = shown
        self._failed = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        if kind is None or issubclass(kind, HushtableError):
            return False
        if not issubclass(kind, Exception) and kind.__name__ != "PanicException":  # polars': no Exception
            return False
        self._failed = True
        return True

    def raise_failure(self) -> None:
        """Raises if anything was swallowed."""
        if self._failed:
            fix = "Check that it is complete, of the kind its name says, and that you may read it."
            raise SourceError("source.unreadable", f"The data in {self._shown} cannot be read.", fix)
