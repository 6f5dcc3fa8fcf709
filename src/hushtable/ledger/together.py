"""Entries that several threads want to write at one time share a transaction: a commit takes long, an entry does not.

The first thread to come writes for all that wait by then; the others find their entry written, or their refusal.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from hushtable.ledger.book import Book
from hushtable.ledger.entries import Body, Entry
from hushtable.ledger.stores import Payload


@dataclass(eq=False)
class Intent:
    """What one thread wants to write: decided against the book when its turn has come, None for nothing."""

    step: str
    decide: Callable[[Book], Body | None]
    payload: Payload | None = None
    entry: Entry | None = None
    error: BaseException | None = None
    ended: bool = False


class Gathering:
    """The threads of a process that wait to write; ``write`` writes the intents of a group, and notes refusals."""

    def __init__(self, write: Callable[[list[Intent]], None]) -> None:
        self._write = write
        self._waiting: list[Intent] = []
        self._guard, self._turn = threading.Lock(), threading.Lock()

    def written(self, intent: Intent) -> Entry | None:
        """The entry of an intent, once it is durable; its own refusal, or what kept the whole group from it."""
        with self._guard:
            self._waiting.append(intent)
        with self._turn:
            if not intent.ended:
                self._write_all()
        if intent.error is not None:
            raise intent.error
        return intent.entry

    def _write_all(self) -> None:
        with self._guard:
            group, self._waiting = self._waiting, []
        try:
            self._write(group)
        except BaseException as error:
            for one in group:
                one.error = one.error or error
        for one in group:
            one.ended = True
