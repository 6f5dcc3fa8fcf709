"""Where the confidential data of a ledger lie: a private file beside it, one line for each place that was opened.

It is what a rehearsal is refused by, whose true errors nothing protects.  It is no part of the ledger and of no
release; where it cannot be written, the ledger works as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast

from hushtable.addresses import name_of, scheme_of
from hushtable.errors import RefusedError
from hushtable.ledger.preflights import PreflightNotes
from hushtable.ledger.private_notes import DATA, private_file
from hushtable.ledger.stores import Address, store_at

_ODD = (OSError, ValueError, RuntimeError)
"""What paths raise that cannot be: zero bytes, loops of links, names in no encoding."""


class KnownData:
    """The places of one ledger's data."""

    def __init__(self, ledger: Address) -> None:
        self._file = private_file(ledger, DATA)

    def remember(self, data: object) -> None:
        """Note where data lie that were opened with the ledger; tables in memory lie nowhere."""
        with suppress(*_ODD):
            fresh = set(_places(data)) - set(self._read())
            if fresh:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                lines = "".join(json.dumps(place) + "\n" for place in sorted(fresh))
                self._append(lines.encode())

    def knows(self, data: object) -> bool:
        """Whether data and what was noted have a place in common, also by a folder around it or a pattern."""
        noted, given = tuple(self._read()), tuple(_places(data))
        return any(_is_in(place, known) or _is_in(known, place) for place in given for known in noted)

    def _append(self, lines: bytes) -> None:
        """In one write at the end, so that sessions which open together do not undo each other's."""
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, lines)
        finally:
            os.close(descriptor)

    def _read(self) -> Iterator[str]:
        with suppress(*_ODD):
            if self._file.is_file():  # a pipe would be waited for
                for line in self._file.read_text(encoding="utf-8", errors="replace").splitlines():
                    with suppress(ValueError):
                        yield str(json.loads(line))


def require_not_confidential(data: object, ledger: Address | None = None) -> None:
    """Refuse data that are the confidential ones of a ledger, as far as names and places tell.

    That is where they were opened with ``ledger``, where a preflight of data of this name is noted beside it, and where
    a ledger lies beside a file and is called like it.  A ledger that is not there knows nothing, and is refused too:
    its name may be misspelt.
    """
    beside = _ledger_beside(data)
    known = ledger is not None and (KnownData(ledger).knows(data) or PreflightNotes(ledger).knows(data))
    if beside is not None or known:
        raise RefusedError(
            "rehearse.confidential",
            f"{name_of(data)} is the confidential table of a ledger"
            + (f", {beside.name} beside it." if beside is not None else "."),
            "Rehearse on data that are public or no longer confidential: another year, a public sample, made-up rows.",
        )
    if ledger is not None:
        store_at(ledger).check()


def _ledger_beside(data: object) -> Path | None:
    """A ledger that is called like a file, in the same folder."""
    if not isinstance(data, str | os.PathLike):
        return None
    file = Path(cast("str | os.PathLike[str]", data))
    with suppress(*_ODD):  # folders such as "." have no name to compare
        return next((p for p in (file.with_suffix(".ledger"), Path(f"{file}.ledger")) if p.is_file()), None)
    return None


def _places(data: object) -> Iterator[str]:
    """Addresses as they are given, and paths without links and steps back."""
    if isinstance(data, list | tuple):
        for each in cast("list[object]", data):
            yield from _places(each)
    elif isinstance(data, str | os.PathLike):
        path = os.fspath(cast("str | os.PathLike[str]", data))
        yield path if scheme_of(path, ()) is not None else str(Path(path).resolve())


def _is_in(place: str, known: str) -> bool:
    inside = place == known or fnmatchcase(place, known) or Path(place).is_relative_to(known)
    return inside or _is_same_file(place, known)


def _is_same_file(one: str, other: str) -> bool:
    """Whether two names are of one file: hard links, and folders that are mounted twice."""
    with suppress(*_ODD):
        return Path(one).samefile(other)
    return False
