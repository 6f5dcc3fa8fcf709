"""The curator's session: from a confidential table to released tables, top to bottom.

    open    schema, ledger and header of the data are checked; no row is read
    plan    noise, price and expected errors, from public sizes alone
    release plan -> fits the ledger? -> kernel: count, charge, draw, store -> answers -> tables
    check   question -> asked before? -> fits the ledger? -> kernel: tally, charge, draw, store -> verdict

This is the only module outside the kernel that calls it.  Whatever it returns was charged and stored before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any, cast, overload

from polars import DataFrame

from hushtable.deciders import CheckPlan, Currency, Query, Verdict, plan_check, read_verdicts
from hushtable.errors import LedgerError, RefusedError
from hushtable.kernel import (
    Confidential,
    Counter,
    draft_schema,
    end_request,
    open_counter,
    place_of,
    prepare_batch,
    read_rounds,
    run_rounds,
    working_on,
)
from hushtable.kernel.choose import PartDrawer
from hushtable.kernel.decide import prepare_check
from hushtable.kernel.evaluate import Names, evaluate
from hushtable.kernel.spending import Account
from hushtable.ledger import Holding, Ledger, Remaining, Spend, Unit
from hushtable.linear import Mechanism
from hushtable.marginals import Workload
from hushtable.measurement import Answers, Line, Purse, Transcript
from hushtable.microdata.point_sum import counts_budget, counts_workload
from hushtable.notebook import html_card
from hushtable.planning import (
    AdaptivePlan,
    BatchPlan,
    PlanOptions,
    State,
    check_memory,
    memory_limit,
    strategy_named,
)
from hushtable.planning.adaptive import Keeping
from hushtable.privacy import Budget
from hushtable.reconstruct.fits import fit_for, reconstruction_named, refit_for
from hushtable.release import Card, CheckDetail, LedgerStamp, Plan, Release, history_frame
from hushtable.release.card import Reused
from hushtable.release.choices import KIND as CHOICE
from hushtable.release.choices import (
    Choice,
    ChoiceContext,
    ChoiceRecord,
    resume_choice,
    start_choice,
)
from hushtable.release.plan import plan_release
from hushtable.release.reuse import earlier_answers
from hushtable.release.verdicts import KIND, asking, request_id, stored_verdicts
from hushtable.release.whole_tables import bounded, with_l1_bounds
from hushtable.schema import Schema


class Session:
    """A confidential table, its schema and its ledger, opened together by :meth:`open`."""

    def __init__(self, counter: Counter, schema: Schema, ledger: Ledger, spender: str | None) -> None:
        self._counter = counter
        self.schema = schema
        self.ledger = ledger
        self.spender = spender
        self._place: str | None = None

    @classmethod
    def open(
        cls,
        data: Any,
        *,
        schema: Schema | Mapping[str, Any] | str | PathLike[str],
        ledger: str | PathLike[str],
        budget: Budget | None = None,
        spender: str | None = None,
        head: str | None = None,
    ) -> Session:
        """Open confidential data: a path, glob, Arrow table, polars or pandas frame.

        ``ledger`` is the account that every release is charged to; with ``budget`` it is created if it does not exist.
        ``spender`` spends from that grant.  ``head`` is a published head that the ledger must contain.
        """
        declared = Schema.of(schema)
        declared.require_reviewed()
        counter = open_counter(data, declared)
        account = _open_ledger(ledger, budget, declared, head)
        account.schema_version(declared.canonical)
        if spender is not None:
            account.remaining(spender)
        session = cls(counter, declared, account, spender)
        session._place = place_of(data)
        return session

    @property
    def remaining(self) -> Remaining:
        """What the ledger still allows this session to spend."""
        return Remaining(self.ledger.remaining(self.spender))

    def __repr__(self) -> str:
        return (
            f"<Session on {self.ledger.name!r}: {len(self.schema.names)} attributes, {self.remaining} left>"
        )

    def _repr_html_(self) -> str:
        facts = {"budget": self.ledger.budget, "remaining": self.remaining, "unit": Unit.of(self.schema)}
        return html_card(f"Session on {self.ledger.name}", facts)

    def plan(
        self,
        workload: Workload,
        *,
        budget: Budget,
        strategy: str = "residual-planner",
        objective: str = "sum_variance",
        time: str | float | None = None,
    ) -> Plan:
        """Noise, price and expected error of every table, before anything is spent."""
        return plan_release(
            self.schema,
            workload,
            budget=budget,
            strategy=strategy,
            options=PlanOptions(objective, time),
            currency=self.ledger.kind,
        )

    def release(
        self,
        workload: Workload,
        *,
        budget: Budget,
        strategy: str = "auto",
        reconstruct: str | None = None,
        objective: str = "sum_variance",
        request: str | None = None,
        memory: str | int | None = None,
        time: str | float | None = None,
        reuse: bool = False,
        wait: bool = False,
        progress: Any = None,
    ) -> Release:
        """Measure a workload, charge it, and return tables with error bars.

        ``request`` names this spend: calling again with the same name returns what was stored and spends nothing; an
        adaptive release that was interrupted goes on after its last stored round.  Without one every call is a new
        spend; only `hush release` looks for the same release first.  While another process works on the same request
        the call is refused, or waits if ``wait`` is True.
        ``reconstruct`` is maxent (the default of auto), mle (of all others) or nonneg.  With ``reuse``, what
        earlier releases in this ledger answer is not bought again: the tables are at least as exact as ``budget`` makes
        them, and only the difference is charged (auto then plans like residual-planner).
        """
        chosen = strategy_named(strategy)
        chosen = chosen.differences() if reuse else chosen
        method = reconstruction_named(reconstruct or chosen.reconstruction).name
        plan = self.plan(workload, budget=budget, strategy=chosen.name, objective=objective, time=time)
        show = progress or _silent
        with working_on(self.ledger, request, wait=wait) as account:
            if isinstance(plan.noise, AdaptivePlan):
                return self._release_adaptively(account, plan, plan.noise, method, memory, show)
            check_memory(plan.workload, memory=memory_limit(memory))
            if reuse:
                return self._release_difference(account, plan, method, show)
            spend = Spend(plan.cost, "release", plan.detail(self.schema).to_dict(), self.spender)
            part = plan.noise.part
            payload = account.once(spend, lambda: prepare_batch(self._counter, part, show))
        return self._released(plan, account.request, Answers.from_bytes(payload), method)

    def _release_difference(self, account: Account, plan: Plan, method: str, progress: Any) -> Release:
        """Measure what earlier releases in this ledger do not answer, and combine old and new."""
        repeated = self.ledger.holding(account.request)
        before = None if repeated is None else repeated.reservation.number
        earlier = earlier_answers(self.ledger, self.schema, plan.workload.closure, before=before)
        less = earlier.lessen(plan, self.ledger.kind)
        part = cast("BatchPlan", less.noise).part
        detail = replace(plan.detail(self.schema), reuse=earlier.digest)
        spend = Spend(less.cost, "release", detail.to_dict(), self.spender)

        payload = account.once(spend, lambda: prepare_batch(self._counter, part, progress))
        answers = earlier.pooled(Answers.from_bytes(payload))
        return self._released(less, account.request, answers, method, reused=earlier.card(plan, less))

    def _release_adaptively(
        self,
        account: Account,
        plan: Plan,
        rounds: AdaptivePlan,
        method: str,
        memory: str | int | None,
        progress: Any,
    ) -> Release:
        """Run the rounds of an adaptive strategy, or those that are still missing."""
        known = self.ledger.holding(account.request)
        tables = None if known is None else known.reservation.detail.get("scored") == "tables"
        keeping = None
        if not account.settled:
            keeping = rounds.keeping(memory_limit(memory), method, tables=tables)
            tables = keeping.tables
        scored = "tables" if tables and rounds.may_score_tables(method) else None
        detail = replace(plan.detail(self.schema), scored=scored)
        spend = Spend(plan.cost, "release", detail.to_dict(), self.spender)
        if keeping is None:
            transcript = read_rounds(account, spend)
        else:
            transcript = self._run_rounds(account, rounds, keeping, spend, progress)
        rounds_made = transcript.rounds(rounds.rho)
        history = None if rounds_made is None else history_frame(self.schema.names, rounds_made)
        answers = transcript.answers(self.schema.sizes)
        release = self._released(plan, account.request, answers, method, history)
        return with_l1_bounds(release, transcript.claims())

    def _run_rounds(
        self, account: Account, rounds: AdaptivePlan, keeping: Keeping, spend: Spend, progress: Any
    ) -> Transcript:
        state, purse, sizes = State.empty(rounds.layout), Purse(rounds.rho), self.schema.sizes
        refit = refit_for(self.schema, rounds.layout) if keeping.tables else None
        policy = rounds.policy(state, purse, fit_for(self.schema, rounds.layout.sets), keeping, refit)
        wanted = frozenset(rounds.workload.sets)

        def open_handle() -> Confidential:
            scored = rounds.strategy == "aim" and refit is None
            return Confidential(self._counter, rounds.layout, wide=keeping.wide, scored=scored)

        def notes() -> list[Line]:
            if not bounded(rounds.workload.sets, sizes):
                return []
            claims = (claim.about(wanted, sizes) for claim in state.claims)
            return [Line.note(claim) for claim in claims if claim is not None]

        return run_rounds(policy, purse, open_handle, account, spend, rounds.rows, progress, notes)

    def release_counts(
        self,
        attributes: Sequence[str] | None = None,
        *,
        budget: Budget,
        accurate: str = "sum",
        request: str | None = None,
        memory: str | int | None = None,
        wait: bool = False,
        progress: Any = None,
    ) -> Release:
        """Counts of all combinations of attributes, meant for ``release.microdata("sequential")``.

        ``accurate``: "point" keeps each count near the truth, "sum" keeps their sum; no records keep both.  The noise
        is the one that achieves ``microdata.upper_bound``: a budget whose whole delta is a truncation may buy noise
        that is cut off.
        """
        workload = counts_workload(self.schema, attributes, accurate)
        cells = max(prod(self.schema.sizes[axis] for axis in s) for s in workload.resolve(self.schema).sets)
        bought = counts_budget(cells, accurate, budget, rows=self.schema.max_rows_per_person)
        return self.release(
            workload,
            budget=bought,
            strategy="identity",
            request=request,
            memory=memory,
            wait=wait,
            progress=progress,
        )

    def choose(
        self,
        options: Sequence[Mechanism],
        *,
        budget: Budget | None = None,
        request: str | None = None,
        memory: str | int | None = None,
        frozen: bool | None = None,
        wait: bool = False,
    ) -> Choice:
        """Release what several analyses have in common, and decide afterwards which of them to take.

        Options go from coarse to fine, for example ``[linear.marginals(schema, order=1), linear.marginals(schema,
        order=2)]``.  ``budget`` is the price of each option that has no noise of its own, and the most that any may
        cost.  The dearest path to an option is held until ``choice.finish(option)`` or ``choice.abandon()``.
        ``frozen`` (by default the schema's) is the curator's word that no row changes until then: options whose cost
        differs by cell, tables over buckets and matrices, are cheaper with it.
        """
        return start_choice(
            self._choosing(wait),
            options,
            budget=budget,
            request=request,
            memory=memory_limit(memory),
            frozen=self.schema.frozen if frozen is None else frozen,
        )

    def choice(self, choice: str, *, frozen: bool = False, wait: bool = False) -> Choice:
        """A choice that was begun earlier, by its id.

        ``frozen`` speaks for a choice of version 0.1, which says nothing of it: no row has changed since it began.
        """
        return resume_choice(self._choosing(wait), choice, frozen=frozen)

    def _choosing(self, wait: bool) -> ChoiceContext:
        draw = PartDrawer(self._counter, self.ledger, wait)
        return ChoiceContext(self.schema, self.ledger, self.spender, draw, self._place)

    def plan_check(
        self,
        query: str | Query | Sequence[str | Query],
        synthetic: Any,
        *,
        tau: float | str | Fraction,
        budget: Budget,
        decider: str = "auto",
        largest: float | None = None,
    ) -> CheckPlan:
        """Price and error of the verdicts that :meth:`check` would give, before anything is spent."""
        return plan_check(
            self.schema,
            [query] if isinstance(query, str | Query) else query,
            synthetic,
            tau=tau,
            budget=budget,
            decider=decider,
            largest=largest,
            currency=Currency(self.ledger.kind, self.ledger.limit(self.spender).xi > 0),
        )

    @overload
    def check(
        self,
        query: str | Query,
        synthetic: Any,
        *,
        tau: float | str | Fraction,
        budget: Budget,
        decider: str = ...,
        largest: float | None = ...,
        wait: bool = ...,
        progress: Any = ...,
    ) -> Verdict: ...
    @overload
    def check(
        self,
        query: list[str] | tuple[str | Query, ...],
        synthetic: Any,
        *,
        tau: float | str | Fraction,
        budget: Budget,
        decider: str = ...,
        largest: float | None = ...,
        wait: bool = ...,
        progress: Any = ...,
    ) -> list[Verdict]: ...
    def check(
        self,
        query: str | Query | Sequence[str | Query],
        synthetic: Any,
        *,
        tau: float | str | Fraction,
        budget: Budget,
        decider: str = "auto",
        largest: float | None = None,
        wait: bool = False,
        progress: Any = None,
    ) -> Verdict | list[Verdict]:
        """Whether the answer of ``query`` on a synthetic table is within tau of the truth: yes or no, and how sure.

        ``synthetic`` is a file or a frame with the schema's attributes; tau a number, or a share such as "5%" of the
        synthetic answer.  Several queries are one spend, shared equally.  A question that was asked before, with the
        same answer, tau, budget and decider, gets its stored verdict and costs nothing.
        """
        plan = self.plan_check(query, synthetic, tau=tau, budget=budget, decider=decider, largest=largest)
        found = stored_verdicts(self.ledger, self.ledger.reservations(), plan.keys)
        missing = plan.without(found)
        if missing.planned:
            with asking(self.ledger, missing.keys, wait=wait):
                held = self.ledger.reservations()
                found = stored_verdicts(self.ledger, held, plan.keys)
                missing = plan.without(found)
                if missing.planned:
                    name = request_id(held, missing.keys, self.spender)
                    found |= self._decide(name, missing, str(budget), progress or _silent)
        verdicts = [found[key] for key in plan.order]
        return verdicts[0] if isinstance(query, str | Query) else verdicts

    def _decide(self, name: str, plan: CheckPlan, budget: str, progress: Any) -> dict[str, Verdict]:
        """Verdicts of questions that the ledger has no verdict of, under the name of a spend."""
        detail = CheckDetail(self.schema.version, budget, plan.keys)
        spend = Spend(plan.cost, KIND, detail.to_dict(), self.spender)
        with working_on(self.ledger, name) as account:
            payload = account.once(spend, lambda: prepare_check(self._counter, plan, progress))
        return read_verdicts(payload)

    def evaluate(self, release: Release, *, confidential: bool = False) -> dict[str, DataFrame]:
        """True errors of a release: not private, never to be published, refused unless ``confidential`` is True."""
        return _evaluate(self._counter, release, confidential)

    def _released(
        self,
        plan: Plan,
        request: str,
        answers: Answers,
        method: str,
        history: DataFrame | None = None,
        reused: Reused | None = None,
    ) -> Release:
        found = self.ledger.holding(request)
        if found is None:
            raise LedgerError(
                "ledger.replaced", "The ledger no longer knows this release.", "Restore its latest copy."
            )
        stamp = LedgerStamp.of(self.ledger, found)
        more = {"budget": str(plan.budget), "reconstruct": method, "reuse": reused}
        card = Card.of(self.schema, found.drawn, plan.facts, stamp, **more)
        return Release(self.schema, plan.workload.sets, answers, card, history)


def end(ledger: str | PathLike[str] | Ledger, request: str, *, wait: bool = False) -> Holding:
    """End a request as it stands: what it stored can be read by its id, what it never drew is free again."""
    account = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    found = account.holding(request)
    if found is not None and found.reservation.kind == CHOICE:
        raise LedgerError(
            "ledger.is-choice",
            "This request is a choice.",
            "Type `hush choose abandon --ledger L --choice ID` to take none of its options.",
        )
    return end_request(account, request, wait=wait)


def abandon_choice(ledger: str | PathLike[str] | Ledger, choice: str, *, wait: bool = False) -> Holding:
    """Abandon an open choice without opening the data; refuses one that is settled."""
    account = ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)
    record = ChoiceRecord(account, choice)
    ended = end_request(account, choice, wait=wait)  # of one whose end was interrupted, too
    record.require_unsettled()
    return ended


def open_choice(
    ledger: str | PathLike[str], choice: str, *, data: Any = None, frozen: bool = False, wait: bool = False
) -> Choice:
    """A choice from its ledger and id alone: the ledger knows its schema and where its data were."""
    note = ChoiceRecord(Ledger.open(ledger), choice).opening
    place = note.data if data is None else data
    if place is None:
        raise LedgerError(
            "choose.no-data", "The ledger does not know where the data of this choice are.", "Give --data."
        )
    session = Session.open(place, schema=Schema.loads(note.schema_yaml), ledger=ledger)
    return session.choice(choice, frozen=frozen, wait=wait)


def draft(data: Any, *, header: bool | None = None) -> str:
    """A schema drafted by looking at confidential data, for the curator's own eyes, with every guess marked.

    ``header`` says whether the first line of a text file names its columns; None: as it looks.
    """
    return draft_schema(data, header=header)


def evaluate_release(data: Any, release: Release, *, confidential: bool = False) -> dict[str, DataFrame]:
    """``Session.evaluate`` without a ledger, because nothing is spent: for the curator's confidential report."""
    return _evaluate(open_counter(data, release.schema), release, confidential)


def _evaluate(counter: Counter, release: Release, confidential: bool) -> dict[str, DataFrame]:
    if not confidential:
        raise RefusedError(
            "report.not-private",
            "Comparing a release with the data gives numbers that are not differentially private.",
            "Add --confidential (confidential=True) if only the curator will see them.",
        )
    names = Names(release.schema.names, [a.labels for a in release.schema.attributes.values()])
    return evaluate(counter, release.schema.sizes, release.workload, release.published, names)


def _open_ledger(
    path: str | PathLike[str], budget: Budget | None, schema: Schema, head: str | None
) -> Ledger:
    if budget is not None and not Path(path).exists():
        return Ledger.create(path, budget, Unit.of(schema))
    return Ledger.open(path, head=head)


def _silent(step: str, done: int, total: int) -> None:
    """No progress is shown."""
