"""The plain loops of the maximum-entropy fit: compiled, one table per call, free of the interpreter lock.

Tables are positive float arrays in C order.  What each loop solves is said in ``maxent``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushtable.compiled import njit

BINS = 72
BIN_WIDTH = math.log(2) / 2
"""Expected counts are binned by half octaves, from 2^-10 on."""

SMALLEST_BINNED = 2.0**-10
_BIN_OF_ONE = 20.5


@njit(cache=True, nogil=True, inline="always")
def bin_of(count: float) -> int:
    """The half-octave bin of an expected count."""
    return min(max(int(math.log(count) / BIN_WIDTH + _BIN_OF_ONE), 0), BINS - 1)


@njit(cache=True, nogil=True)
def solve_cell(rhs: float, s: float, u: float) -> float:
    """The u with exp(u) + s u = rhs, by safeguarded Newton steps from a start, or from above when that is far off."""
    most = min(rhs / s, math.log(max(rhs, 1.0)))
    if u > most or u < most - 40.0:
        u = most
    for _ in range(80):
        e = math.exp(u)
        step = (e + s * u - rhs) / (e + s)
        step = min(max(step, -2.0), 4.0)
        u -= step
        if abs(step) < 1e-7:
            break
    return u


@njit(cache=True, nogil=True)
def fit_line(base: Any, s: float, total: float, a: float, logs: Any) -> float:
    """The multiplier a with sum q = total, where q + s log q = base + a cell by cell; ``logs`` is log q.

    A cell whose base is minus infinity is impossible and stays at q = 0.
    """
    top = base.max()
    if top == -np.inf or total <= 0.0:
        logs[:] = -np.inf
        return 0.0
    high = total + s * math.log(total) - top
    low = total / base.size + s * math.log(total / base.size) - top
    if a > high or a < low:
        a = high
    for _ in range(20):
        summed, slope = 0.0, 0.0
        for b in range(base.size):
            if base[b] == -np.inf:
                logs[b] = -np.inf
                continue
            u = solve_cell(base[b] + a, s, logs[b])
            logs[b] = u
            e = math.exp(u)
            summed += e
            slope += e / (e + s)
        if abs(summed - total) <= 1e-5 * total:
            break
        a = min(max(a - (summed - total) / slope, low), high)
    return a


@njit(cache=True, nogil=True)
def scale_to_margins(x: Any, rows: Any, columns: Any, sweeps: int) -> None:
    """Iterative proportional fitting of a table to its row and column sums, in place; columns fit last."""
    n1, n2 = x.shape
    sums = np.empty(n2)
    for _ in range(sweeps):
        sums[:] = 0.0
        for a in range(n1):
            t = 0.0
            for b in range(n2):
                t += x[a, b]
            f = rows[a] / t if t > 0 else 0.0
            for b in range(n2):
                x[a, b] *= f
                sums[b] += x[a, b]
        for b in range(n2):
            sums[b] = columns[b] / sums[b] if sums[b] > 0 else 0.0
        for a in range(n1):
            for b in range(n2):
                x[a, b] *= sums[b]


@njit(cache=True, nogil=True)
def fit_pair(y: Any, prior: Any, s: float, rows: Any, columns: Any, q: Any) -> None:
    """q minimises |q - y|^2 / 2 + s KL(q || prior) with given margins: dual coordinate ascent, then exact margins."""
    n1, n2 = y.shape
    base, logs = np.empty((n1, n2)), np.empty((n1, n2))
    alpha, beta = np.zeros(n1), np.zeros(n2)
    row, column, column_logs = np.empty(n2), np.empty(n1), np.empty(n1)
    for a in range(n1):
        for b in range(n2):
            logs[a, b] = math.log(prior[a, b]) if prior[a, b] > 0.0 else -np.inf
            base[a, b] = y[a, b] + s * logs[a, b]
    for _ in range(60):
        for a in range(n1):
            for b in range(n2):
                row[b] = base[a, b] + beta[b]
            alpha[a] = fit_line(row, s, rows[a], alpha[a], logs[a])
        worst = 0.0
        for b in range(n2):
            t = 0.0
            for a in range(n1):
                column[a] = base[a, b] + alpha[a]
                column_logs[a] = logs[a, b]
                t += math.exp(logs[a, b])
            worst = max(worst, abs(t - columns[b]) / (columns[b] + 1.0))
            beta[b] = fit_line(column, s, columns[b], beta[b], column_logs)
            for a in range(n1):
                logs[a, b] = column_logs[a]
        if worst < 1e-3:
            break
    for a in range(n1):
        for b in range(n2):
            q[a, b] = math.exp(logs[a, b])
    scale_to_margins(q, rows, columns, 10)


@njit(cache=True, nogil=True, fastmath=True)
def scale_to_faces(p: Any, ab: Any, ac: Any, bc: Any, sweeps: int) -> None:
    """Iterative proportional fitting of a three-way table to its three two-way tables, in place."""
    n1, n2, n3 = p.shape
    over_b, over_a = np.empty((n1, n3)), np.empty((n2, n3))
    for _ in range(sweeps):
        over_b[:] = 0.0
        for a in range(n1):
            for b in range(n2):
                t = 0.0
                for c in range(n3):
                    t += p[a, b, c]
                f = ab[a, b] / t if t > 1e-300 else 0.0
                for c in range(n3):
                    p[a, b, c] *= f
                    over_b[a, c] += p[a, b, c]
        for a in range(n1):
            for c in range(n3):
                over_b[a, c] = ac[a, c] / over_b[a, c] if over_b[a, c] > 1e-300 else 0.0
        over_a[:] = 0.0
        for a in range(n1):
            for b in range(n2):
                for c in range(n3):
                    p[a, b, c] *= over_b[a, c]
                    over_a[b, c] += p[a, b, c]
        for b in range(n2):
            for c in range(n3):
                over_a[b, c] = bc[b, c] / over_a[b, c] if over_a[b, c] > 1e-300 else 0.0
        for a in range(n1):
            for b in range(n2):
                for c in range(n3):
                    p[a, b, c] *= over_a[b, c]


@njit(cache=True, nogil=True)
def dispersion_likelihood(residual: Any, expected: Any, noise: float, grid: Any, out: Any) -> None:
    """Log likelihood of flat residuals ~ N(0, phi expected + noise) for each phi of ``grid``; cells are binned."""
    cells, means, squares = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS)
    for k in range(residual.size):
        if expected[k] > SMALLEST_BINNED:
            b = bin_of(expected[k])
            cells[b] += 1.0
            means[b] += expected[k]
            squares[b] += residual[k] * residual[k]
    for j in range(grid.size):
        t = 0.0
        for b in range(BINS):
            if cells[b] > 0:
                v = grid[j] * means[b] / cells[b] + noise
                t += cells[b] * math.log(v) + squares[b] / v
        out[j] = -0.5 * t


@njit(cache=True, nogil=True)
def centre_logs(table: Any, rows: Any, columns: Any, total: float) -> None:
    """Subtract row and column effects under product weights, in place."""
    n1, n2 = table.shape
    for _ in range(2):
        for a in range(n1):
            t = 0.0
            for b in range(n2):
                t += table[a, b] * columns[b]
            for b in range(n2):
                table[a, b] -= t / total
        for b in range(n2):
            t = 0.0
            for a in range(n1):
                t += table[a, b] * rows[a]
            for a in range(n1):
                table[a, b] -= t / total


@njit(cache=True, nogil=True)
def fit_chains(
    y: Any,
    product: Any,
    chains: Any,
    noise: float,
    rows: Any,
    columns: Any,
    spread: float,
    grid: Any,
    mean: Any,
) -> None:
    """mean ~ product * exp(sum t chains), t in [0, 1.5] with variance ``spread``: penalised likelihood of y.

    y ~ N(mean, phi mean + noise), phi the most likely of ``grid``; six Gauss-Newton steps, each solved by coordinates.
    """
    count, n1, n2 = chains.shape
    hessian, gradient, t = np.empty((count, count)), np.empty(count), np.zeros(count)
    residual, weight, likelihood = np.empty((n1, n2)), np.empty((n1, n2)), np.empty(grid.size)
    for step in range(7):
        for a in range(n1):
            for b in range(n2):
                e = 0.0
                for k in range(count):
                    e += t[k] * chains[k, a, b]
                mean[a, b] = product[a, b] * math.exp(min(max(e, -30.0), 30.0))
        scale_to_margins(mean, rows, columns, 4)
        if step == 6:
            break
        for a in range(n1):
            for b in range(n2):
                residual[a, b] = y[a, b] - mean[a, b]
        dispersion_likelihood(residual.ravel(), mean.ravel(), noise, grid, likelihood)
        phi = grid[np.argmax(likelihood)]
        for a in range(n1):
            for b in range(n2):
                weight[a, b] = mean[a, b] / (phi * mean[a, b] + noise)
        for k in range(count):
            s = 0.0
            for a in range(n1):
                for b in range(n2):
                    s += weight[a, b] * chains[k, a, b] * residual[a, b]
            gradient[k] = s
        for a in range(n1):
            for b in range(n2):
                weight[a, b] *= mean[a, b]
        for k in range(count):
            for j in range(k + 1):
                s = 0.0
                for a in range(n1):
                    for b in range(n2):
                        s += weight[a, b] * chains[k, a, b] * chains[j, a, b]
                hessian[k, j] = s
                hessian[j, k] = s
        start = t.copy()
        for _ in range(30):
            for k in range(count):
                s = gradient[k] - t[k] / spread
                for j in range(count):
                    s -= hessian[k, j] * (t[j] - start[j])
                t[k] = min(max(t[k] + s / (hessian[k, k] + 1.0 / spread), 0.0), 1.5)


@njit(cache=True, nogil=True)
def shrink_cells(p: Any, move: Any, s: float) -> None:
    """In place and flat: p becomes the x that minimises (x - p - move)^2 / 2 + s KL(x || p), cell by cell."""
    for k in range(p.size):
        m = p[k]
        if m > 1e-9:
            y = m + move[k]
            p[k] = math.exp(solve_cell(y + s * math.log(m), s, math.log(max(y, 0.3 * m))))
