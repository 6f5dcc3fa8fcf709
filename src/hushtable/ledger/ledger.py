"""One durable account of privacy for a dataset: reserve, charge, store, settle.

A spend is reserved first, in one transaction that checks the spender and the dataset.  Parts of it are charged, each
durable before its noise is drawn; each charge's payload is stored before it is shown; settling frees only what was
never drawn.  The ledger knows amounts and hashes, never the data, and decides nothing about what to measure.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import threading
from collections.abc import Callable, Generator, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from hushtable.errors import HushtableError, LedgerError
from hushtable.ledger import audit, entries, moving, names, rules
from hushtable.ledger.book import Book, Folder
from hushtable.ledger.entries import Amount, Body, Entry
from hushtable.ledger.failpoints import reach
from hushtable.ledger.private_notes import carry_notes
from hushtable.ledger.stores import WAIT, Address, LedgerStore, Payload, Transaction, Turn, store_at
from hushtable.ledger.together import Gathering, Intent
from hushtable.ledger.values import Charge, Holding, LedgerReport, Reservation, Stored, Unit
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.privacy import Budget, Cost, Kind

if TYPE_CHECKING:
    from hushtable.schema import Schema


class Ledger:
    """An open ledger; safe to share between threads, and any number of processes may open the same one.

    Use ``Ledger.create`` or ``Ledger.open``.  Nothing stays locked between calls.
    """

    def __init__(self, store: LedgerStore) -> None:
        self._store = store
        self._book = Book()
        self._draft: Book | None = None
        self._committing = self._still = False
        self._mine: set[int] = set()
        self._lock = threading.RLock()
        self._gathering = Gathering(self._write)

    @classmethod
    def create(
        cls,
        path: Address,
        budget: Budget,
        unit: Unit | None = None,
        *,
        name: str | None = None,
        wait: float = WAIT,
    ) -> Ledger:
        """Write a new ledger at a path or URL, and refuse to replace anything.

        ``name`` is the dataset's label, by default the file's name without its ending.  Without a unit the ledger
        cannot be spent from until ``bind_unit``.
        """
        store = store_at(path, wait=wait)
        label = names.check_dataset(store.label if name is None else name)
        bodies: list[Body] = [
            entries.Create(
                format=entries.FORMAT,
                ledger=secrets.token_hex(16),
                name=label,
                budget=Budget.checked(budget).to_dict(),
                limit=Amount.of(budget.limit),
            )
        ]
        if unit is not None:
            bodies.append(entries.Bind(rows=unit.rows, person=unit.person))
        book, chain = Book(), list[Entry]()
        for body in bodies:
            chain.append(rules.sealed(book, body))
            book.record(chain[-1])
        store.create(chain)
        return cls.open(path, wait=wait)

    @classmethod
    def copy(cls, source: Address, target: Address) -> Ledger:
        """Move a ledger to a new place, which is returned; the old one can be read and spends nothing any more.

        A copy that was interrupted is ended by repeating it.
        """
        with contextlib.ExitStack() as requests:
            for open_now in cls.open(source).open_reservations():
                if open_now.reservation.request is not None:
                    requests.enter_context(store_at(source).turn(open_now.reservation.request, wait=False))
            head = moving.move(store_at(source), store_at(target))
        carry_notes(source, target)
        return cls.open(target, head=head)

    @classmethod
    def of(cls, ledger: Address | Ledger) -> Ledger:
        """A ledger that is open, or that of a path or URL."""
        return ledger if isinstance(ledger, Ledger) else cls.open(ledger)

    @classmethod
    def at(
        cls, path: Address, schema: Schema, budget: Budget | None, spender: str | None, head: str | None
    ) -> Ledger:
        """The ledger of this path or URL for data of a schema and a spender; with a budget, made if it is not there."""
        if budget is not None and not store_at(path).exists():
            ledger = cls.create(path, budget, Unit.of(schema))
        else:
            ledger = cls.open(path, head=head)
        ledger.schema_version(schema.canonical)
        if spender is not None:
            ledger.remaining(spender)
        return ledger

    @classmethod
    def open(cls, path: Address, *, head: str | None = None, wait: float = WAIT) -> Ledger:
        """Open a ledger, after checking its chain, its rules and its balances from the first entry on.

        With ``head``, a hash published earlier, an older copy is refused.  ``wait`` is how many seconds a call may
        wait for other processes.
        """
        wanted = None if head is None else names.check_head(head)
        store = store_at(path, wait=wait)
        store.check()
        ledger, present = cls(store), store.present()
        with ledger._reading() as book:
            rules.dataset(book)
            rules.check_charged(book, present)
            if wanted is not None and wanted not in book.hashes:
                raise LedgerError(
                    "ledger.older-than-head",
                    f"{store.place} does not contain the published head: it is an older copy, or another ledger.",
                    "Restore the copy that the head was published from, or a later one.",
                )
        return ledger

    def to_dict(self) -> dict[str, Any]:
        """How the account stands, as plain JSON values: budget, amounts, spenders and every spend."""
        spenders = {
            name: {
                "budget": str(budget),
                "spent": self.spent(name).to_dict(),
                "remaining": self.remaining(name).to_dict(),
            }
            for name, budget in self.grants.items()
        }
        return {
            "name": self.name,
            "unit": None if self.unit is None else self.unit.to_dict(),
            "budget": str(self.budget),
            "spent": self.spent().to_dict(),
            "held": self.held().to_dict(),
            "remaining": self.remaining().to_dict(),
            "spenders": spenders,
            "spends": [holding.to_dict() for holding in self.reservations()],
            "moved_to": self.moved_to,
            "head": self.head,
        }

    def _repr_html_(self) -> str:
        facts = {"budget": self.budget, "spent": self.spent(), "held": self.held(), "left": self.remaining()}
        rows = [(h.reservation.number, h.reservation.kind, h.drawn, h.state) for h in self.reservations()]
        shown = rows[-MOST_ROWS:]
        columns = ("entry", "kind", "spent", "state")
        return html_card(f"Ledger {self.name}", facts, columns, shown, len(rows) - len(shown))

    def __repr__(self) -> str:
        return f"<Ledger {self.name!r}: budget {self.budget}, {self.remaining()} left>"

    @property
    def path(self) -> str:
        """Where it is: the path of its file, or its URL without credentials."""
        return self._store.place

    @property
    def name(self) -> str:
        """The dataset's label."""
        with self._reading() as book:
            return "" if book.create is None else book.create.name

    @property
    def id(self) -> str:
        """What tells the ledger apart from all others; drawn when it was created."""
        with self._reading() as book:
            return "" if book.create is None else book.create.ledger

    @property
    def budget(self) -> Budget:
        """The dataset's budget, as last raised."""
        with self._reading() as book:
            return rules.dataset(book).budget

    @property
    def kind(self) -> Kind:
        """The currency: ``pure``, ``zcdp`` or ``approx``."""
        return self.budget.kind

    @property
    def unit(self) -> Unit | None:
        """The unit of privacy, or None until one is bound."""
        with self._reading() as book:
            return book.unit

    @property
    def head(self) -> str:
        """The hash of the last entry; publish it to make the ledger's history provable."""
        with self._reading() as book:
            return book.head

    @property
    def moved_to(self) -> str | None:
        """Where the ledger goes on, if that is elsewhere: then nothing can be spent here."""
        with self._reading() as book:
            return moving.moved_to(book, self._store)

    @property
    def grants(self) -> dict[str, Budget]:
        """What each named spender may spend in total."""
        with self._reading() as book:
            return {name: account.budget for name, account in book.grants.items()}

    @property
    def schemas(self) -> dict[str, int]:
        """The version of each schema that was used, by its SHA-256."""
        with self._reading() as book:
            return dict(book.schemas)

    def limit(self, spender: str | None = None) -> Cost:
        """What may be spent in total, by everyone or by one spender."""
        with self._reading() as book:
            return rules.account_of(book, spender).limit

    def spent(self, spender: str | None = None) -> Cost:
        """What was charged, for ever."""
        with self._reading() as book:
            return rules.account_of(book, spender).spent

    def held(self, spender: str | None = None) -> Cost:
        """What open reservations have set aside and not charged."""
        with self._reading() as book:
            return rules.account_of(book, spender).held

    def remaining(self, spender: str | None = None) -> Cost:
        """Limit less what is spent and held; for a spender, no more than the dataset has left."""
        with self._reading() as book:
            left = rules.dataset(book).remaining
            if spender is None:
                return left
            own = rules.account_of(book, spender).remaining
            return Cost(min(left.xi, own.xi), min(left.rho, own.rho), min(left.delta, own.delta))

    def require_room(self, cost: Cost, spender: str | None = None) -> None:
        """Refuse a cost that ``reserve`` would refuse now for want of budget; writes nothing."""
        with self._reading() as book:
            moving.require_here(book, self._store)
            rules.check_room(book, spender, cost)

    def bind_unit(self, unit: Unit) -> None:
        """Bind the ledger to a unit of privacy, once; the same unit again changes nothing."""
        self._append(
            "bind",
            lambda book: None if book.unit == unit else entries.Bind(rows=unit.rows, person=unit.person),
        )

    def grant(self, name: str, budget: Budget) -> None:
        """Let a spender spend up to ``budget`` in total; granting again replaces the total."""
        spender = names.check_spender(name)
        body = entries.Grant(spender=spender, budget=budget.to_dict(), limit=Amount.of(budget.limit))
        self._append("grant", lambda book: body)

    def raise_budget(self, budget: Budget) -> None:
        """Raise the dataset's budget to a new total of the same kind."""
        body = entries.Raise(budget=budget.to_dict(), limit=Amount.of(budget.limit))
        self._append("raise", lambda book: body)

    def schema_version(self, schema_json: str) -> int:
        """The version of a schema in this ledger, counted from 1; a schema seen before keeps its version.

        Binds the schema's unit (``max_rows_per_person``, ``person``), and refuses one that differs.
        """
        schema = names.schema_object(schema_json)
        self.bind_unit(Unit(schema.get("max_rows_per_person", 1), schema.get("person")))
        sha256 = entries.digest(entries.canonical(schema))

        def decide(book: Book) -> Body | None:
            known = sha256 in book.schemas
            return None if known else entries.SchemaVersion(version=len(book.schemas) + 1, sha256=sha256)

        self._append("schema", decide)
        with self._reading() as book:
            return book.schemas[sha256]

    def turn(self, request: str, *, wait: bool = False) -> contextlib.AbstractContextManager[Turn]:
        """Work on a request alone: others are refused meanwhile, or wait for the end if they say so.

        The lock dies with this process.
        """
        return self._store.turn(names.check_request(request), wait=wait)

    def turns(
        self, requests: Iterable[str], *, wait: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        """The same for several at once; everybody takes them in one order, so nobody waits in a circle."""
        return self._store.turns(sorted({names.check_request(one) for one in requests}), wait=wait)

    def reserve(
        self,
        *,
        cost: Cost,
        kind: str,
        request: str | None = None,
        spender: str | None = None,
        detail: dict[str, Any],
    ) -> Reservation:
        """Set an amount aside, checked against the spender and the dataset in one transaction.

        ``detail`` is public and must tell apart any two requests that differ.  A request id that has reserved before
        returns that reservation with ``fresh=False``, whatever its cost; see ``find`` for its payloads.
        """
        body = entries.Reserve(
            kind=names.check_kind(kind),
            request=None if request is None else names.check_request(request),
            spender=None if spender is None else names.check_spender(spender),
            cost=Amount.of(cost),
            detail=names.public_detail(detail),
            time=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        )
        earlier: list[Folder] = []

        def decide(book: Book) -> Body | None:
            earlier.extend(rules.earlier(book, body))
            return None if earlier else body

        entry = self._append("reserve", decide)
        return (earlier[0] if entry is None else Folder(entry, body)).reservation(fresh=entry is not None)

    def charge(self, reservation: Reservation, cost: Cost, *, ordinal: int | None = None) -> Charge:
        """Spend a part of a reservation for ever; durable when this returns, and then its noise may be drawn.

        ``ordinal`` is how many charges the caller knows of; it is refused if another process has made more.
        """

        def decide(book: Book) -> Body:
            folder = rules.find_folder(book, reservation.number, reservation.hash)
            place = len(folder.charges) if ordinal is None else ordinal
            return entries.Draw(reservation=reservation.number, ordinal=place, cost=Amount.of(cost))

        self._store.prepare()
        entry = self._append("charge", decide)
        if entry is None or not isinstance(entry.body, entries.Draw):
            raise entries.spoilt("The charge was not written.")
        self._mine.add(entry.number)
        return Charge(entry.number, reservation.number, entry.body.ordinal, cost)

    def store(self, charge: Charge, payload: bytes) -> str:
        """Keep the payload that a charge paid for, once, and return its SHA-256; show it only afterwards.

        Only the ledger object that made the charge may store for it: after a crash the draw is lost, never repeated.
        """
        body = entries.Store(charge=charge.number, sha256=hashlib.sha256(payload).hexdigest())

        def decide(book: Book) -> Body:
            rules.check(book, body)
            if charge.number not in self._mine:
                raise LedgerError(
                    "ledger.charge-lost",
                    f"Charge {charge.number} was made by another process, and its draw is lost.",
                    "Charge again before drawing again; what was charged stays spent.",
                )
            rules.check_in_time(book, body)
            return body

        kept = Payload(charge.number, payload)
        with self._store.ready(kept):
            self._append("store", decide, kept)
        self._mine.discard(charge.number)
        return body.sha256

    def settle(self, reservation: Reservation) -> None:
        """End a reservation and free what was never drawn; settling again changes nothing."""

        def decide(book: Book) -> Body | None:
            folder = rules.find_folder(book, reservation.number, reservation.hash)
            return None if folder.settled else entries.Settle(reservation=reservation.number)

        self._append("settle", decide)

    def holding(self, request: str) -> Holding | None:
        """What a request id reserved and charged, without the bytes; None when the ledger does not know it."""
        wanted = names.check_request(request)
        with self._reading() as book:
            number = book.requests.get(wanted)
            return None if number is None else book.holding(book.folders[number])

    def find(
        self, request: str, *, kind: str | None = None, detail: dict[str, Any] | None = None
    ) -> Stored | None:
        """What a request id reserved, charged and stored, with the bytes, or None.

        With ``kind`` or ``detail``, a request that differs in them is refused.
        """
        wanted = names.check_request(request)
        with self._reading() as book:
            number = book.requests.get(wanted)
            if number is None:
                return None
            folder = book.folders[number]
            given = {} if detail is None else {"detail": names.public_detail(detail)}
            given |= {} if kind is None else {"kind": names.check_kind(kind)}
            rules.earlier(book, folder.body.model_copy(update=given))
            holding = book.holding(folder)
        payloads = tuple(
            None if c.sha256 is None else self._store.payload(c.number, c.sha256) for c in holding.charges
        )
        return Stored(holding.reservation, holding.state, holding.charges, payloads)

    def payload(self, charge_id: int) -> bytes:
        """The bytes stored for a charge, checked against their hash."""
        with self._reading() as book:
            sha256 = book.payloads.get(charge_id)
        if sha256 is None:
            raise LedgerError(
                "ledger.no-payload",
                f"The ledger has no payload for charge {charge_id}.",
                "If the charge exists its draw was lost and stays spent; ask again under a new request id.",
            )
        return self._store.payload(charge_id, sha256)

    def reservations(self) -> tuple[Holding, ...]:
        """Every reservation with its state and charges, oldest first."""
        with self._reading() as book:
            return tuple(book.holding(folder) for folder in book.folders.values())

    @contextlib.contextmanager
    def still(self) -> Generator[int]:
        """Let the account stand still for a few questions of this thread; gives how many entries it has."""
        with self._reading() as book:
            before, self._still = self._still, True
            try:
                yield book.count
            finally:
                self._still = before

    def mentioning(self, words: Iterable[str]) -> tuple[Holding, ...]:
        """The reservations whose details list one of these words, oldest first; found without passing over others."""
        with self._reading() as book:
            numbers = {number for word in words for number in book.mentions.get(word, ())}
            return tuple(book.holding(book.folders[number]) for number in sorted(numbers))

    def open_reservations(self) -> tuple[Holding, ...]:
        """The reservations that were never settled, oldest first."""
        with self._reading() as book:
            return tuple(book.holding(folder) for folder in book.open_folders())

    def history(self) -> list[Entry]:
        """Every entry, oldest first, read from the store and checked."""
        book = Book()
        with self._store.reading() as transaction:
            return [rules.take_in(book, row) for row in transaction.rows(start=0)]

    def export(self) -> list[dict[str, Any]]:
        """The history as plain JSON values; every one of them is covered by the chain."""
        return [entry.to_dict() for entry in self.history()]

    def verify(self, head: str | None = None) -> LedgerReport:
        """Recompute the chain, rules, balances and payloads, and look for a published head."""
        return audit.verify_ledger(self._store, head=head)

    @contextlib.contextmanager
    def _reading(self) -> Generator[Book]:
        """The book as it stands.  While this process commits nobody else can write, so then it stands as it is."""
        with self._lock:
            if not self._committing and not self._still:
                with self._store.reading() as transaction:
                    self._catch_up(transaction)
            yield self._book

    def _append(
        self, step: str, decide: Callable[[Book], Body | None], payload: Payload | None = None
    ) -> Entry | None:
        """Read what others wrote, decide, check, write.  None when there is nothing to write."""
        return self._gathering.written(Intent(step, decide, payload))

    def _write(self, group: list[Intent]) -> None:
        """One transaction for a group; a refusal of one is its own.  Readers wait for all of it but the commit."""
        try:
            with contextlib.ExitStack() as transaction:
                with self._lock:
                    self._write_entries(transaction.enter_context(self._store.writing()), group)
                    self._committing = True
                transaction.close()
            written = [one for one in group if one.entry is not None]
            for one in written:
                reach(f"{one.step}.committed")
            with self._lock:
                for one in written:
                    self._record(one.entry, drafted=len(group) > 1)
                self._committing = False
        except BaseException:
            self._draft = None
            raise
        finally:
            self._committing = False

    def _write_entries(self, transaction: Transaction, group: list[Intent]) -> None:
        for one in group:
            reach(f"{one.step}.locked")
        self._catch_up(transaction)
        book = self._book if len(group) == 1 else self._drafted()
        for one in group:
            try:
                body = one.decide(book)
                if body is None:
                    continue
                moving.require_here(book, self._store)
                entry = rules.sealed(book, body)
            except HushtableError as error:
                one.error = error
                continue
            transaction.append(entry, one.payload)
            one.entry = entry
            if len(group) > 1:
                book.record(entry)
            reach(f"{one.step}.inserted")

    def _drafted(self) -> Book:
        """A second book that is ahead by what a transaction has not committed yet; kept in step with the first."""
        if self._draft is None or self._draft.head != self._book.head:
            self._draft = self._book.copy()
        return self._draft

    def _record(self, entry: Entry | None, *, drafted: bool) -> None:
        if entry is not None:
            self._book.record(entry)
            if self._draft is not None and not drafted:
                self._draft.record(entry)

    def _catch_up(self, transaction: Transaction) -> None:
        """Record the entries that other processes have written since the last call."""
        rows = transaction.rows(start=self._book.count)
        if self._book.count:
            last = rows.pop(0) if rows else (None, None, None)
            if last[0] != self._book.count or last[2] != self._book.head or not entries.intact(last):
                raise LedgerError(
                    "ledger.replaced",
                    f"{self._store.place} was replaced or cut short while it was open.",
                    "Restore the latest copy of the ledger and open it with the last head you know.",
                )
        for row in rows:
            entry = rules.take_in(self._book, row)
            if self._draft is not None:
                self._draft.record(entry)
