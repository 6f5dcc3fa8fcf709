"""Where the confidential data of a ledger lie: a private file beside it, one line for each place that was opened.

It is what a rehearsal is refused by, whose true errors nothing protects.  It is no part of the ledger and of no
release; where it cannot be written, the ledger works as well.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path
from typing import cast

from hushtable.addresses import name_of, place_in, scheme_of
from hushtable.errors import RefusedError
from hushtable.ledger.beside_data import ODD, BesideData, files_named
from hushtable.ledger.ledger import Ledger
from hushtable.ledger.preflights import PreflightNotes
from hushtable.ledger.private_notes import DATA, PREFLIGHTS, private_file, state_home
from hushtable.ledger.stores import Address, store_at

_MOST_NOTED = 2**20
"""Bytes that are read of a note by its ending alone, some ten thousand places: other files may have it, of any size."""


class KnownData:
    """The places of one ledger's data."""

    def __init__(self, ledger: Address) -> None:
        self._file, self._most = private_file(ledger, DATA), -1

    @classmethod
    def noted_in(cls, file: Path) -> KnownData:
        """Those of a note, wherever its ledger is now."""
        known = cls.__new__(cls)
        known._file, known._most = file, _MOST_NOTED
        return known

    @property
    def is_kept(self) -> bool:
        """Whether there is such a note, or something in its place."""
        return self._file.exists()

    def remember(self, data: object) -> None:
        """Note where data lie that were opened with the ledger; tables in memory lie nowhere, and leave a blank note.

        A ledger without a note has lost it, then.
        """
        with suppress(*ODD):
            fresh = set(_places(data)) - set(self._read())
            if fresh or not self.is_kept:
                self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                lines = "".join(json.dumps(place) + "\n" for place in sorted(fresh))
                self._append(lines.encode())

    def knows(self, data: object) -> bool:
        """Whether data and what was noted have a place in common, also by a folder around it or a pattern."""
        noted, given = tuple(self._read()), tuple(_matched(_places(data)))
        return any(_is_in(place, known) or _is_in(known, place) for place in given for known in noted)

    def _append(self, lines: bytes) -> None:
        """In one write at the end, so that sessions which open together do not undo each other's."""
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, lines)
        finally:
            os.close(descriptor)

    def _read(self) -> Iterator[str]:
        with suppress(*ODD):
            if self._file.is_file():  # a pipe would be waited for
                with self._file.open("rb") as file:
                    kept = file.read(self._most)
                for line in kept.decode(errors="replace").splitlines():
                    with suppress(ValueError):
                        yield str(json.loads(line))


def require_not_confidential(data: object, ledger: Address | None = None) -> None:
    """Refuse data that are the confidential ones of a ledger, as far as names and places tell.

    That is where they were opened with ``ledger``, where a preflight of data of this name is noted beside it, and where
    a ledger lies beside a file and is called like it; without ``ledger`` also where a note beside the file tells of it.
    A ledger that is not there knows nothing, and is refused too: its name may be misspelt.  So is one that was spent
    from and has no note: it was moved without it.
    """
    files = tuple(files_named(data))
    beside = next((found for file in files if (found := BesideData(file).ledger) is not None), None)
    known = _noted_beside(data, files) if ledger is None else _noted_for(data, ledger)
    if beside is not None or known:
        raise RefusedError(
            "rehearse.confidential",
            f"{name_of(data)} is the confidential table of a ledger"
            + (f", {beside.name} beside it." if beside is not None else "."),
            "Rehearse on data that are public or no longer confidential: another year, a public sample, made-up rows.",
        )
    if ledger is not None:
        store_at(ledger).check()
        _require_note(data, ledger)


def _noted_for(data: object, ledger: Address) -> bool:
    return KnownData(ledger).knows(data) or PreflightNotes(ledger).knows(data)


def _noted_beside(data: object, files: Iterable[Path]) -> bool:
    """Whether a note tells of the data that lies in their folder or the one around it, or in the curator's own."""
    around = [BesideData(file) for file in files]
    places = dict.fromkeys(note for each in around for note in each.notes(DATA))
    with suppress(*ODD):
        places |= dict.fromkeys(sorted(state_home().glob(f"*.{DATA}")))
    if any(KnownData.noted_in(note).knows(data) for note in places):
        return True
    looks = ((each.names, note) for each in around for note in each.notes(PREFLIGHTS, around=False))
    told = ((PreflightNotes(str(note).removesuffix(f".{PREFLIGHTS}")), names) for names, note in looks)
    return any(notes.knows(name) for notes, names in told for name in names)


def _require_note(data: object, ledger: Address) -> None:
    """Refuse a ledger that was spent from and cannot say which data are its own."""
    if (
        any(True for _ in _places(data))
        and not KnownData(ledger).is_kept
        and Ledger.open(ledger).reservations()
    ):
        raise RefusedError(
            "rehearse.no-note",
            "The ledger was spent from, but the note is missing that says which data are its own.",
            "It lay beside the ledger, with .data after its name: bring it along, as `hush ledger copy` does, or run "
            "`hush preflight` of the confidential data with this ledger, which writes it.",
        )


def _places(data: object) -> Iterator[str]:
    """Addresses as they are given, those of lakes without their versions, and paths without links and steps back."""
    if isinstance(data, list | tuple):
        for each in cast("list[object]", data):
            yield from _places(each)
    elif isinstance(data, str | os.PathLike):
        path = place_in(os.fspath(cast("str | os.PathLike[str]", data)))
        yield path if scheme_of(path, ()) is not None else str(Path(path).resolve())


def _is_in(place: str, known: str) -> bool:
    inside = place == known or fnmatchcase(place, known) or Path(place).is_relative_to(known)
    return inside or any(_is_same_file(place, one) for one in _matched([known]))


def _matched(places: Iterable[str]) -> Iterator[str]:
    """Places, and for each pattern the files behind it."""
    for place in places:
        yield place
        if scheme_of(place, ()) is None and has_magic(place):
            yield from (str(file.resolve()) for file in files_named(place))


def _is_same_file(one: str, other: str) -> bool:
    """Whether two names are of one file: hard links, and folders that are mounted twice."""
    with suppress(*ODD):
        return Path(one).samefile(other)
    return False
