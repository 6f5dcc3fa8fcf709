"""Never buy twice: what earlier releases of a ledger already answer, and what a new one still has to measure.

Every stored answer with Gaussian noise, whatever release, choice or round it came from, tells about residuals with an
exact precision.  The common part of the old answers and a new plan is, per residual, the smaller precision; the new
release measures the difference only, and its tables combine old and new by inverse variance.  The data must be the same
table as then: the ledger knows a dataset by name, not by content.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Any, cast

import numpy as np

from hushtable.errors import BundleError, WorkloadError
from hushtable.ledger import Ledger
from hushtable.linear import MarginalMechanism
from hushtable.marginals import AttributeSet, Layout, lift, subsets
from hushtable.measurement import Answers, ResidualPart, Transcript, lines_from_bytes
from hushtable.planning import BatchPlan, IdentityPlan
from hushtable.privacy import charge, decimal
from hushtable.privacy.budget import Kind
from hushtable.release.card import Reused
from hushtable.release.choices.families import missing_residuals, pool
from hushtable.release.plan import Plan
from hushtable.schema import Schema


@dataclass(frozen=True, eq=False)
class Earlier:
    """Answers that were paid for before, in residual form, with the charges that paid for them."""

    charges: tuple[int, ...]
    answers: tuple[Answers, ...]

    @property
    def digest(self) -> str:
        """What tells two sets of earlier answers apart, in a few characters."""
        return hashlib.sha256(",".join(map(str, self.charges)).encode()).hexdigest()[:16]

    def lessen(self, plan: Plan, kind: str) -> Plan:
        """The plan without what the earlier answers tell already, and what is left of its price."""
        target = _target(plan)
        parts = [ResidualPart(a.layout.sizes, p) for a in self.answers for p in _precisions(a)]
        left = missing_residuals(target, parts)
        residuals = () if left is None else left.layout.sets
        precisions = () if left is None else tuple(left.precisions[s] for s in residuals)
        noise = BatchPlan(target.sizes, plan.workload.sets, residuals, precisions)
        cost = charge(*noise.price(plan.unit.rows).in_currency(cast("Kind", kind)))
        if left is not None:
            left.check()
        return replace(plan, noise=noise, cost=cost)

    def pooled(self, new: Answers) -> Answers:
        """Old and new answers together."""
        return pool([a for a in (new, *self.answers) if a.layout.sets])

    def card(self, full: Plan, less: Plan) -> Reused:
        """What a privacy card says of the reuse."""
        return Reused(
            charges=self.charges,
            full_price_rho=decimal(full.cost.rho),
            saved_rho=decimal(full.cost.rho - less.cost.rho),
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
    choices = {
        h.reservation.request
        for h in ledger.reservations()
        if h.reservation.detail.get("schema") == schema.version
    }
    for holding in ledger.reservations():
        detail = holding.reservation.detail
        if detail.get("schema") != schema.version and detail.get("refines") not in choices:
            continue
        for paid in holding.charges:
            if not paid.stored or (before is not None and paid.number >= before):
                continue
            found = _restricted(_decoded(ledger.payload(paid.number), schema.sizes), wanted)
            if found is not None and found.layout.sets:
                charges.append(paid.number)
                answers.append(found)
    return Earlier(tuple(charges), tuple(answers))


def nothing_new(sizes: tuple[int, ...]) -> bytes:
    """The payload of a release that needed no measurement."""
    return Answers("residual", "gaussian", Layout(sizes, ()), (), np.empty(0, np.int64)).to_bytes()


def as_residuals(answers: Answers) -> Answers:
    """Marginals with independent Gaussian noise as answers about the residuals below them.

    A marginal with cell variance s tells residual tau with variance ``s n_gamma / n_tau`` per centred cell, which is a
    parameter ``s n_gamma n_tau`` in the integer form; different tau are independent.
    """
    if answers.query == "residual":
        return answers
    sizes = answers.layout.sizes
    sets: list[AttributeSet] = []
    parameters: list[Fraction] = []
    values: list[Any] = []
    for gamma, variance in zip(answers.layout.sets, answers.parameters, strict=True):
        table = answers.of(gamma)
        cells = prod(sizes[i] for i in gamma)
        for tau in subsets(gamma):
            if any(sizes[i] == 1 for i in tau):
                continue
            outside = tuple(k for k, i in enumerate(gamma) if i not in tau)
            sets.append(tau)
            parameters.append(variance * cells * prod(sizes[i] for i in tau))
            values.append(np.ravel(lift(table.sum(axis=outside))))
    flat = np.concatenate([np.empty(0, np.int64), *values]).astype(np.int64)
    return Answers("residual", "gaussian", Layout(sizes, tuple(sets)), tuple(parameters), flat)


def _decoded(payload: bytes, sizes: tuple[int, ...]) -> Answers | None:
    """The Gaussian answers in a payload, in residual form; None when it holds something else."""
    try:
        answers = Answers.from_bytes(payload)
    except BundleError:
        try:
            return Transcript((*lines_from_bytes(payload),)).answers(sizes)
        except BundleError:
            return None
    return as_residuals(answers) if answers.noise == "gaussian" else None


def _restricted(answers: Answers | None, wanted: frozenset[AttributeSet]) -> Answers | None:
    if answers is None:
        return None
    kept = [k for k, s in enumerate(answers.layout.sets) if s in wanted]
    offsets = answers.layout.offsets
    layout = Layout(answers.layout.sizes, tuple(answers.layout.sets[k] for k in kept))
    values = [answers.values[offsets[k] : offsets[k + 1]] for k in kept]
    flat = np.concatenate([np.empty(0, np.int64), *values])
    return Answers("residual", "gaussian", layout, tuple(answers.parameters[k] for k in kept), flat)


def _precisions(answers: Answers) -> list[dict[AttributeSet, Fraction]]:
    """Exact precisions of the residuals, one mapping for each time a residual was measured again."""
    found: list[dict[AttributeSet, Fraction]] = []
    lengths = answers.layout.lengths.tolist()
    for s, n, parameter in zip(answers.layout.sets, lengths, answers.parameters, strict=True):
        free = next((f for f in found if s not in f), None)
        if free is None:
            free = {}
            found.append(free)
        free[s] = n**2 / parameter
    return found


def _target(plan: Plan) -> MarginalMechanism:
    """The precision of every residual that the plan would have without earlier answers."""
    noise = plan.noise
    if isinstance(noise, BatchPlan):
        return MarginalMechanism(noise.sizes, dict(zip(noise.residuals, noise.precisions, strict=True)))
    if isinstance(noise, IdentityPlan) and noise.noise == "gaussian":
        variances = {s: 1 / p for s, p in zip(noise.marginals, noise.precisions, strict=True)}
        return MarginalMechanism.from_tables(noise.sizes, variances)
    raise WorkloadError(
        "release.reuse",
        "Only Gaussian noise can be charged by difference to earlier answers.",
        'Use a budget such as "rho=0.1", or leave out --reuse.',
    )
