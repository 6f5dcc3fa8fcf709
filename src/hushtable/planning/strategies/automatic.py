"""``auto``: what is used when nobody says otherwise."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hushtable import planning
from hushtable.planning.strategies.aim_rounds import Aim
from hushtable.planning.strategies.residual_planner import ResidualPlanner
from hushtable.planning.strategies.strategy import STRATEGIES, PlanOptions, Strategy, Trial

if TYPE_CHECKING:
    from hushtable.marginals import ResolvedWorkload
    from hushtable.planning.adaptive import NoisePlan


class Auto(Aim):
    """One-way tables, noisy distances of pairs, and then batches where they pay; on levels two batches."""

    name = "auto"
    reconstruction = "maxent"
    trials = (Trial("maxent", 94.7), Trial("nonneg", 94.7))

    def gaussian(
        self, workload: ResolvedWorkload, rho: Fraction, rows: int, options: PlanOptions
    ) -> NoisePlan:
        kind = planning.LevelPlan if workload.has_levels else planning.AutoPlan
        return planning.plan_adaptive(kind, workload, rho=rho, rows=rows, time=options.time)

    def for_totals(self) -> Strategy:
        return STRATEGIES[ResidualPlanner.name]

    def with_known(self) -> Strategy:
        return STRATEGIES[ResidualPlanner.name]

    def differences(self) -> Strategy:
        return STRATEGIES[ResidualPlanner.name]
