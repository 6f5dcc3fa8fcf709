"""Which files a path, a glob or a list of them stands for, and whether they stay as they were.

Looks at names and existence only.  Messages repeat what the user typed and no other path.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from hushtable.addresses import is_file
from hushtable.errors import HushtableError, SourceError
from hushtable.kernel.sources.versioned import refuse_versioned_files

PARQUET = (".parquet", ".pq")
"""How the names of Parquet files end."""


@dataclass(frozen=True)
class DataFile:
    """A file and how to name it in a message."""

    path: Path
    shown: str
    stamp: tuple[int, ...]
    """Size, time of the last change and identity when the file was found: all passes must read one and the same."""

    def require_unchanged(self) -> None:
        """Refuse a file that is not the one that was found."""
        if _stamp(self.path) != self.stamp:
            raise self.changed()

    def changed(self) -> SourceError:
        """The refusal."""
        return SourceError(
            "source.changed", f"{self.shown} has changed since it was opened.", "Open it again."
        )

    @property
    def tabbed(self) -> bool:
        """Whether the name says that tabs separate the fields."""
        return self.path.name.lower().removesuffix(".gz").endswith(".tsv")

    @property
    def packed(self) -> bool:
        """Whether the name says that the file is compressed with gzip."""
        return self.path.name.lower().endswith(".gz")


def empty_file(shown: str) -> SourceError:
    """The refusal of a file without a byte: it has no names of columns, which is no fact about a row."""
    return SourceError(
        "source.empty-file", f"{shown} is empty.", "Check that the file was written to its end."
    )


def find(data: str | PathLike[str] | Sequence[str | PathLike[str]]) -> list[DataFile]:
    """All files, sorted within each glob."""
    typed = [data] if isinstance(data, str | PathLike) else list(data)
    if not typed:
        raise SourceError("source.missing-file", "The list of files is empty.", "Name at least one file.")
    return [file for item in typed for file in _matches(str(item))]


def shown(files: Sequence[DataFile]) -> str:
    """All of them, in a message."""
    return files[0].shown if len(files) == 1 else "the files"


def _matches(typed: str) -> list[DataFile]:
    path = Path(typed)
    if is_file(path):
        _refuse_parts([path])
        return [DataFile(path, repr(typed), _stamp(path))]
    found = sorted(glob.glob(typed, recursive=True)) if glob.has_magic(typed) else []  # noqa: PTH207
    files = [Path(name) for name in found if is_file(Path(name))]
    if not files:
        fix = "Check the path, or use a glob such as 'people/*.parquet' for a folder."
        raise SourceError("source.missing-file", f"There is no file {typed!r}.", fix)
    _refuse_parts(files)
    shown = (f"{typed!r} (file {i + 1} of {len(files)})" for i in range(len(files)))
    return [DataFile(file, name, _stamp(file)) for file, name in zip(files, shown, strict=True)]


def _refuse_parts(files: Sequence[Path]) -> None:
    """Raises for files that a table with versions may have written."""
    refuse_versioned_files([file for file in files if file.name.lower().endswith(PARQUET)])


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns, found.st_dev, found.st_ino


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
