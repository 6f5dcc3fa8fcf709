"""The plain loops of the maximum-entropy fit: compiled, one table per call, free of the interpreter lock.

A pair q is the minimiser of |q - y|^2 / 2 + s KL(q || m) with given margins: y is the noisy table, m its prior mean,
s = 1 / (precision * phi), and phi the dispersion under which y ~ N(m, phi m + noise) is most likely.  Tables are
positive float arrays in C order.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from hushtable.compiled import njit
from hushtable.marginals import BINS, SMALLEST, bin_of, put_free

TOLERANCE = 1e-4
"""Sums of a table and the tables below it may differ by this part of the records.  1e-3 costs nothing on adult and 2%
where errors are as small as 0.0014 (attributes of two values at epsilon 10); 1e-5 gains nothing and is as fast."""

FAR_BELOW = 40.0
"""A start this far below the largest possible logarithm is left for that one: steps upwards are at
most MOST_UP, so that it would take 20 of them to come back."""
MOST_DOWN, MOST_UP = 4.0, 2.0
"""How far a Newton step may lower and raise a logarithm.  From above, where the exponential rules, a full step is about
1; the limits only bind from starts that are far off.  Not tuned."""
MOST_STEPS, SAME = 80, 1e-7
"""Newton steps for a cell, and the last one's size: steps converge quadratically, so that what is left is its square.
The limit binds where rounding stalls a step."""

LINE_STEPS, LINE_TOLERANCE = 20, 1e-5
"""Newton steps for a line's multiplier, and the part of its total at which they end: a hundredth of PAIR_TOLERANCE, so
that errors of lines do not show in it."""
PAIR_ROUNDS, PAIR_TOLERANCE = 60, 1e-3
"""Rounds over the lines of a pair, and the part of a column's sum (and one record) that it may be off by before its
columns are fitted for the last time.  Not tuned; less takes more rounds."""

EMPTY = 1e-300
"""A sum below this is none: what it would be multiplied by is not a double."""

STEEPEST = 30.0
"""Exponents of chained means are cut off here, where a mean is 1e13 times its product: far beyond any count, and
``exp`` stays finite."""

CHAINED = 1.5
"""A weight of a chain lies between 0, where it tells nothing, and this: it may say a half more than its own logarithm.
Not tuned; with 1, tables that depend more strongly than every chain through others are drawn back."""
BOX_ROUNDS, BOX_TOLERANCE = 30, 1e-6
"""Rounds of coordinate steps for the weights of chains, and the largest move at which they end: a mean moves by less
than a millionth of itself.  Not tuned."""
GAUSS_NEWTON, SWEEPS = 6, 4
"""Steps of the weights of chains, each with a new mean and dispersion, and sweeps that give a mean its margins.  Not
tuned; fewer are faster, and leave the weights or the margins of a prior mean further off."""

LEAST_LEFT = 0.2
"""At least this part of a pair's free numbers is left after the weights of chains were fitted to them.  Not tuned."""

VANISHED = 1e-9
"""Expected records of a cell below which it stays as it is: no release shows a billionth of a record."""
LEAST_START = 0.3
"""Where a search for a cell that noise made negative starts, in parts of its mean: any positive start gives the same
cell, to SAME.  Not tuned."""


class Margins(NamedTuple):
    """Row and column sums that a two-way table is to have."""

    rows: Any
    columns: Any


@njit(cache=True, nogil=True)
def solve_cell(rhs: float, s: float, u: float) -> float:
    """The u with exp(u) + s u = rhs, by safeguarded Newton steps from a start, or from above when that is far off."""
    most = min(rhs / s, math.log(max(rhs, 1.0)))
    if u > most or u < most - FAR_BELOW:
        u = most
    for _ in range(MOST_STEPS):
        e = math.exp(u)
        step = (e + s * u - rhs) / (e + s)
        step = min(max(step, -MOST_UP), MOST_DOWN)
        u -= step
        if abs(step) < SAME:
            break
    return u


