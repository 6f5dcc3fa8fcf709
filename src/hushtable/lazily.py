"""Names of a package that are loaded when they are first used, so that importing a package costs nothing.

A package lists what it offers once, by imports under ``if TYPE_CHECKING:``.  Type checkers and linters take them as
they stand; at run time the same lines say where each name lives.  What users may import too is written ``X as X``,
which says so to their type checkers without a second list; a package without such lines offers all that it imports.

This is the first module that loads, before a command listens to Ctrl-C; what it needs later is imported later.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # ``typing`` says the same and takes longer to load than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazily(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose imports stand under ``if TYPE_CHECKING:``."""
    module = sys.modules[package]

    def load(name: str) -> Any:
        found = homes(package)
        if name == "__all__":
            return sorted([name for name, (*_, offered) in found.items() if offered] or found)
        if name not in found:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module  # when the first name is asked for

        home, there, _ = found[name]
        value = (
            import_module(f"{package}.{there}") if home == package else getattr(import_module(home), there)
        )
        setattr(module, name, value)  # the next use finds it without asking here
        return value

    def listed() -> list[str]:
        return sorted(module.__all__)

    return load, listed


class Later:
    """A library that is imported when it is first used, for modules that refuse something without it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        return getattr(import_module(self._name), name)


_HOMES: dict[str, dict[str, tuple[str, str, bool]]] = {}


def homes(package: str) -> dict[str, tuple[str, str, bool]]:
    """Of all that a package imports under ``if TYPE_CHECKING:`` the module, the name there, and if it is ``X as X``."""
    if package not in _HOMES:
        _HOMES[package] = _read_homes(package)
    return _HOMES[package]


def _read_homes(package: str) -> dict[str, tuple[str, str, bool]]:
    import ast  # when the first name is asked for

    loader: Any = getattr(sys.modules[package].__spec__, "loader", None)
    source: str | None = loader.get_source(package) if loader else None
    return {
        alias.asname or alias.name: (line.module, alias.name, alias.asname is not None)
        for block in ast.parse(source or "").body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for line in block.body
        if isinstance(line, ast.ImportFrom) and line.module
        for alias in line.names
    }
