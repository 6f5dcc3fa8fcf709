"""Never buy twice: what earlier releases of a ledger already answer, and what a new one still has to measure.

Every stored answer with Gaussian noise, whatever release, choice or round it came from, tells about residuals with an
exact precision.  The common part of the old answers and a new plan is, per residual, the smaller precision; the new
release measures the difference only, and its tables combine old and new by inverse variance.  The data must be the same
table as then: the ledger knows a dataset by name, not by content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from hushtable.errors import BundleError, WorkloadError
from hushtable.ledger import Ledger
from hushtable.linear import MarginalMechanism
from hushtable.marginals import AttributeSet
from hushtable.measurement import Answers, ResidualPart, Transcript
from hushtable.planning import BatchPlan
from hushtable.privacy import Kind, charge, decimal
from hushtable.release.card import Reused
from hushtable.release.choices.families import missing_residuals
from hushtable.release.details import is_about, strategy_of, trees_measured, trees_of
from hushtable.release.plan import Plan
from hushtable.schema import Schema


@dataclass(frozen=True, eq=False)
class Earlier:
    """Answers that were paid for before, in residual form, with the charges that paid for them."""

    charges: tuple[int, ...]
    answers: tuple[Answers, ...]
    strategies: tuple[str, ...] = ()
    """By which they were measured, each once."""

    @property
    def digest(self) -> str:
        """What tells two sets of earlier answers apart, in a few characters."""
        return hashlib.sha256(",".join(map(str, self.charges)).encode()).hexdigest()[:16]

    def lessen(self, plan: Plan, kind: Kind) -> Plan:
        """The plan without what the earlier answers tell already, and what is left of its price."""
        target, sizes = _target(plan), plan.workload.sizes
        parts = [a.part for a in self.answers if isinstance(a.part, ResidualPart)]
        left = missing_residuals(sizes, target, parts) or ResidualPart(sizes, (), ())
        left.check()
        noise = BatchPlan(plan.workload.sets, left, plan.workload.free)
        cost = charge(*plan.price(noise).in_currency(kind))
        return replace(plan, noise=noise, cost=cost)

    def pooled(self, new: Answers) -> Answers:
        """Old and new answers together."""
        return Answers.pooled(new.part.sizes, [new, *self.answers])

    def card(self, full: Plan, less: Plan) -> Reused:
        """What a privacy card says of the reuse."""
        return Reused(
            charges=self.charges,
            full_price_rho=decimal(full.cost.rho),
            saved_rho=decimal(full.cost.rho - less.cost.rho),
            strategies=self.strategies,
        )


def earlier_answers(
    ledger: Ledger, schema: Schema, closure: Iterable[AttributeSet], *, before: int | None = None
) -> Earlier:
    """All stored Gaussian answers of this schema about residuals in ``closure``, oldest first.

    ``before`` is the entry number of the reservation that reuses them, when it exists already.
    """
    wanted = frozenset(closure)
    charges: list[int] = []
    answers: list[Answers] = []
    strategies: dict[str, None] = {}
    holdings = ledger.reservations()
    ours = {
        str(h.reservation.request) for h in holdings if is_about(h.reservation.detail, schema.version, ())
    }
    for holding in holdings:
        if not is_about(holding.reservation.detail, schema.version, ours):
            continue
        for paid in holding.charges:
            if not paid.stored or (before is not None and paid.number >= before):
                continue
            found = _decoded(ledger.payload(paid.number), schema.sizes)
            kept = None if found is None else found.about(wanted)
            if kept is not None and kept.part.sets:
                charges.append(paid.number)
                answers.append(kept)
                strategies[strategy_of(holding.reservation.detail)] = None
    return Earlier(tuple(charges), tuple(answers), tuple(strategies))


def require_same_trees(ledger: Ledger, plan: Plan) -> None:
    """Refuse a reuse where there is nothing to reuse because the tree of an attribute changed since.

    Answers about other categories cannot be added to, so all would be paid for anew.  Other changes of a schema leave
    nothing to reuse either, by the curator's own choice of another set of attributes or bins.
    """
    now = trees_of(plan.schema)
    asked = {plan.schema.names[axis] for s in plan.workload.sets for axis in s}
    for name, attribute in plan.schema.attributes.items():
        own = (name,) if attribute.levels is None else attribute.levels.names
        then = {trees_measured(h.reservation.detail).get(name) for h in ledger.reservations()} - {None}
        if asked.intersection(own) and then and now.get(name) not in then:
            raise WorkloadError(
                "reuse.different",
                f"The tree of {name!r} is not the one that earlier releases of this ledger have, so none of their "
                "answers can be reused.",
                "Leave --reuse out to measure everything at the full price, or use the schema of those releases.",
            )


def _decoded(payload: bytes, sizes: tuple[int, ...]) -> Answers | None:
    """The Gaussian answers in a payload, in residual form; None when it holds something else."""
    try:
        return Transcript.of([payload]).answers(sizes).residuals()
    except BundleError:
        return None


def _target(plan: Plan) -> Mapping[AttributeSet, Fraction]:
    """The precision of every residual that the plan would have without earlier answers."""
    if isinstance(plan.noise, BatchPlan) and plan.noise.noise.law.normal:
        part = plan.noise.part
        if isinstance(part, ResidualPart):
            return dict(zip(part.sets, part.precisions, strict=True))
        variances = dict(zip(part.sets, part.noise.parameters, strict=True))
        return MarginalMechanism.from_tables(part.sizes, variances).precisions
    raise WorkloadError(
        "release.reuse",
        "Only Gaussian noise can be charged by difference to earlier answers.",
        'Use a budget such as "rho=0.1", or leave out --reuse.',
    )
