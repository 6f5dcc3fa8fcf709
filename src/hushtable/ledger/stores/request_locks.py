"""A request in progress belongs to one process: a lock on a small file beside the payloads, which dies with its holder.

The operating system frees the lock when the holder ends, however it ends.  It belongs to one opening of the file, so
threads and sessions of one process exclude each other too; a forked child lets go of what it inherited.  The file is
removed by its holder; whoever was waiting for a removed file looks again.  Where a file system keeps no such locks
between machines, the rules of the ledger still refuse a second charge or a late store.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import IO
from weakref import WeakSet

from hushtable.errors import LedgerError
from hushtable.ledger.stores.places import unwritable
from hushtable.ledger.stores.store import Turn, in_progress

_LOCKED: WeakSet[IO[bytes]] = WeakSet()


def _let_go() -> None:
    """In a forked child: close what was inherited, or the lock would outlive its holder."""
    for file in list(_LOCKED):
        file.close()


os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def turn_of(folder: Path, request: str, *, wait: bool) -> Generator[Turn]:
    """Hold the lock of a request in a folder that exists."""
    path = folder / f".{hashlib.sha256(request.encode()).hexdigest()[:32]}.lock"
    file = _take(path, wait)
    turn = Turn(lambda: not file.closed)
    try:
        yield turn
    finally:
        if turn.held:
            with contextlib.suppress(OSError):
                path.unlink()
            file.close()


def _take(path: Path, wait: bool) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
        except OSError:
            raise unwritable(path.parent) from None
        _LOCKED.add(file)
        with contextlib.ExitStack() as unless_taken:
            unless_taken.callback(file.close)
            try:
                fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(file, path):
                    unless_taken.pop_all()
                    return file
            except BlockingIOError:
                raise in_progress() from None
            except OSError:
                raise LedgerError(
                    "ledger.no-locks",
                    f"The file system of {path.parent} keeps no locks, so two processes could work on one request.",
                    "Move the ledger to a local disk.",
                ) from None


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whether the locked file still has its name: its last holder may have removed it while this caller waited."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except FileNotFoundError:
        return False
