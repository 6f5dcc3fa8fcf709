"""People, their roles, and how they prove who they are: passwords, tokens and sign-ins of browsers.

Secrets are stored as hashes: passwords by argon2id; tokens and sign-ins, which are random, by SHA-256.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hushtable.errors import RefusedError, UsageError
from hushtable.lazily import Later
from hushtable.service.roles import Role, Scope
from hushtable.service.storage import Record, Storage, TableRows, digest_of, new_id
from hushtable.service.wrong_passwords import SignInPlace, know, note_wrong, require_calm

argon2 = Later("argon2")

SHORTEST = 12
"""Letters of a password: the least that current guidance (NIST SP 800-63B) asks of one that stands alone, and more."""
LONGEST = 1000
"""Letters of a password that are hashed at all: longer ones would only cost time."""
SIGNED_IN = 12 * 3600.0
"""Seconds that a browser stays signed in: a working day."""
LONGEST_TOKEN = 366 * 86400.0
"""Seconds until the last token ends: whoever needs one longer looks at it once a year."""


@dataclass(frozen=True)
class User:
    """Somebody who may sign in."""

    id: str
    name: str
    founder: bool
    """Whether they may make new datasets."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"name": self.name, "founder": self.founder}


@dataclass(frozen=True)
class Caller:
    """Who asks: a person, and what the token or browser that speaks for them may do."""

    person: User
    scopes: frozenset[Scope]
    csrf: str | None = None
    """The token that a browser's forms carry; None for a program's token, which no other site can send."""


