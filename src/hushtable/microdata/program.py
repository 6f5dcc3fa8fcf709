"""The quadratic program behind every nonnegative fit: a diagonal plus a few aggregates, solved exactly.

    minimise  sum_i d_i/2 (x_i - b_i)^2 + sum_j w_j/2 (r_j - a_j)^2     over  r = A x
    subject to  low <= x <= high,  least <= r <= most

Rows without limits cost what they weigh; rows with ``least == most`` are equations.  Equations are met by the method
of multipliers and cells with d = 0 by proximal steps; each step is Newton's method on the rows alone (``dual_loops``).
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from hushtable.arrays import Floats
from hushtable.errors import RefusedError, WorkloadError
from hushtable.microdata import dual_loops
from hushtable.microdata.dual_loops import Program, Rows

Labels = NDArray[np.int32]

DENSE_ROWS = 1500
"""Up to this many rows Newton's equations are solved directly, 0.2 s a step by the unit of ``dual_loops``, beyond by
conjugate gradients."""
STEPS, INNER = 10, 300
"""Newton steps of an easy fit, and conjugate gradients of each: the fits of 5 to 10 binary attributes took 6 to 450
steps.  A fit whose easy case is beyond its purse is not begun."""
TOLERANCE = 1e-9
"""Relative KKT residual that a fit is held to, a thousandth of a record in a million: it ends at a hundredth of it if
it can, and is refused beyond a thousand times of it.  With less, badly scaled measurements are refused more often."""
_INNER = 1e-12
"""Where Newton's method stops, relative to the largest answer: so far below TOLERANCE that outer steps see no error."""
_ENOUGH, _REFUSED = 1e-2, 1e3
"""Parts of TOLERANCE at which a fit ends, and beyond which it is refused."""
_STIFF, _STIFFER, _STIFFEST = 1e3, 30.0, 1e7
"""Weight of a limited row's anchor against a typical weight: first, the factor of a step, at most.  A stiffer row is
met in fewer outer steps, each of more Newton steps; beyond the last rounding rules.  Not tuned."""
_PULL, _LOOSER, _LOOSEST = 1e-3, 0.2, 1e-9
"""The same for the weight that holds a cell without one where it was: small from the start, and smaller as x settles.
A stronger pull takes more outer steps, a weaker one makes Newton's equations nearly singular.  Not tuned."""
_MOST_OUTER = 200
"""Outer steps, of which a fit that succeeds takes a few tens."""


class Solution(NamedTuple):
    """Minimiser, multipliers and the KKT residual relative to the largest answer."""

    x: Floats
    y: Floats
    residual: float


@lru_cache(maxsize=256)
def cell_labels(shape: tuple[int, ...], axes: tuple[int, ...]) -> Labels:
    """For every cell of a table, flat, the number of its cell in the marginal of ``axes``."""
    kept = tuple(n if k in axes else 1 for k, n in enumerate(shape))
    numbers = np.arange(prod(kept), dtype=np.int32).reshape(kept)
    labels = np.ascontiguousarray(np.broadcast_to(numbers, shape)).ravel()
    labels.setflags(write=False)
    return labels


def stack_labels(layers: list[Labels], counts: list[int], cells: int) -> Rows:
    """A matrix of zeros and ones: layer k puts each cell into one of ``counts[k]`` rows, or into none (-1)."""
    if not layers:
        return Rows(np.zeros(cells + 1, np.int64), np.zeros(0, np.int32), np.zeros(0), 0)
    table = np.empty((cells, len(layers)), np.int32)
    first = 0
    whole = True
    for k, (labels, count) in enumerate(zip(layers, counts, strict=True)):
        np.add(labels, np.int32(first), out=table[:, k])
        if labels.min() < 0:
            table[labels < 0, k] = -1
            whole = False
        first += count
    if whole:
        start = np.arange(0, cells * len(layers) + 1, len(layers), dtype=np.int64)
        row = table.ravel()
    else:
        used = table >= 0
        start = np.concatenate([[0], np.cumsum(used.sum(axis=1))]).astype(np.int64)
        row = table[used]
    return Rows(start, row, np.ones(len(row)), first)


def with_matrix(rows: Rows, matrix: Floats) -> Rows:
    """The rows followed by those of an explicit matrix."""
    cells = len(rows.start) - 1
    upper = sparse.csc_matrix((rows.value, rows.row, rows.start), shape=(rows.number, cells))
    joined = sparse.vstack([upper, sparse.csc_matrix(matrix)]).tocsc()
    count = rows.number + matrix.shape[0]
    return Rows(
        joined.indptr.astype(np.int64), joined.indices.astype(np.int32), joined.data.astype(np.float64), count
    )


