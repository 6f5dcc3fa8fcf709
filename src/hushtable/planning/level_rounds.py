"""The default mechanism on levels: most of the budget as the residual planner has it, the rest where it gains most.

    1  every residual once, by the residual plan for a part of the budget
    2  tables of maximum entropy, coarse to fine, and how far each lies from what the coarser ones make likely
    3  everything that is left, spread by the expected gain in L1; or as before, where that is predicted to gain nothing

A generator over public replies.  The tables come from a fit that the caller passes in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Protocol

import numpy as np

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Incidence, Layout, ResolvedWorkload
from hushtable.measurement import Label, Measure, Policy, Purse, ResidualPart
from hushtable.planning.allocation import Allocation
from hushtable.planning.batch import residual_part
from hushtable.planning.exact_plans import JUST_BELOW, fitted
from hushtable.planning.state import State

# Mean L1 of all tables, batch of all = 1, at epsilon 0.1, 1 and 10 (ADR 15).
FIRST = Fraction(7, 10)
"""Share of the budget of the first batch.  Town and two made-up trees have 0.74 to 0.86, 0.93 to 0.96 and 0.99 to 1.00
with it; with 0.5 the town loses 6% at epsilon 1, with 0.3 9% are lost on a tree at 0.1."""
LEAST_GAIN = 0.01
"""The rest follows the residual plan unless another spread lowers the predicted error by this part.  With 0 nothing
moves on these tables; it keeps what rows of different classes share where there is nothing to gain."""
RAISED = 1e-6
"""A residual is measured again only if that raises its precision by more than this part.  Not tuned."""
TOO_LITTLE = Fraction(1, 100)
"""Less than this part of the budget is no second batch: what is left of a release that began with one batch."""


class FittedLevels(Protocol):
    """What the policy needs of a fit."""

    total: float

    @property
    def dispersion(self) -> Mapping[AttributeSet, float]:
        """How far measured tables lie from the most random ones."""
        ...

    def table(self, attributes: AttributeSet) -> Floats:
        """The fitted table of a set."""
        ...


def level_policy(
    workload: ResolvedWorkload, state: State, purse: Purse, fit: Callable[[State], FittedLevels]
) -> Policy:
    """The three steps; what is asked for ranges is measured in one batch, which is planned for them."""
    budget = purse.left
    share = Fraction(1) if workload.asks else FIRST
    part = residual_part(workload, budget * share)
    state.learn((yield _asked("all residuals", part)))
    if purse.left <= budget * TOO_LITTLE:
        return
    rest = _Rest(workload, state, purse.left)
    state.learn((yield _asked("where it gains most", rest.part(fit(state)))))


def _asked(action: str, part: ResidualPart) -> Measure:
    typical = sum(map(float, part.precisions)) / len(part.precisions)
    return Measure(part, label=Label(action, sigma=1.0 / sqrt(typical)))


@dataclass(frozen=True, eq=False)
class _Rest:
    """What is left after the first batch."""

    workload: ResolvedWorkload
    state: State
    left: Fraction

    @property
    def layout(self) -> Layout:
        return self.state.layout

    def part(self, tables: FittedLevels) -> ResidualPart:
        """Residuals that the rest is spent on, and how precisely."""
        plan, known = self._allocation(tables), self.state.precisions
        alike = self._scaled(np.where(plan.price > 0, known, 0.0))
        chosen = self._scaled(plan.spend(float(self.left)) - known)
        errors = [float(plan.table_errors(known + more)[1] @ self._weights) for more in (alike, chosen)]
        gains = alike if errors[1] > (1.0 - LEAST_GAIN) * errors[0] else chosen
        numbers = np.flatnonzero(gains > RAISED * known)
        sets = tuple(self.layout.sets[k] for k in numbers)
        cost = partial(_cost, self.layout, sets)
        return ResidualPart(self.layout.sizes, sets, fitted(gains[numbers].tolist(), self.left, cost))

    @property
    def _weights(self) -> Floats:
        return np.array([float(w) for w in self.workload.weights])

    def _allocation(self, tables: FittedLevels) -> Allocation:
        """The plan with what is known of every residual that is not zero by its sizes."""
        plan = Allocation(self.layout, Incidence.between(self.workload.sets, self.layout), self._weights)
        plan.total = tables.total
        plan.precision[:] = self.state.precisions
        for k, s in enumerate(self.layout.sets):
            if plan.price[k] > 0:
                plan.describe(k, np.where(self.layout.axes.contrasted(s), tables.table(s), 0.0))
                plan.dispersion[k] = tables.dispersion.get(s, plan.dispersion[k])
                plan.smooth[k] |= s in tables.dispersion
        return plan

    def _scaled(self, gains: Floats) -> Floats:
        """The same gains in proportion, for what is left: rows may share less than the sum of all prices."""
        numbers = np.flatnonzero(gains > RAISED * self.state.precisions)
        sets = tuple(self.layout.sets[k] for k in numbers)
        price = _cost(self.layout, sets, tuple(Fraction(g) for g in gains[numbers].tolist()))
        scaled = np.zeros_like(gains)
        scaled[numbers] = gains[numbers] * (float(self.left / price) * JUST_BELOW)
        return scaled


def _cost(layout: Layout, sets: tuple[AttributeSet, ...], precisions: tuple[Fraction, ...]) -> Fraction:
    """What the dearest row pays."""
    return ResidualPart(layout.sizes, sets, precisions).rho
