"""Data-free planning: how much noise each measurement gets, what it costs and how large the errors will be."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.planning.adaptive import AdaptivePlan, NoisePlan, plan_adaptive
    from hushtable.planning.batch import (
        BatchPlan,
        cell_cumulants,
        marginal_error_model,
        plan_identity,
        plan_residuals,
        residual_error_model,
    )
    from hushtable.planning.conditional import conditional_plan
    from hushtable.planning.error_model import ErrorModel, Errors
    from hushtable.planning.limits import check_memory, memory_limit, memory_need
    from hushtable.planning.minimax import minimax_variances
    from hushtable.planning.problem import Problem
    from hushtable.planning.residual import residual_plan
    from hushtable.planning.state import State
    from hushtable.planning.strategies import (
        STRATEGIES,
        PlanOptions,
        Strategy,
        names_of,
        register,
        strategy_named,
    )
    from hushtable.planning.targets import budget_for
else:
    __getattr__, __dir__ = lazily(__name__)
