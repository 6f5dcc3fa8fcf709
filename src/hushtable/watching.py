"""Who is told when loops are compiled: once per installation it takes a while, in which nothing else would be seen."""

from __future__ import annotations

from collections.abc import Callable

_watchers: list[Callable[[bool], None]] = []


class Watch:
    """While it is entered, somebody is told when compiling begins (True) and ends (False): once per installation."""

    def __init__(self, watcher: Callable[[bool], None]) -> None:
        self._watcher = watcher

    def __enter__(self) -> None:
        _watchers.append(self._watcher)

    def __exit__(self, *_: object) -> None:
        _watchers.remove(self._watcher)


def tell(begins: bool) -> None:
    """Tell all who watch."""
    for watcher in _watchers:
        watcher(begins)
