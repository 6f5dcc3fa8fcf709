"""The loop of a paid request: replay what is stored, then prepare, charge, draw and store until the policy ends.

A batch, a check and a step of a choice are policies that ask once; adaptive strategies ask thousands of times.  After
its step a choice pauses: it stays open until a person decides.  Rounds are charged in groups: a group is charged before
its first draw and covers a fifth of a second by counted work; draws use up that credit, each of them before it
is made, so that one that is thrown away is never made again on the same credit.  Replies are stored when the credit is
used up, at the end, and when the loop is interrupted.  The sum of all charges is the exact sum of the rounds' costs,
rounded up once.  A group charged and not stored is lost and stays spent.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from hushtable.arrays import Ints
from hushtable.errors import HushtableError, LedgerError
from hushtable.kernel.draw import Confidential
from hushtable.kernel.spending import Account, draw_lost, ended_empty, undisturbed
from hushtable.kernel.warm import Drawn, candidates, noise_of, warm
from hushtable.ledger import Stored
from hushtable.measurement import (
    LOST,
    NOTE,
    Line,
    OnePrice,
    Policy,
    Purse,
    Reply,
    Request,
    Select,
    Transcript,
    columns_of,
    lines_from_bytes,
    lines_to_bytes,
)
from hushtable.privacy import Cost, GaussianNoise
from hushtable.watching import Progress

GROUP_WORK = 200_000_000
"""Counted work of a group, about a fifth of a second: one unit is one cell of a table passed over.

A kill costs what the group was charged.  With more work fewer groups are written, which takes tens of milliseconds each
on a disk that keeps its word, and a kill costs more; with a tenth of it a release of Adult takes a tenth longer.
"""

_WORK_PER_REQUEST = 400_000
"""What a request counts for whatever it asks: about 0.4 ms of Python and of planning the next round."""
_WORK_PER_DRAW = 300
"""What an integer of noise counts for, in cells passed over: 300 ns with its lift, its line and the next fit.  With
larger figures groups are smaller."""
_MOST_AHEAD = 24
"""At most this part of what is left is charged ahead.

