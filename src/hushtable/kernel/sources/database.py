"""What tables of databases have in common: optional packages, and names in SQL.

A URL is ``postgresql://HOST/DATABASE?table=NAME`` or ``duckdb:///FILE?table=NAME``; NAME may begin with a schema and a
point, and is taken letter for letter.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any
from urllib.parse import unquote

from hushtable.errors import SourceError


def package(name: str, extra: str) -> Any:
    """An optional package."""
    try:
        return import_module(name)
    except ImportError:
        missing = f"The package {name.partition('.')[0]} is not installed."
        raise SourceError("source.no-driver", missing, f"Type `pip install 'hushtable[{extra}]'`.") from None


def file_of(url: str) -> str:
    """The path in ``SCHEME:///PATH``."""
    return unquote(url.partition("://")[2].partition("?")[0])


def quoted(names: tuple[str, ...]) -> str:
    """Names in SQL, letter for letter."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
