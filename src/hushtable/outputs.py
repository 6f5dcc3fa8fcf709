"""Where results are written: places that can be written at all, and results that appear whole or not at all.

A result is made beside its place and moved there at the end, so that an interruption leaves nothing at the place or
the whole of it.  What a killed process left beside it is removed by the next that writes there.  Places are tried
before anything is spent.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import IO

_PREFIX = ".hush-"
_CANNOT_BE = (OSError, ValueError, RuntimeError)
"""What odd paths raise: missing or closed folders, zero bytes, names in no encoding, loops of links."""


def can_make(place: str | PathLike[str], *, parents: bool = False) -> bool:
    """Whether a file or folder of this name could be made: the folder above exists and takes files.

    With ``parents``, the folders above may be made too.
    """
    try:
        path = Path(place).absolute()
        str(path).encode()
        with suppress(FileNotFoundError):
            path.lstat()
        while parents and not is_taken(path.parent):
            path = path.parent
        descriptor, probe = _open_beside(path, 0o600)
    except _CANNOT_BE:
        return False
    os.close(descriptor)
    probe.unlink(missing_ok=True)
    return bool(path.name) and not (path.is_symlink() and not path.exists())


def is_taken(place: str | PathLike[str]) -> bool:
    """Whether anything lies here, also a link to nothing."""
    try:
        return os.path.lexists(place)
    except _CANNOT_BE:
        return False


def is_occupied(place: str | PathLike[str]) -> bool:
    """Whether anything but an empty folder lies here."""
    try:
        return is_taken(place) and any(Path(place).iterdir())
    except OSError:
        return True


def can_write(file: str | PathLike[str], *, parents: bool = False) -> bool:
    """Whether a file could be written here, new or instead of a regular one; folders and devices are left alone."""
    path = Path(file)
    return can_make(path, parents=parents) and (not path.exists() or path.is_file())


@contextmanager
def whole_file(place: Path, *, mode: int = 0o666) -> Generator[IO[bytes]]:
    """A file to write to; it takes its place when the block ends without an error."""
    _remove_leftovers(place)
    descriptor, fresh = _open_beside(place, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(descriptor)
            fresh.replace(place)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


@contextmanager
def whole_folder(place: Path) -> Generator[Path]:
    """A folder to fill; it takes its place, which may hold an empty folder, when the block ends without an error."""
    _remove_leftovers(place)
    lock, fresh = _make_beside(place)
    try:
        yield fresh
        fresh.rename(place)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        raise
    finally:
        os.close(lock)


def _open_beside(place: Path, mode: int) -> tuple[int, Path]:
    """A new file beside a place, locked for as long as it is open."""
    fresh = _beside(place)
    descriptor = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    _lock(descriptor)
    return (descriptor, fresh) if fresh.exists() else _open_beside(place, mode)


def _make_beside(place: Path) -> tuple[int, Path]:
    """The same with a folder."""
    fresh = _beside(place)
    fresh.mkdir()
    descriptor = os.open(fresh, os.O_RDONLY)
    _lock(descriptor)
    return (descriptor, fresh) if fresh.exists() else _make_beside(place)


def _lock(descriptor: int) -> None:
    """Keep leftovers of others apart from work in progress; where a file system has no locks, nothing is removed."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _beside(place: Path) -> Path:
    return place.absolute().with_name(f"{_mark(place)}{secrets.token_hex(8)}")


def _mark(place: Path) -> str:
    """How names begin that were made for a place; short, because names have a greatest length."""
    return f"{_PREFIX}{hashlib.sha256(os.fsencode(place.absolute().name)).hexdigest()[:16]}-"


def _remove_leftovers(place: Path) -> None:
    """Remove what a killed process made for this place: nobody holds its lock."""
    for left in place.absolute().parent.glob(f"{_mark(place)}*"):
        with suppress(OSError):
            lock = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            finally:
                os.close(lock)
