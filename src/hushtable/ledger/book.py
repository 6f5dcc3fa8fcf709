"""The state of a ledger: balances, reservations and charges, derived by reading its entries in order.

There are no stored balances: opening, spending and verifying all fold the same entries, so nothing can disagree with
the chain.  A book records entries; whether the next one is allowed is decided in ``rules``.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import assert_never, cast

from hushtable.ledger import entries
from hushtable.ledger.entries import Entry
from hushtable.ledger.values import Holding, Reservation, StoredCharge, Unit
from hushtable.privacy import Budget, Cost


@dataclass
class Balance:
    """What one holder may spend, has drawn for ever, and has set aside in open reservations."""

    budget: Budget = field(init=False)
    limit: Cost = field(init=False)
    spent: Cost = Cost.ZERO
    held: Cost = Cost.ZERO

    def allow(self, body: entries.Create | entries.Grant | entries.Raise) -> Balance:
        """Set what may be spent in total."""
        self.budget, self.limit = Budget.from_dict(body.budget), body.limit.cost
        return self

    @property
    def remaining(self) -> Cost:
        return self.limit - self.spent - self.held


@dataclass
class Folder:
    """One reservation: its entry, what was drawn from it, its charges by entry number, and how it ended."""

    entry: Entry
    body: entries.Reserve
    drawn: Cost = Cost.ZERO
    charges: list[int] = field(default_factory=list[int])
    settled: bool = False
    picture: Holding | None = None

    @property
    def held(self) -> Cost:
        return Cost.ZERO if self.settled else self.body.cost.cost - self.drawn

    def reservation(self, *, fresh: bool = False) -> Reservation:
        entry, body = self.entry, self.body
        named = (body.kind, body.request, body.spender)
        return Reservation(
            entry.number, entry.hash, *named, body.cost.cost, dict(body.detail), body.time, fresh
        )


@dataclass
class Book:
    """Everything that the entries recorded so far imply."""

    create: entries.Create | None = None
    dataset: Balance | None = None
    unit: Unit | None = None
    hashes: list[str] = field(default_factory=list[str])
    grants: dict[str, Balance] = field(default_factory=dict[str, Balance])
    schemas: dict[str, int] = field(default_factory=dict[str, int])
    folders: dict[int, Folder] = field(default_factory=dict[int, Folder])
    opened: dict[int, Folder] = field(default_factory=dict[int, Folder])
    requests: dict[str, int] = field(default_factory=dict[str, int])
    draws: dict[int, entries.Draw] = field(default_factory=dict[int, entries.Draw])
    payloads: dict[int, str] = field(default_factory=dict[int, str])
    moves: dict[int, str] = field(default_factory=dict[int, str])
    mentions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """Reservations by the words that their details list, such as the questions of checks."""

    @property
    def count(self) -> int:
        return len(self.hashes)

    @property
    def head(self) -> str:
        return self.hashes[-1] if self.hashes else entries.GENESIS

    def accounts(self, spender: str | None) -> list[Balance]:
        """The accounts that a spend touches: the dataset's, and the spender's if one is named."""
        found = [] if self.dataset is None else [self.dataset]
        return found if spender is None else [*found, self.grants[spender]]

    def open_folders(self, spender: str | None = None) -> list[Folder]:
        """Reservations that were never settled; of one spender, if named."""
        return [folder for folder in self.opened.values() if spender in (None, folder.body.spender)]

    def holding(self, folder: Folder) -> Holding:
        """A frozen picture of a reservation; one that was settled never changes again, and keeps its own."""
        if folder.picture is not None:
            return folder.picture
        charges = tuple(
            StoredCharge(n, self.draws[n].ordinal, self.draws[n].cost.cost, self.payloads.get(n))
            for n in folder.charges
        )
        picture = Holding(folder.reservation(), "settled" if folder.settled else "open", charges)
        folder.picture = picture if folder.settled else None
        return picture

    def copy(self) -> Book:
        """A book of its own, which says the same."""
        folders = {number: replace(one, charges=list(one.charges)) for number, one in self.folders.items()}
        return replace(
            self,
            dataset=None if self.dataset is None else copy(self.dataset),
            hashes=list(self.hashes),
            grants={name: copy(account) for name, account in self.grants.items()},
            schemas=dict(self.schemas),
            folders=folders,
            opened={number: folders[number] for number in self.opened},
            requests=dict(self.requests),
            draws=dict(self.draws),
            payloads=dict(self.payloads),
            moves=dict(self.moves),
            mentions={word: list(numbers) for word, numbers in self.mentions.items()},
        )

    def record(self, entry: Entry) -> None:
        """Take in an entry that the rules have allowed."""
        match entry.body:
            case entries.Create() as body:
                self.create = body
                self.dataset = Balance().allow(body)
            case entries.Bind() as body:
                self.unit = Unit(body.rows, body.person)
            case entries.Grant() as body:
                self.grants.setdefault(body.spender, Balance()).allow(body)
            case entries.Raise() as body:
                for account in self.accounts(None):
                    account.allow(body)
            case entries.SchemaVersion() as body:
                self.schemas[body.sha256] = body.version
            case entries.Reserve() as body:
                self._reserve(entry, body)
            case entries.Draw() as body:
                self._draw(entry.number, body)
            case entries.Store() as body:
                self.payloads[body.charge] = body.sha256
            case entries.Settle() as body:
                self._settle(body)
            case entries.Move() as body:
                self.moves[entry.number] = body.to
            case _:
                assert_never(entry.body)
        self.hashes.append(entry.hash)

    def _reserve(self, entry: Entry, body: entries.Reserve) -> None:
        self.folders[entry.number] = self.opened[entry.number] = Folder(entry, body)
        if body.request is not None:
            self.requests[body.request] = entry.number
        for word in _listed(body):
            self.mentions.setdefault(word, []).append(entry.number)
        for account in self.accounts(body.spender):
            account.held += body.cost.cost

    def _draw(self, number: int, body: entries.Draw) -> None:
        folder = self.folders[body.reservation]
        folder.drawn += body.cost.cost
        folder.charges.append(number)
        self.draws[number] = body
        for account in self.accounts(folder.body.spender):
            account.held -= body.cost.cost
            account.spent += body.cost.cost

    def _settle(self, body: entries.Settle) -> None:
        folder = self.folders[body.reservation]
        for account in self.accounts(folder.body.spender):
            account.held -= folder.held
        folder.settled = True
        del self.opened[body.reservation]


def _listed(body: entries.Reserve) -> set[str]:
    """The words in the lists of a detail."""
    lists = [value for value in body.detail.values() if isinstance(value, list)]
    return {word for words in lists for word in cast("list[object]", words) if isinstance(word, str)}
