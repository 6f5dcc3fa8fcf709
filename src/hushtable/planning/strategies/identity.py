"""``identity``: every table by itself, and the only strategy that a pure epsilon can pay for."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable import planning
from hushtable.errors import BudgetError
from hushtable.planning.strategies.strategy import PlanOptions, Strategy
from hushtable.privacy import text

if TYPE_CHECKING:
    from hushtable.marginals import ResolvedWorkload
    from hushtable.planning.adaptive import NoisePlan


class Identity(Strategy):
    """Every marginal by itself, with independent noise in each cell."""

    name = "identity"
    keeps_to_workload = True

    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        return planning.plan_identity(workload, rho=rho, rows=rows)

    def pure(self, workload: ResolvedWorkload, epsilon: Fraction, delta: Fraction, rows: int) -> NoisePlan:
        if workload.has_levels:
            raise BudgetError(
                "budget.pure-levels",
                "A pure epsilon cannot pay for attributes with levels: their noise is Gaussian.",
                f'Give the epsilon a delta, "epsilon={text(epsilon)},delta=1e-9", or a schema without levels.',
            )
        return planning.plan_identity(workload, epsilon=epsilon, delta=delta, rows=rows)
