"""Where data and ledgers are: a path, or a URL, which is never taken for a path."""

from __future__ import annotations

import re
from collections.abc import Container
from os import PathLike
from pathlib import Path
from typing import cast
from urllib.parse import unquote

from hushtable.errors import UsageError

POSTGRES, DUCKDB = ("postgresql", "postgres"), ("duckdb",)
"""Schemes of databases."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")


def scheme_of(address: object, known: Container[str]) -> str | None:
    """The scheme of a URL, None of a path; a name with a colon is a path unless its scheme is known.

    >>> scheme_of("postgresql://host/db", ()), scheme_of("a:b.csv", ()), scheme_of("spark:people", ["spark"])
    ('postgresql', None, 'spark')
    """
    found = _SCHEME.match(address) if isinstance(address, str) else None
    if found is None:
        return None
    scheme = found[1].lower()
    return scheme if found[2] or scheme in known else None


def place_in(address: str) -> str:
    """Where a table of a lake or of Spark lies: the same for each of its kinds, versions and options.

    A table that is named in a catalog gets a URL of its own, which is no path; other data stay as they are.

    >>> place_in("spark:delta:/lake/people/?version=7"), place_in("s3://lake/people?partitions=year")
    ('/lake/people/', 's3://lake/people')
    >>> place_in("iceberg:/lake/people/metadata/v1.metadata.json"), place_in("people.csv")
    ('/lake/people', 'people.csv')
    >>> place_in("iceberg:register.people?catalog=office"), place_in("spark:parquet.`/lake/people`")
    ('iceberg://register.people', '/lake/people')
    """
    found = _IN_LAKE.fullmatch(address)
    if found is None:
        return address
    kind, place = (found["kind"] or "").lower(), found["files"] or found["bucket"] or found["place"]
    if found["table"] or (kind == "iceberg" and not place.endswith(".metadata.json")):
        return f"{kind or 'spark'}://{found['table'] or place}"
    place = re.sub(r"^file:(//[^/]*)?(?=/)", "", place)
    folder = place.rpartition("/")[0]
    return folder.removesuffix("/metadata") if kind == "iceberg" and folder.endswith("/metadata") else place


_IN_LAKE = re.compile(
    r"(?:spark:(?://)?)?(?P<kind>delta|iceberg|parquet):(?://(?=/))?(?P<place>[^?]+)(?:\?.*)?"
    r"|(?P<bucket>s3[an]?://[^?]+)(?:\?.*)?"
    r"|spark:(?://)?\s*(?:`?(?:parquet|orc)`?\s*\.\s*`(?P<files>.+)`\s*|(?P<table>.+))",
    re.IGNORECASE | re.DOTALL,
)


def name_of(data: object) -> str:
    """What data are called: no folder, no server, no password.

    >>> name_of("private/people.csv"), name_of("postgresql://host/db?table=people&host=/run"), name_of(3)
    ('people.csv', 'people', 'int')
    >>> name_of("sqlite:///private/people.db"), name_of("postgresql://me:secret@host")
    ('people.db', 'table')
    >>> name_of("spark:parquet.`/private/people`")
    'people'
    """
    if isinstance(data, str) and scheme_of(data, ()) is not None:
        place, _, query = data.partition("://")[2].partition("?")
        found = re.search(r"(?:^|&)table=([^&]*)", query)
        return found[1] if found else place.partition("/")[2].rpartition("/")[2] or "table"
    if isinstance(data, str | PathLike):
        return Path(cast("str | PathLike[str]", data)).name.rstrip("`")
    if isinstance(data, list | tuple):
        return ", ".join(map(name_of, cast("list[object]", data)))
    return type(data).__name__


def split_table(url: str) -> tuple[str, tuple[str, ...]]:
    """The URL of a database without its table, and the parts of the table's name; no message repeats a URL.

    >>> split_table("postgresql://host/db?table=a.b&sslmode=require")
    ('postgresql://host/db?sslmode=require', ('a', 'b'))
    """
    before, _, query = url.partition("?")
    given = [part.partition("=") for part in query.split("&") if part]
    if _has_password(url) or SECRETS & {unquote(key) for key, _, _ in given}:
        raise password_in_url()
    names = [unquote(value) for key, _, value in given if key == "table"]
    others = "&".join("".join(part) for part in given if part[0] != "table")
    if len(names) != 1 or not all(names[0].split(".")) or names[0].count(".") > 1:
        raise UsageError(
            "source.no-table-named",
            "The URL of a database does not name one table.",
            "Add `?table=NAME` or `?table=SCHEMA.NAME` to it, or --table NAME.",
        )
    return before + ("?" + others if others else ""), tuple(names[0].split("."))


SECRETS = frozenset(
    {"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"}
)
"""What of libpq's settings nobody else may see."""


def password_in_url() -> UsageError:
    """The refusal of data whose URL holds one: command lines are no place for secrets."""
    return UsageError(
        "source.password-in-url",
        "The URL holds a password, which others on this machine may see.",
        "Leave it out; put it into a password file (PGPASSFILE), a service file (service=NAME) or PGPASSWORD.",
    )


def _has_password(url: str) -> bool:
    """Whether something stands where libpq looks for a password: before an ``@`` that comes before a ``/``."""
    before, at, _ = url.partition("://")[2].partition("/")[0].partition("@")
    return bool(at and before.partition(":")[2])


def is_file(path: Path) -> bool:
    """Whether a file is there; what cannot be the name of one (zero bytes, too long, a closed folder) is none."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
