"""What tables of databases have in common: the URL with the table's name, and optional packages.

A URL is ``postgresql://HOST/DATABASE?table=NAME`` or ``duckdb:///FILE?table=NAME``; NAME may begin with a schema and a
point, and is taken letter for letter.  No message repeats a URL.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any
from urllib.parse import unquote

from hushtable.errors import SourceError, UsageError


def package(name: str, extra: str) -> Any:
    """An optional package."""
    try:
        return import_module(name)
    except ImportError:
        missing = f"The package {name.partition('.')[0]} is not installed."
        raise SourceError("source.no-driver", missing, f"Type `pip install 'hushtable[{extra}]'`.") from None


def split_url(url: str) -> tuple[str, tuple[str, ...]]:
    """The URL without its table, and the parts of the table's name."""
    before, _, query = url.partition("?")
    given = [part.partition("=") for part in query.split("&") if part]
    if _has_password(url) or {"password", "sslpassword"} & {unquote(key) for key, _, _ in given}:
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


def password_in_url() -> UsageError:
    """Command lines are no place for secrets."""
    return UsageError(
        "source.password-in-url",
        "The URL holds a password, which others on this machine may see.",
        "Leave it out; put it into a password file (PGPASSFILE), a service file (service=NAME) or PGPASSWORD.",
    )


def _has_password(url: str) -> bool:
    """Whether something stands where libpq looks for a password: before an ``@`` that comes before a ``/``."""
    before, at, _ = url.partition("://")[2].partition("/")[0].partition("@")
    return bool(at and before.partition(":")[2])


def file_of(url: str) -> str:
    """The path in ``SCHEME:///PATH``."""
    return unquote(url.partition("://")[2].partition("?")[0])


def quoted(names: tuple[str, ...]) -> str:
    """Names in SQL, letter for letter."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