def solve(program: Program, work: Floats | None = None) -> Solution:
    """The minimiser; cells without a weight of their own move from 0 by proximal steps.

    ``work`` is a purse of multiplications; a fit that empties it is refused.
    """
    work = np.array([np.inf]) if work is None else work
    rows = program.rows
    require_affordable(rows.number, len(rows.row), len(rows.start) - 1, work)
    scale = float(np.abs(program.a).max(initial=np.abs(program.b).max(initial=1.0)))
    limited = np.isfinite(program.least) | np.isfinite(program.most)
    loose = program.d <= 0.0
    x = np.empty_like(program.d)
    y = np.zeros(rows.number)
    if limited.any() or loose.any():
        found = _outer(program, limited, loose, x, y, scale, work)
    else:
        none = np.zeros(rows.number)
        _newton(program, none, none, y, x, _INNER * scale, work)
        found = Solution(x, y, kkt_residual(program, x, y) / scale)
    if not found.residual <= _REFUSED * TOLERANCE:
        raise RefusedError(
            "microdata.unsolved",
            "The fit did not reach its accuracy.",
            "Bring the noise scales of the measurements closer together, or use method nnls.",
        )
    return found


def require_affordable(rows: int, entries: int, cells: int, work: Floats) -> None:
    """Refuse a fit whose easy case, of few steps, takes more multiplications than the purse holds."""
    if rows <= DENSE_ROWS:
        easy = STEPS * (dual_loops.SCATTERED * entries * entries / max(1, cells) + rows**3 / 3.0)
    else:
        easy = STEPS * INNER * 2.0 * dual_loops.SCATTERED * entries
    if easy > work[0]:
        raise too_much_work()


def _outer(
    program: Program,
    limited: NDArray[np.bool_],
    loose: NDArray[np.bool_],
    x: Floats,
    y: Floats,
    scale: float,
    work: Floats,
) -> Solution:
    """Proximal method of multipliers: anchors for y on limited rows and for x on cells without a weight."""
    heavy = _typical(program)
    stiffness, pull = _STIFF * heavy, _PULL * heavy
    centre = np.clip(program.b, program.low, program.high)
    best = Solution(x, y, np.inf)
    for _ in range(_MOST_OUTER):
        d = np.where(loose, program.d + pull, program.d)
        b = np.where(loose, (program.d * program.b + pull * centre) / d, program.b)
        slack = np.where(limited, 1.0 / stiffness, 0.0)
        _newton(program._replace(d=d, b=b), y.copy(), slack, y, x, _INNER * scale, work)
        found = Solution(x.copy(), y.copy(), kkt_residual(program, x, y) / scale)
        if found.residual < best.residual:
            best = found
        if best.residual <= _ENOUGH * TOLERANCE:
            break
        centre = x.copy()
        stiffness = min(stiffness * _STIFFER, _STIFFEST * heavy)
        pull = max(pull * _LOOSER, _LOOSEST * heavy)
    return best


def _newton(
    program: Program, anchor: Floats, slack: Floats, y: Floats, x: Floats, tolerance: float, work: Floats
) -> None:
    dense = program.rows.number <= DENSE_ROWS
    dual_loops.solve_dual(program, anchor, slack, y, x, tolerance, dense, work)
    if work[0] < 0.0:
        raise too_much_work()


def kkt_residual(program: Program, x: Floats, y: Floats) -> float:
    """How far (x, y) is from satisfying the optimality conditions, in counts.

    The largest of: the move of a projected gradient step in each cell, the violation of each limit, and the distance
    of each limited row from the value that its multiplier asks for.
    """
    return dual_loops.residual(program, x, y, _typical(program))


def _typical(program: Program) -> float:
    """A weight that stands for the problem, for the size of proximal steps."""
    count = np.count_nonzero(program.d) + np.count_nonzero(program.w)
    return float(program.d.sum() + program.w.sum()) / count if count else 1.0


def too_much_work() -> WorkloadError:
    """The refusal of a fit of the whole table that would take too long."""
    return WorkloadError(
        "microdata.too-much-work",
        "A fit of the whole table to so many answers would take too long.",
        "Use --fit reweighted: records are then generated from the released tables.",
    )
