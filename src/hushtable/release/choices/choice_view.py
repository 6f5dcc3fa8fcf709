"""A choice as its ledger tells it: how it stands, what the options cost, and what the common part says.

Needs no data and spends nothing: all of it is post-processing of what was charged and stored.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from hushtable.arrays import Floats, is_whole
from hushtable.errors import RefusedError, WorkloadError
from hushtable.ledger import Ledger
from hushtable.linear import (
    LinearGaussian,
    OptionMechanism,
    Signal,
    SignalRule,
    checked_rule,
    posterior,
    query_variances,
    variance_reduction,
)
from hushtable.measurement import Part
from hushtable.notebook import html_card
from hushtable.privacy import Cost, charge, decimal, price_in
from hushtable.release.card import Card, Chosen, LedgerStamp, PlanFacts
from hushtable.release.choices.choice_plan import ChoicePlan
from hushtable.release.choices.families import AnyRelease, MeasuredChoice, option_text
from hushtable.release.choices.outlook import ChoiceOutlook, outlook_of
from hushtable.release.choices.record import ChoiceRecord
from hushtable.release.spend_kinds import CHOOSE
from hushtable.schema import Schema

FROZEN_NOTE = "The price rests on the curator's word that no row changed while the choice was open."
UNASKED_NOTE = (
    "The price is right if no row changed while the choice was open; version 0.1 did not ask the curator."
)
CHANGING_NOTE = (
    "Parts of the options cost some records more than others, so each is paid at its dearest record: a row may "
    "change between two parts. Declared frozen, an option costs what is listed beside it."
)
WAITING_NOTE = "The last command was interrupted after its draw: repeat it to free what is still held."
RATIOS = (1.0, 3.0, 5.0, 10.0)
"""Ratios of count to noise that a summary counts cells by: 5 is the paper's example, the others lie around it."""


class ShareReaching(NamedTuple):
    """Which share of the primary cells reaches a ratio of count to noise, and surely does."""

    ratio: str
    share: float
    surely: float


