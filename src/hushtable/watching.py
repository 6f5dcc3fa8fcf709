"""Who is told how far a long job is, and when loops are compiled: once per installation, and it takes a while."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a step, how much of it is done, and how much there is."""


def silent(step: str, done: int, total: int) -> None:
    """No progress is shown."""


TellNote = Callable[[str], None]
"""Called with a sentence that somebody should read before a long job begins."""

_steps: list[Progress] = []
_notes: list[TellNote] = []
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


class WatchJobs:
    """While it is entered, somebody is told how far a job is that runs elsewhere."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __enter__(self) -> None:
        _steps.append(self._progress)

    def __exit__(self, *_: object) -> None:
        _steps.remove(self._progress)


class WatchNotes:
    """While it is entered, somebody is told how much work is ahead elsewhere, before anything is charged."""

    def __init__(self, note: TellNote) -> None:
        self._note = note

    def __enter__(self) -> None:
        _notes.append(self._note)

    def __exit__(self, *_: object) -> None:
        _notes.remove(self._note)


def tell_note(text: str) -> None:
    """Tell all who take notes."""
    for note in _notes:
        note(text)


def is_watched() -> bool:
    """Whether anybody would be told."""
    return bool(_steps)


def tell_step(step: str, done: int, total: int) -> None:
    """Tell all who watch how far a step is."""
    for progress in _steps:
        progress(step, done, total)
