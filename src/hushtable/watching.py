"""Who is told how far a long job is, and when loops are compiled: once per installation, and it takes a while."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a step, how much of it is done, and how much there is."""


def silent(step: str, done: int, total: int) -> None:
    """No progress is shown."""


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
