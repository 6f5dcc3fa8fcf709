"""The paid part of a release: a batch that is drawn at once, or the rounds of an adaptive strategy.

What is measured, and at what price, was planned from public sizes; here a plan meets a counter and an account.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from hushtable.deciders import CheckPlan, Decide
from hushtable.kernel.counter import Counter
from hushtable.kernel.draw import Confidential
from hushtable.kernel.run import Job, read, run
from hushtable.kernel.spending import Account
from hushtable.kernel.warm import candidates, coins, noise_of
from hushtable.ledger import Ledger, Spend
from hushtable.measurement import (
    JointPart,
    Label,
    Line,
    Measure,
    Policy,
    Purse,
    QuantityPart,
    TablePart,
    Transcript,
)
from hushtable.planning import AdaptivePlan, Keeping, State
from hushtable.privacy import LaplaceNoise
from hushtable.reconstruct import fit_for, refit_for
from hushtable.schema import Schema
from hushtable.watching import Progress

Companions = Sequence[QuantityPart]


@dataclass(frozen=True)
class RequestRunner:
    """One request in progress: its account, the data, and who wants to know how far it is."""

    account: Account
    counter: Counter
    schema: Schema
    progress: Progress

    @property
    def request(self) -> str:
        """The id of the request."""
        return self.account.request

    @property
    def ledger(self) -> Ledger:
        """The ledger that it is charged to."""
        return self.account.ledger

    @property
    def settled(self) -> bool:
        """Whether the request has ended."""
        return self.account.settled

    def batch(self, spend: Spend, part: TablePart, beside: Companions) -> Transcript:
        """All answers of a part and of what is measured beside it at once, or what the request has stored."""
        if self.settled:
            return read(self.account.begin(spend))
        asked = Measure(JointPart.of(part, beside) if beside else part)
        job = Job.once(asked, spend.cost, partial(Confidential, self.counter), [noise_of(part.noise.law)])
        return self._run(job, spend)

    def check(self, spend: Spend, plan: CheckPlan) -> Transcript:
        """All questions of a check, decided at once."""
        drawn = (noise_of(LaplaceNoise), candidates, coins)
        return self._run(
            Job.once(Decide(plan), spend.cost, partial(Confidential, self.counter), drawn), spend
        )

    def rounds(
        self, spend: Spend, plan: AdaptivePlan, beside: Companions, keeping: Keeping | None, *, noted: bool
    ) -> Transcript:
        """Every round of an adaptive plan: those stored, then those still missing; of a settled request the former.

        What is measured ``beside`` the counts comes first.
        ``keeping`` is how counts are kept, None where nothing is to be counted any more.  With ``noted``, what the
        rounds proved about the workload is stored at the end.
        """
        if keeping is None:
            return read(self.account.begin(spend))
        limit = plan.rho + sum(part.rho for part in beside)
        state, purse = State.empty(plan.layout), Purse(limit, plan.rows, spends_all=plan.spends_all)
        refit = refit_for(self.schema, plan.layout) if keeping.tables else None
        policy = plan.policy(state, purse, fit_for(self.schema, plan.layout.sets), keeping, refit)
        if beside:
            policy = _after(JointPart.of(None, beside), purse, policy)

        def handle() -> Confidential:
            scored = plan.scores and refit is None
            again = plan.most_rounds
            return Confidential(self.counter, plan.layout, wide=keeping.wide, scored=scored, again=again)

        notes: Callable[[], list[Line]] = (lambda: _proved(plan, state)) if noted else list
        return self._run(Job(policy, purse, handle, notes=notes), spend)

    def _run(self, job: Job, spend: Spend) -> Transcript:
        return run(job, self.account, self.account.begin(spend), self.progress)


def _after(first: JointPart, purse: Purse, policy: Policy) -> Policy:
    """A policy that begins when something else was measured, with what is left then."""
    reply = yield Measure(first, label=Label("beside the counts"))
    purse.set_apart(reply.asked.rho)
    yield from policy


def _proved(plan: AdaptivePlan, state: State) -> list[Line]:
    wanted = frozenset(plan.workload.sets)
    claims = (claim.about(wanted, plan.workload.sizes) for claim in state.claims)
    return [Line.note(claim) for claim in claims if claim is not None]
