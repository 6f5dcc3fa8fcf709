"""The bytes that charges paid for, one file per charge in a folder beside the ledger.

A payload is durable under its final name before the ledger's entry about it is committed, so an entry never points
to nothing.  A file without an entry is a draw that was lost: nobody has seen it and nothing reads it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.ledger.failpoints import reach
from hushtable.ledger.places import sync_folder

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True)
class Pending:
    """A payload written and synced under a temporary name."""

    temporary: Path
    final: Path
    sha256: str

    def keep(self) -> None:
        """Give it its final name, durably."""
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

    def write(self, charge: int, payload: bytes) -> Pending:
        """Write and sync a payload under a temporary name."""
        self._make_folder()
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

    def _make_folder(self) -> None:
        try:
            self.folder.mkdir(mode=0o700)
        except FileExistsError:
            pass
        except OSError:
            raise unwritable(self.folder) from None
        else:
            sync_folder(self.folder.parent)
        if self.folder.is_symlink() or not self.folder.is_dir():
            raise LedgerError(
                "ledger.payload-folder",
                f"{self.folder} is not a folder of its own.",
                "Move away what lies at that name; the ledger keeps its payloads there.",
            )


def unwritable(place: Path) -> LedgerError:
    """The error for a folder or file that cannot be written."""
    return LedgerError(
        "ledger.unwritable",
        f"{place} cannot be written.",
        "Check its permissions and the free space on its disk, then try again.",
    )
