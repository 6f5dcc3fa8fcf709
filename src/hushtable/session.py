"""The curator's session: from a confidential table to released tables, top to bottom.

    open    schema, ledger and header of the data are checked; no row is read
    plan    noise, price and expected errors, from public sizes alone
    release plan -> fits the ledger? -> kernel: count, charge, draw, store -> answers -> tables
    check   question -> asked before? -> fits the ledger? -> kernel: tally, charge, draw, store -> verdict

Nothing else calls the kernel, but for the self-test.  Whatever it returns was charged and stored before.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack, overload

from hushtable import deciders, kernel, microdata, planning, release
from hushtable import ledger as accounts
from hushtable.notebook import html_card
from hushtable.schema import Schema
from hushtable.watching import silent

if TYPE_CHECKING:  # what schema, names and budget refuse is refused before any of this is loaded
    from hushtable.deciders import CheckPlan, Query, Verdict
    from hushtable.ledger import Holding, Ledger, Remaining, Spend
    from hushtable.linear import OptionMechanism
    from hushtable.marginals import Workload
    from hushtable.measurement import Transcript
    from hushtable.privacy import Budget
    from hushtable.reconstruct import Evaluation
    from hushtable.release import Choice, Plan, Release, choices, verdicts
    from hushtable.schema import Preflight, SchemaLike


class Session:
    """A confidential table, its schema and its ledger, opened together by :meth:`open`."""

    def __init__(self, data: Any, schema: Schema, spender: str | None, account: tuple[Any, ...]) -> None:
        self._data, self._account, self.schema, self.spender = data, account, schema, spender
        self._table = cache(lambda: kernel.open_counter(self.pinned, schema))

    @classmethod
    def open(
        cls,
        data: Any,
        *,
        schema: SchemaLike,
        ledger: str | PathLike[str],
        budget: Budget | None = None,
        spender: str | None = None,
        head: str | None = None,
        now: bool = True,
    ) -> Self:
        """Open confidential data: a path, glob, Arrow table, polars or pandas frame.

        ``ledger`` is the account that every release is charged to; with ``budget`` it is created if it does not exist.
        ``spender`` spends from that grant.  ``head``, once published, must be in it.  Without ``now`` it opens later.
        """
        declared = Schema.of(schema)
        declared.require_reviewed()
        session = cls(data, declared, spender, (ledger, budget, head))
        if now:
            _ = session.ledger
        return session

    @cached_property
    def pinned(self) -> Any:
        """The data; a table with versions, by the address of the version that this session reads."""
        return kernel.pinned(self._data)

    @cached_property
    def _counter(self) -> kernel.Counter:
        return self._table().keyed(self.ledger.id)

    @cached_property
    def ledger(self) -> Ledger:
        """The account that every release is charged to."""
        self._table()  # first, so that data that do not fit the schema leave no entry
        place, budget, head = self._account
        accounts.PreflightNotes(place).require_reviewed(self._data, self.schema)
        opened = accounts.Ledger.at(place, self.schema, budget, self.spender, head)
        accounts.KnownData(place).remember(self._data)
        return opened

    @property
    def remaining(self) -> Remaining:
        """What the ledger still allows this session to spend."""
        return accounts.Remaining(self.ledger.remaining(self.spender))

    def __repr__(self) -> str:
        return f"<Session on {self.ledger.name!r}: {len(self.schema.attributes)} attributes, {self.remaining} left>"

    def _repr_html_(self) -> str:
        facts = {"remaining": self.remaining, "unit": accounts.Unit.of(self.schema)}
        return html_card(f"Session on {self.ledger.name}", {"budget": self.ledger.budget, **facts})

    def plan(
        self,
        workload: Workload,
        *,
        budget: Budget,
        strategy: str = "residual-planner",
        objective: str = "sum_variance",
        time: str | float | None = None,
        reconstruct: str | None = None,
        reuse: bool = False,
    ) -> Plan:
        """Noise, price and expected error of every table, before anything is spent; :meth:`run` runs it."""
        way = release.Way(strategy, reconstruct, reuse, planning.PlanOptions(objective, time))
        return release.plan_release(self.schema, workload, budget, way, lambda: self.ledger.kind)

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

        ``request`` names this spend: the same name again returns what was stored and spends nothing, an interrupted
        release goes on after its last stored round.  Without one every call is a new spend.  While another process
        works on the same request the call is refused, or waits if ``wait`` is True.  ``reconstruct`` is maxent (the
        default of auto), mle (of all others) or nonneg.  With ``reuse``, what earlier releases in this ledger answer is
        not bought again: tables are at least as exact as ``budget`` makes them, and the difference is charged.
        """
        way = release.Way(strategy, reconstruct, reuse, planning.PlanOptions(objective, time))
        plan = release.plan_release(self.schema, workload, budget, way, lambda: self.ledger.kind)
        return self.run(plan, request=request, memory=memory, wait=wait, progress=progress)

    def run(
        self,
        plan: Plan,
        *,
        request: str | None = None,
        memory: str | int | None = None,
        wait: bool = False,
        progress: Any = None,
    ) -> Release:
        """Measure a plan and charge it; go on after what ``request`` has stored, or read it if that is all."""
        with kernel.working_on(self.ledger, request, wait=wait) as account:
            runner = kernel.RequestRunner(account, self._counter, self.schema, progress or silent)
            made = release.measure(plan, runner, self.spender, planning.memory_limit(memory))
        return made.release(self.ledger, account.request)

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
        achieves ``microdata.upper_bound``: a budget whose whole delta is a truncation may buy noise that is cut off.
        """
        plan = self.plan_counts(attributes, budget=budget, accurate=accurate)
        return self.run(plan, request=request, memory=memory, wait=wait, progress=progress)

    def plan_counts(
        self, attributes: Sequence[str] | None = None, *, budget: Budget, accurate: str = "sum"
    ) -> Plan:
        """What :meth:`release_counts` measures."""
        workload, bought = microdata.counts_to_buy(self.schema, attributes, accurate, budget)
        return self.plan(workload, budget=bought, strategy="identity")

    def choose(
        self,
        options: Sequence[OptionMechanism],
        *,
        budget: Budget | None = None,
        request: str | None = None,
        memory: str | int | None = None,
        frozen: bool | None = None,
        wait: bool = False,
    ) -> Choice:
        """Release what several analyses have in common, and decide afterwards which of them to take.

        Options go from coarse to fine, such as ``[linear.marginals(schema, order=k) for k in (1, 2)]``.  ``budget``
        is the price of each option that has no noise of its own, and the most that any may cost.  The dearest path to
        an option is held until ``choice.finish(option)`` or ``choice.abandon()``.  ``frozen`` (by default the schema's)
        is the curator's word that no row changes until then: options whose cost differs by cell are cheaper with it.
        """
        still, most = self.schema.frozen if frozen is None else frozen, planning.memory_limit(memory)
        return release.choices.start_choice(
            self._choosing(wait), options, budget=budget, request=request, memory=most, frozen=still
        )

    def choice(self, choice: str, *, frozen: bool = False, wait: bool = False) -> Choice:
        """A choice that was begun earlier, by its id; ``frozen`` speaks for one of version 0.1: no row has changed."""
        return release.Choice(self._choosing(wait), choice, frozen=frozen)

    def _choosing(self, wait: bool) -> choices.ChoiceContext:
        draw, place = kernel.PartDrawer(self._counter, self.ledger, wait), kernel.place_of(self.pinned)
        return release.choices.ChoiceContext(self.schema, self.ledger, self.spender, draw, place)

    def plan_check(
        self, query: verdicts.Queries, synthetic: Any, **asked: Unpack[verdicts.PlanKeywords]
    ) -> CheckPlan:
        """Price and error of the verdicts that :meth:`check` would give."""
        queries = [query] if isinstance(query, str | deciders.Query) else query
        return deciders.plan_check(self.schema, queries, synthetic, currency=self._currency, **asked)

    def _currency(self) -> deciders.Currency:
        return release.verdicts.currency_in(self.ledger, self.spender)

    @overload
    def check(
        self, query: str | Query, synthetic: Any, **options: Unpack[verdicts.CheckKeywords]
    ) -> Verdict: ...
    @overload
    def check(
        self, query: Sequence[str | Query], synthetic: Any, **options: Unpack[verdicts.CheckKeywords]
    ) -> verdicts.Verdicts: ...
    def check(
        self,
        query: verdicts.Queries,
        synthetic: Any,
        *,
        tau: verdicts.Tau,
        budget: Budget,
        decider: str = "auto",
        largest: float | None = None,
        **how: Unpack[verdicts.AskingKeywords],
    ) -> Verdict | verdicts.Verdicts:
        """Whether the answer of ``query`` on a synthetic table is within tau of the truth: yes or no, and how sure.

        ``synthetic`` is a file or a frame with the schema's attributes; tau a number, or a share such as "5%" of the
        synthetic answer.  Several queries are one spend, shared equally; ``request`` names it.  A question that was
        asked before (with ``others=False``, by this spender), and all else alike, gets its stored verdict for nothing.
        ``wait`` and ``progress`` are those of :meth:`release`.
        """
        plan = self.plan_check(query, synthetic, tau=tau, budget=budget, decider=decider, largest=largest)
        asker = release.verdicts.Asker(self.spender, **how)

        def decide(name: str, spend: Spend, missing: CheckPlan) -> Transcript:
            with kernel.working_on(self.ledger, name, unsettled=asker.request is None) as account:
                runner = kernel.RequestRunner(account, self._counter, self.schema, asker.progress)
                return runner.check(spend, missing)

        asked = release.CheckDetail(self.schema.version, str(budget), plan.keys)
        given = release.verdicts.answered(self.ledger, plan, decide, asked, asker)
        return given[0] if isinstance(query, str | deciders.Query) else given

    def evaluate(self, release: Release, *, confidential: bool = False) -> Evaluation:
        """True errors of a release: not private, never to be published, refused unless ``confidential`` is True."""
        return kernel.true_errors(self._counter, release, confidential=confidential)


def end(ledger: str | PathLike[str] | Ledger, request: str, *, wait: bool = False) -> Holding:
    """End a request as it stands: what it stored can be read by its id, what it never drew is free again."""
    release.choices.refuse_choice(account := accounts.Ledger.of(ledger), request)
    return kernel.end_request(account, request, wait=wait)


def abandon_choice(ledger: str | PathLike[str] | Ledger, choice: str, *, wait: bool = False) -> Holding:
    """Abandon an open choice without opening the data; refuses one that is settled."""
    record = release.choices.ChoiceRecord(account := accounts.Ledger.of(ledger), choice)
    ended = kernel.end_request(account, choice, wait=wait)  # of one whose end was interrupted, too
    record.require_unsettled()
    return ended


def open_choice(
    ledger: str | PathLike[str], choice: str, *, data: Any = None, frozen: bool = False, wait: bool = False
) -> Choice:
    """A choice from its ledger and id alone: the ledger knows its schema and where its data were."""
    note = release.choices.ChoiceRecord(accounts.Ledger.open(ledger), choice).opening
    place = note.place if data is None else data
    session = Session.open(place, schema=Schema.loads(note.schema_yaml), ledger=ledger)
    return session.choice(choice, frozen=frozen, wait=wait)


def draft(data: Any, *, header: bool | None = None) -> str:
    """A schema drafted by looking at confidential data, for the curator's own eyes, with every guess marked."""
    return kernel.draft_schema(data, header=header)


def preflight(data: Any, *, schema: SchemaLike, ledger: str | PathLike[str] | None = None) -> Preflight:
    """What a release would lose of the rows, in exact numbers for the curator's eyes alone; ``ledger`` remembers it."""
    return kernel.run_preflight(data, Schema.of(schema), ledger)


def evaluate_release(data: Any, release: Release, *, confidential: bool = False) -> Evaluation:
    """``Session.evaluate`` without a ledger, because nothing is spent: for the curator's confidential report."""
    return kernel.true_errors(kernel.open_counter(data, release.schema), release, confidential=confidential)
