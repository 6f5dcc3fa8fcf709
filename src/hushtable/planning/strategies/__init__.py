"""The strategies: how a workload is measured, each in a file of its own.

What a command offers, what an error lists and what a session plans comes from ``STRATEGIES``, in this order.
"""

from hushtable.planning.strategies.aim_rounds import Aim
from hushtable.planning.strategies.automatic import Auto
from hushtable.planning.strategies.identity import Identity
from hushtable.planning.strategies.residual_planner import ResidualPlanner
from hushtable.planning.strategies.strategy import (
    STRATEGIES,
    PlanOptions,
    Strategy,
    names_of,
    not_foreseen,
    register,
    strategy_named,
)

__all__ = ["STRATEGIES", "PlanOptions", "Strategy", "names_of", "not_foreseen", "register", "strategy_named"]

for _strategy in (Auto(), Aim(), ResidualPlanner(), Identity()):
    register(_strategy)
