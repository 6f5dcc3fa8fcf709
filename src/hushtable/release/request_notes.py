"""The note beside a folder that work is under way on: where it lies, and with which version of a table it was begun.

Read before anything else is loaded, because what is opened depends on it; ``resumable`` writes and removes it.
"""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path


def note_of(out: str | PathLike[str]) -> Path:
    """Where the note about a folder lies."""
    folder = Path(out).absolute()
    return folder.parent / f".{folder.name}.request"


def begun_version(out: str | PathLike[str], data: str) -> str | None:
    """The version of a table that interrupted work on this folder was begun with, by its address."""
    try:
        kept = json.loads(note_of(out).read_text(encoding="utf-8"))
        return str(kept["version"]) if kept["data"] == data else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
