"""The adaptive loop: reserve everything, then charge, draw and store in groups of rounds, and resume after the last.

A group is charged before its first draw and covers rounds of about a second by counted work; draws use up that credit,
each of them before it is made, so that one that is thrown away is never made again on the same credit.  Replies are
stored when the credit is used up, at the end, and when the loop is interrupted.  The sum of all charges is the exact
sum of the rounds' costs, rounded up once.  A group charged and not stored is lost and stays spent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction

from hushtable.arrays import Ints
from hushtable.errors import HushtableError, LedgerError
from hushtable.kernel.draw import Confidential
from hushtable.kernel.measure import Progress
from hushtable.kernel.spending import Account, ended_empty, undisturbed
from hushtable.kernel.warm import warm_rounds
from hushtable.ledger import Spend, Stored
from hushtable.measurement import (
    LOST,
    NOTE,
    Line,
    Measure,
    Policy,
    Purse,
    Reply,
    Request,
    Select,
    Transcript,
    lines_from_bytes,
    lines_to_bytes,
)
from hushtable.privacy import UNIT, Cost

GROUP_WORK = 1_000_000_000
"""Counted work of a group, about a second: one unit is one cell of a table passed over."""

_WORK_PER_REQUEST = 400_000
_WORK_PER_DRAW = 300
_MOST_AHEAD = 8
"""At most this part of what is left is charged ahead."""
_ALONE = 4
"""So many draws of a run are charged and stored one by one: what is compiled on the way is then compiled in between."""


def run_rounds(
    policy: Policy,
    purse: Purse,
    open_handle: Callable[[], Confidential],
    account: Account,
    spend: Spend,
    rows: int,
    progress: Progress,
    notes: Callable[[], Sequence[Line]] = tuple,
) -> Transcript:
    """Run a policy to its end, resuming after what the request has stored, and return every line.

    ``open_handle`` is called when the first unstored round comes.  ``notes`` are asked for at the end and stored too.
    """
    replay = _Replay(policy, purse, rows)
    request = replay.run(account.begin(spend))
    credit = _Credit(account, rows, replay)
    if request is not None and credit.can_pay(request):
        handle = open_handle()
        for seen in replay.selections:
            handle.update(seen)
        replay.selections.clear()
        warm_rounds()
        try:
            _go_on(policy, purse, request, handle, credit, progress)
        except BaseException:
            credit.save()
            raise
    if not any(line.kind == NOTE for line in replay.lines):
        credit.add(notes())
    credit.store()
    account.settle()
    return _not_empty(Transcript(tuple(replay.lines)))


def read_rounds(account: Account, spend: Spend) -> Transcript:
    """What a settled request has stored: no policy, no fit, no data."""
    stored = account.begin(spend)
    return _not_empty(Transcript.of(() if stored is None else stored.payloads))


def _not_empty(transcript: Transcript) -> Transcript:
    """Refuse a release of which nothing was measured: it was ended, or all that it might draw was lost."""
    if not any(line.measures for line in transcript.lines):
        raise ended_empty()
    return transcript


def _go_on(
    policy: Policy, purse: Purse, request: Request, handle: Confidential, credit: _Credit, progress: Progress
) -> None:
    """Prepare, charge, draw, hand over; until the policy ends or its next request can no longer be paid."""
    limit, number = float(purse.limit), len(credit.lines)
    with undisturbed() as interrupts:
        while credit.can_pay(request) and not interrupts:
            purse.pay(request.rho)
            draw = handle.prepare(request)
            credit.charge_for(request)
            values = draw()
            credit.keep(request, values)
            number += 1
            progress(f"step {number:,}", int(1000.0 * float(credit.used) / limit), 1000)
            try:
                request = policy.send(Reply(request, values))
            except StopIteration:
                return


@dataclass
class _Replay:
    """Feeds stored replies to the policy; stops at the first request without one."""

    policy: Policy
    purse: Purse
    rows: int
    lines: list[Line] = field(default_factory=list[Line])
    selections: list[Select] = field(default_factory=list[Select])
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
                self._lose(Fraction(self.charged, UNIT) / self.rows**2 - self.used)
                continue
            for line in lines_from_bytes(payload):
                self.lines.append(line)
                if line.kind == LOST:
                    self._lose(line.price)
                elif line.kind != NOTE:
                    request = self._feed(request, line)
        return request

    def _lose(self, amount: Fraction) -> None:
        self.purse.lose(max(amount, Fraction(0)))
        self.used += max(amount, Fraction(0))

    def _feed(self, request: Request | None, line: Line) -> Request | None:
        reply = line.reply_to(request)
        if reply is None:
            raise LedgerError(
                "ledger.other-rounds",
                "The stored rounds of this unfinished release answer other questions than this version asks.",
                "Resume it with the version and flags that began it, or end it with `hush ledger end L REQUEST` and "
                "read what was stored.",
            )
        price = line.price if line.kind else reply.asked.rho
        self.purse.pay(min(price, self.purse.left))
        self.used += price
        if isinstance(request, Select):
            self.selections.append(request)
        try:
            return self.policy.send(reply)
        except StopIteration:
            return None


class _Credit:
    """What a loop has charged, and the lines that the current charge pays for."""

    def __init__(self, account: Account, rows: int, replay: _Replay) -> None:
        self._account, self._limit, self._rows = account, account.limit.rho, rows
        self._charged, self.used = replay.charged, replay.used
        self.lines = replay.lines
        self._open = False
        self._group: list[Line] = []
        self._alone = _ALONE

    def can_pay(self, request: Request) -> bool:
        """Whether what is set aside can pay for the request."""
        return not self._account.settled and self._units(self.used + request.rho) <= self._limit

    def charge_for(self, request: Request) -> None:
        """Make sure that the request is charged, and count its draw as made: the next thing to do is to draw."""
        need = self._units(self.used + request.rho)
        if need > self._charged or not self._open:
            self.store()
            ahead = self._ahead(request) if self._alone <= 0 else 0
            self._charge(max(need, ahead, self._charged))
        self.used += request.rho
        self._group.append(Line.lost(request))

    def keep(self, request: Request, values: Ints) -> None:
        """Put the reply in the place of the draw, and store the group if its credit cannot pay for another one."""
        self._group[-1] = Line.of(request, values)
        self._alone -= 1
        if self._alone >= 0 or self._units(self.used + request.rho) > self._charged:
            self.store()

    def add(self, notes: Sequence[Line]) -> None:
        """Lines that cost nothing; they are stored with the next group."""
        if notes and not self._account.settled:
            if not self._open:
                self._charge(self._charged)
            self._group.extend(notes)

    def store(self) -> None:
        """Store what the current charge has paid for so far; the next draw needs a new charge."""
        if self._open:
            self._account.store(lines_to_bytes(self._group))
            self.lines.extend(self._group)
            self._open, self._group = False, []

    def save(self) -> None:
        """Store after a failure, if that is still possible; otherwise the group is lost, and its charge with it."""
        with suppress(HushtableError):
            self.store()

    def _charge(self, target: int) -> None:
        self._account.charge(Cost(0, target - self._charged))
        self._charged, self._open = target, True

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