class OptionStanding(NamedTuple):
    """What an option costs, and the shares of primary cells that reach each ratio of count to noise."""

    option: int
    what: str
    rho: str
    frozen_rho: str
    usual_way_rho: str
    shares: tuple[ShareReaching, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; shares by ratio."""
        told = self._asdict()
        del told["shares"]
        reaching = {ratio: share for ratio, share, _ in self.shares}
        return {
            **told,
            "share_reaching": reaching,
            "share_reaching_surely": {ratio: surely for ratio, _, surely in self.shares},
        }


class ChoiceView(ChoiceRecord):
    """How a choice stands; made from a ledger and an id alone."""

    def __init__(
        self,
        ledger: Ledger,
        choice: str,
        *,
        schema: Schema | None = None,
        plan: ChoicePlan | None = None,
        frozen: bool = False,
    ) -> None:
        super().__init__(ledger, choice)
        opening = self.opening
        self.schema = Schema.loads(opening.schema_yaml) if schema is None else schema
        self.plan = self._planned(self.schema.sizes, frozen=frozen) if plan is None else plan
        self._ratios = RATIOS
        self.decision: int | None = None
        """The option that the last rule decided for, when one was asked."""

    @property
    def options(self) -> tuple[OptionMechanism, ...]:
        """The options, counted from 0, with their final noise."""
        return self.plan.options

    @property
    def remaining(self) -> str:
        """What the ledger still allows, in words."""
        return str(self._ledger.remaining())

    def cost(self, option: int) -> Cost:
        """What taking an option costs in total at this stage, per person; of one passed by, what it would have cost."""
        chosen = self._checked(option)
        return self._units(self.plan.price(chosen, min(self.stage, chosen)))

    def frozen_cost(self, option: int) -> Cost:
        """What taking an option costs per person where no row changes while the choice is open."""
        return self._units(self.plan.frozen_price(self._checked(option)))

    def usual_way(self, option: int) -> Cost:
        """What measuring the common part of this stage first, and then starting again with the option, would cost."""
        return self._units(self.plan.usual_way(self._checked(option), self.stage))

    @property
    def notes(self) -> list[str]:
        """What the analyst should know before deciding."""
        notes: list[str] = []
        frozen = [self.frozen_cost(k) for k in range(len(self.options))]
        if len({cost.rho for cost in frozen}) > 1:
            listed = ", ".join(f"option {k} rho={decimal(cost.rho)}" for k, cost in enumerate(frozen))
            notes.append(
                f"The options have different budgets ({listed}): the dearest is held, and taking a cheaper one frees "
                "the rest; what is common is no better than the weakest option allows."
            )
        if self._assumed is not None:
            notes.append(self._assumed)
        elif not (self.plan.sharp or all(self.cost(k) <= cost for k, cost in enumerate(frozen))):
            notes.append(CHANGING_NOTE)
        return [*notes, WAITING_NOTE] if self.waiting else notes

    @property
    def _assumed(self) -> str | None:
        """What the price rests on beside the unit of privacy; None where it holds whatever became of the rows."""
        if self.plan.even:
            return None
        if self.plan.frozen:
            return FROZEN_NOTE
        due = self._units(sum((part.rho for part in self._paid), Fraction(0)))
        return None if due <= self._stored.drawn else UNASKED_NOTE

    @property
    def common(self) -> AnyRelease:
        """What the options that are still open have in common: released, and paid for by whichever is taken."""
        return self.plan.family.released(self._measured, None, self.card)

    def result(self) -> AnyRelease:
        """The answers of the option that was taken; nothing is spent."""
        if self.taken is None:
            raise RefusedError(
                "choose.not-finished", "No option of this choice was taken.", "Finish it with an option."
            )
        return self.plan.family.released(self._measured, self.taken, self.card)

    def signal(self, option: int) -> Signal:
        """Ratios of count to noise in the primary analysis if ``option`` were taken, with three-sigma bounds."""
        return self.plan.family.signal(self._measured, self._checked(option))

    def snr(self, option: int, rule: SignalRule = "point") -> Floats:
        """Ratio of count to noise of every cell of the primary analysis if ``option`` were taken.

        ``point``: the estimate; ``three-sigma``: a lower bound that holds for 99.9% of cells (section 6.1).
        """
        signal = self.signal(option)
        return signal.point if checked_rule(rule) == "point" else signal.lower

    def evidence(self) -> tuple[LinearGaussian, Floats]:
        """The common part as linear queries and their answers; small domains only.

        For ``linear.posterior`` and ``linear.consistent_datasets``, when the options are not nested (section 6.2).
        """
        return self.plan.family.evidence(self._measured)

    def gain(self, option: int, *, prior_variance: float) -> float:
        """Mean share of the present variance of an option's queries that taking it would remove (section 6.2).

        Counts are thought of as independent beforehand with ``prior_variance``; small domains only.
        """
        wanted = self.options[self._checked(option)].dense()
        mechanism, output = self.evidence()
        _, now = posterior(mechanism, output, wanted.queries, prior_variance=prior_variance)
        return variance_reduction(now, query_variances(wanted, wanted.queries))

    def outlook(self, *, prior_variance: float | None = None, datasets: int = 0) -> ChoiceOutlook:
        """What taking each open option would teach: under a prior (:meth:`gain`), over consistent datasets, or both."""
        if prior_variance is None and not datasets:
            raise WorkloadError(
                "choose.outlook",
                "Neither a prior variance nor a number of datasets is given.",
                "Give --prior-variance 1000, --datasets 200, or both.",
            )
        left = [(k, self.options[k]) for k in range(self.stage, len(self.options))]
        return outlook_of(left, self.evidence(), prior_variance=prior_variance, datasets=datasets)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: how it stands, the open options with what they cost and tell, and the privacy card."""
        return {
            "choice": self.id,
            "state": self.state,
            "stage": self.stage,
            "decision": self.decision,
            "taken": self.taken,
            "frozen": self.plan.frozen,
            "charged_rho": decimal(self.charged.rho),
            "held_rho": decimal(self.held.rho),
            "remaining": self.remaining,
            "options": [one.to_dict() for one in self.standings],
            "notes": self.notes,
            "card": self.card.to_dict(),
        }

    @property
    def standings(self) -> list[OptionStanding]:
        """The options that are still open."""
        return [self._standing(k) for k in range(self.stage, len(self.options))]

    def _standing(self, option: int) -> OptionStanding:
        signal, mechanism = self.signal(option), self.options[option]
        return OptionStanding(
            option,
            option_text(mechanism, self.schema.names),
            decimal(self.cost(option).rho),
            decimal(self.frozen_cost(option).rho),
            decimal(self.usual_way(option).rho),
            tuple(
                ShareReaching(f"{r:g}", signal.share(r), signal.share(r, bound="lower")) for r in self._ratios
            ),
        )

    def _repr_html_(self) -> str:
        rows = [(k, decimal(self.cost(k).rho), k == self.taken) for k in range(len(self.options))]
        facts = {"state": self.state, "charged": self.charged}
        return html_card(f"Choice {self.id}", facts, ("option", "rho", "taken"), rows)

    def __repr__(self) -> str:
        return f"<Choice {self.id} between {len(self.options)} options, {self.state}>"

    @cached_property
    def _measured(self) -> MeasuredChoice:
        parts = tuple(self._measured_part(self.plan, stored) for stored in self._parts)
        return MeasuredChoice(self.schema, self.options, self.stage, self.plan.steps[self.stage], parts)

    @property
    def _paid(self) -> list[Part]:
        """The parts that the choice's own reservation has paid for."""
        return [m.part for m in self._measured.parts if m.part is not None and m.role != "refinement"]

    def _checked(self, option: int) -> int:
        if not is_whole(option) or not 0 <= option < len(self.options):
            raise WorkloadError(
                "choose.option",
                f"The option must be a whole number from 0 to {len(self.options) - 1}.",
                "Options count from 0, in the order in which they were given.",
            )
        return option

    def _units(self, rho: Fraction) -> Cost:
        """Price per person in the ledger's currency, rounded up once."""
        return person_price(rho, self.schema, self._ledger)

    @property
    def standing(self) -> Chosen:
        """How the choice stands, as its privacy card says it."""
        chosen = self.stage if self.taken is None else self.taken
        usual = self.usual_way(chosen).rho
        return Chosen(
            id=self.id,
            state=self.state,
            stage=self.stage,
            option=self.taken,
            frozen=self.plan.frozen,
            note=self._assumed,
            usual_way_rho=decimal(usual),
            saved_rho=decimal(max(0, usual - self.cost(chosen).rho)),
        )

    @property
    def card(self) -> Card:
        """The privacy card of what was measured so far."""
        stored = self._stored
        plan = PlanFacts(strategy=CHOOSE, noise="discrete Gaussian", options=len(self.options))
        stamp = LedgerStamp.of(self._ledger, stored, account=False)
        return Card.of(
            self.schema, self.charged, plan, stamp, budget=self.detail.budget, choice=self.standing
        )


def person_price(rho: Fraction, schema: Schema, ledger: Ledger) -> Cost:
    """Price of a cost for one row, per person, in the ledger's currency, rounded up once."""
    return charge(*price_in(ledger.kind, None, rho * schema.most_per_person**2))
