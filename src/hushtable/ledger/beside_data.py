"""What lies beside data and tells whose they are: a ledger that is called like them, and notes of ledgers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from glob import has_magic, iglob
from itertools import islice
from pathlib import Path
from typing import cast

from hushtable.addresses import place_in, scheme_of

ODD = (OSError, ValueError, RuntimeError)
"""What paths raise that cannot be: zero bytes, loops of links, names in no encoding."""
MOST_FILES = 100_000
"""Files of a pattern that are looked at: more than a table has parts, and some seconds."""


def files_named(data: object) -> Iterator[Path]:
    """The files and folders that data lie in, by the names given: a pattern is followed to its files."""
    if isinstance(data, list | tuple):
        for each in cast("list[object]", data):
            yield from files_named(each)
    elif isinstance(data, str | os.PathLike):
        path = place_in(os.fspath(cast("str | os.PathLike[str]", data)))
        if scheme_of(path, ()) is None:
            yield Path(path)
            with suppress(*ODD):
                found = iglob(path, recursive=True) if has_magic(path) else ()  # noqa: PTH207
                yield from map(Path, islice(found, MOST_FILES))


class BesideData:
    """What lies beside one file, under the name given and those that links and a folder of parts give it."""

    def __init__(self, file: Path) -> None:
        self._file = file

    @property
    def ledger(self) -> Path | None:
        """A ledger that is called like the file, or like the folder whose part it is."""
        tried = (ledger for file in (*self._forms, *self._parts_of) for ledger in _ledgers(file))
        with suppress(*ODD):  # folders such as "." have no name to compare
            return next((ledger for ledger in tried if ledger.is_file()), None)
        return None

    @property
    def names(self) -> tuple[str, ...]:
        """What the file is called."""
        return tuple(dict.fromkeys(form.name for form in self._forms))

    def notes(self, ending: str, *, around: bool = True) -> Iterator[Path]:
        """Notes of ledgers in the folders of the file, and in those around them."""
        folders = [form.parent for form in self._forms]
        folders += [folder.parent for folder in folders] if around else []
        for folder in dict.fromkeys(folders):
            with suppress(*ODD):
                yield from sorted(folder.glob(f"*.{ending}"))

    @cached_property
    def _forms(self) -> tuple[Path, ...]:
        """The file as it was named, without links, and by its other names in the same folders."""
        found = [Path.cwd() / self._file]
        with suppress(*ODD):
            found.append(self._file.resolve())
        with suppress(*ODD):
            kept = self._file.stat()
            if kept.st_nlink > 1 and self._file.is_file():
                found += [path for folder in {f.parent for f in found} for path in _of_inode(folder, kept)]
        return tuple(dict.fromkeys(found))

    @property
    def _parts_of(self) -> Iterator[Path]:
        """The folders whose parts the forms may be: the one around it, and beyond folders such as ``year=2025``."""
        for form in self._forms:
            folder = form.parent
            while "=" in folder.name:
                folder = folder.parent
            yield folder


def _ledgers(file: Path) -> Iterator[Path]:
    """How the ledger of a file is called: with or without its ending, and without ``.gz`` before."""
    unpacked = file.with_suffix("") if file.suffix.lower() == ".gz" else file
    for name in dict.fromkeys((file, unpacked, *([unpacked.with_suffix("")] if unpacked.suffix else []))):
        yield Path(f"{name}.ledger")


def _of_inode(folder: Path, kept: os.stat_result) -> Iterator[Path]:
    """Names of one file in a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.inode() == kept.st_ino and entry.stat().st_dev == kept.st_dev:
                yield Path(entry.path)
