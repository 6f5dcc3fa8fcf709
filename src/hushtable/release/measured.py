"""From a plan to a release: what is asked of a runner, and what its answers become.

A runner is what a session lends: it charges, counts, draws and stores.  All else is public: which earlier answers are
built on, how much is kept in memory, and the release with its privacy card.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol, cast

import polars as pl

from hushtable.errors import LedgerError
from hushtable.ledger import Ledger, Spend
from hushtable.marginals import COVERAGE, AttributeSet, marginal_label
from hushtable.measurement import Answers, Claim, QuantityPart, Round, TablePart, Transcript
from hushtable.planning import AdaptivePlan, BatchPlan, Keeping, check_memory
from hushtable.reconstruct import reconstruction_named
from hushtable.release.bundle import MOST_TABLE_CELLS
from hushtable.release.card import Card, LedgerStamp, Reused
from hushtable.release.details import looks_at_tables
from hushtable.release.known_doubts import doubts_of
from hushtable.release.loss_counts import loss_counts
from hushtable.release.plan import Plan
from hushtable.release.release import Release
from hushtable.release.reuse import earlier_answers, require_same_trees
from hushtable.release.sample_errors import measured_effect, sampling_of
from hushtable.schema import Schema

_NUMBERS = {"residuals": pl.Int64, "sigma": pl.Float64, "epsilon": pl.Float64, "share": pl.Float64}


class Runner(Protocol):
    """One request, in the hands of this process alone, or settled; ``ledger`` is the one that it is charged to.

    ``batch`` measures a part at once, or gives what the request has stored; ``rounds`` every round of an adaptive plan,
    stored or new, if ``noted`` with what they proved about the workload.  Both measure other quantities ``beside``.
    """

    @property
    def request(self) -> str: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def settled(self) -> bool: ...
    def batch(self, spend: Spend, part: TablePart, beside: Sequence[QuantityPart]) -> Transcript: ...
    def rounds(
        self,
        spend: Spend,
        plan: AdaptivePlan,
        beside: Sequence[QuantityPart],
        keeping: Keeping | None,
        *,
        noted: bool,
    ) -> Transcript: ...


@dataclass(frozen=True, eq=False)
class Measured:
    """The answers that were paid for, by which plan, and of an adaptive release its rounds and what they proved."""

    plan: Plan
    answers: Answers
    history: pl.DataFrame | None = None
    claims: Sequence[Claim] | None = None
    reuse: Reused | None = None
    quantities: Mapping[str, Answers] = field(default_factory=dict[str, Answers])

    def release(self, ledger: Ledger, request: str) -> Release:
        """The release that these answers are, as the ledger recorded it."""
        found = ledger.holding(request)
        if found is None:
            raise LedgerError(
                "ledger.replaced", "The ledger no longer knows this release.", "Restore its latest copy."
            )
        plan, stamp = self.plan, LedgerStamp.of(ledger, found)
        more: dict[str, Any] = {
            "budget": str(plan.budget),
            "reconstruct": plan.reconstruct,
            "reuse": self.reuse,
        }
        if COVERAGE in self.quantities:
            more["coverage"] = loss_counts(plan.schema, self.quantities[COVERAGE])
        card = Card.of(plan.schema, found.drawn, plan.facts, stamp, **more)
        release = Release(plan.schema, plan.workload.sets, self.answers, card, self.history, self.quantities)
        effect = measured_effect(release)
        if effect is not None:
            release = release.with_card(design_effect=effect)
            release = release.with_card(
                sampling=None if (drawn := sampling_of(release)) is None else drawn.note
            )
        found_doubts = doubts_of(release)
        if found_doubts:
            release = release.with_card(doubts=found_doubts)
        if self.claims is None or not _bounded(release.workload, plan.schema.sizes):
            return release
        return release.with_l1_bounds(self.claims)


def measure(plan: Plan, runner: Runner, spender: str | None, memory: int) -> Measured:
    """Have a plan measured, or what is missing of it, in at most ``memory`` bytes."""
    if isinstance(plan.noise, AdaptivePlan):
        return _adaptively(plan, plan.noise, runner, spender, memory)
    check_memory(plan.workload, memory=memory)
    if plan.reuse:
        return _difference(plan, runner, spender)
    found = runner.batch(plan.spend(spender), plan.noise.part, plan.measured_beside)
    sizes = plan.schema.sizes
    return Measured(plan, found.answers(sizes), quantities=found.quantities(sizes))


def _difference(plan: Plan, runner: Runner, spender: str | None) -> Measured:
    """Measure what earlier releases in the ledger do not answer, and combine old and new."""
    begun = runner.ledger.holding(runner.request)
    before = None if begun is None else begun.reservation.number
    earlier = earlier_answers(runner.ledger, plan.schema, plan.workload.closure, before=before)
    if begun is None and not earlier.charges:
        require_same_trees(runner.ledger, plan)
    less = earlier.lessen(plan, runner.ledger.kind)
    spend = plan.spend(spender, less.cost, reuse=earlier.digest)
    found = runner.batch(spend, cast("BatchPlan", less.noise).part, plan.measured_beside)
    answers, others = earlier.pooled(found.answers(plan.schema.sizes)), found.quantities(plan.schema.sizes)
    return Measured(less, answers, reuse=earlier.card(plan, less), quantities=others)


def _adaptively(
    plan: Plan, rounds: AdaptivePlan, runner: Runner, spender: str | None, memory: int
) -> Measured:
    """Run the rounds of an adaptive strategy, or those that are still missing, as the request was begun."""
    begun = runner.ledger.holding(runner.request)
    tables = None if begun is None else looks_at_tables(begun.reservation.detail)
    keeping, reader = None, reconstruction_named(plan.reconstruct)
    if not runner.settled:
        keeping = rounds.keeping(memory, reader, tables=tables)
        tables = keeping.tables
    scored = "tables" if tables and rounds.may_score_tables(reader) else None
    noted = _bounded(rounds.workload.sets, plan.schema.sizes)
    beside, sizes = plan.measured_beside, plan.schema.sizes
    transcript = runner.rounds(plan.spend(spender, scored=scored), rounds, beside, keeping, noted=noted)
    listed = transcript.rounds(rounds.rho + sum(part.rho for part in beside))
    history = None if listed is None else _history(plan.schema, listed)
    answers, others = transcript.answers(sizes), transcript.quantities(sizes)
    return Measured(plan, answers, history, transcript.claims(), quantities=others)


def _bounded(workload: Sequence[AttributeSet], sizes: Sequence[int]) -> bool:
    """Whether a workload is small enough for bounds of its whole tables, which are as many numbers as it has cells."""
    return sum(prod(sizes[i] for i in s) for s in workload) <= MOST_TABLE_CELLS


def _history(schema: Schema, rounds: Sequence[Round]) -> pl.DataFrame:
    """What was asked in each round, about which marginal, with how much noise, for which share of the budget."""
    labels, unit = [r.label for r in rounds], float(schema.count_unit)
    chosen = [None if told.chosen is None else marginal_label(told.chosen, schema.names) for told in labels]
    rows = [(r.residuals, r.label.sigma * unit, r.label.epsilon, r.share) for r in rounds]
    numbers = pl.DataFrame(rows, _NUMBERS, orient="row")
    told = {"round": range(len(rounds)), "action": [told.action for told in labels]}
    return pl.DataFrame({**told, "marginal": pl.Series(chosen, dtype=pl.String)}).hstack(numbers)