With 8, a small table's groups waited 1.6 times as long for their payload as drawing and writing take, with 16 up to 1.5
times, with 24 at most 1.3 times; a release of Adult writes twice as many groups as with 8, in the same time.
"""
_ALONE = 4
"""So many draws of a run are charged and stored one by one: what is compiled on the way is then compiled in between."""


@dataclass(frozen=True, eq=False)
class Job:
    """What is to be run: who asks, what it may cost, and how to get at the data once something must be drawn."""

    policy: Policy
    purse: Purse | OnePrice
    open_handle: Callable[[], Confidential]
    drawn: Sequence[Drawn] = (noise_of(GaussianNoise), candidates)
    """What its requests draw."""
    notes: Callable[[], Sequence[Line]] = tuple
    """Asked for at the end, and stored too."""
    pauses: bool = False
    """Whether the request stays open, after a failure too: only its owner ends it."""

    @classmethod
    def once(
        cls,
        request: Request,
        cost: Cost,
        open_handle: Callable[[], Confidential],
        drawn: Sequence[Drawn],
        *,
        pauses: bool = False,
    ) -> Job:
        """A job of one request, for exactly this cost."""
        return cls(_asking_once(request), OnePrice(cost), open_handle, drawn, pauses=pauses)


def _asking_once(request: Request) -> Generator[Request, Reply, None]:
    yield request


def run(job: Job, account: Account, stored: Stored | None, progress: Progress) -> Transcript:
    """Run a job to its end or pause and return every line; what is ``stored`` is replayed first."""
    replay = _Replay(job)
    request = replay.run(stored)
    credit = _Credit(account, job.purse, replay)
    if request is not None and credit.can_pay(request):
        account.require_same_rows()
        try:
            progress("counting", 0, 1000)
            handle = job.open_handle()
            for seen in replay.selections:
                handle.update(seen)
            replay.selections.clear()
            warm(job.drawn)
            _go_on(job, request, handle, credit, progress)
        except BaseException:
            try:
                credit.save()
            finally:
                account.give_up(spent=not job.pauses)
            raise
    if not any(line.kind == NOTE for line in replay.lines):
        credit.add(job.notes())
    credit.write()
    if not job.pauses:
        account.end()
    return _not_empty(Transcript(tuple(replay.lines)), lost=replay.lost)


def read(stored: Stored | None) -> Transcript:
    """What a settled request has stored: no policy, no fit, no data."""
    payloads = () if stored is None else stored.payloads
    return _not_empty(Transcript.of(payloads), lost=None in payloads)


def _not_empty(transcript: Transcript, *, lost: bool) -> Transcript:
    """Refuse a request of which nothing was measured: it was ended, or all that it might draw was lost."""
    if any(line.tells for line in transcript.lines):
        return transcript
    raise draw_lost() if lost or any(line.kind == LOST for line in transcript.lines) else ended_empty()


def _go_on(job: Job, request: Request, handle: Confidential, credit: _Credit, progress: Progress) -> None:
    """Prepare, charge, draw, hand over; until the policy ends or its next request can no longer be paid.

    An interrupt that is ignored, or whose handler returns, ends nothing: the block is only begun anew.
    """
    number = len(credit.lines)
    while credit.can_pay(request):
        with undisturbed() as interrupts:
            while credit.can_pay(request) and not interrupts:
                draw = handle.prepare(request)
                credit.charge_for(request)
                values = draw()
                credit.keep(request, values)
                number += 1
                progress(f"step {number:,}", int(1000.0 * job.purse.share), 1000)
                try:
                    request = job.policy.send(Reply(request, values))
                except StopIteration:
                    return


@dataclass
class _Replay:
    """Feeds stored replies to the policy; stops at the first request without one."""

    job: Job
    lines: list[Line] = field(default_factory=list[Line])
    selections: list[Select] = field(default_factory=list[Select])
    charged: Cost = Cost.ZERO
    lost: bool = False

    def run(self, stored: Stored | None) -> Request | None:
        """The first request that has no stored reply, or None when the policy has ended."""
        request: Request | None = next(self.job.policy)
        if stored is None:
            return request
        purse = self.job.purse
        for charge, payload in zip(stored.charges, stored.payloads, strict=True):
            self.charged += charge.cost
            if payload is None:
                self.lost = True
                purse.write_off(self.charged)
                continue
            for line in lines_from_bytes(payload):
                self.lines.append(line)
                if line.kind == LOST:
                    purse.lose(line.price)
                elif line.kind != NOTE:
                    request = self._feed(request, line)
        return request

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
        self.job.purse.pay(min(price, self.job.purse.left))
        if isinstance(request, Select):
            self.selections.append(request)
        try:
            return self.job.policy.send(reply)
        except StopIteration:
            return None


class _Credit:
    """What a loop has charged, and the lines that the current charge pays for."""

    def __init__(self, account: Account, purse: Purse | OnePrice, replay: _Replay) -> None:
        self._account, self._purse = account, purse
        self._charged: Cost = replay.charged
        self.lines = replay.lines
        self._open = False
        self._group: list[Line] = []
        self._written: tuple[Line, list[Any]] | None = None
        self._alone = _ALONE

    def can_pay(self, request: Request) -> bool:
        """Whether what is set aside can pay for the request."""
        return not self._account.settled and self._purse.due(request.rho) <= self._account.limit

    def charge_for(self, request: Request) -> None:
        """Make sure that the request is charged, and count its draw as made: the next thing to do is to draw."""
        need = self._purse.due(request.rho)
        if not (self._open and need <= self._charged):
            self.write()
            alone = self._alone > 0 or not self._purse.spends_all
            if alone and not isinstance(request, Select):
                blank = Line.of(request, np.empty(0, np.int64))
                self._written = blank, columns_of([blank])
            self._charge(need if alone else self._ahead(request, need))
        self._purse.pay(request.rho)
        self._group.append(Line.lost(request))

    def keep(self, request: Request, values: Ints) -> None:
        """Put the reply in the place of the draw, and store the group if its credit cannot pay for another one."""
        made = Line.of(request, values) if self._written is None else replace(self._written[0], values=values)
        self._group[-1] = made
        self._alone -= 1
        if self._alone >= 0 or not self._purse.due(request.rho) <= self._charged:
            self.write()

    def add(self, notes: Sequence[Line]) -> None:
        """Lines that cost nothing; they are stored with the next group."""
        if notes and not self._account.settled:
            if not self._open:
                self._charge(self._charged)
            self._group.extend(notes)

    def write(self) -> None:
        """Store what the current charge has paid for so far; the next draw needs a new charge."""
        if self._open:
            whole = len(self._group) == 1 and self._group[0].kind != LOST
            columns = self._written[1] if whole and self._written is not None else None
            self._account.keep(lines_to_bytes(self._group, columns))
            self.lines.extend(self._group)
            self._open, self._group, self._written = False, [], None

    def save(self) -> None:
        """Store after a failure, if that is still possible; otherwise the group is lost, and its charge with it.

        So is an exact charge whose only draw was thrown away: nothing is left of it.
        """
        if self._purse.spends_all or any(line.kind != LOST for line in self._group):
            with suppress(HushtableError):
                self.write()

    def _charge(self, target: Cost) -> None:
        """Charge up to a sum; more than was charged already, where lines were lost, is never asked for."""
        target = target if self._charged <= target else self._charged
        self._account.pay(target - self._charged)
        self._charged, self._open = target, True

    def _ahead(self, request: Request, need: Cost) -> Cost:
        """What to have charged for the requests of a group, at most a share of what is left.

        Every such policy spends all it has, so such credit is always used up; near the end every charge is exact.
        """
        work = max(request.work, _WORK_PER_DRAW * request.drawn)
        requests = GROUP_WORK // (_WORK_PER_REQUEST + work)
        used = self._purse.due(Fraction(0)).rho
        share = used + (self._account.limit.rho - used) // _MOST_AHEAD
        return Cost(0, max(need.rho, min(self._purse.due(request.rho * requests).rho, share)))