@njit(cache=True, nogil=True)
def fit_line(base: Any, s: float, total: float, a: float, logs: Any) -> float:
    """The multiplier a with sum q = total, where q + s log q = base + a cell by cell; ``logs`` is log q.

    A cell whose base is minus infinity is impossible and stays at q = 0.
    """
    top = -np.inf
    for b in range(base.size):  # numba takes longer to compile base.max() than this whole loop
        top = max(top, base[b])
    if top == -np.inf or total <= 0.0:
        for b in range(base.size):
            logs[b] = -np.inf
        return 0.0
    high = total + s * math.log(total) - top
    low = total / base.size + s * math.log(total / base.size) - top
    if a > high or a < low:
        a = high
    for _ in range(LINE_STEPS):
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
        if abs(summed - total) <= LINE_TOLERANCE * total:
            break
        a = min(max(a - (summed - total) / slope, low), high)
    return a


@njit(cache=True, nogil=True)
def scale_to_margins(x: Any, margins: Any, sweeps: int) -> None:
    """Iterative proportional fitting of a table to its row and column sums, in place; columns fit last."""
    rows, columns = margins
    n1, n2 = x.shape
    sums = np.empty(n2)
    for _ in range(sweeps):
        for b in range(n2):
            sums[b] = 0.0
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
def fit_pair(y: Any, prior: Any, s: float, margins: Any, q: Any) -> None:
    """q minimises |q - y|^2 / 2 + s KL(q || prior) with given margins, nearly: dual coordinate ascent."""
    rows, columns = margins
    n1, n2 = y.shape
    base, logs = np.empty((n1, n2)), np.empty((n1, n2))
    alpha, beta = np.zeros(n1), np.zeros(n2)
    row, column, column_logs = np.empty(n2), np.empty(n1), np.empty(n1)
    for a in range(n1):
        for b in range(n2):
            logs[a, b] = math.log(prior[a, b]) if prior[a, b] > 0.0 else -np.inf
            base[a, b] = y[a, b] + s * logs[a, b]
    for _ in range(PAIR_ROUNDS):
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
        if worst < PAIR_TOLERANCE:
            break
    for a in range(n1):
        for b in range(n2):
            q[a, b] = math.exp(logs[a, b])


@njit(cache=True, nogil=True, fastmath=True)
def scale_to_faces(p: Any, ab: Any, ac: Any, bc: Any, sweeps: int) -> None:
    """Iterative proportional fitting of a three-way table to its three two-way tables, in place.

    At most so many sweeps; none after one that found its sums within TOLERANCE of the tables, in parts of the records.
    """
    n1, n2, n3 = p.shape
    over_b, over_a = np.empty((n1, n3)), np.empty((n2, n3))
    for _ in range(sweeps):
        gap, total = 0.0, 0.0
        for a in range(n1):
            for c in range(n3):
                over_b[a, c] = 0.0
        for a in range(n1):
            for b in range(n2):
                t = 0.0
                for c in range(n3):
                    t += p[a, b, c]
                f = ab[a, b] / t if t > EMPTY else 0.0
                gap += abs(ab[a, b] - t)
                total += ab[a, b]
                for c in range(n3):
                    p[a, b, c] *= f
                    over_b[a, c] += p[a, b, c]
        for a in range(n1):
            for c in range(n3):
                gap += abs(ac[a, c] - over_b[a, c])
                over_b[a, c] = ac[a, c] / over_b[a, c] if over_b[a, c] > EMPTY else 0.0
        for b in range(n2):
            for c in range(n3):
                over_a[b, c] = 0.0
        for a in range(n1):
            for b in range(n2):
                for c in range(n3):
                    p[a, b, c] *= over_b[a, c]
                    over_a[b, c] += p[a, b, c]
        for b in range(n2):
            for c in range(n3):
                over_a[b, c] = bc[b, c] / over_a[b, c] if over_a[b, c] > EMPTY else 0.0
        for a in range(n1):
            for b in range(n2):
                for c in range(n3):
                    p[a, b, c] *= over_a[b, c]
        if gap <= TOLERANCE * total:
            break


