"""Compiling a loop with numba, and keeping the code until a source that went into it changes.

Code is kept beside its module, or in the user's cache folder where that cannot be written, or nowhere at all.  numba
itself looks only at the file of the function: code compiled with a helper or a constant of another module would run on
with the old one.  Here the key is made of the sources of the module and of all modules of the same package that it
imports, directly or through others.
"""

# numba carries no types:
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numba
from numba.core import caching

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_MODULE = re.compile(r"[\w.]+")


def dispatcher(function: Callable[..., Any], options: dict[str, Any], cache: bool) -> Any:
    """A function for numba to compile when it is called."""
    made: Any = numba.njit(**options)(function)
    if cache:
        made._cache = _kept(function)
    return made


def _kept(function: Callable[..., Any]) -> Any:
    """The cache of one function; one that keeps nothing where no folder can be written."""
    try:
        return _LoopCache(function)
    except (RuntimeError, OSError):
        return caching.NullCache()


@functools.cache
def sources_digest(module: str) -> bytes:
    """SHA-256 of the sources of a module and of everything that it imports from its own package."""
    package = module.partition(".")[0]
    root = Path(str(sys.modules[package].__file__)).parent.parent
    seen: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in seen and (path := _source(root, name)) is not None:
            seen[name] = path.read_bytes()
            waiting.extend(_imported(seen[name].decode(), package))
    whole = hashlib.sha256()
    for name in sorted(seen):
        whole.update(f"{name} {len(seen[name])}\n".encode() + seen[name])
    return whole.digest()


def _imported(text: str, package: str) -> list[str]:
    """Modules of a package that a source imports by absolute name, among names that may be no modules."""
    found: list[str] = []
    for origin, names, plain in _IMPORT.findall(text):
        found.extend(m for m in (origin, *_MODULE.findall(plain)) if m.partition(".")[0] == package)
        if origin.partition(".")[0] == package:
            found.extend(f"{origin}.{name}" for name in _MODULE.findall(names))
    return found


def _source(root: Path, module: str) -> Path | None:
    """The file of a module, or None for a name that is none."""
    place = root.joinpath(*module.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)


class _Stamped(caching.CompileResultCacheImpl):
    """numba's way of writing compiled code down, with our key for its freshness."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        cast("Any", self)._locator.get_source_stamp = lambda: sources_digest(function.__module__)


class _LoopCache(caching.FunctionCache):
    """numba's cache of one function with a key over all sources that went into it."""

    _impl_class = _Stamped
