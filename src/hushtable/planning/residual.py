"""The batch plan: one variance for every residual below a workload, optimal for the workload's error.

Only public sizes and weights enter.  Exact, chargeable plans are made from these floats in ``batch``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import inf

import numpy as np

from hushtable.errors import WorkloadError
from hushtable.marginals import AttributeSet, ResolvedWorkload, Workload
from hushtable.planning.problem import Floats, Problem, checked_sets
from hushtable.planning.wishes import checked_objective


def residual_plan(
    sizes: Sequence[int],
    workload: Sequence[Sequence[int]] | Workload | ResolvedWorkload,
    rho: float | Fraction,
    objective: str = "sum_variance",
    weights: Sequence[float | Fraction] | None = None,
) -> dict[AttributeSet, float]:
    """The variance ``s2`` of every residual below ``workload`` that spends ``rho`` best.

    ``sum_variance`` minimises the sum over marginals of ``w n_gamma Var(cell)``; ``max_variance`` the largest
    ``w Var(cell)``.  ``workload`` holds tuples of axis numbers.  Residuals that hold an attribute of size 1 are
    identically zero and not listed.

    >>> residual_plan((2, 2), [(0,), (1,)], 0.5)
    {(): 2.414213562373095, (0,): 1.7071067811865472, (1,): 1.7071067811865472}
    """
    if isinstance(workload, Workload | ResolvedWorkload):
        marginals = workload.marginals if isinstance(workload, Workload) else workload.sets
        weights = workload.weights if weights is None else weights
    else:
        marginals = workload
    sets = checked_sets(sizes, marginals)
    problem = Problem.of(sizes, sets, _checked_weights(weights, len(sets)))
    if not 0 < float(rho) < inf:
        raise WorkloadError("planning.rho", "rho must be positive and finite.", "Give rho such as 0.1.")
    variances = plan_variances(problem, float(rho), objective)
    return dict(zip(problem.residuals.sets, variances.tolist(), strict=True))


def plan_variances(problem: Problem, rho: float, objective: str) -> Floats:
    """``residual_plan`` on arrays: variances in the order of ``problem.residuals``."""
    if checked_objective(objective) == "sum_variance":
        return sum_variances(problem, rho)
    if problem.asks:
        raise WorkloadError(
            "workload.ranges",
            "Ranges are planned for the sum of variances alone.",
            "Leave --objective out, or ask for cells.",
        )
    from hushtable.planning.minimax import minimax_variances  # for this objective alone

    return minimax_variances(problem, rho).variances


def sum_variances(problem: Problem, rho: float) -> Floats:
    """Closed form: ``s2 = sqrt(p / W) sum(sqrt(p W)) / (2 rho)`` with ``W = sum over gamma of w n_gamma v``.

    Where levels are so uneven that no row pays for every residual, a small convex program instead.
    """
    if len(problem.kinds) != 1:
        from hushtable.planning.uneven import uneven_variances  # for these alone

        return uneven_variances(problem, rho)
    return float((problem.price * problem.gains).sum()) / (2.0 * rho) / problem.gains


def _checked_weights(weights: Sequence[float | Fraction] | None, count: int) -> list[float]:
    if weights is None:
        return [1.0] * count
    values = [float(w) for w in weights]
    if len(values) != count or not all(np.isfinite(w) and w > 0 for w in values):
        raise WorkloadError(
            "workload.weights",
            f"{count} positive finite weights are needed, one for each marginal.",
            "Leave weights out to count all marginals alike.",
        )
    return values