@njit(cache=True, nogil=True)
def dispersion_likelihood(
    residual: Any, expected: Any, noise: float, price: float, grid: Any, out: Any
) -> None:
    """Log likelihood of flat centred residuals for each phi of ``grid``; cells are binned.

    Cells that vary by ``phi expected + noise`` do so by ``price`` = prod (1 - 1/n) times that once they are centred,
    and only a part ``price`` of them is free.
    """
    cells, means, squares = np.zeros(BINS), np.zeros(BINS), np.zeros(BINS)
    for k in range(residual.size):
        if expected[k] > SMALLEST:
            b = bin_of(expected[k])
            cells[b] += 1.0
            means[b] += expected[k]
            squares[b] += residual[k] * residual[k]
    for j in range(grid.size):
        t = 0.0
        for b in range(BINS):
            if cells[b] > 0:
                v = grid[j] * means[b] / cells[b] + noise
                t += price * cells[b] * math.log(v) + squares[b] / v
        out[j] = -0.5 * t


@njit(cache=True, nogil=True)
def centre_logs(chains: Any, margins: Any, total: float) -> None:
    """Subtract from each chain its row and column effects under product weights, in place."""
    rows, columns = margins
    count, n1, n2 = chains.shape
    for k in range(count):
        for _ in range(2):
            for a in range(n1):
                t = 0.0
                for b in range(n2):
                    t += chains[k, a, b] * columns[b]
                for b in range(n2):
                    chains[k, a, b] -= t / total
            for b in range(n2):
                t = 0.0
                for a in range(n1):
                    t += chains[k, a, b] * rows[a]
                for a in range(n1):
                    chains[k, a, b] -= t / total


@njit(cache=True, nogil=True)
def chained_mean(product: Any, chains: Any, t: Any, mean: Any) -> None:
    """mean = product * exp(sum t chains), cell by cell."""
    count, n1, n2 = chains.shape
    for a in range(n1):
        for b in range(n2):
            e = 0.0
            for k in range(count):
                e += t[k] * chains[k, a, b]
            mean[a, b] = product[a, b] * math.exp(min(max(e, -STEEPEST), STEEPEST))


@njit(cache=True, nogil=True)
def weighted_products(weight: Any, chains: Any, residual: Any, gradient: Any) -> None:
    """gradient_k = sum over cells of weight * chain_k * residual."""
    count, n1, n2 = chains.shape
    for k in range(count):
        s = 0.0
        for a in range(n1):
            for b in range(n2):
                s += weight[a, b] * chains[k, a, b] * residual[a, b]
        gradient[k] = s


@njit(cache=True, nogil=True)
def solve_in_box(hessian: Any, gradient: Any, spread: float, t: Any) -> None:
    """Coordinate steps from t for the penalised quadratic around t, within [0, CHAINED]."""
    start = t.copy()
    for _ in range(BOX_ROUNDS):
        moved = 0.0
        for k in range(t.size):
            s = gradient[k] - t[k] / spread
            for j in range(t.size):
                s -= hessian[k, j] * (t[j] - start[j])
            new = min(max(t[k] + s / (hessian[k, k] + 1.0 / spread), 0.0), CHAINED)
            moved = max(moved, abs(new - t[k]))
            t[k] = new
        if moved < BOX_TOLERANCE:
            break


@njit(cache=True, nogil=True)
def free_part(n1: int, n2: int, taken: float) -> float:
    """The part of a pair's cells that vary freely around a mean that ``taken`` numbers were fitted for."""
    return max((n1 - 1.0) * (n2 - 1.0) - taken, LEAST_LEFT * (n1 - 1.0) * (n2 - 1.0)) / (n1 * n2)


