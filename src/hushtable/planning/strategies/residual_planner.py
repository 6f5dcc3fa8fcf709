"""``residual-planner``: the default of a workload whose tables all matter."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable import planning
from hushtable.planning.strategies.strategy import PlanOptions, Strategy

if TYPE_CHECKING:
    from hushtable.marginals import ResolvedWorkload
    from hushtable.planning.adaptive import NoisePlan


class ResidualPlanner(Strategy):
    """Every residual once, with the noise that is best for the workload."""

    name = "residual-planner"
    keeps_to_workload = True

    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        return planning.plan_residuals(workload, rho=rho, objective=options.objective, rows=rows)
