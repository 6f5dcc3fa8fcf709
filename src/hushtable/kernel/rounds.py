"""The adaptive loop: reserve everything, then charge, draw and store in groups of rounds, and resume after the last.

A group is charged before its first draw and covers rounds of about a second by counted work; draws use up that credit.
Its replies are stored when the credit is used up, at the end, and when the loop is interrupted.  The sum of all charges
is the exact sum of the rounds' costs, rounded up once.  A group charged and not stored is lost and stays spent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import LedgerError
from hushtable.kernel.adaptive import Confidential
from hushtable.kernel.measure import Progress, Spend
from hushtable.ledger import Charge, Ledger, Reservation, Stored
from hushtable.planning.requests import Measure, Policy, Purse, Request, fingerprint
from hushtable.privacy import UNIT, Cost
from hushtable.reconstruct.transcript import Reply, replies_from_bytes, replies_to_bytes

Ints = NDArray[np.int64]

GROUP_WORK = 1_000_000_000
"""Counted work of a group, about a second: one unit is one cell of a table passed over."""

_WORK_PER_REQUEST = 400_000
_WORK_PER_DRAW = 300
_MOST_AHEAD = 8
"""At most this part of what is left is charged ahead."""


@dataclass(frozen=True)
class Step:
    """One request with its reply: public."""

    request: Request
    values: Ints


def run_rounds(
    policy: Policy,
    purse: Purse,
    open_handle: Callable[[], Confidential],
    ledger: Ledger,
    spend: Spend,
    rows: int,
    progress: Progress,
) -> list[Step]:
    """Run a policy to its end, resuming after what ``spend.request`` has stored, and return every measurement.

    ``open_handle`` is called when the first unstored round comes; a finished release never opens the data again.
    """
    stored = None
    if spend.request is not None:
        stored = ledger.find(spend.request, kind=spend.kind, detail=spend.detail)
    replay = _Replay(policy, purse, rows)
    request = replay.run(stored)
    measured = [step for step in replay.steps if isinstance(step.request, Measure)]
    if request is None or (stored is not None and stored.state == "settled"):
        if stored is not None and stored.state == "open":
            ledger.settle(stored.reservation)
        return measured
    handle = open_handle()
    for step in replay.steps:
        handle.update(step.request)
    done = len(replay.steps)
    replay.steps.clear()
    reservation = ledger.reserve(
        cost=spend.cost, kind=spend.kind, request=spend.request, spender=spend.spender, detail=spend.detail
    )
    account = _Account(ledger, reservation, rows, replay.charged, replay.groups, replay.used)
    limit = float(purse.limit)
    try:
        for number, step in enumerate(_live(policy, request, handle, account), done + 1):
            if isinstance(step.request, Measure):
                measured.append(step)
            progress(f"step {number:,}", int(1000.0 * float(account.used) / limit), 1000)
    finally:
        account.store()
    ledger.settle(reservation)
    return measured


def _live(policy: Policy, request: Request, handle: Confidential, account: _Account) -> Iterator[Step]:
    """Charge, draw, hand over; until the policy ends or its next request can no longer be paid."""
    while account.afford(request):
        handle.update(request)
        values = handle.answer(request)
        account.keep(request, values)
        yield Step(request, values)
        try:
            request = policy.send(values)
        except StopIteration:
            return


@dataclass
class _Replay:
    """Feeds stored replies to the policy; stops at the first request without one."""

    policy: Policy
    purse: Purse
    rows: int
    steps: list[Step] = field(default_factory=list[Step])
    charged: int = 0
    groups: int = 0
    used: Fraction = Fraction(0)

    def run(self, stored: Stored | None) -> Request | None:
        """The first request that has no stored reply, or None when the policy has ended."""
        request: Request | None = next(self.policy)
        if stored is None:
            return request
        for charge, payload in zip(stored.charges, stored.payloads, strict=True):
            self.charged += charge.cost.rho
            self.groups += 1
            if payload is None:
                lost = Fraction(self.charged, UNIT) / self.rows**2 - self.used
                self.purse.lose(lost)
                self.used += lost
                continue
            for reply in replies_from_bytes(payload):
                request = self._feed(request, reply)
        return request

    def _feed(self, request: Request | None, reply: Reply) -> Request | None:
        if request is None or reply.request != fingerprint(request):
            raise LedgerError(
                "ledger.other-rounds",
                "The stored rounds answer other questions than this version asks.",
                "Resume with the version, flags and machine that began the release.",
            )
        self.steps.append(Step(request, reply.values))
        self.used += request.rho
        try:
            return self.policy.send(reply.values)
        except StopIteration:
            return None


class _Account:
    """The charges of one loop and the replies that the current one pays for."""

    def __init__(
        self, ledger: Ledger, reservation: Reservation, rows: int, charged: int, groups: int, used: Fraction
    ) -> None:
        self._ledger, self._reservation, self._rows = ledger, reservation, rows
        self._limit = reservation.cost.rho
        self._charged, self._groups = charged, groups
        self._charge: Charge | None = None
        self._replies: list[Reply] = []
        self.used = self._after = used

    def afford(self, request: Request) -> bool:
        """Make sure that the request is charged; False when the reservation cannot pay for it."""
        self._after = self.used + request.rho
        need = self._units(self._after)
        if need > self._limit:
            return False
        if need > self._charged or self._charge is None:
            self.store()
            target = max(need, self._ahead(request), self._charged)
            cost = Cost(0, target - self._charged)
            self._charge = self._ledger.charge(self._reservation, cost, ordinal=self._groups)
            self._groups += 1
            self._charged = target
        return True

    def keep(self, request: Request, values: Ints) -> None:
        """Count a draw as used and hold its reply until it is stored."""
        self.used = self._after
        self._replies.append(Reply.to(request, values))

    def store(self) -> None:
        """Store what the current charge has paid for so far; the next draw needs a new charge."""
        if self._charge is not None:
            self._ledger.store(self._charge, replies_to_bytes(self._replies))
            self._charge = None
            self._replies = []

    def _ahead(self, request: Request) -> int:
        """What to have charged for the requests of about a second, at most a share of what is left.

        Every policy spends all it has, so such credit is always used up; near the end every charge is exact.
        """
        draws = _WORK_PER_DRAW * request.work if isinstance(request, Measure) else request.work
        requests = GROUP_WORK // (_WORK_PER_REQUEST + draws)
        used = self._units(self.used)
        share = used + (self._limit - used) // _MOST_AHEAD
        return min(self._units(self.used + request.rho * requests), share)

    def _units(self, rho: Fraction) -> int:
        return -(-rho.numerator * self._rows**2 * UNIT // rho.denominator)
