"""The batch plan where rows pay for different residuals: levels of a tree with single children at different depths.

Minimise ``sum W s2`` with ``sum p / (2 s2) <= rho`` over the residuals of each kind of rows.  In the prices
``x = p / (2 s2)`` it is ``min sum q / x`` with ``q = p W / 2`` and ``A x <= rho``, A the kinds; its dual is the one
that ``minimax`` solves, ``max sum 2 sqrt(q) sqrt(A'u) - rho 1'u`` over ``u >= 0``, and ``x = sqrt(q / A'u)``.
"""

from __future__ import annotations

import numpy as np

from hushtable.planning.minimax import RootDual, solve_roots
from hushtable.planning.problem import Floats, Problem
from hushtable.planning.root_rows import RootRows


def uneven_variances(problem: Problem, rho: float) -> Floats:
    """Variances whose dearest kind of rows costs ``rho``."""
    matrix = problem.kinds.astype(np.float64)
    root = problem.price * problem.gains  # sqrt(2 q)
    u = solve_roots(RootDual(RootRows.of(matrix), np.sqrt(2.0) * root, np.full(len(matrix), 2.0 * rho)))
    x = root / np.sqrt(2.0 * (matrix.T @ u))
    x *= rho / float((matrix @ x).max())
    return problem.price / (2.0 * x)
