"""``aim``: AIM+GReM, one marginal a round."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable import planning
from hushtable.planning.strategies.strategy import PlanOptions, Strategy, Trial

if TYPE_CHECKING:
    from hushtable.marginals import ResolvedWorkload
    from hushtable.planning.adaptive import NoisePlan


class Aim(Strategy):
    """Rounds that each choose a marginal by the exponential mechanism and measure it."""

    name = "aim"
    keeps_to_workload = True
    foreseen = False
    trials = (Trial("mle", 94.5), Trial("maxent", 94.9))

    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        return planning.plan_adaptive(planning.AimPlan, workload, rho=rho, rows=rows, time=options.time)
