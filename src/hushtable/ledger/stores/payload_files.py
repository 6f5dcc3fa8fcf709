"""The bytes that charges paid for, one file per charge in a folder beside the ledger.

A payload is durable under its final name before the ledger's entry about it is committed, so an entry never points
to nothing.  A file of a charge without such an entry is a draw that was lost: nobody has seen it and nothing reads it.
A file without even the charge was paid for in a later state of the ledger: it is never overwritten.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.ledger.failpoints import reach
from hushtable.ledger.stores.places import lstat, sync_folder, unreachable, unwritable
from hushtable.ledger.stores.store import Payload, older_than_payloads

_OF_CHARGE = re.compile(r"\.?([0-9]{1,19})\.(?:bin|[0-9a-f]{16}\.tmp)")
"""The name of a payload, or of one being written."""


@dataclass(frozen=True)
class PayloadFolder:
    """The payload folder of one ledger."""

    folder: Path

    def file(self, charge: int) -> Path:
        return self.folder / f"{charge}.bin"

    def present(self) -> list[int]:
        """The charges whose payloads lie in the folder, complete or not; to be asked for before the chain is read."""
        if not self.check():
            return []
        try:
            names = [file.name for file in self.folder.iterdir()]
        except OSError:
            raise unreachable(self.folder) from None
        return [int(match[1]) for match in map(_OF_CHARGE.fullmatch, names) if match]

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
        if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
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

    @contextlib.contextmanager
    def written(self, payload: Payload) -> Generator[Callable[[], None]]:
        """Write and sync a payload under a temporary name; the block is given what makes its name final."""
        self.prepare()
        temporary = self.folder / f".{payload.charge}.{secrets.token_hex(8)}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            try:
                with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
                    file.write(payload.content)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                raise unwritable(self.folder) from None
            reach("store.temporary")
            yield lambda: self._keep(temporary, payload)
        finally:
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)

    def _keep(self, temporary: Path, payload: Payload) -> None:
        """Give a file its final name; a file of another charge of that number stays."""
        final = self.file(payload.charge)
        if lstat(final) is not None and self.read(payload.charge) != payload.content:
            raise older_than_payloads(payload.charge)
        try:
            temporary.replace(final)
        except OSError:
            raise unwritable(self.folder) from None
        reach("store.renamed")

    def sync(self) -> None:
        """Make the names of all files durable."""
        try:
            sync_folder(self.folder)
        except OSError:
            raise unwritable(self.folder) from None

    def read(self, charge: int) -> bytes | None:
        """The bytes of a payload, if it is a file that can be read."""
        try:
            file = self.file(charge)
            return file.read_bytes() if stat.S_ISREG(file.lstat().st_mode) else None
        except OSError:
            return None
