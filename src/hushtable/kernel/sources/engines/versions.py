"""What must be the same here and where the rows are: Python, and the packages that read and count rows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import version

from hushtable.errors import SourceError
from hushtable.version import __version__

PACKAGES = ("pyarrow", "numba", "numpy", "polars")
Versions = tuple[tuple[str, str], ...]


def own_versions() -> Versions:
    """Those of this process."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        ("Python", python),
        ("hushtable", __version__),
        *((package, version(package)) for package in PACKAGES),
    )


def reporter() -> Callable[[], Versions]:
    """A function that says the versions of whatever process runs it, and needs none of our packages to do so.

    A function inside another travels with its code, and not by the name of a module that may be missing there.
    """
    packages = PACKAGES

    def report() -> Versions:
        import sys
        from importlib import import_module
        from importlib.metadata import version

        found = [("Python", f"{sys.version_info[0]}.{sys.version_info[1]}")]
        for name in ("hushtable", *packages):
            try:
                import_module(name)
                own = name == "hushtable"
                found.append((name, import_module("hushtable.version").__version__ if own else version(name)))
            except Exception:
                found.append((name, "none"))
        return tuple(found)

    return report


def require_versions(wanted: Versions) -> None:
    """Refuse to count where anything differs."""
    found = dict(own_versions())
    for name, here in wanted:
        if found.get(name) != here:
            raise mismatch(name, here, found.get(name, "none"))


def mismatch(name: str, here: str, there: str) -> SourceError:
    """The refusal."""
    what = f"lacks {name}" if there == "none" else f"has {name} {there} and not {here}"
    return SourceError(
        "source.other-versions",
        f"The engine {what}.",
        "Start it with the environment that runs here (PYSPARK_PYTHON), or install the same versions there; "
        "docs/howto/spark.md shows how.",
    )
