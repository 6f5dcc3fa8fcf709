"""A choice between analyses: what they have in common is released first, then one of them is taken or none.

The dearest path to an option is held in the ledger until the choice is finished or abandoned; the running charge is the
price of what was measured.  For marginals, and for frozen data, it ends at the exact price of the option taken.
A choice lives in its ledger: any later session can go on with it by its id.  Measuring is done by a function that the
session passes in; all else is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import LedgerError, RefusedError, WorkloadError
from hushtable.ledger import Ledger, Spend, Stored, Unit
from hushtable.linear import LinearGaussian, MarginalMechanism, Mechanism, Signal
from hushtable.linear.lattice import positive
from hushtable.measurement import Part, ResidualPart
from hushtable.notebook import html_card
from hushtable.planning.choice import ChoicePlan
from hushtable.privacy import Cost, charge, decimal
from hushtable.privacy.budget import Kind, price_in
from hushtable.release.card import Card, Chosen, LedgerStamp, PlanFacts
from hushtable.release.choice_payload import Drawn, pack, unpack
from hushtable.release.choice_reading import Reading, Released
from hushtable.schema import Schema

KIND = "choose"
FROZEN_NOTE = "The price rests on the curator's word that no row changed while the choice was open."
UNASKED_NOTE = (
    "The price is right if no row changed while the choice was open; version 0.1 did not ask the curator."
)
Rule = Literal["point", "three-sigma"]
Pack = Callable[[NDArray[np.int64]], bytes]


class Drawer(Protocol):
    """What a session lends to a choice: it charges, measures a part (None: nothing) and stores what ``pack`` makes."""

    def start(self, spend: Spend, request: str | None, part: Part | None, cost: Cost, pack: Pack) -> str:
        """Set the whole cost aside and measure the first part, unless this was done before; gives the id."""
        ...

    def go_on(
        self, request: str, charges: int, part: Part | None, cost: Cost, pack: Pack, *, last: bool
    ) -> None:
        """Measure the next part of a choice that has so many charges; the ``last`` one ends it."""
        ...

    def once(self, spend: Spend, request: str, part: Part, pack: Pack) -> None:
        """Measure a part that is a spend of its own."""
        ...

    def end(self, request: str) -> None:
        """Free what was set aside and not charged."""
        ...

    def tidy(self, request: str) -> None:
        """The same for what is only waiting for its end, unless somebody is working on it."""
        ...


class Choice:
    """An open, finished or abandoned choice; made by ``Session.choose`` and ``Session.choice``."""

    def __init__(
        self, plan: ChoicePlan, schema: Schema, unit: Unit, ledger: Ledger, stored: Stored, draw: Drawer
    ) -> None:
        self.plan = plan
        self.schema = schema
        self.id = str(stored.reservation.request)
        self._unit, self._ledger, self._draw = unit, ledger, draw
        self._refresh(stored)

    @property
    def options(self) -> tuple[Mechanism, ...]:
        """The options, counted from 0, with their final noise."""
        return self.plan.options

    @property
    def state(self) -> Literal["open", "finished", "abandoned"]:
        """Whether an option can still be taken."""
        if self.taken is not None:
            return "finished"
        return "open" if self._stored.state == "open" else "abandoned"

    @property
    def taken(self) -> int | None:
        """The option that was finished, if one was."""
        return next((int(d.note["option"]) for d in self._drawn if "option" in d.note), None)

    @property
    def stage(self) -> int:
        """How many of the coarsest options have been passed by."""
        return max((int(d.note["step"]) for d in self._drawn if "step" in d.note), default=0)

    @property
    def charged(self) -> Cost:
        """What was spent so far, refinements included."""
        return sum((r.drawn for r in self._refined), self._stored.drawn)

    @property
    def held(self) -> Cost:
        """What is set aside until the choice is finished or abandoned."""
        return self._stored.held

    def cost(self, option: int) -> Cost:
        """What taking an option costs in total at this stage, per person; of one passed by, what it would have cost."""
        chosen = self._checked(option)
        return self._units(self.plan.price(chosen, min(self.stage, chosen)))

    def frozen_cost(self, option: int) -> Cost:
        """What taking an option costs per person where no row changes while the choice is open."""
        return self._units(self.plan.frozen_price(self._checked(option)))

    def usual_way(self, option: int) -> Cost:
        """What measuring the common part of this stage first, and then starting again with the option, would cost."""
        look, taken = self.plan.steps[self.stage], self.options[self._checked(option)]
        return self._units(Fraction(look.rho) + Fraction(taken.rho))

    @property
    def notes(self) -> list[str]:
        """What the analyst should know before deciding."""
        return [*self._notes_on_prices(), *self._notes_on_freezing()]

    def _notes_on_prices(self) -> list[str]:
        costs = [self.frozen_cost(k).rho for k in range(len(self.options))]
        if len(set(costs)) == 1:
            return []
        listed = ", ".join(f"option {k} rho={decimal(c)}" for k, c in enumerate(costs))
        return [
            f"The options have different budgets ({listed}): the dearest is held, and taking a cheaper one frees the "
            "rest; what is common is no better than the weakest option allows."
        ]

    @property
    def _assumed(self) -> str | None:
        """What the price rests on beside the unit of privacy; None where it holds whatever became of the rows."""
        if self.plan.kind == "marginals":
            return None
        if self.plan.frozen:
            return FROZEN_NOTE
        paid = self.plan.path(self.stage, self.taken) if self.plan.kind == "buckets" else self._paid()
        due = self._units(sum((part.rho for part in paid), Fraction(0)))
        return None if due <= self._stored.drawn else UNASKED_NOTE

    def _notes_on_freezing(self) -> list[str]:
        if self._assumed is not None:
            return [self._assumed]
        if self.plan.frozen:
            return []
        if all(self.cost(k) <= self.frozen_cost(k) for k in range(len(self.options))):
            return []
        return [
            "Parts of the options cost some records more than others, so each is paid at its dearest record: a row may "
            "change between two parts. Declared frozen, an option costs what is listed beside it."
        ]

    @cached_property
    def _reading(self) -> Reading:
        return Reading(self.schema, self.plan, self.stage, self._drawn)

    @property
    def common(self) -> Released:
        """What the options that are still open have in common: released, and paid for by whichever is taken."""
        return self._reading.released(None, self._card())

    def signal(self, option: int) -> Signal:
        """Ratios of count to noise in the primary analysis if ``option`` were taken, with three-sigma bounds."""
        return self._reading.signal(self._checked(option))

    def snr(self, option: int, rule: Rule = "point") -> NDArray[np.float64]:
        """Ratio of count to noise of every cell of the primary analysis if ``option`` were taken.

        ``point``: the estimate; ``three-sigma``: a lower bound that holds for 99.9% of cells (section 6.1).
        """
        if rule not in ("point", "three-sigma"):
            raise WorkloadError(
                "linear.rule", "The rule is not known.", 'Give rule="point" or rule="three-sigma".'
            )
        signal = self.signal(option)
        return signal.point if rule == "point" else signal.lower

    def evidence(self) -> tuple[LinearGaussian, NDArray[np.float64]]:
        """The common part as linear queries and their answers; small domains only.

        For ``linear.posterior`` and ``linear.consistent_datasets``, when the options are not nested (section 6.2).
        """
        return self._reading.evidence()

    def gain(self, option: int, *, prior_variance: float) -> float:
        """Mean share of the present variance of an option's queries that taking it would remove (section 6.2).

        Counts are thought of as independent beforehand with ``prior_variance``; small domains only.
        """
        return self._reading.gain(self._checked(option), prior_variance)

    def decide(
        self, *, share: float, ratio: float, rule: Rule = "point", stop_early: bool = False
    ) -> int | None:
        """Go on to finer options while a ``share`` of the primary cells has at least this ratio under the next one.

        Returns the option to finish.  With ``stop_early``, None when even the first option is too weak for its own
        analysis beyond doubt (the three-sigma upper bounds fail): abandoning then costs the common part only.
        """
        if not (0 < share <= 1 and np.isfinite(ratio)):
            raise WorkloadError(
                "choose.rule", "The share must lie between 0 and 1, the ratio be a number.", "Use 0.5 and 5."
            )
        self._require_open()
        last = len(self.options) - 1
        if (
            stop_early
            and self.stage == 0
            and self.signal(0).too_weak(share=share, ratio=ratio, rule="three-sigma")
        ):
            return None
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
                f"Take it with finish({len(self.options) - 1}), or an earlier one.",
            )
        self._measure(
            self.plan.step_part(stage, self._parts), self.plan.steps[stage], {"step": stage, **self._shape()}
        )

    def refine(self, *, rho: Any) -> None:
        """Buy the common part once more at ``rho`` per person, to decide with more certainty.

        It is a spend of its own.  What it tells about residuals that an option measures is not bought again when that
        option is finished; only what goes beyond the option is extra.
        """
        self._require_open()
        step = self.plan.steps[self.stage]
        if not isinstance(step, MarginalMechanism) or self.plan.kind != "marginals":
            raise WorkloadError(
                "choose.refine",
                "Only options made of marginals can be refined.",
                "Decide now, or abandon and choose again.",
            )
        better = step.scaled(rho=positive("rho", rho) / self._unit.rows**2)
        part = ResidualPart(step.sizes, better.precisions)
        part.check()
        number, spender = len(self._refined), self._stored.reservation.spender
        detail = {"refines": self.id, "rho": str(rho)}
        spend = Spend(self._units(part.rho), f"{KIND}-refine", detail, spender)
        packed = partial(pack, part, note={"refine": number})
        self._draw.once(spend, _refinement(self.id, number), part, packed)
        self._refresh(find_choice(self._ledger, self.id))

    def finish(self, option: int) -> Released:
        """Take an option: measure what is missing of it, pay the difference, and free the rest."""
        self._require_open()
        chosen = self._checked(option)
        if chosen < self.stage:
            raise RefusedError(
                "choose.passed",
                f"Option {chosen} was passed by; its part of the budget went into finer options.",
                f"Finish with one of the options {self.stage} to {len(self.options) - 1}.",
            )
        part = self.plan.finish_part(self.stage, chosen, self._parts)
        note = {"option": chosen, "frozen": self.plan.frozen, **self._shape()}
        self._measure(part, self.options[chosen], note, last=True)
        return self.result()

    def abandon(self) -> None:
        """Take no option: what was measured stays spent, the rest is free again."""
        self._require_unsettled()
        self._draw.end(self.id)
        self._refresh(find_choice(self._ledger, self.id))

    def result(self) -> Released:
        """The answers of the option that was taken; nothing is spent."""
        if self.taken is None:
            raise RefusedError(
                "choose.not-finished", "No option of this choice was taken.", "Finish it with an option."
            )
        return self._reading.released(self.taken, self._card())

    def _repr_html_(self) -> str:
        rows = [(k, decimal(self.cost(k).rho), k == self.taken) for k in range(len(self.options))]
        facts = {"state": self.state, "charged": f"rho={decimal(self.charged.rho)}"}
        return html_card(f"Choice {self.id}", facts, ("option", "rho", "taken"), rows)

    def __repr__(self) -> str:
        return f"<Choice {self.id} between {len(self.options)} options, {self.state}>"

    @property
    def _parts(self) -> list[Part]:
        return [d.part for d in self._drawn if d.part is not None]

    def _measure(
        self, part: Part | None, target: Mechanism, note: dict[str, Any], *, last: bool = False
    ) -> None:
        """Charge the difference to the running cost that ``part`` leads to, and measure it."""
        drawn = [*self._paid(), *([] if part is None else [part])]
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
        full = {**note, **part_note(part)}
        ordinal = len(self._stored.charges)
        self._draw.go_on(self.id, ordinal, part, cost, partial(pack, part, note=full), last=last)
        self._refresh(find_choice(self._ledger, self.id))

    def _paid(self) -> list[Part]:
        """The parts that the choice's own reservation has paid for; bucket counts do not name their part."""
        if self.plan.kind == "buckets":
            return self.plan.path(self.stage)
        return [d.part for d in self._drawn if d.part is not None and "refine" not in d.note]

    def _shape(self) -> dict[str, Any]:
        return {"sizes": list(self.plan.sizes)}

    def _refresh(self, stored: Stored) -> None:
        self._stored = stored
        self._refined = _refinements(self._ledger, self.id)
        for refinement in self._refined:
            if refinement.state == "open":
                self._draw.tidy(str(refinement.reservation.request))
        kept = [p for s in (stored, *self._refined) for p in s.payloads if p is not None]
        self._drawn: list[Drawn] = [unpack(p) for p in kept]
        self.__dict__.pop("_reading", None)
        if self.taken is not None and stored.state == "open":
            self._draw.tidy(self.id)
            self._stored = find_choice(self._ledger, self.id)

    def _require_open(self) -> None:
        self._require_unsettled()
        if None in self._stored.payloads:
            raise LedgerError(
                "choose.draw-lost",
                "A part of this choice was charged, and its answers were lost in a crash; they stay spent.",
                "Abandon it to free what is held, and choose again.",
            )

    def _require_unsettled(self) -> None:
        if self.state == "finished":
            raise RefusedError(
                "choose.finished",
                f"This choice was finished with option {self.taken}.",
                "Read it again with result() or `hush choose show`; another option needs a new choice.",
            )
        if self.state == "abandoned":
            raise RefusedError(
                "choose.abandoned", "This choice was abandoned.", "Start a new one with `hush choose`."
            )

    def _checked(self, option: int) -> int:
        if isinstance(option, bool) or not isinstance(option, int) or not 0 <= option < len(self.options):
            raise WorkloadError(
                "choose.option",
                f"The option must be a whole number from 0 to {len(self.options) - 1}.",
                "Options count from 0, in the order in which they were given.",
            )
        return option

    def _units(self, rho: Fraction) -> Cost:
        """Price per person in the ledger's currency, rounded up once."""
        return person_price(rho, self._unit, self._ledger)

    def _card(self) -> Card:
        reservation = self._stored.reservation
        option = self.taken
        chosen = self.stage if option is None else option
        saved = self.usual_way(chosen).rho - self.cost(chosen).rho
        chosen_so = Chosen(
            id=self.id,
            state=self.state,
            stage=self.stage,
            option=option,
            frozen=self.plan.frozen,
            note=self._assumed,
            usual_way_rho=decimal(self.usual_way(chosen).rho),
            saved_rho=decimal(max(0, saved)),
        )
        plan = PlanFacts(strategy="choose", noise="discrete Gaussian", options=len(self.options))
        stamp = LedgerStamp.of(self._ledger, self._stored, account=False)
        budget = str(reservation.detail.get("budget", ""))
        return Card.of(self.schema, self.charged, plan, stamp, budget=budget, choice=chosen_so)


