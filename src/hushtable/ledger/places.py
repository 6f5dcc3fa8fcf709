"""Where a ledger may lie: a regular file in an existing folder, reached without a symbolic link at its end.

Nothing here opens the file: closing a second descriptor of an SQLite file would drop the locks of this process.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hushtable.errors import LedgerError


def new_file(path: str | os.PathLike[str]) -> Path:
    """The path of a ledger to be created; refuses whatever exists there already."""
    place = _place(path)
    if _lstat(place) is not None:
        raise LedgerError(
            "ledger.exists",
            f"{place} exists already.",
            "Open it without a budget, or choose another file name for the new ledger.",
        )
    return place


def existing_file(path: str | os.PathLike[str]) -> Path:
    """The path of a ledger to be opened."""
    place = _place(path)
    found = _lstat(place)
    if found is None:
        raise LedgerError(
            "ledger.missing",
            f"There is no ledger at {place}.",
            f"Create it with `hush ledger create {place} --budget rho=0.5`, or correct the path.",
        )
    if stat.S_ISLNK(found.st_mode):
        raise LedgerError(
            "ledger.symlink",
            f"{place} is a symbolic link, so its payload folder and journal would lie elsewhere.",
            f"Give the file itself: {place.resolve()}",
        )
    if stat.S_ISDIR(found.st_mode):
        raise LedgerError(
            "ledger.is-folder", f"{place} is a folder, not a ledger.", "Give the ledger's file inside it."
        )
    if not stat.S_ISREG(found.st_mode):
        raise foreign(place)
    return place


def sync_folder(folder: Path) -> None:
    """Make a new or renamed name in a folder durable."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def foreign(place: Path) -> LedgerError:
    """The error for a file that is not a ledger of ours; it is never modified."""
    return LedgerError(
        "ledger.foreign",
        f"{place} is not a Hushtable ledger.",
        "Give the ledger's file, or another name to create a new one; this file was not touched.",
    )


def _place(path: str | os.PathLike[str]) -> Path:
    text = os.fspath(path)
    given = Path(text).expanduser() if text and "\0" not in text else None
    if given is None or not given.name or given.name == "..":
        raise LedgerError(
            "ledger.bad-path", "The ledger's path names no file.", "Give a path such as people.ledger."
        )
    folder = given.parent
    if not folder.is_dir():
        raise LedgerError(
            "ledger.no-folder",
            f"The folder {folder} of the ledger does not exist.",
            f"Create it with `mkdir -p {folder}`, or correct the path.",
        )
    return folder.resolve() / given.name


def _lstat(place: Path) -> os.stat_result | None:
    try:
        return place.lstat()
    except FileNotFoundError:
        return None
    except OSError:
        raise LedgerError(
            "ledger.unreadable", f"{place} cannot be reached.", "Check the permissions of its folder."
        ) from None
