"""Data-free planning: how much noise each measurement gets, what it costs and how large the errors will be."""

# pyright: reportUnusedImport=false
from hushtable.lazily import TYPE_CHECKING, lazily

if TYPE_CHECKING:
    from hushtable.planning.adaptive import AdaptivePlan as AdaptivePlan
    from hushtable.planning.adaptive import AimPlan as AimPlan
    from hushtable.planning.adaptive import AutoPlan as AutoPlan
    from hushtable.planning.adaptive import Keeping, LevelPlan, TableReader
    from hushtable.planning.adaptive import NoisePlan as NoisePlan
    from hushtable.planning.adaptive import plan_adaptive as plan_adaptive
    from hushtable.planning.aim import aim_policy
    from hushtable.planning.batch import LEAST_VARIANCE, check_rows
    from hushtable.planning.batch import BatchPlan as BatchPlan
    from hushtable.planning.batch import cell_cumulants as cell_cumulants
    from hushtable.planning.batch import marginal_error_model as marginal_error_model
    from hushtable.planning.batch import plan_identity as plan_identity
    from hushtable.planning.batch import plan_residuals as plan_residuals
    from hushtable.planning.batch import residual_error_model as residual_error_model
    from hushtable.planning.beside import (
        BesidePlan,
        TotalPlan,
        plan_beside,
        share_of_counts,
        steps_of_weights,
    )
    from hushtable.planning.claims import BETA, CELLS, NOISE, TOTAL
    from hushtable.planning.conditional import conditional_plan as conditional_plan
    from hushtable.planning.error_model import CellErrors as CellErrors
    from hushtable.planning.error_model import ErrorModel as ErrorModel
    from hushtable.planning.limits import check_memory as check_memory
    from hushtable.planning.limits import memory_limit as memory_limit
    from hushtable.planning.limits import memory_need as memory_need
    from hushtable.planning.minimax import minimax_variances as minimax_variances
    from hushtable.planning.problem import Problem as Problem
    from hushtable.planning.quantiles import normal_spread
    from hushtable.planning.residual import residual_plan as residual_plan
    from hushtable.planning.scorers import Refit
    from hushtable.planning.state import State as State
    from hushtable.planning.strategies import STRATEGIES as STRATEGIES
    from hushtable.planning.strategies import PlanOptions as PlanOptions
    from hushtable.planning.strategies import Strategy as Strategy
    from hushtable.planning.strategies import names_of as names_of
    from hushtable.planning.strategies import not_foreseen
    from hushtable.planning.strategies import register as register
    from hushtable.planning.strategies import strategy_named as strategy_named
    from hushtable.planning.targets import budget_for as budget_for
    from hushtable.planning.targets import foreseen_strategy, smallest_budget
else:
    __getattr__, __dir__ = lazily(__name__)