def person_price(rho: Fraction, unit: Unit, ledger: Ledger) -> Cost:
    """Price of a cost for one row, per person, in the ledger's currency, rounded up once."""
    return charge(*price_in(cast("Kind", ledger.kind), None, rho * unit.rows**2))


def part_note(part: Part | None) -> dict[str, Any]:
    """What a payload's note must say so that its part can be read back."""
    scale = getattr(part, "scale", None)
    return {} if scale is None else {"scale": scale}


def find_choice(ledger: Ledger, choice: str) -> Stored:
    """What the ledger knows of a choice."""
    found = ledger.find(choice)
    if found is None or found.reservation.kind != KIND or "options" not in found.reservation.detail:
        raise LedgerError(
            "choose.unknown",
            "The ledger has no choice of this id.",
            "Copy the id from `hush choose`, or find it with `hush ledger show`.",
        )
    return found


def require_open(ledger: Ledger, choice: str) -> None:
    """Refuse a choice that was finished or abandoned; the data are not needed for that."""
    found = find_choice(ledger, choice)
    finished = any("option" in unpack(p).note for p in found.payloads if p is not None)
    if finished or found.state != "open":
        raise RefusedError(
            "choose.finished" if finished else "choose.abandoned",
            f"This choice was {'finished' if finished else 'abandoned'} before.",
            "There is nothing left to abandon.",
        )


def first_note(stored: Stored) -> dict[str, Any]:
    """The description of the whole choice that its first payload carries."""
    if not stored.payloads or stored.payloads[0] is None:
        raise LedgerError(
            "choose.draw-lost",
            "The common part of this choice was never stored; what was charged stays spent.",
            "Abandon it to free what is held, and choose again.",
        )
    return unpack(stored.payloads[0]).note


def taken_as_frozen(stored: Stored) -> bool:
    """Whether an option was taken on the curator's word that no row had changed."""
    notes = (unpack(p).note for p in stored.payloads if p is not None)
    return any("option" in note and note.get("frozen", False) for note in notes)


def _refinement(choice: str, number: int) -> str:
    return f"{choice}/refine-{number}"


def _refinements(ledger: Ledger, choice: str) -> list[Stored]:
    found: list[Stored] = []
    while (stored := ledger.find(_refinement(choice, len(found)))) is not None:
        found.append(stored)
    return found
