"""One door to the conic solver.

Minimises a linear objective over an intersection of cones; who calls it says what the cones mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Cone = tuple[Literal["nonnegative", "second-order", "semidefinite"], int]
Status = Literal["solved", "unbounded", "failed"]

_SOLVER: Any = clarabel


def minimise(
    objective: NDArray[np.float64],
    rows: Any,
    offsets: NDArray[np.float64],
    cones: Sequence[Cone],
    *,
    tolerance: float,
) -> tuple[Status, NDArray[np.float64]]:
    """``x`` that minimises ``objective @ x`` with ``offsets - rows @ x`` in the product of the cones.

    A semidefinite cone of size k takes k(k+1)/2 entries: the upper triangle by columns, off-diagonal times sqrt(2).
    """
    make = {
        "nonnegative": _SOLVER.NonnegativeConeT,
        "second-order": _SOLVER.SecondOrderConeT,
        "semidefinite": _SOLVER.PSDTriangleConeT,
    }
    settings = _SOLVER.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    quadratic = sp.csc_matrix((objective.size, objective.size))
    solution = _SOLVER.DefaultSolver(
        quadratic,
        objective,
        sp.csc_matrix(rows),
        offsets,
        [make[kind](size) for kind, size in cones],
        settings,
    ).solve()
    status: Status = "failed"
    if solution.status in (_SOLVER.SolverStatus.Solved, _SOLVER.SolverStatus.AlmostSolved):
        status = "solved"
    elif solution.status in (_SOLVER.SolverStatus.DualInfeasible, _SOLVER.SolverStatus.AlmostDualInfeasible):
        status = "unbounded"
    return status, np.asarray(solution.x, np.float64)
