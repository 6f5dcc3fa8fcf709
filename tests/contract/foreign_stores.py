"""A store of ledgers that the package does not know: dictionaries of this process, at ``memory:NAME``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from hushtable.errors import LedgerError
from hushtable.ledger import Entry, stores


@contextmanager
def known_store() -> Iterator[None]:
    """It is known for a while, and empty at first."""
    LEDGERS.clear()
    stores.register(MemoryStore)
    yield
    del stores.STORES["memory"]


@dataclass
class Kept:
    """One ledger: number, text and hash of its entries, its payloads, and the locks of its requests."""

    rows: list[tuple[int, str, str]] = field(default_factory=list)
    payloads: dict[int, bytes] = field(default_factory=dict)
    requests: dict[str, threading.Lock] = field(default_factory=dict)
    writer: threading.Lock = field(default_factory=threading.Lock)


LEDGERS: dict[str, Kept] = {}


class MemoryStore(stores.LedgerStore):
    schemes = ("memory",)
    what = "memory:NAME"

    def __init__(self, address: stores.Address, *, wait: float) -> None:
        self.place, self.label = str(address), str(address).partition(":")[2]
        self._wait = wait

    @property
    def _kept(self) -> Kept:
        if not self.exists():
            raise stores.missing(self.place)
        return LEDGERS[self.place]

    def exists(self) -> bool:
        return self.place in LEDGERS

    def create(
        self,
        entries: Sequence[Entry],
        payloads: stores.Contents = stores.NO_CONTENTS,
        before: Callable[[], None] = stores.nothing,
    ) -> None:
        if self.exists():
            raise stores.exists_already(self.place)
        rows = [(e.number, e.text, e.hash) for e in entries]
        kept = Kept(rows, {charge: content() for charge, content in payloads.items()})
        before()
        LEDGERS[self.place] = kept

    def check(self) -> None:
        _ = self._kept

    @contextmanager
    def reading(self) -> Iterator[stores.Transaction]:
        yield MemoryTransaction(list(self._kept.rows))

    @contextmanager
    def writing(self) -> Iterator[stores.Transaction]:
        kept = self._kept
        if not kept.writer.acquire(timeout=self._wait):
            raise LedgerError("ledger.locked", f"{self.place} is in use.", "Wait.")
        try:
            transaction = MemoryTransaction(list(kept.rows))
            yield transaction
            kept.payloads |= transaction.payloads
            kept.rows = transaction.written
        finally:
            kept.writer.release()

    @contextmanager
    def turn(self, request: str, *, wait: bool) -> Iterator[stores.Turn]:
        lock = self._kept.requests.setdefault(request, threading.Lock())
        if not lock.acquire(blocking=wait):
            raise stores.in_progress()
        held = [True]
        try:
            yield stores.Turn(lambda: held[0])
        finally:
            held[0] = False
            lock.release()

    def prepare(self) -> None:
        self.check()

    def present(self) -> list[int]:
        return list(self._kept.payloads)

    def content(self, charge: int) -> bytes | None:
        return self._kept.payloads.get(charge)


@dataclass
class MemoryTransaction(stores.Transaction):
    """On a copy, which takes the place of the original at the end."""

    written: list[tuple[int, str, str]]
    payloads: dict[int, bytes] = field(default_factory=dict)

    def rows(self, *, start: int) -> list[tuple[object, object, object]]:
        return [row for row in self.written if row[0] >= start]

    def append(self, entry: Entry, payload: stores.Payload | None = None) -> None:
        self.payloads |= {} if payload is None else {payload.charge: payload.content}
        self.written.append((entry.number, entry.text, entry.hash))
