"""Tables with versions, known by what lies above and beside their files.

A Delta or an Iceberg table keeps the files of rows that were deleted or written anew: whoever reads its files alone
counts people who left, and others twice.  Where rows are asked for as files, all folders above these are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from hushtable.errors import SourceError

Holds = Callable[[str, str], bool]
"""Whether a folder holds a name that ends so; not if it is not there, or is nobody's to look at."""

_MARKS = {"delta": ("_delta_log", ""), "iceberg": ("metadata", ".metadata.json")}
"""The folder beside its files in which each kind says which of them count, and how names in it end."""
_READ_AS = {"delta": "delta:FOLDER", "iceberg": "iceberg:NAME or iceberg:PATH.metadata.json"}


def versioned_folder(kind: str) -> SourceError:
    """The refusal."""
    return SourceError(
        "source.versioned-folder",
        "These files are of a table with versions, and hold rows that were deleted from it.",
        f"Read the table as {_READ_AS[kind]}.",
    )


def above(place: str) -> list[str]:
    """A place, with or without a scheme, and all folders that hold it."""
    scheme = _SCHEME.match(place)
    root = scheme[0] if scheme else ""
    whole = PurePosixPath(place.removeprefix(root))
    return [f"{root}{folder}".rstrip("/") for folder in (whole, *whole.parents) if str(folder) != "."]


def refuse_versions(folders: Iterable[str], holds: Holds) -> None:
    """Raises where one of the folders is a table with versions."""
    for folder in folders:
        for kind, (inside, ending) in _MARKS.items():
            if holds(f"{folder}/{inside}", ending):
                raise versioned_folder(kind)


def refuse_versioned_files(paths: Sequence[Path]) -> None:
    """Raises where a file or a folder of this machine, or what a link stands for, is of a table with versions."""
    named = {whole for path in paths for whole in (path.absolute(), path.absolute().parent)}
    homes = named | {path.resolve() for path in named}
    refuse_versions(sorted({folder for home in homes for folder in above(home.as_posix())}), _holds)


def _holds(folder: str, ending: str) -> bool:
    try:
        return any(path.name.endswith(ending) for path in Path(folder).iterdir())
    except PermissionError:
        return not ending
    except OSError:
        return False


_SCHEME = re.compile(r"(?:[\w+.-]+:)?(?://[^/]*)?")
