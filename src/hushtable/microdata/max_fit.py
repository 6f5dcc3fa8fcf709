"""Max fitting: the smallest possible largest deviation, in standard deviations, then least squares among those tables.

The first step is a linear program (HiGHS), the second the quadratic program of ``program`` with a limit on every
query.  Meant for tables of up to some ten thousand cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from hushtable.arrays import Floats
from hushtable.errors import RefusedError, WorkloadError
from hushtable.microdata.answer_groups import Measurement
from hushtable.microdata.assemble import Builder
from hushtable.microdata.program import cell_labels, solve, stack_labels, too_much_work

MOST_CELLS = 50_000
"""If all cells are measured, the linear program of so many takes 6 to 25 s by ``PIVOT``."""
PIVOT = 25.0
"""Multiplications of the linear program per answer, cell and marginal: 2.5 to 10 ns, measured on tables of 256 to 1,024
cells with 110 to 840 answers, in the unit of ``dual_loops``."""
ROOM = 1e-9
"""Relative widening of the largest deviation, so that rounding does not empty the second step."""


def max_fit(
    measurements: Sequence[Measurement],
    shape: tuple[int, ...],
    possible: NDArray[np.bool_] | None,
    work: Floats,
) -> tuple[Floats, float]:
    """The table and its relative KKT residual."""
    sums = sum(given.answers.size for given in measurements)
    if PIVOT * prod(shape) * len(measurements) * sums > work[0]:
        raise too_much_work()
    if prod(shape) > MOST_CELLS:
        raise WorkloadError(
            "microdata.too-large",
            "The table has too many cells for max fitting.",
            "Use --fit reweighted, nnls or sequential.",
        )
    reach = smallest_reach(measurements, shape, possible)
    builder = Builder(shape, possible)
    for given in measurements:
        weights = np.full(given.answers.size, 1.0 / given.noise.variance)
        builder.limit(given, weights, reach * (1.0 + ROOM) + ROOM)
    solution = solve(builder.program(), work=work)
    return solution.x.reshape(shape), solution.residual


def smallest_reach(
    measurements: Sequence[Measurement], shape: tuple[int, ...], possible: NDArray[np.bool_] | None = None
) -> float:
    """min over nonnegative tables of the largest ``|answer - query| / std``."""
    cells = prod(shape)
    want = np.concatenate([given.answers.ravel() for given in measurements])
    std = np.repeat([g.noise.std for g in measurements], [g.answers.size for g in measurements])
    if any(given.matrix is not None for given in measurements):
        queries = sparse.vstack([query_matrix(given, shape) for given in measurements])
    else:
        queries = _marginal_blocks(shape, tuple(given.axes or () for given in measurements))
    side = sparse.csc_matrix(std[:, None])
    rows = sparse.vstack([sparse.hstack([queries, -side]), sparse.hstack([-queries, -side])]).tocsc()
    cost = np.zeros(cells + 1)
    cost[-1] = 1.0
    upper = np.full(cells + 1, np.inf)
    if possible is not None:
        upper[:-1][~possible.ravel()] = 0.0
    limits = np.stack([np.zeros(cells + 1), upper], axis=1)
    result = linprog(cost, A_ub=rows, b_ub=np.concatenate([want, -want]), bounds=limits, method="highs")
    if result.status != 0:
        raise RefusedError(
            "microdata.unsolved", "Max fitting found no smallest deviation.", "Use method nnls."
        )
    return float(result.x[-1])


def query_matrix(given: Measurement, shape: tuple[int, ...]) -> sparse.csc_matrix:
    """The queries of a measurement, one row each."""
    if given.matrix is not None:
        return sparse.csc_matrix(given.matrix)
    return _marginal_blocks(shape, (given.axes or (),))


@lru_cache(maxsize=16)
def _marginal_blocks(shape: tuple[int, ...], sets: tuple[tuple[int, ...], ...]) -> sparse.csc_matrix:
    """The query matrix of several marginals."""
    cells = prod(shape)
    counts = [prod(shape[axis] for axis in axes) for axes in sets]
    rows = stack_labels([cell_labels(shape, axes) for axes in sets], counts, cells)
    return sparse.csc_matrix((rows.value, rows.row, rows.start), shape=(rows.number, cells))