@njit(cache=True, nogil=True)
def fitted_numbers(hessian: Any, spread: float, t: Any) -> float:
    """How many numbers of y the weights t took up: trace H (H + 1 / spread)^-1 over weights inside their box.

    The trace of the inverse by Gauss-Jordan steps in place; H is positive and its diagonal is raised, so that no pivot
    vanishes.
    """
    free = np.empty(t.size, np.int64)
    count = 0
    for k in range(t.size):
        if 0.0 < t[k] < CHAINED:
            free[count] = k
            count += 1
    inverse = np.empty((count, count))
    for j in range(count):
        for k in range(count):
            inverse[j, k] = hessian[free[j], free[k]] + (1.0 / spread if j == k else 0.0)
    for p in range(count):
        pivot = 1.0 / inverse[p, p]
        inverse[p, p] = 1.0
        for k in range(count):
            inverse[p, k] *= pivot
        for j in range(count):
            if j != p:
                factor = inverse[j, p]
                inverse[j, p] = 0.0
                for k in range(count):
                    inverse[j, k] -= factor * inverse[p, k]
    taken = float(count)
    for k in range(count):
        taken -= inverse[k, k] / spread
    return taken


@njit(cache=True, nogil=True)
def fit_chains(
    y: Any, product: Any, chains: Any, noise: float, margins: Any, spread: float, grid: Any, mean: Any
) -> float:
    """mean ~ product * exp(sum t chains), t in [0, CHAINED] with variance ``spread``: penalised likelihood of y.

    y ~ N(mean, phi mean + noise), phi the most likely of ``grid``; Gauss-Newton steps, each solved by coordinates.
    Gives how many numbers of y the weights took up.
    """
    count, n1, n2 = chains.shape
    taken = 0.0
    hessian, gradient, t = np.empty((count, count)), np.empty(count), np.zeros(count)
    residual, weight, likelihood = np.empty((n1, n2)), np.empty((n1, n2)), np.empty(grid.size)
    free, shape = np.empty((n1, n2)), np.empty(2, np.int64)
    shape[0], shape[1] = n1, n2
    for step in range(GAUSS_NEWTON + 1):
        chained_mean(product, chains, t, mean)
        scale_to_margins(mean, margins, SWEEPS)
        if step == GAUSS_NEWTON:
            break
        for a in range(n1):
            for b in range(n2):
                residual[a, b] = y[a, b] - mean[a, b]
        price = free_part(n1, n2, taken)
        put_free(mean.ravel(), shape, free.ravel())
        dispersion_likelihood(residual.ravel(), free.ravel(), noise, price, grid, likelihood)
        best = 0
        for j in range(grid.size):  # numba takes longer to compile np.argmax
            if likelihood[j] > likelihood[best]:
                best = j
        phi = grid[best]
        for a in range(n1):
            for b in range(n2):
                weight[a, b] = mean[a, b] / (phi * free[a, b] + noise)
        weighted_products(weight, chains, residual, gradient)
        for a in range(n1):
            for b in range(n2):
                weight[a, b] *= mean[a, b]
        for j in range(count):
            weighted_products(weight, chains[j:], chains[j], hessian[j, j:])
            for k in range(j):
                hessian[j, k] = hessian[k, j]
        solve_in_box(hessian, gradient, spread, t)
        taken = fitted_numbers(hessian, spread, t)
    return taken


@njit(cache=True, nogil=True)
def shrink_cells(p: Any, move: Any, s: float) -> None:
    """In place and flat: p becomes the x that minimises (x - p - move)^2 / 2 + s KL(x || p), cell by cell."""
    for k in range(p.size):
        m = p[k]
        if m > VANISHED:
            y = m + move[k]
            p[k] = math.exp(solve_cell(y + s * math.log(m), s, math.log(max(y, LEAST_START * m))))
