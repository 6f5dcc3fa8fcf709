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
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from weakref import WeakSet

from hushtable.errors import LedgerError
from hushtable.ledger.payloads import unwritable


@dataclass(eq=False)
class Turn:
    """The right to work on one request, from taking its lock to giving it back."""

    file: IO[bytes]
    process: int

    @property
    def held(self) -> bool:
        """False once given back, and in a forked child."""
        return not self.file.closed and self.process == os.getpid()

    def require(self) -> None:
        """Refuse to go on without the lock."""
        if not self.held:
            raise in_progress()


_TURNS: WeakSet[Turn] = WeakSet()


def _let_go() -> None:
    """In a forked child: close what was inherited, or the lock would outlive its holder."""
    for turn in list(_TURNS):
        turn.file.close()


os.register_at_fork(after_in_child=_let_go)


@contextlib.contextmanager
def turn_of(folder: Path, request: str, *, wait: bool) -> Generator[Turn]:
    """Hold the lock of a request; refuses while another caller holds it, or waits for as long as that takes."""
    path = folder / f".{hashlib.sha256(request.encode()).hexdigest()[:32]}.lock"
    turn = _take(path, wait)
    try:
        yield turn
    finally:
        if turn.held:
            with contextlib.suppress(OSError):
                path.unlink()
            turn.file.close()


def _take(path: Path, wait: bool) -> Turn:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    while True:
        try:
            file = os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0)
        except OSError:
            raise unwritable(path.parent) from None
        turn = Turn(file, os.getpid())
        _TURNS.add(turn)
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                return turn
            file.close()
        except BlockingIOError:
            file.close()
            raise in_progress() from None
        except OSError:
            file.close()
            raise LedgerError(
                "ledger.no-locks",
                f"The file system of {path.parent} keeps no locks, so two processes could work on one request.",
                "Move the ledger to a local disk.",
            ) from None
        except BaseException:
            file.close()
            raise


def _is_at(file: IO[bytes], path: Path) -> bool:
    """Whether the locked file still has its name: its last holder may have removed it while this caller waited."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.lstat())
    except FileNotFoundError:
        return False


def in_progress() -> LedgerError:
    """The refusal of a request that another caller is working on."""
    return LedgerError(
        "ledger.in-progress",
        "Another process is working on this request at this moment; nothing was spent here.",
        "Wait until it has ended and ask again, or add --wait (wait=True); it then costs nothing more.",
    )
