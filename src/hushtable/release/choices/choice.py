"""A choice between analyses: what they have in common is released first, then one of them is taken or none.

The dearest path to an option is held in the ledger until the choice is finished or abandoned; the running charge is the
price of what was measured.  For marginals, and for frozen data, it ends at the exact price of the option taken.
Measuring is done by a function that the session passes in; all else is post-processing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from hushtable.errors import HushtableError, LedgerError, RefusedError, WorkloadError
from hushtable.ledger import Ledger, Spend
from hushtable.linear import OptionMechanism, SignalRule, positive
from hushtable.marginals import ResolvedWorkload
from hushtable.measurement import ChoiceStep, Part
from hushtable.planning import check_memory
from hushtable.privacy import UNIT, Budget, Cost, decimal, price_in
from hushtable.release.choices.choice_plan import ChoicePlan, plan_choice
from hushtable.release.choices.choice_view import ChoiceView, person_price
from hushtable.release.choices.families import AnyRelease, Refinable, family_of, option_text
from hushtable.release.choices.record import Note, Opening, Refinement, Step, Taken, refinement
from hushtable.release.details import ChoiceDetail, RefinementDetail
from hushtable.release.spend_kinds import CHOOSE
from hushtable.schema import Schema


class Drawer(Protocol):
    """What a session lends to a choice: it charges for a step, measures its part and stores its line.

    ``start`` sets the whole cost aside and measures the first part, unless this was done before, and gives the id;
    ``go_on`` measures the next part of a choice that has so many charges; the ``last`` part ends it.  ``end`` frees
    what was set aside and not charged, and ``tidy`` does so unless somebody is working on it.
    """

    def start(
        self, spend: Spend, request: str | None, step: ChoiceStep, cost: Cost, *, last: bool = False
    ) -> str: ...
    def go_on(self, request: str, charges: int, step: ChoiceStep, cost: Cost, *, last: bool) -> None: ...
    def end(self, request: str) -> None: ...
    def tidy(self, request: str) -> None: ...


@dataclass(frozen=True)
class ChoiceContext:
    """What a session lends to a choice: public things, and the right to draw."""

    schema: Schema
    ledger: Ledger
    spender: str | None
    draw: Drawer
    data: str | None
    """Where the data are, when they have a path."""

    def price(self, rho: Fraction) -> Cost:
        """What a cost for one row is per person, in the ledger's currency, rounded up once."""
        return person_price(rho, self.schema, self.ledger)