@dataclass(frozen=True)
class NewToken:
    """A token on the one occasion when its secret is known."""

    id: str
    secret: str
    label: str
    scopes: tuple[str, ...]
    expires: float

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, with the secret."""
        told = {"id": self.id, "token": self.secret, "label": self.label}
        return told | {"scopes": list(self.scopes), "expires": self.expires}


@cache
def _hasher() -> Any:
    return argon2.PasswordHasher()


@cache
def _nobody() -> str:
    """A hash to compare with where there is no such person, so that this takes as long."""
    return _hasher().hash(secrets.token_hex(16))


class Users:
    """The people of a service."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def add(
        self,
        name: str,
        password: str | None = None,
        *,
        founder: bool = False,
        issuer: str | None = None,
        subject: str | None = None,
    ) -> User:
        """Somebody new, with a password or known to a provider of sign-ins."""
        if not (0 < len(name) <= 60 and name.isprintable() and name == name.strip() and "/" not in name):
            raise UsageError(
                "user.name",
                "The name is empty, too long, or has a slash or characters that cannot be printed.",
                "Use letters, digits and punctuation, for example maria.",
            )
        hashed = None if password is None else _hasher().hash(checked_password(password))
        person = User(new_id(), name, founder)
        with self._storage.writing() as rows:
            row = {"id": person.id, "name": name, "password": hashed, "issuer": issuer, "subject": subject}
            if not rows.add("person", **row, founder=int(founder), disabled=0):
                raise RefusedError("user.exists", "Somebody has this name already.", "Choose another.")
        return person

    def share_password(self, person: User, *others: User) -> None:
        """Let others sign in by the password of a person: for made-up people, because each new hash takes a while."""
        shared = "UPDATE person SET password = (SELECT password FROM person WHERE id = ?) WHERE id = ?"
        with self._storage.writing() as rows:
            for one in others:
                rows.run(shared, person.id, one.id)

    def named(self, name: str) -> User | None:
        """The person of a name."""
        with self._storage.reading() as rows:
            return _person(rows.one("SELECT * FROM person WHERE name = ? AND disabled = 0", name))

    def known_to(self, issuer: str, subject: str) -> User | None:
        """The person whom a provider calls by a subject."""
        with self._storage.reading() as rows:
            found = "SELECT * FROM person WHERE issuer = ? AND subject = ? AND disabled = 0"
            return _person(rows.one(found, issuer, subject))

    def set_password(self, person: User, password: str) -> None:
        """Another password; all sign-ins of the person end."""
        hashed = _hasher().hash(checked_password(password))
        with self._storage.writing() as rows:
            rows.run("UPDATE person SET password = ? WHERE id = ?", hashed, person.id)
            rows.run("DELETE FROM sign_in WHERE person = ?", person.id)

    def with_password(self, name: str, password: str, place: SignInPlace) -> User:
        """The person of a name and password; refused after too many wrong ones from the same place."""
        with self._storage.reading() as rows:
            require_calm(rows, name, place)
            row = rows.one("SELECT * FROM person WHERE name = ? AND disabled = 0", name)
        kept = row["password"] if row is not None else None
        fits = _fits(kept or _nobody(), password) and kept is not None
        found = _person(row)
        if not fits or found is None:
            with self._storage.writing() as rows:
                note_wrong(rows, name, place)
            raise wrong_password()
        return found

    def known_browser(self, person: User, place: SignInPlace) -> str | None:
        """A secret by which the browser of somebody who has just signed in is known; None where it has one."""
        with self._storage.writing() as rows:
            return know(rows, person.id, person.name, place)

    def sign_in(self, person: User) -> tuple[str, str]:
        """A new sign-in of a browser: the secret of its cookie, and the token of its forms."""
        secret, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(24)
        with self._storage.writing() as rows:
            rows.run("DELETE FROM sign_in WHERE expires < ?", time.time())
            ends = time.time() + SIGNED_IN
            rows.add("sign_in", hash=digest_of(secret), person=person.id, csrf=csrf, expires=ends)
        return secret, csrf

    def sign_out(self, secret: str) -> None:
        """End the sign-in of a cookie."""
        with self._storage.writing() as rows:
            rows.run("DELETE FROM sign_in WHERE hash = ?", digest_of(secret))

    def by_cookie(self, secret: str) -> Caller | None:
        """Who a browser's cookie speaks for."""
        row = self._speaks_for("sign_in", "csrf", secret)
        return None if row is None else Caller(_user(row), frozenset(Scope), row["csrf"])

    def by_token(self, secret: str) -> Caller | None:
        """Who a program's token speaks for."""
        row = self._speaks_for("token", "scopes", secret, " AND s.revoked = 0")
        if row is None:
            return None
        return Caller(_user(row), frozenset(Scope(word) for word in row["scopes"].split()))

    def _speaks_for(self, table: str, column: str, secret: str, more: str = "") -> Record | None:
        """The person of a secret that has not ended, and a column beside it."""
        with self._storage.reading() as rows:
            return rows.one(
                f"SELECT p.*, s.{column} FROM {table} s JOIN person p ON p.id = s.person "
                f"WHERE s.hash = ? AND s.expires > ? AND p.disabled = 0{more}",
                digest_of(secret),
                time.time(),
            )

    def new_token(self, person: User, label: str, scopes: Sequence[Scope], seconds: float) -> NewToken:
        """A token, whose secret is never seen again."""
        if not 0 < seconds <= LONGEST_TOKEN:
            raise UsageError("user.token-life", "A token lives up to a year.", "Give fewer days.")
        words = tuple(scope.value for scope in Scope if scope in scopes)
        made = NewToken(
            new_id(), f"hush_{secrets.token_urlsafe(32)}", label, words, float(int(time.time() + seconds))
        )
        with self._storage.writing() as rows:
            rows.add(
                "token",
                id=made.id,
                hash=digest_of(made.secret),
                person=person.id,
                label=label,
                scopes=" ".join(words),
                expires=made.expires,
                revoked=0,
            )
        return made

    def tokens(self, person: User) -> list[Record]:
        """A person's tokens without their secrets."""
        with self._storage.reading() as rows:
            asked = "SELECT id, label, scopes, expires, revoked FROM token WHERE person = ? ORDER BY id"
            return rows.all(asked, person.id)

    def revoke(self, person: User, token: str) -> bool:
        """End a token of a person; whether there is one."""
        with self._storage.writing() as rows:
            return rows.run("UPDATE token SET revoked = 1 WHERE id = ? AND person = ?", token, person.id) > 0

    def role(self, person: User, dataset: str) -> Role | None:
        """A person's role in a dataset."""
        with self._storage.reading() as rows:
            asked = "SELECT role FROM member WHERE person = ? AND dataset = ?"
            found = rows.one(asked, person.id, dataset)
        return None if found is None else Role(found["role"])

    def roles(self, person: User) -> dict[str, Role]:
        """A person's roles by dataset."""
        with self._storage.reading() as rows:
            asked = "SELECT dataset, role FROM member WHERE person = ? ORDER BY dataset"
            return {row["dataset"]: Role(row["role"]) for row in rows.all(asked, person.id)}

    def members(self, dataset: str) -> dict[str, Role]:
        """The roles in a dataset by name."""
        joined = "member m JOIN person p ON p.id = m.person"
        asked = f"SELECT p.name, m.role FROM {joined} WHERE m.dataset = ? ORDER BY p.name"
        with self._storage.reading() as rows:
            return {row["name"]: Role(row["role"]) for row in rows.all(asked, dataset)}

    def set_role(self, person: User, dataset: str, role: Role | None, source: str = "curator") -> None:
        """Give somebody a role in a dataset, or none."""
        with self._storage.writing() as rows:
            put_role(rows, person, dataset, role, source)

    def take_claimed(self, person: User, roles: dict[str, Role]) -> None:
        """Roles as a provider of sign-ins claims them: they replace those of earlier claims."""
        with self._storage.writing() as rows:
            rows.run("DELETE FROM member WHERE person = ? AND source = 'claim'", person.id)
            for dataset, role in roles.items():
                rows.add("member", person=person.id, dataset=dataset, role=role.value, source="claim")


def put_role(rows: TableRows, person: User, dataset: str, role: Role | None, source: str) -> None:
    """Write a role, in a transaction that may do more; a dataset keeps a curator."""
    curators = "SELECT person FROM member WHERE dataset = ? AND role = 'curator'"
    before = rows.all(curators, dataset)
    rows.run("DELETE FROM member WHERE person = ? AND dataset = ?", person.id, dataset)
    if role is not None:
        rows.add("member", person=person.id, dataset=dataset, role=role.value, source=source)
    if before and not rows.all(curators, dataset):
        raise RefusedError(
            "user.last-curator",
            "The dataset would be left without a curator.",
            "Make somebody else its curator first.",
        )


def checked_password(password: str) -> str:
    """A password that is long enough."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(
            "user.password",
            f"The password is shorter than {SHORTEST} letters, or longer than {LONGEST}.",
            "Use a sentence, or a password manager.",
        )
    return password


def wrong_password() -> RefusedError:
    """One refusal for a wrong password and for a name that nobody has."""
    return RefusedError("user.wrong-password", "Name or password is wrong.", "Type them again.")


def _fits(hashed: str, password: str) -> bool:
    try:
        return bool(_hasher().verify(hashed, password[:LONGEST]))
    except argon2.exceptions.Argon2Error:
        return False


def _person(row: Record | None) -> User | None:
    return None if row is None else _user(row)


def _user(row: Record) -> User:
    return User(row["id"], row["name"], bool(row["founder"]))
