"""Backups of a service: its database, its ledgers with their payloads, its releases; taken while it runs, and in files.

The order makes a copy that can be restored: what refers to something else is copied before it.  First the database,
which names releases and requests, then the ledgers, which name payloads, then payloads and bundles, which never change.
Of a service on PostgreSQL, tables and the ledgers beside them are of one snapshot.  A restored ledger that is older
than one that is known would let what was spent be spent again, so it is refused, or restored with no budget left.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hushtable.addresses import scheme_of
from hushtable.errors import HushtableError, LedgerError, RefusedError, UsageError
from hushtable.ledger import Ledger, is_ledger_at, write_copy
from hushtable.outputs import is_occupied
from hushtable.service.backup_postgres import (
    fetch_tables,
    put_tables,
    require_no_tables,
    still_database,
)
from hushtable.service.catalogue import Catalogue
from hushtable.service.config import ServeConfig
from hushtable.service.storage import storage_at

FORMAT = "hushtable-backup-1"
MANIFEST = "backup.json"
PAYLOADS = ".payloads"
NEWER = ".newer-payloads"
"""The end of the name of a folder for payloads of entries that a closed ledger beside them does not have."""
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
    if is_occupied(out):
        raise RefusedError("backup.exists", f"{out} is not empty.", "Give --out another folder.")
    out.mkdir(parents=True, exist_ok=True)
    heads = _copy_all(config.database, out)
    shutil.copytree(config.folder, out / "folder", ignore=shutil.ignore_patterns("ledgers", ".hush-*"))
    written = {"format": FORMAT, "heads": heads}
    (out / MANIFEST).write_text(json.dumps(written, indent=1), encoding="utf-8")
    return BackupReport(str(out), heads)


def _copy_all(database: str, out: Path) -> dict[str, str]:
    """Copy the service's database, then the ledgers that it names; their heads."""
    with ExitStack() as held:
        snapshot = None
        if _is_file(database):
            _copy_database(database, out / "service.db")
        else:
            connection, snapshot = held.enter_context(still_database(database))
            fetch_tables(connection, out / "service.db")
        heads: dict[str, str] = {}
        for name, place in _ledgers(out / "service.db"):
            target, beside = out / f"{name}.ledger", place.partition("?")[0] == database.partition("?")[0]
            if _is_file(place):
                heads[name] = _copy_ledger(place, target)
            else:
                heads[name] = write_copy(place, target, snapshot=snapshot if beside else None)
        return heads


