"""Find, lock, room, prepare, reserve, charge, draw, store, settle: the only module that knows this order.

Whatever looks at confidential rows for money goes through an ``Account``: batches, rounds, parts of a choice, checks.
Nothing else reserves, charges, stores or settles.  The order is the promise: all that can fail comes before the charge,
the charge is durable before the first bit of noise, and the noisy integers are stored before they are shown.  A charge
without a payload, while nobody holds its request's lock, is lost and stays spent.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import uuid
from collections.abc import Generator
from typing import Any

from hushtable.errors import LedgerError
from hushtable.ledger import Charge, Holding, Ledger, Reservation, Spend, Stored, Turn
from hushtable.privacy import Cost

_ROWS_KEPT = {"rows_kept": "by hash"}
"""What an entry says of the rule by which k rows of a person count, where a column tells people apart."""


class Account:
    """One request of a ledger, in the hands of this process alone unless it is settled."""

    def __init__(self, ledger: Ledger, request: str, *, named: bool, turn: Turn | None) -> None:
        self.ledger, self.request = ledger, request
        self._named, self._turn = named, turn
        self._spend: Spend | None = None
        self._charge: Charge | None = None
        found = ledger.holding(request)
        self._reservation = None if found is None else found.reservation
        self.charges = 0 if found is None else len(found.charges)
        self.settled = found is not None and found.state == "settled"

    @property
    def limit(self) -> Cost:
        """The most that the request may be charged: what it has set aside, or will."""
        if self._reservation is not None:
            return self._reservation.cost
        return Cost.ZERO if self._spend is None else self._spend.cost

    def begin(self, spend: Spend) -> Stored | None:
        """What the request has stored, or None when it is new and the ledger has room for it.

        Refuses an id that belongs to another request.  What an open request has set aside is its own room.
        """
        self._spend = spend
        if self._reservation is None:
            self.ledger.require_room(spend.cost, spend.spender)
            return None
        return self.ledger.find(self.request, kind=spend.kind, detail=self._detail(spend))

    def require_same_rows(self) -> None:
        """Refuse to go on with a request that was begun while other rows of a person counted."""
        if self._reservation is not None and not self._keeps(self._reservation):
            raise LedgerError(
                "ledger.other-rows",
                "This unfinished request was begun by a version that counted other rows of people who have many.",
                "End it with `hush ledger end L REQUEST`, or `hush choose abandon` if it is a choice, and read what "
                "was stored; or go on with the version that began it.",
            )

    def pay(self, cost: Cost) -> None:
        """Spend a part of what is set aside, for ever; the first charge sets it aside."""
        if self._turn is not None:
            self._turn.require()
        reservation = self._reservation or self._reserve()
        self._charge = self.ledger.charge(reservation, cost, ordinal=self.charges)
        self.charges += 1

    def keep(self, payload: bytes) -> None:
        """Keep what the last charge paid for; afterwards, and only then, it may be shown."""
        if self._charge is None:
            raise LedgerError("ledger.unknown-charge", "There is no charge to store for.", "Charge first.")
        with undisturbed():
            self.ledger.store(self._charge, payload)
            self._charge = None

    def end(self) -> None:
        """End the request and free what was never charged; one that the ledger does not know has no end."""
        if self._reservation is not None and not self.settled:
            self.ledger.settle(self._reservation)
            self.settled = True

    def give_up(self, *, spent: bool) -> None:
        """After a failure: end what nobody could name to ask for it again and, if ``spent``, what is charged in full.

        A choice that lost its last draw stays open: only its owner abandons it.
        """
        found = self.ledger.holding(self.request)
        if found is None or found.state != "open":
            return
        if spent and self.limit <= found.drawn if found.charges else not self._named:
            self.ledger.settle(found.reservation)

    def _reserve(self) -> Reservation:
        if self._spend is None:
            raise LedgerError("ledger.unknown-reservation", "The request was not begun.", "Begin it first.")
        spend = self._spend
        self._reservation = self.ledger.reserve(
            cost=spend.cost,
            kind=spend.kind,
            request=self.request,
            spender=spend.spender,
            detail=self._detail(spend),
        )
        return self._reservation

    def _detail(self, spend: Spend) -> dict[str, Any]:
        """What the entry says of the spend; one that is known keeps to the rule that it was begun under."""
        kept = self._kept if self._reservation is None or self._keeps(self._reservation) else {}
        return spend.detail.to_dict() | kept

    def _keeps(self, begun: Reservation) -> bool:
        return all(begun.detail.get(name) == rule for name, rule in self._kept.items())

    @property
    def _kept(self) -> dict[str, str]:
        unit = self.ledger.unit
        return {} if unit is None or unit.person is None else _ROWS_KEPT


@contextlib.contextmanager
def undisturbed() -> Generator[list[int]]:
    """Let an interrupt from the keyboard wait until the block has ended: between charge and store it would cost.

    Gives the interrupts that wait, so that a long block can end early.  Only the main thread can; elsewhere Python
    raises no such interrupt.
    """
    came: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield came
        return
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def working_on(
    ledger: Ledger, request: str | None, *, wait: bool = False, unsettled: bool = False
) -> Generator[Account]:
    """The account of a request, which belongs to this process until the block ends.

    Without an id the request is a new one.  A settled request is read without a lock; ``unsettled``: the caller has
    seen that it is none.  While another process works on it the request is refused, or waited for.
    """
    name = request or uuid.uuid4().hex
    found = None if request is None or unsettled else ledger.holding(name)
    if found is not None and found.state == "settled":
        yield Account(ledger, name, named=True, turn=None)
        return
    with ledger.turn(name, wait=wait) as turn:
        yield Account(ledger, name, named=request is not None, turn=turn)


def end_request(ledger: Ledger, request: str, *, wait: bool = False) -> Holding:
    """End a request as it stands: what was stored can be read, what was charged stays spent, the rest is free."""
    with working_on(ledger, request, wait=wait) as account:
        account.end()
    ended = ledger.holding(request)
    if ended is None:
        raise LedgerError(
            "ledger.unknown-request",
            "The ledger knows no request of this id.",
            "Copy the id from `hush ledger show L`.",
        )
    return ended


def draw_lost() -> LedgerError:
    """The refusal to measure again what was charged and lost."""
    return LedgerError(
        "ledger.draw-lost",
        "This request was charged, and its answers were lost in a crash; they stay spent.",
        "Use a new --request id to measure again.",
    )


def ended_empty() -> LedgerError:
    """The refusal to read a request that ended before anything of it was stored."""
    return LedgerError(
        "ledger.nothing-stored",
        "This request ended before anything of it was stored; what was charged stays spent.",
        "Use a new --request id to measure.",
    )