class Choice(ChoiceView):
    """An open, finished or abandoned choice; made by ``Session.choose`` and ``Session.choice``.

    ``frozen`` declares, for a choice of version 0.1 that says nothing of it, that no row has changed since it began.
    Reading it writes nothing.  What an interrupted command left waiting for its end is ended by the next one that acts.
    """

    def __init__(
        self, context: ChoiceContext, choice: str, *, plan: ChoicePlan | None = None, frozen: bool = False
    ) -> None:
        super().__init__(context.ledger, choice, schema=context.schema, plan=plan, frozen=frozen)
        if self.opening.schema != context.schema.version:
            raise WorkloadError(
                "choose.other-schema",
                "The choice was made over another schema than this session's.",
                "Open the session with the schema of the choice.",
            )
        self._draw = context.draw

    def decide(
        self, *, share: float, ratio: float, rule: SignalRule = "point", stop_early: bool = False
    ) -> int | None:
        """Go on to finer options while a ``share`` of the primary cells has at least this ratio under the next one.

        Returns the option to finish, and remembers it as ``decision``.  With ``stop_early``, None when even the first
        option is too weak for its own analysis beyond doubt (the three-sigma upper bounds fail): abandoning then costs
        the common part only.
        """
        if not (0 < share <= 1 and np.isfinite(ratio)):
            raise WorkloadError(
                "choose.rule", "The share must lie between 0 and 1, the ratio be a number.", "Use 0.5 and 5."
            )
        self._require_open()
        self._ratios = tuple(sorted({*self._ratios, float(ratio)}))
        asked = {"share": share, "ratio": ratio}
        if stop_early and self.stage == 0 and self.signal(0).too_weak(**asked, rule="three-sigma"):
            self.decision = None
            return None
        self.decision = self._finest(**asked, rule=rule)
        return self.decision

    def _finest(self, *, share: float, ratio: float, rule: SignalRule) -> int:
        """The finest option that keeps a rule; those before it are passed by."""
        last = len(self.options) - 1
        while self.stage < last and self.signal(self.stage + 1).enough(share=share, ratio=ratio, rule=rule):
            if self.stage + 1 == last:
                return last
            self.advance()
        return self.stage

    def advance(self) -> None:
        """Pass the coarsest open option by, and measure what the finer ones have in common beyond it."""
        self._require_open()
        stage = self.stage + 1
        if stage >= len(self.options) - 1:
            raise RefusedError(
                "choose.last-stage",
                "Only one option would be left.",
                f"Finish with option {len(self.options) - 1}, or an earlier one.",
            )
        part = self.plan.step_part(stage, self._drawn)
        self._measure(part, self.plan.steps[stage], Step(stage))

    def refine(self, *, rho: Any) -> None:
        """Buy the common part once more at ``rho`` per person, to decide with more certainty.

        It is a spend of its own.  What it tells about residuals that an option measures is not bought again when that
        option is finished; only what goes beyond the option is extra.
        """
        self._require_open()
        family = self.plan.family
        if not isinstance(family, Refinable):
            raise WorkloadError(
                "choose.refine",
                f"Options that are {family.name} cannot be refined.",
                "Decide now, or abandon and choose again.",
            )
        part = family.refined(
            self.plan.steps[self.stage], positive("rho", rho) / self.schema.most_per_person**2
        )
        part.check()
        number, spender = len(self._refined), self._stored.reservation.spender
        spend = Spend(self._units(part.rho), f"{CHOOSE}-refine", RefinementDetail(self.id, str(rho)), spender)
        step = Refinement(number).measuring(part)
        self._draw.start(spend, refinement(self.id, number), step, spend.cost, last=True)
        self._read()

    def finish(self, option: int) -> AnyRelease:
        """Take an option: measure what is missing of it, pay the difference, and free the rest."""
        self._require_open()
        chosen = self._checked(option)
        if chosen < self.stage:
            raise RefusedError(
                "choose.passed",
                f"Option {chosen} was passed by; its part of the budget went into finer options.",
                f"Finish with one of the options {self.stage} to {len(self.options) - 1}.",
            )
        part = self.plan.finish_part(self.stage, chosen, self._drawn)
        note = Taken(chosen, self.plan.frozen)
        self._measure(part, self.options[chosen], note, last=True)
        return self.result()

    def take(self, option: int) -> AnyRelease:
        """:meth:`finish`, or what was stored where this option was taken before, also by another process meanwhile."""
        if self.taken != option:
            try:
                return self.finish(option)
            except (LedgerError, RefusedError) as error:
                if not self._went_on(error) or self.taken != option:
                    raise
        self.tidy()
        return self.result()

    def follow(
        self,
        *,
        share: float,
        ratio: float,
        rule: SignalRule = "point",
        stop_early: bool = False,
        take: bool = True,
    ) -> None:
        """Go by :meth:`decide` to the end: abandon the choice, or ``take`` the option that it says.

        Where another process went on with the choice meanwhile, what it has stored is read and gone on from.
        """
        while self.state == "open":
            try:
                decision = self.decide(share=share, ratio=ratio, rule=rule, stop_early=stop_early)
                if decision is None:
                    self.abandon()
                elif take:
                    self.finish(decision)
                return
            except (LedgerError, RefusedError) as error:
                if not self._went_on(error):
                    raise
                self.decision = self.taken

    def _went_on(self, error: HushtableError) -> bool:
        """Read again what another process has stored, if an error says that it did."""
        elsewhere = error.code in ("choose.moved-on", "choose.finished", "choose.abandoned")
        if elsewhere:
            self._read()
        return elsewhere

    def abandon(self) -> None:
        """Take no option: what was measured stays spent, the rest is free again."""
        self.tidy()
        self.require_unsettled()
        self._draw.end(self.id)
        self._read()

    def tidy(self) -> None:
        """Free what an interrupted command left waiting for its end, unless somebody is working on it."""
        waiting = self.waiting
        for request in waiting:
            self._draw.tidy(request)
        if waiting:
            self._read()

    @property
    def _drawn(self) -> list[Part]:
        return [one.part for one in self._measured.parts if one.part is not None]

    def _measure(self, part: Part | None, target: OptionMechanism, note: Note, *, last: bool = False) -> None:
        """Charge the difference to the running cost that ``part`` leads to, and measure it."""
        drawn = [*self._paid, *([] if part is None else [part])]
        total, spent = self._units(self.plan.rho_with(target, drawn)).rho, self._stored.drawn.rho
        cost = Cost(0, max(0, total - spent))
        if not cost <= self.held:
            raise RefusedError(
                "choose.not-frozen",
                "This choice holds too little for its next part: it was begun when options were priced as if no row "
                "could change.",
                "Say `--frozen` (frozen=True) if no row has changed since it began; else abandon it and choose again.",
            )
        if part is not None:
            part.check()
        self._draw.go_on(self.id, len(self._stored.charges), note.measuring(part), cost, last=last)
        self._read()

    def _read(self) -> None:
        self.__dict__.pop("_measured", None)
        super()._read()

    def _require_open(self) -> None:
        self.tidy()
        if None in self._stored.payloads:
            raise LedgerError(
                "choose.draw-lost",
                "A part of this choice was charged, and its answers were lost in a crash; they stay spent.",
                "Abandon it to free what is held, and choose again.",
            )
        self.require_unsettled()


