"""Wrong passwords: who has to wait after too many, so that guessing is slow and nobody can lock somebody else out.

They are counted by where they come from: an address, or a browser in which the same person has signed in before.  Such
a browser has a count of its own, so whoever shares an address with somebody and types wrong passwords for their name
does not keep them out.
"""

from __future__ import annotations

import secrets
import time
from typing import NamedTuple

from hushtable.errors import RefusedError
from hushtable.service.storage import TableRows, digest_of, new_id

WINDOW = 900.0
"""Seconds over which wrong passwords are counted."""
MOST_WRONG = {"pair": 5, "address": 50, "browser": 5}
"""Wrong passwords from one address for one name, from it for all names, and from a browser that is known, until the
next has to wait.  Counting them by name alone would let anybody lock somebody else out."""
REMEMBERED = 180 * 86400.0
"""Seconds that a browser is known: half a year, longer than people stay away."""


class SignInPlace(NamedTuple):
    """Where a password comes from: an address, and the secret of a browser that says it is known."""

    address: str
    browser: str | None = None


def require_calm(rows: TableRows, name: str, origin: SignInPlace) -> None:
    """Refuse the next password where there were too many wrong ones."""
    since = time.time() - WINDOW
    for kind, place in _places(rows, name, origin).items():
        found = rows.one("SELECT count(*) AS n FROM failure WHERE place = ? AND at > ?", place, since)
        if found is not None and found["n"] >= MOST_WRONG[kind]:
            raise RefusedError(
                "user.too-many-attempts",
                "There were too many wrong passwords from this address or browser.",
                f"Wait {round(WINDOW / 60)} minutes, or sign in from where you usually do.",
            )


def note_wrong(rows: TableRows, name: str, origin: SignInPlace) -> None:
    """Count a wrong password."""
    now = time.time()
    rows.run("DELETE FROM failure WHERE at < ?", now - WINDOW)
    for place in _places(rows, name, origin).values():
        rows.add("failure", id=new_id(), place=place, at=now)


def know(rows: TableRows, person: str, name: str, origin: SignInPlace) -> str | None:
    """Remember the browser of somebody who has just signed in: its new secret, or None where it has one."""
    if _is_known(rows, name, origin.browser):
        return None
    secret, ends = secrets.token_urlsafe(32), time.time() + REMEMBERED
    rows.run("DELETE FROM known_browser WHERE expires < ?", time.time())
    rows.add("known_browser", hash=digest_of(secret), person=person, expires=ends)
    return secret


def _is_known(rows: TableRows, name: str, browser: str | None) -> bool:
    if browser is None:
        return False
    asked = (
        "SELECT 1 AS one FROM known_browser b JOIN person p ON p.id = b.person "
        "WHERE b.hash = ? AND p.name = ? AND b.expires > ?"
    )
    return rows.one(asked, digest_of(browser), name, time.time()) is not None


def _places(rows: TableRows, name: str, origin: SignInPlace) -> dict[str, str]:
    """What is counted of an origin; of a browser that is known, itself alone."""
    if _is_known(rows, name, origin.browser):
        return {"browser": digest_of(f"browser\n{origin.browser}\n{name}")}
    return {"pair": digest_of(f"{origin.address}\n{name}"), "address": digest_of(origin.address)}
