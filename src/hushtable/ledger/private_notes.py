"""Where a curator's notes about a ledger lie: private files that are no part of it and of no release."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from hushtable.addresses import scheme_of
from hushtable.ledger.stores import STORES, Address, place_of

DATA, PREFLIGHTS = "data", "preflights"
"""Endings of the notes: where the data of a ledger lie, and what their preflights saw declared."""


def private_file(ledger: Address, ending: str) -> Path:
    """A note of the curator: beside a ledger that is a file; in the own folder for one that is a URL."""
    place = place_of(ledger)
    if scheme_of(ledger, STORES) is None:
        return Path(f"{place}.{ending}")
    return state_home() / f"{hashlib.sha256(place.encode()).hexdigest()[:32]}.{ending}"


def state_home() -> Path:
    """The curator's own folder, with the notes of ledgers that are no files."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "hushtable"


def carry_notes(source: Address, target: Address) -> None:
    """Let the notes of a ledger that moved go with it, so that what they refuse is refused there too.

    Notes that the new place has are left as they are.
    """
    for ending in (DATA, PREFLIGHTS):
        old, new = private_file(source, ending), private_file(target, ending)
        with suppress(OSError):  # the ledger has moved; notes are not worth an error
            if old.is_file() and not new.exists():
                new.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(old.read_bytes())
