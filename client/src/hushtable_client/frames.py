"""Tables as frames, by whichever library of frames is installed; rows where none is."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

LIBRARIES = ("polars", "pandas")


def frame_of(rows: list[dict[str, Any]], *, library: str | None = None) -> Any:
    """A polars frame, a pandas frame, or the rows.

    A library that the program has loaded goes first, then polars, then pandas; ``library`` names one ("rows" for none).
    """
    loaded = [name for name in LIBRARIES if name in sys.modules]
    found = library or next(iter(loaded), None) or next((n for n in LIBRARIES if find_spec(n)), "rows")
    if found == "polars":
        return import_module("polars").DataFrame(rows, infer_schema_length=None)
    if found == "pandas":
        return import_module("pandas").DataFrame(rows)
    return rows
