"""Newton's method on the dual of a nonnegative least squares problem, as plain loops.

The problem is a ``Program``:  minimise  sum_i d_i/2 (x_i - b_i)^2 + sum_j w_j/2 (r_j - a_j)^2  over  r = A x,
``low <= x <= high``, ``least <= r <= most``.  With a multiplier y_j for each row of A the minimiser is explicit,
``x = clip(b - A'y/d)`` and ``r = clip(a + y/w)``, so only the rows remain unknown: the equation is A x(y) = r(y), its
derivative ``A diag(1/d, free x) A' + diag(1/w, free r)``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.compiled import njit

Marks = NDArray[np.bool_]
SCATTERED = 8.0
"""What a multiplication at a scattered address counts for, against one of a dense solve: 1.3 ns and 0.16 ns, measured
on tables of 64 to 1,024 cells with 70 to 1,200 sums."""
MOST_NEWTON = 400
"""Newton steps of a solve.  Most take 3 to 40 of them; one that rounding stalls just above its tolerance takes all:
with 60 instead, fits of all tables of up to three among six binary attributes took a quarter of the time and had the
same residual."""
MOST_CUTS = 60
"""Halvings or doublings of a step: after 52 of them a double has no further bit."""
MOST_INNER = 500
"""Conjugate gradients of a step, at most; a step that is cut short still climbs.  More make steps better and slower;
not tuned."""
RIDGE, TINY = 1e-15, 1e-300
"""What keeps Newton's equations solvable where no cell of a row is free: some units of the last place of the largest
entry, and the least that can be divided by.  More bends steps that are not singular."""
LOOSE_STEP, EXACT_STEP = 1e-3, 1e-11
"""Accuracy of conjugate gradients: a thousandth, below a gap of one record that part of the gap, so that steps
converge faster the closer they are; never below what rounding allows.  Looser steps are cheaper and more; not tuned."""
OVERSHOT, FLAT, FARTHEST = 0.1, 0.9, 1e6
"""A step ends where the slope along it has fallen below FLAT of what it was, and not beyond a rise of OVERSHOT of it:
a loose curvature condition, not tuned.  One that is still steep after FARTHEST Newton steps is taken."""
MOST_STUCK = 30
"""Steps in a row that made no gap smaller, after which rounding rules.  Not tuned; more only take longer."""


class Rows(NamedTuple):
    """The matrix A by columns: those of cell i are at ``start[i]`` to ``start[i + 1]``."""

    start: NDArray[np.int64]
    row: NDArray[np.int32]
    value: Floats
    number: int


class Program(NamedTuple):
    """A program as in the module's formula; all arrays are float64."""

    rows: Rows
    d: Floats
    b: Floats
    w: Floats
    a: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats


@njit(cache=True, nogil=True)
def primal(program: Program, y: Floats, x: Floats) -> Floats:
    """Fill x(y) and return A x(y)."""
    start, row, value, _ = program.rows
    d, b, low, high = program.d, program.b, program.low, program.high
    total = np.zeros(y.size)
    for i in range(d.size):
        pull = 0.0
        for k in range(start[i], start[i + 1]):
            pull += value[k] * y[row[k]]
        x[i] = min(max(b[i] - pull / d[i], low[i]), high[i])
        if x[i] != 0.0:
            for k in range(start[i], start[i + 1]):
                total[row[k]] += value[k] * x[i]
    return total


@njit(cache=True, nogil=True)
def _gap(
    program: Program, inverse_w: Floats, anchor: Floats, slack: Floats, ax: Floats, y: Floats, free: Marks
) -> Floats:
    """A x - r(y) - slack (y - anchor); marks the rows whose r is free."""
    a, least, most = program.a, program.least, program.most
    gap = np.empty(y.size)
    for j in range(y.size):
        want = a[j] + y[j] * inverse_w[j]
        r = min(max(want, least[j]), most[j])
        free[j] = least[j] < want < most[j]
        gap[j] = ax[j] - r - slack[j] * (y[j] - anchor[j])
    return gap


@njit(cache=True, nogil=True)
def _dense_step(program: Program, x: Floats, diagonal: Floats, gap: Floats) -> Floats:
    start, row, value, m = program.rows
    d, low, high = program.d, program.low, program.high
    hessian = np.zeros((m, m))
    for i in range(d.size):
        if low[i] < x[i] < high[i]:
            for k in range(start[i], start[i + 1]):
                scaled = value[k] / d[i]
                for other in range(start[i], start[i + 1]):
                    hessian[row[k], row[other]] += scaled * value[other]
    largest = 0.0
    for j in range(m):
        hessian[j, j] += diagonal[j]
        largest = max(largest, hessian[j, j])
    for j in range(m):
        hessian[j, j] += RIDGE * largest + TINY
    return np.linalg.solve(hessian, gap)  # pyright: ignore[reportReturnType] (of floats: floats)


@njit(cache=True, nogil=True)
def _hessian_times(program: Program, x: Floats, diagonal: Floats, v: Floats) -> Floats:
    start, row, value, _ = program.rows
    d, low, high = program.d, program.low, program.high
    out = diagonal * v
    for i in range(d.size):
        if low[i] < x[i] < high[i]:
            pull = 0.0
            for k in range(start[i], start[i + 1]):
                pull += value[k] * v[row[k]]
            pull /= d[i]
            for k in range(start[i], start[i + 1]):
                out[row[k]] += value[k] * pull
    return out


