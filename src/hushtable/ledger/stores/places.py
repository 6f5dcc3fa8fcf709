"""Where a ledger may lie: a regular file with one name, in an existing folder, and no symbolic link at its end.

Nothing here opens the file: closing a second descriptor of an SQLite file would drop the locks of this process.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.ledger.stores.store import missing

_JOURNALS = ("-journal", "-wal", "-shm")
"""Endings of the files that SQLite opens beside a database."""


def check_file(place: Path) -> None:
    """Refuse what cannot be opened as a ledger."""
    found = lstat(place)
    if found is None:
        raise missing(str(place))
    if stat.S_ISLNK(found.st_mode):
        raise LedgerError(
            "ledger.symlink",
            f"{place} is a symbolic link, so its payload folder and journal would lie elsewhere.",
            f"Give the file itself: {os.path.realpath(place)}",
        )
    if stat.S_ISDIR(found.st_mode):
        raise LedgerError(
            "ledger.is-folder", f"{place} is a folder, not a ledger.", "Give the ledger's file inside it."
        )
    if not stat.S_ISREG(found.st_mode):
        raise foreign(place)
    if found.st_nlink > 1 and _has_other_names(place, found):
        raise LedgerError(
            "ledger.hard-link",
            f"{place} has other names (hard links), each with a journal and a payload folder of its own.",
            "Copy it with its payload folder to a new place, and use that; delete the other names.",
        )
    check_journals(place)


def check_journals(place: Path) -> None:
    """Refuse a pipe, a socket, a link or a folder where SQLite would open a file beside the ledger."""
    for ending in _JOURNALS:
        journal = f"{place}{ending}"  # as text: every transaction looks, and making a path takes longer
        found = lstat(journal)
        if found is not None and not stat.S_ISREG(found.st_mode):
            raise LedgerError(
                "ledger.journal",
                f"{journal} is not a regular file, and the ledger's journal would be written there.",
                "Move it away, then check the ledger with `hush ledger verify L --head H`.",
            )


def sync_folder(folder: Path) -> None:
    """Make a new or renamed name in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def lstat(place: Path | str) -> os.stat_result | None:
    """What lies at a path, or None."""
    try:
        return os.lstat(place)
    except FileNotFoundError:
        return None
    except OSError:
        raise unreachable(place) from None


def foreign(place: Path) -> LedgerError:
    """The error for a file that is not a ledger of ours; it is never modified."""
    return LedgerError(
        "ledger.foreign",
        f"{place} is not a Hushtable ledger.",
        "Give the ledger's file, or another name to create a new one; this file was not touched.",
    )


def file_at(path: str | os.PathLike[str]) -> Path:
    """The file that a path names, there or not, in a folder that is there."""
    text = os.fspath(path)
    try:
        os.fsencode(text)
        given = Path(text).expanduser() if text and "\0" not in text else None
    except (UnicodeEncodeError, RuntimeError):
        given = None
    if given is None or not given.name or given.name == "..":
        raise LedgerError(
            "ledger.bad-path", "The ledger's path names no file.", "Give a path such as people.ledger."
        )
    folder = given.parent
    try:
        is_folder, resolved = folder.is_dir(), folder.resolve()
    except (OSError, RuntimeError):
        raise unreachable(folder) from None
    if not is_folder:
        raise LedgerError(
            "ledger.no-folder",
            f"The folder {folder} of the ledger does not exist.",
            f"Create it with `mkdir -p {folder}`, or correct the path.",
        )
    return resolved / given.name


def _has_other_names(place: Path, ledger: os.stat_result) -> bool:
    """Whether the file has names that its creation did not leave.

    A ledger is written under a temporary name and then linked to its own; a process that died in between, or is still
    there, leaves both.  The temporary one is removed now where that is possible.
    """
    pattern = re.compile(re.escape(f".{place.name}.") + r"[0-9a-f]{16}\.tmp")
    left = 0
    try:
        for other in place.parent.iterdir():
            found = lstat(other) if pattern.fullmatch(other.name) else None
            if found is not None and os.path.samestat(found, ledger):
                try:
                    other.unlink(missing_ok=True)
                except OSError:
                    left += 1
    except OSError:
        raise unreachable(place.parent) from None
    now = lstat(place)
    return now is not None and now.st_nlink - left > 1


def unreachable(place: Path | str) -> LedgerError:
    """The error for a folder or file that cannot be looked at."""
    return LedgerError(
        "ledger.unreadable", f"{place} cannot be opened.", "Check that it exists and may be read."
    )


def unwritable(place: Path) -> LedgerError:
    """The error for a folder or file that cannot be written."""
    return LedgerError(
        "ledger.unwritable",
        f"{place} cannot be written.",
        "Check its permissions and the free space on its disk, then try again.",
    )
