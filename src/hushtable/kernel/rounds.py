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
from hushtable.kernel.measure import Progress
from hushtable.kernel.spending import Account
from hushtable.ledger import Spend, Stored
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
    account: Account,
    spend: Spend,
    rows: int,
    progress: Progress,
) -> list[Step]:
    """Run a policy to its end, resuming after what the request has stored, and return every measurement.

    ``open_handle`` is called when the first unstored round comes; a finished release never opens the data again.
    """
    stored = account.begin(spend)
    replay = _Replay(policy, purse, rows)
    request = replay.run(stored)
    measured = [step for step in replay.steps if isinstance(step.request, Measure)]
    if request is None or account.settled:
        account.settle()
        return measured
    handle = open_handle()
    for step in replay.steps:
        handle.update(step.request)
    done = len(replay.steps)
    replay.steps.clear()
    credit = _Credit(account, rows, replay.charged, replay.used)
    limit = float(purse.limit)
    try:
        for number, step in enumerate(_live(policy, request, handle, credit), done + 1):
            if isinstance(step.request, Measure):
                measured.append(step)
            progress(f"step {number:,}", int(1000.0 * float(credit.used) / limit), 1000)
    finally:
        credit.store()
    account.settle()
    return measured


def _live(policy: Policy, request: Request, handle: Confidential, credit: _Credit) -> Iterator[Step]:
    """Charge, draw, hand over; until the policy ends or its next request can no longer be paid."""
    while credit.afford(request):
        handle.update(request)
        values = handle.answer(request)
        credit.keep(request, values)
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
    used: Fraction = Fraction(0)

    def run(self, stored: Stored | None) -> Request | None:
        """The first request that has no stored reply, or None when the policy has ended."""
        request: Request | None = next(self.policy)
        if stored is None:
            return request
        for charge, payload in zip(stored.charges, stored.payloads, strict=True):
            self.charged += charge.cost.rho
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


class _Credit:
    """What a loop has charged, and the replies that the current charge pays for."""

    def __init__(self, account: Account, rows: int, charged: int, used: Fraction) -> None:
        self._account, self._limit, self._rows = account, account.limit.rho, rows
        self._charged = charged
        self._open = False
        self._replies: list[Reply] = []
        self.used = self._after = used

    def afford(self, request: Request) -> bool:
        """Make sure that the request is charged; False when the reservation cannot pay for it."""
        self._after = self.used + request.rho
        need = self._units(self._after)
        if need > self._limit:
            return False
        if need > self._charged or not self._open:
            self.store()
            target = max(need, self._ahead(request), self._charged)
            self._account.charge(Cost(0, target - self._charged))
            self._charged, self._open = target, True
        return True

    def keep(self, request: Request, values: Ints) -> None:
        """Count a draw as used and hold its reply until it is stored."""
        self.used = self._after
        self._replies.append(Reply.to(request, values))

    def store(self) -> None:
        """Store what the current charge has paid for so far; the next draw needs a new charge."""
        if self._open:
            self._account.store(replies_to_bytes(self._replies))
            self._open = False
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
