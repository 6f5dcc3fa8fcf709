"""Where a ledger is kept, and what every store promises, whatever it is made of.

Entries are appended by one writer at a time, and are durable when the block of ``writing`` has ended.  A payload is
part of the ledger with the entry of its hash, or not at all.  The turn of a request dies with its holder.  What entries
mean, and which may follow, is no store's business.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

from hushtable.errors import LedgerError
from hushtable.ledger.entries import Entry, Row

Address = str | os.PathLike[str]
"""A path, or the URL of a registered scheme."""


Contents = Mapping[int, Callable[[], bytes]]
"""By the number of a charge, what reads its payload."""
NO_CONTENTS: Contents = {}


def nothing() -> None:
    """What is done where nothing is to be done."""


class Payload(NamedTuple):
    """The bytes that a charge paid for."""

    charge: int
    content: bytes


@dataclass(frozen=True)
class Turn:
    """The right to work on one request, from taking its lock to giving it back; ``alive`` tells whether it is kept."""

    alive: Callable[[], bool]
    process: int = field(default_factory=os.getpid)

    @property
    def held(self) -> bool:
        """False once given back or lost, and in a forked child."""
        return self.process == os.getpid() and self.alive()

    def require(self) -> None:
        """Refuse to go on without the lock."""
        if not self.held:
            raise in_progress()


class Transaction(ABC):
    """What may be done to the entries of a ledger: read on from a number, append."""

    @abstractmethod
    def rows(self, *, start: int) -> list[Row]:
        """Number, text and hash of the entries from ``start`` on, in order; none for a ledger that is not there."""

    @abstractmethod
    def append(self, entry: Entry, payload: Payload | None = None) -> None:
        """Write an entry and, if it is about one, the payload, which the store was given to make ready."""

    def faults(self) -> list[str]:
        """What the store's own check of itself complains about, without quoting its content."""
        return []


class LedgerStore(ABC):
    """The place of one ledger: made from its address without touching anything, there or not."""

    schemes: ClassVar[tuple[str, ...]]
    """Of the URLs that name such a place; "" for paths."""
    what: ClassVar[str]
    """What a message says one may give."""

    place: str
    """The place in messages and notes; it holds no password."""
    label: str
    """What a dataset is called that has no other name."""

    @abstractmethod
    def __init__(self, address: Address, *, wait: float) -> None:
        """``wait``: how many seconds a transaction may wait for others."""

    @abstractmethod
    def exists(self) -> bool:
        """Whether something is there, a ledger or not."""

    @abstractmethod
    def create(
        self, entries: Sequence[Entry], payloads: Contents = NO_CONTENTS, before: Callable[[], None] = nothing
    ) -> None:
        """Make a new ledger of these entries and payloads: complete or not at all, in place of nothing.

        Calls ``before`` when all is written, and nothing but the end is left.
        """

    @abstractmethod
    def check(self) -> None:
        """Refuse a place that holds no ledger of a format known here; changes nothing."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[Transaction]:
        """A consistent view of the entries."""

    def moment(self, snapshot: str | None = None) -> AbstractContextManager[Transaction]:
        """A view of entries and payloads as they are at one moment, while others write.

        Payloads of entries never change, so wherever nothing is removed this is the view of the entries.
        """
        return self.reading()

    @abstractmethod
    def writing(self) -> AbstractContextManager[Transaction]:
        """The only writer; commits, durably, when the block ends without an error."""

    def ready(self, payload: Payload) -> AbstractContextManager[None]:
        """Do with a payload, before the ledger is locked for its entry, what takes long; undone if it is not kept."""
        return nullcontext()

    @abstractmethod
    def turn(self, request: str, *, wait: bool) -> AbstractContextManager[Turn]:
        """Hold the lock of a request; refuses with ``in_progress`` while another caller does, or waits for the end."""

    @contextmanager
    def turns(self, requests: Sequence[str], *, wait: bool) -> Generator[None]:
        """Hold the locks of several requests, taken in the order that is given."""
        with ExitStack() as held:
            for request in requests:
                held.enter_context(self.turn(request, wait=wait))
            yield

    @abstractmethod
    def prepare(self) -> None:
        """Refuse now, before a charge, whatever would later keep its payload from being stored."""

    @abstractmethod
    def present(self) -> list[int]:
        """Charges of which there are bytes: if the entries, read later, lack one of them, they are an older copy."""

    @abstractmethod
    def content(self, charge: int) -> bytes | None:
        """The bytes that were stored for a charge, or None if they cannot be read."""

    def payload(self, charge: int, sha256: str) -> bytes:
        """The bytes of a charge, checked against their hash."""
        content = self.content(charge)
        if content is None or hashlib.sha256(content).hexdigest() != sha256:
            raise LedgerError(
                "ledger.payload-damaged",
                f"The payload of charge {charge} in {self.place} is missing, or is not what was stored.",
                "Restore the payloads from a copy; what they cost stays spent.",
            )
        return content


def exists_already(place: str) -> LedgerError:
    """The refusal to replace what is there."""
    return LedgerError(
        "ledger.exists",
        f"{place} exists already.",
        "Open it without a budget, or choose another name for the new ledger.",
    )


def missing(place: str) -> LedgerError:
    """The refusal to open what is not there."""
    return LedgerError(
        "ledger.missing",
        f"There is no ledger at {place}.",
        f"Create it with `hush ledger create {place} --budget rho=0.5`, or correct the name.",
    )


def locked(place: str, wait: float) -> LedgerError:
    """The refusal to wait any longer for another writer."""
    return LedgerError(
        "ledger.locked",
        f"{place} has been in use by another process for {wait:g} seconds; nothing was written.",
        "Wait for the other process to finish, or end it, and try again with the same request id.",
    )


def older_than_payloads(charge: int) -> LedgerError:
    """The error for a payload that a later state of the ledger paid for."""
    return LedgerError(
        "ledger.older-than-payloads",
        f"The ledger is older than its payloads: that of charge {charge} was paid for in a later state of it.",
        "Restore the latest copy of the ledger; for a new ledger choose another name.",
    )


def in_progress() -> LedgerError:
    """The refusal of a request that another caller is working on."""
    return LedgerError(
        "ledger.in-progress",
        "Another process is working on this request at this moment; nothing was spent here.",
        "Wait until it has ended and ask again, or add --wait (wait=True); it then costs nothing more.",
    )
