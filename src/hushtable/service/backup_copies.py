"""Backups of a service in files: its database, its ledgers with their payloads, its releases; taken while it runs.

The order makes a copy that can be restored: what refers to something else is copied before it.  First the database,
which names releases and requests, then the ledgers, which name payloads, then payloads and bundles, which never change.
A restored ledger that is older than one that is known would let what was spent be spent again, so it is refused, or
restored with no budget left.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushtable.addresses import scheme_of
from hushtable.errors import HushtableError, RefusedError, UsageError
from hushtable.ledger import Ledger
from hushtable.outputs import is_occupied
from hushtable.service.catalogue import Catalogue
from hushtable.service.config import ServeConfig
from hushtable.service.storage import storage_at

FORMAT = "hushtable-backup-1"
MANIFEST = "backup.json"
PAYLOADS = ".payloads"
RESTORING = ".restoring"
"""The end of the name of what is not whole yet."""


@dataclass(frozen=True)
class BackupReport:
    """What a backup holds: the head of each ledger, by dataset."""

    folder: str
    heads: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"folder": self.folder, "heads": dict(self.heads)}


def make_backup(config: ServeConfig, out: Path) -> BackupReport:
    """Copy a running service into a new folder."""
    if scheme_of(config.database, ()) is not None:
        raise UsageError(
            "backup.postgresql",
            "The service's database is PostgreSQL, which has backups of its own.",
            "Use pg_dump or continuous archiving; ledgers there come along, and their heads tell old copies.",
        )
    if is_occupied(out):
        raise RefusedError("backup.exists", f"{out} is not empty.", "Give --out another folder.")
    out.mkdir(parents=True, exist_ok=True)
    _copy_database(config.database, out / "service.db")
    heads = {
        name: _copy_ledger(place, out / f"{name}.ledger") if _is_file(place) else Ledger.open(place).head
        for name, place in _ledgers(out / "service.db")
    }
    shutil.copytree(config.folder, out / "folder", ignore=shutil.ignore_patterns("ledgers", ".hush-*"))
    written = {"format": FORMAT, "heads": heads}
    (out / MANIFEST).write_text(json.dumps(written, indent=1), encoding="utf-8")
    return BackupReport(str(out), heads)


def restore_backup(
    config: ServeConfig, backup: Path, *, known: Iterable[str] = (), closed: bool = False
) -> BackupReport:
    """Put a backup where the configuration says the service is; nothing may be there.

    ``known`` are heads, and folders of releases, that were seen since; a ledger without them is older than
    what was spent.  So is one beside which newer payloads lie.  With ``closed``, each ledger comes back with no budget
    left: what is there can be read, and nothing be spent until a curator raises it.  Sign-ins and tokens end.
    """
    try:
        manifest = json.loads((backup / MANIFEST).read_text(encoding="utf-8"))
        if manifest["format"] != FORMAT:
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            "backup.foreign", f"{backup} is no backup.", "Give a folder of `hush backup`."
        ) from None
    heads = [_head(word) for word in known]
    places = {name: place for name, place in _ledgers(backup / "service.db") if _is_file(place)}
    for name, place in places.items():
        if Path(place).exists():
            raise RefusedError(
                "restore.exists",
                f"The ledger of {name} is there already.",
                "Move it away, and its payloads with it.",
            )
    if Path(config.database).exists():
        raise RefusedError("restore.exists", "The service's database is there already.", "Move it away.")
    found = {name: Ledger.open(backup / f"{name}.ledger") for name in places}
    if not closed:
        _require_newest(found, places, heads)
        _require_no_other(Path(config.folder) / "releases", backup / "folder" / "releases")
    shutil.copytree(backup / "folder", config.folder, dirs_exist_ok=True)
    for name, place in places.items():
        _put_ledger(backup / f"{name}.ledger", Path(place), closed=closed)
    _put_database(backup / "service.db", Path(config.database))
    return BackupReport(str(backup), {name: ledger.head for name, ledger in found.items()})


def close_ledger(place: str) -> None:
    """Leave nothing to spend: what is left is set aside for ever, by an entry that everybody can see."""
    ledger = Ledger.open(place)
    left = ledger.remaining()
    if left.xi or left.rho or left.delta:
        ledger.reserve(cost=left, kind="restore", detail={"restored": "from a backup that may be old"})


def _require_newest(found: dict[str, Ledger], places: dict[str, str], heads: list[str]) -> None:
    hashes = {entry.hash for ledger in found.values() for entry in ledger.history()}
    for head in heads:
        if head not in hashes:
            raise _older("a known head")
    for name, ledger in found.items():
        beside = Path(f"{places[name]}{PAYLOADS}")
        own = {file.name for file in Path(f"{ledger.path}{PAYLOADS}").glob("*.bin")}
        if {file.name for file in beside.glob("*.bin")} - own:
            raise _older("a payload beside it")


def _require_no_other(beside: Path, own: Path) -> None:
    """Refuse where a release lies that the copy does not have."""
    if {place.name for place in beside.glob("*")} - {place.name for place in own.glob("*")}:
        raise _older("a release beside it")


def _put_ledger(copy: Path, place: Path, *, closed: bool) -> None:
    """A ledger of the copy at its place, all at once: were it interrupted, none would be there that can be spent."""
    beside = place.with_name(f"{place.name}{RESTORING}")
    _remove_ledger(beside)
    _copy_ledger(str(copy), beside)
    if closed:
        close_ledger(str(beside))
    payloads = Path(f"{beside}{PAYLOADS}")
    if payloads.exists():
        shutil.copytree(payloads, f"{place}{PAYLOADS}", dirs_exist_ok=True)
    beside.replace(place)
    _remove_ledger(beside)


def _remove_ledger(place: Path) -> None:
    shutil.rmtree(f"{place}{PAYLOADS}", ignore_errors=True)
    for end in ("", "-journal"):
        Path(f"{place}{end}").unlink(missing_ok=True)


def _put_database(copy: Path, place: Path) -> None:
    """The database of the copy at its place, when its sign-ins and tokens have ended."""
    beside = place.with_name(f"{place.name}{RESTORING}")
    beside.unlink(missing_ok=True)
    _copy_database(str(copy), beside)
    _end_secrets(str(beside))
    beside.replace(place)


def _end_secrets(database: str) -> None:
    """End the sign-ins and tokens of a copy: one that was ended since would work again."""
    with closing(sqlite3.connect(database)) as copy, copy:
        for statement in ("DELETE FROM sign_in", "DELETE FROM known_browser", "UPDATE token SET revoked = 1"):
            copy.execute(statement)


def _is_file(place: str) -> bool:
    """Whether a ledger is a file, and part of the copy; one in PostgreSQL is backed up with its database."""
    return scheme_of(place, ()) is None


def _older(what: str) -> RefusedError:
    return RefusedError(
        "restore.older",
        f"The backup is older than {what}: what was spent since would be spent again.",
        "Restore a newer backup, or add --closed to come back with no budget left.",
    )


def _head(word: str) -> str:
    """A head, or that of a release in a folder."""
    place = Path(word)
    if not place.is_dir():
        return word
    from hushtable.release import QueryRelease, Release

    try:
        card = Release.load(place).card
    except HushtableError as error:
        try:
            card = QueryRelease.load(place).card
        except HushtableError:
            raise error from None
    return str(card.ledger.head)


def _ledgers(database: Path) -> list[tuple[str, str]]:
    storage = storage_at(str(database))
    try:
        return [(one.name, one.ledger_address) for one in Catalogue(storage).all()]
    finally:
        storage.close()


def _copy_database(source: str, target: Path) -> None:
    try:
        with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
            old.backup(new)
            new.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error:
        raise RefusedError(
            "backup.database", "The service's database cannot be read.", "Look at its file."
        ) from None


def _copy_ledger(source: str, target: Path) -> str:
    """Copy a ledger of a file with the payloads that its entries name; the head of the copy."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(source)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)
    target.chmod(0o600)
    payloads = Path(f"{source}{PAYLOADS}")
    if payloads.exists():
        shutil.copytree(payloads, f"{target}{PAYLOADS}", dirs_exist_ok=True)
    try:
        return Ledger.open(target).head
    except HushtableError as error:
        if error.code != "ledger.older-than-payloads":
            raise
        return _without_newer(target)


def _without_newer(target: Path) -> str:
    """Payloads of charges that were made while copying are no part of the copy."""
    with closing(sqlite3.connect(target)) as copy:
        (last,) = copy.execute("SELECT max(number) FROM entry").fetchone()
    for file in Path(f"{target}{PAYLOADS}").glob("*.bin"):
        if file.stem.isdigit() and int(file.stem) > last:
            file.unlink()
    return Ledger.open(target).head
