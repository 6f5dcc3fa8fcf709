"""Newton's method on the dual of a nonnegative least squares problem, as plain loops.

The problem (see ``program``):  minimise  sum_i d_i/2 (x_i - b_i)^2 + sum_j w_j/2 (r_j - a_j)^2  over  r = A x,
``low <= x <= high``, ``least <= r <= most``.  With a multiplier y_j for each row of A the minimiser is explicit,
``x = clip(b - A'y/d)`` and ``r = clip(a + y/w)``, so only the rows remain unknown: the equation is A x(y) = r(y), its
derivative ``A diag(1/d, free x) A' + diag(1/w, free r)``.  A is stored by columns (``start``, ``row``, ``value``).
"""

from __future__ import annotations

import numpy as np

from hushtable.compiled import njit

SCATTERED = 8.0
"""What a multiplication at a scattered address counts for, against one of a dense solve: 1.3 ns and 0.16 ns, measured
on tables of 64 to 1,024 cells with 70 to 1,200 sums."""
MOST_NEWTON = 400
MOST_CUTS = 60
MOST_INNER = 500


@njit(cache=True, nogil=True)
def primal(start, row, value, d, b, low, high, y, x):
    """Fill x(y) and return A x(y)."""
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
def aggregates(start, row, value, x, rows):
    """A x."""
    total = np.zeros(rows)
    for i in range(x.size):
        if x[i] != 0.0:
            for k in range(start[i], start[i + 1]):
                total[row[k]] += value[k] * x[i]
    return total


@njit(cache=True, nogil=True)
def _gap(ax, y, a, inverse_w, least, most, anchor, slack, free):
    """A x - r(y) - slack (y - anchor); marks the rows whose r is free."""
    gap = np.empty(y.size)
    for j in range(y.size):
        want = a[j] + y[j] * inverse_w[j]
        r = min(max(want, least[j]), most[j])
        free[j] = least[j] < want < most[j]
        gap[j] = ax[j] - r - slack[j] * (y[j] - anchor[j])
    return gap


@njit(cache=True, nogil=True)
def _dense_step(start, row, value, d, x, low, high, diagonal, gap):
    m = gap.size
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
        hessian[j, j] += 1e-15 * largest + 1e-300
    return np.linalg.solve(hessian, gap)


@njit(cache=True, nogil=True)
def _hessian_times(start, row, value, d, x, low, high, diagonal, v):
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
def _inexact_step(start, row, value, d, x, low, high, diagonal, gap, accuracy, work):
    """Conjugate gradients with the diagonal as preconditioner."""
    m = gap.size
    scale = diagonal.copy()
    for i in range(d.size):
        if low[i] < x[i] < high[i]:
            for k in range(start[i], start[i + 1]):
                scale[row[k]] += value[k] * value[k] / d[i]
    for j in range(m):
        scale[j] = 1.0 / max(scale[j], 1e-300)
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
        hp = _hessian_times(start, row, value, d, x, low, high, diagonal, p)
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
def solve_dual(
    start, row, value, d, b, low, high, a, inverse_w, least, most, anchor, slack, y, x, tolerance, dense, work
):
    """Improve y in place until ``max |gap| <= tolerance``; fills x; returns (gap, Newton steps).

    ``work[0]`` is the multiplications that may still be done (see ``SCATTERED``); below 0 the loop ends.
    """
    free = np.zeros(y.size, np.bool_)
    ax = primal(start, row, value, d, b, low, high, y, x)
    gap = _gap(ax, y, a, inverse_w, least, most, anchor, slack, free)
    size = np.max(np.abs(gap)) if y.size else 0.0
    trial_x = np.empty_like(x)
    stuck = 0
    for step_number in range(MOST_NEWTON):
        if size <= tolerance or work[0] < 0.0:
            return size, step_number
        diagonal = slack.copy()
        for j in range(y.size):
            if free[j]:
                diagonal[j] += inverse_w[j]
        if dense:
            work[0] -= SCATTERED * row.size * row.size / max(1, d.size) + y.size**3 / 3.0
            step = _dense_step(start, row, value, d, x, low, high, diagonal, gap)
        else:
            accuracy = min(1e-3, size * 1e-3)
            step = _inexact_step(
                start, row, value, d, x, low, high, diagonal, gap, max(accuracy, 1e-11), work
            )
        slope = np.sum(step * gap)
        if not slope > 0.0:
            step = gap.copy()
            slope = np.sum(step * gap)
        lower, upper, t = 0.0, np.inf, 1.0
        trial, fresh, fresh_size = y, gap, size
        for _ in range(MOST_CUTS):
            work[0] -= 2.0 * SCATTERED * row.size
            trial = y + t * step
            ax = primal(start, row, value, d, b, low, high, trial, trial_x)
            fresh = _gap(ax, trial, a, inverse_w, least, most, anchor, slack, free)
            along = np.sum(step * fresh)
            fresh_size = np.max(np.abs(fresh))
            if (along >= -0.1 * slope and (along <= 0.9 * slope or t >= 1e6)) or fresh_size <= tolerance:
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
        if stuck > 30:
            return size, step_number + 1
    return size, MOST_NEWTON


@njit(cache=True, nogil=True)
def residual(start, row, value, d, b, w, a, low, high, least, most, x, y, typical):
    """Largest violation of the optimality conditions, in counts (see ``program.kkt_residual``)."""
    r = aggregates(start, row, value, x, y.size)
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
