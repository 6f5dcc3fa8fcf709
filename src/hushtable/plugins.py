"""Strategies, deciders, reconstructions, engines and stores of other packages, and the registries that know them.

A package names a module of its own under the entry point ``hushtable.plugins``; the module registers what it has when
it is imported.  That happens when a registry is first read: what reads none does not pay for it.
"""

from __future__ import annotations

import sys
import threading
from collections import UserDict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from hushtable.errors import RefusedError

GROUP = "hushtable.plugins"
_loading = threading.RLock()
_loaded: set[str] = set()
Thing = TypeVar("Thing")


class Registry(UserDict[str, Thing]):
    """Things by name: those that come with the package and, from the first time that it is read, those of plugins."""

    def __getitem__(self, name: str) -> Thing:
        load_plugins()
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        load_plugins()
        return super().__contains__(name)

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return super().__iter__()


def load_plugins() -> None:
    """Import what installed packages name, once; refuses to go on without one that cannot be imported."""
    with _loading:
        if _loaded:
            return  # also while a plugin is imported, which may read what is registered
        _loaded.add(GROUP)
        if not _is_named():
            return
        from importlib.metadata import entry_points  # takes longer than most usage errors

        for plugin in entry_points(group=GROUP):
            try:
                plugin.load()
            except Exception as error:
                _loaded.clear()
                raise RefusedError(
                    "plugin.broken",
                    f"The plugin {plugin.name!r} cannot be loaded from {plugin.value} ({type(error).__name__}).",
                    "Repair the package that brings it, or uninstall it.",
                ) from error


def _is_named() -> bool:
    """Whether an installed package may name a plugin: a few milliseconds, where reading all of them takes 50."""
    for place in sys.path:
        for file in Path(place).glob(
            "*-info/entry_points.txt"
        ):  # .dist-info, and .egg-info of older installers
            with suppress(OSError):  # what cannot be read names nothing, for the standard library too
                if GROUP in file.read_text(encoding="utf-8", errors="replace"):
                    return True
    return False
