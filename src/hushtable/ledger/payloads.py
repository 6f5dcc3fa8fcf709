"""The bytes that charges paid for, one file per charge in a folder beside the ledger.

A payload is durable under its final name before the ledger's entry about it is committed, so an entry never points
to nothing.  A file of a charge without such an entry is a draw that was lost: nobody has seen it and nothing reads it.
A file without even the charge was paid for in a later state of the ledger: it is never overwritten.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.ledger.failpoints import reach
from hushtable.ledger.places import lstat, sync_folder

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_OF_CHARGE = re.compile(r"\.?([0-9]{1,19})\.(?:bin|[0-9a-f]{16}\.tmp)")
"""The name of a payload, or of one being written."""


@dataclass(frozen=True)
class Pending:
    """A payload written and synced under a temporary name."""

    temporary: Path
    final: Path
    sha256: str

    def keep(self) -> None:
        """Give it its final name, durably; a file of another charge of that number stays."""
        if _differs(self.final, self.sha256):
            raise older(self.final)
        try:
            self.temporary.replace(self.final)
            sync_folder(self.final.parent)
        except OSError:
            raise unwritable(self.final.parent) from None
        reach("store.renamed")

    def discard(self) -> None:
        """Remove the temporary file, if it is still there."""
        with contextlib.suppress(OSError):
            self.temporary.unlink(missing_ok=True)


@dataclass(frozen=True)
class Payloads:
    """The payload folder of one ledger."""

    folder: Path

    @classmethod
    def beside(cls, ledger: Path) -> Payloads:
        return cls(ledger.with_name(ledger.name + ".payloads"))

    def file(self, charge: int) -> Path:
        return self.folder / f"{charge}.bin"

    def present(self) -> list[int]:
        """The charges whose payloads lie in the folder, complete or not; to be asked for before the chain is read."""
        if not self.check():
            return []
        try:
            names = [file.name for file in self.folder.iterdir()]
        except OSError:
            raise _unlisted(self.folder) from None
        return [int(match[1]) for match in map(_OF_CHARGE.fullmatch, names) if match]

    def require_known(self, present: Iterable[int], charges: Container[int]) -> None:
        """Refuse payloads whose charge the ledger does not have: they were paid for in a later state of it."""
        for charge in present:
            if charge not in charges:
                raise older(self.file(charge))

    def check(self) -> bool:
        """Whether the folder exists; refused if it is not a folder, or if others may write into it."""
        found = lstat(self.folder)
        if found is None:
            return False
        if not stat.S_ISDIR(found.st_mode):
            raise LedgerError(
                "ledger.payload-folder",
                f"{self.folder} is not a folder of its own.",
                "Move away what lies at that name; the ledger keeps its payloads there.",
            )
        if os.name == "posix" and found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise LedgerError(
                "ledger.payload-folder-shared",
                f"Others may write into {self.folder}.",
                f"Type `chmod go-w {self.folder}`, then check the payloads with `hush ledger verify L`.",
            )
        return True

    def prepare(self) -> None:
        """Make the folder, or refuse the one that is there; to be called before a charge too."""
        if self.check():
            return
        try:
            with contextlib.suppress(FileExistsError):
                self.folder.mkdir(mode=0o700)
            sync_folder(self.folder.parent)
        except OSError:
            raise unwritable(self.folder) from None
        self.check()

    def write(self, charge: int, payload: bytes) -> Pending:
        """Write and sync a payload under a temporary name."""
        self.prepare()
        pending = Pending(
            self.folder / f".{charge}.{secrets.token_hex(8)}.tmp",
            self.file(charge),
            hashlib.sha256(payload).hexdigest(),
        )
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW
            with os.fdopen(os.open(pending.temporary, flags, 0o600), "wb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
        except OSError:
            pending.discard()
            raise unwritable(self.folder) from None
        reach("store.temporary")
        return pending

    def read(self, charge: int, sha256: str) -> bytes:
        """The bytes of a payload, checked against their hash."""
        problem = None
        payload = b""
        try:
            if not stat.S_ISREG(self.file(charge).lstat().st_mode):
                problem = "is not a regular file"
            else:
                payload = self.file(charge).read_bytes()
        except FileNotFoundError:
            problem = "is missing"
        except OSError:
            problem = "cannot be read"
        if problem is None and hashlib.sha256(payload).hexdigest() != sha256:
            problem = "is not what was stored"
        if problem is not None:
            raise LedgerError(
                "ledger.payload-damaged",
                f"The payload {self.file(charge)} {problem}.",
                f"Restore the folder {self.folder.name} from a copy; what it cost stays spent.",
            )
        return payload


def older(payload: Path) -> LedgerError:
    """The error for a payload that a later state of the ledger paid for."""
    return LedgerError(
        "ledger.older-than-payloads",
        f"The ledger is older than its payloads: {payload} was paid for in a later state of it.",
        "Restore the latest copy of the ledger; for a new ledger choose another name.",
    )


def _differs(place: Path, sha256: str) -> bool:
    """Whether other bytes than those lie at a path."""
    if lstat(place) is None:
        return False
    try:
        return hashlib.sha256(place.read_bytes()).hexdigest() != sha256
    except OSError:
        return True


def _unlisted(folder: Path) -> LedgerError:
    return LedgerError(
        "ledger.unreadable", f"{folder} cannot be listed.", "Check that it may be read, then try again."
    )


def unwritable(place: Path) -> LedgerError:
    """The error for a folder or file that cannot be written."""
    return LedgerError(
        "ledger.unwritable",
        f"{place} cannot be written.",
        "Check its permissions and the free space on its disk, then try again.",
    )