def restore_backup(
    config: ServeConfig, backup: Path, *, known: Iterable[str] = (), closed: bool = False
) -> BackupReport:
    """Put a backup where the configuration says the service is; nothing may be there.

    ``known`` are heads, and folders of releases, that were seen since; a ledger without them is older than
    what was spent.  So is one beside which newer payloads lie.  A ledger in PostgreSQL that is there and goes on from
    the copy stays as it is, with what was spent since.  With ``closed``, each ledger comes back with no budget
    left: what is there can be read, and nothing be spent until a curator raises it; newer payloads beside it are put
    aside.  Sign-ins and tokens end.
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
    copies = {name: backup / f"{name}.ledger" for name, _ in _ledgers(backup / "service.db")}
    places = {name: place for name, place in _ledgers(backup / "service.db") if copies[name].exists()}
    found = {name: Ledger.open(copies[name]) for name in places}
    stays = {name: there for name in places if (there := _there(name, places[name], found[name])) is not None}
    found |= stays
    _require_no_database(config.database)
    if not closed:
        _require_newest(found, places, heads)
        _require_no_other(Path(config.folder) / "releases", backup / "folder" / "releases")
    shutil.copytree(backup / "folder", config.folder, dirs_exist_ok=True)
    for name, place in places.items():
        if name not in stays:
            _put_ledger(copies[name], place, closed=closed)
        elif closed:
            close_ledger(place)
    _put_database(backup / "service.db", config.database)
    return BackupReport(str(backup), {name: ledger.head for name, ledger in found.items()})


def close_ledger(place: str) -> None:
    """Leave nothing to spend: what is left is set aside for ever, by an entry that everybody can see."""
    ledger = Ledger.open(place)
    left = ledger.remaining()
    if left.xi or left.rho or left.delta:
        ledger.reserve(cost=left, kind="restore", detail={"restored": "from a backup that may be old"})


def _there(name: str, place: str, copy: Ledger) -> Ledger | None:
    """The ledger at its place, if it is in PostgreSQL and goes on from the copy; any other one there is refused."""
    if not (Path(place).exists() if _is_file(place) else is_ledger_at(place)):
        return None
    if not _is_file(place):
        with suppress(LedgerError):
            return Ledger.open(place, head=copy.head)
    raise RefusedError(
        "restore.exists", f"The ledger of {name} is there already.", "Move it away, and its payloads with it."
    )


def _require_no_database(database: str) -> None:
    if not _is_file(database):
        require_no_tables(database)
    elif Path(database).exists():
        raise RefusedError("restore.exists", "The service's database is there already.", "Move it away.")


def _require_newest(found: dict[str, Ledger], places: dict[str, str], heads: list[str]) -> None:
    hashes = {entry.hash for ledger in found.values() for entry in ledger.history()}
    for head in heads:
        if head not in hashes:
            raise _older("a known head")
    for name, ledger in found.items():
        if not _is_file(places[name]):
            continue  # there an entry and its payload are written, and removed, together
        own = Path(f"{ledger.path}{PAYLOADS}")
        if _others(places[name], own) or list(Path(f"{places[name]}{NEWER}").glob("*.bin")):
            raise _older("a payload beside it")


def _others(place: str, own: Path) -> list[Path]:
    """Payloads beside a ledger's place that the copy does not have."""
    return [file for file in Path(f"{place}{PAYLOADS}").glob("*.bin") if not (own / file.name).exists()]


def _require_no_other(beside: Path, own: Path) -> None:
    """Refuse where a release lies that the copy does not have."""
    if {place.name for place in beside.glob("*")} - {place.name for place in own.glob("*")}:
        raise _older("a release beside it")


def _put_ledger(copy: Path, address: str, *, closed: bool) -> None:
    """A ledger of the copy at its place, all at once: were it interrupted, none would be there that can be spent."""
    if not _is_file(address):
        with TemporaryDirectory(prefix="hush-restore-") as folder:
            file = Path(folder) / copy.name
            _copy_ledger(str(copy), file)
            if closed:
                close_ledger(str(file))
            write_copy(file, address)
        return
    place = Path(address)
    beside = place.with_name(f"{place.name}{RESTORING}")
    _remove_ledger(beside)
    _copy_ledger(str(copy), beside)
    if closed:
        close_ledger(str(beside))
    payloads = Path(f"{beside}{PAYLOADS}")
    for file in _others(
        address, payloads
    ):  # of a later state: the ledger would be refused as older than they are
        aside = Path(f"{address}{NEWER}")
        aside.mkdir(mode=0o700, exist_ok=True)
        file.replace(aside / file.name)
    if payloads.exists():
        shutil.copytree(payloads, f"{place}{PAYLOADS}", dirs_exist_ok=True)
    beside.replace(place)
    _remove_ledger(beside)


def _remove_ledger(place: Path) -> None:
    shutil.rmtree(f"{place}{PAYLOADS}", ignore_errors=True)
    for end in ("", "-journal"):
        Path(f"{place}{end}").unlink(missing_ok=True)


def _put_database(copy: Path, address: str) -> None:
    """The database of the copy at its place, when its sign-ins and tokens have ended."""
    if not _is_file(address):
        with TemporaryDirectory(prefix="hush-restore-") as folder:
            file = Path(folder) / copy.name
            _copy_database(str(copy), file)
            _end_secrets(str(file))
            put_tables(file, address)
        return
    place = Path(address)
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
    """Whether a ledger or the service's database is a file."""
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
