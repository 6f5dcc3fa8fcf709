"""Data-free planning: how much noise each measurement gets, what it costs and how large the errors will be."""

from hushtable.planning.conditional import conditional_plan
from hushtable.planning.minimax import MinimaxPlan, minimax_variances
from hushtable.planning.problem import Problem
from hushtable.planning.residual import OBJECTIVES, residual_plan

__all__ = ["OBJECTIVES", "MinimaxPlan", "Problem", "conditional_plan", "minimax_variances", "residual_plan"]