def start_choice(
    context: ChoiceContext,
    options: Sequence[OptionMechanism],
    *,
    budget: Budget | None,
    request: str | None,
    memory: int,
    frozen: bool,
) -> Choice:
    """Reserve the dearest path to an option, measure what all have in common, and hand out the choice.

    Everything is decided from public sizes before anything is reserved.  A request id that has started this choice
    before gives it back as it is now.
    """
    schema = context.schema
    if schema.count_unit != 1:
        raise WorkloadError(
            "choose.fractional-weights",
            "The noise of options is declared in whole persons, and this schema counts in finer steps of weights.",
            "Release the tables, or choose by a schema whose weights have a whole `resolution`.",
        )
    plan = plan_choice(schema.sizes, options, rho=_rho_per_row(schema, budget), frozen=frozen)
    plan.check()
    for sets in (family_of(option).tables(option) for option in plan.options):
        if sets:
            tables = ResolvedWorkload(sets, (Fraction(1),) * len(sets), schema.sizes, schema.names)
            check_memory(tables, memory=memory)
    first = plan.step_part(0, ())
    common = context.price(plan.rho_with(plan.steps[0], [] if first is None else [first]))
    written = [option.to_dict() for option in plan.options]
    note = Opening(plan.sizes, written, schema.version, schema.to_yaml(), frozen, context.data)
    detail = _detail(context, plan, budget, written)
    spend = Spend(context.price(plan.dearest), CHOOSE, detail, context.spender)
    begun = context.draw.start(spend, request, note.measuring(first), common)
    started = Choice(context, begun, plan=plan)
    started.tidy()
    return started


def _rho_per_row(schema: Schema, budget: Budget | None) -> Fraction | None:
    """What an option may cost for one row; a pure budget is refused."""
    if budget is None:
        return None
    limit = Budget.checked(budget).limit.rho
    if limit == 0:
        price_in("pure", None, Fraction(0))
    return Fraction(limit, UNIT) / schema.most_per_person**2


def _detail(
    context: ChoiceContext, plan: ChoicePlan, budget: Budget | None, written: Sequence[Mapping[str, Any]]
) -> ChoiceDetail:
    def rho(price: Callable[[int], Fraction]) -> tuple[str, ...]:
        return tuple(decimal(context.price(price(k)).rho) for k in range(len(plan.options)))

    even = plan.even  # costs the same frozen or not, and is found again as version 0.1 wrote it
    return ChoiceDetail(
        budget="" if budget is None else str(budget),
        schema=context.schema.version,
        options=tuple(option_text(option, context.schema.names) for option in plan.options),
        options_sha256=hashlib.sha256(json.dumps(written).encode()).hexdigest(),
        common_rho=decimal(context.price(plan.common_rho).rho),
        option_rho=rho(plan.price),
        usual_way_rho=rho(plan.usual_way),
        frozen=None if even else plan.frozen,
        frozen_rho=None if even else rho(plan.frozen_price),
    )
