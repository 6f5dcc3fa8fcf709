"""Where data and ledgers are: a path, or a URL, which is never taken for a path."""

from __future__ import annotations

import re
from collections.abc import Container

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