@njit(cache=True, nogil=True)
def _inexact_step(
    program: Program, x: Floats, diagonal: Floats, gap: Floats, accuracy: float, work: Floats
) -> Floats:
    """Conjugate gradients with the diagonal as preconditioner."""
    start, row, value, m = program.rows
    d, low, high = program.d, program.low, program.high
    scale = diagonal.copy()
    for i in range(d.size):
        if low[i] < x[i] < high[i]:
            for k in range(start[i], start[i + 1]):
                scale[row[k]] += value[k] * value[k] / d[i]
    for j in range(m):
        scale[j] = 1.0 / max(scale[j], TINY)
    step = np.zeros(m)
    rest = gap.copy()
    z = scale * rest
    p = z.copy()
    rz = np.sum(rest * z)
    target = accuracy * accuracy * rz
    for _ in range(MOST_INNER):
        if rz <= target or rz == 0.0 or work[0] < 0.0:
            break
        work[0] -= 2.0 * SCATTERED * row.size
        hp = _hessian_times(program, x, diagonal, p)
        curvature = np.sum(p * hp)
        if curvature <= 0.0:
            break
        t = rz / curvature
        step += t * p
        rest -= t * hp
        z = scale * rest
        fresh = np.sum(rest * z)
        p = z + (fresh / rz) * p
        rz = fresh
    return step


@njit(cache=True, nogil=True)
def _newton_step(
    program: Program, x: Floats, diagonal: Floats, gap: Floats, size: float, dense: bool, work: Floats
) -> Floats:
    """A direction in which the dual rises: Newton's, or the gap itself where that one does not."""
    row = program.rows.row
    if dense:
        work[0] -= SCATTERED * row.size * row.size / max(1, x.size) + gap.size**3 / 3.0
        step = _dense_step(program, x, diagonal, gap)
    else:
        accuracy = min(LOOSE_STEP, size * LOOSE_STEP)
        step = _inexact_step(program, x, diagonal, gap, max(accuracy, EXACT_STEP), work)
    return step if np.sum(step * gap) > 0.0 else gap.copy()


@njit(cache=True, nogil=True)
def solve_dual(
    program: Program,
    anchor: Floats,
    slack: Floats,
    y: Floats,
    x: Floats,
    tolerance: float,
    dense: bool,
    work: Floats,
) -> tuple[float, int]:
    """Improve y in place until ``max |gap| <= tolerance``; fills x; returns (gap, Newton steps).

    ``work[0]`` is the multiplications that may still be done (see ``SCATTERED``); below 0 the loop ends.
    """
    inverse_w = np.zeros(y.size)
    for j in range(y.size):
        if program.w[j] > 0.0:
            inverse_w[j] = 1.0 / program.w[j]
    free = np.zeros(y.size, np.bool_)
    gap = _gap(program, inverse_w, anchor, slack, primal(program, y, x), y, free)
    size = np.max(np.abs(gap)) if y.size else 0.0
    trial_x = np.empty_like(x)
    stuck = 0
    for step_number in range(MOST_NEWTON):
        if size <= tolerance or work[0] < 0.0:
            return size, step_number
        step = _newton_step(program, x, slack + np.where(free, inverse_w, 0.0), gap, size, dense, work)
        slope = np.sum(step * gap)
        lower, upper, t = 0.0, np.inf, 1.0
        trial, fresh, fresh_size = y, gap, size
        for _ in range(MOST_CUTS):
            work[0] -= 2.0 * SCATTERED * program.rows.row.size
            trial = y + t * step
            fresh = _gap(program, inverse_w, anchor, slack, primal(program, trial, trial_x), trial, free)
            along = np.sum(step * fresh)
            fresh_size = np.max(np.abs(fresh))
            if (
                along >= -OVERSHOT * slope and (along <= FLAT * slope or t >= FARTHEST)
            ) or fresh_size <= tolerance:
                break
            if along < 0.0:
                upper = t
            else:
                lower = t
            t = 2.0 * t if upper == np.inf else 0.5 * (lower + upper)
        stuck = stuck + 1 if fresh_size >= size else 0
        y[:] = trial
        x[:] = trial_x
        gap, size = fresh, fresh_size
        if stuck > MOST_STUCK:
            return size, step_number + 1
    return size, MOST_NEWTON


@njit(cache=True, nogil=True)
def residual(program: Program, x: Floats, y: Floats, typical: float) -> float:
    """Largest violation of the optimality conditions, in counts (see ``program.kkt_residual``)."""
    rows, d, b, w, a, low, high, least, most = program
    start, row, value, count = rows
    r = np.zeros(count)
    for i in range(x.size):
        if x[i] != 0.0:
            for k in range(start[i], start[i + 1]):
                r[row[k]] += value[k] * x[i]
    force = np.empty(y.size)
    worst = 0.0
    for j in range(y.size):
        if np.isfinite(least[j]) or np.isfinite(most[j]):
            force[j] = y[j]
            asked = a[j] + y[j] / w[j] if w[j] > 0.0 else r[j]
            worst = max(worst, abs(r[j] - min(max(asked, least[j]), most[j])))
        else:
            force[j] = w[j] * (r[j] - a[j])
    for i in range(d.size):
        gradient = d[i] * (x[i] - b[i])
        curvature = d[i]
        for k in range(start[i], start[i + 1]):
            gradient += value[k] * force[row[k]]
            curvature += value[k] * value[k] * w[row[k]]
        if not curvature > 0.0:
            curvature = typical
        moved = min(max(x[i] - gradient / curvature, low[i]), high[i])
        worst = max(worst, abs(x[i] - moved))
    return worst
