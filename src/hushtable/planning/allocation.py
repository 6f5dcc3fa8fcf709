"""Where the next unit of budget lowers the expected L1 errors most.

Each residual is described by the histogram of its table's expected counts and by a dispersion phi: around its expected
count q a cell varies with variance v(q), and once measured with precision x it is known up to v / (1 + v x).  The
expected L1 error of a table is then a convex function of x, and a budget is spread so that the last unit gains the same
everywhere.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.compiled import njit
from hushtable.marginals import BINS, LEVELS, SMALLEST, Incidence, Layout, bin_of, put_free
from hushtable.planning.problem import prices

GRID = 112
"""Points of the grid of log precisions on which gains are tabulated, over 25 units.  With 28 or 448 errors on adult do
not move; more are slower."""

_UNITS = 25.0
"""Logarithmic units below the largest precision that the grid covers: a factor of 7e10.  With less than e^-25 of the
largest precision a residual is as good as not measured."""

_NOTHING = 1e-9
"""Added to the error of a table that has none, so that its parts' shares are numbers."""

_LEAST_PHI, _MOST_PHI, _HALVINGS = 1e-3, 1e6, 50
"""Where the dispersion of a table is searched: wider than the candidates of a fit, 0.01 to 30,000; 50 halvings
of the logarithm of a factor of 1e9 leave 2e-14."""

_INFINITE, _TINY = 1e300, 1e-300
"""More than any budget or gain, and less than any that is not 0."""

_DEEPEST, _LEVELS = 1e-40, 80
"""The lowest level of water in parts of the highest, and halvings of their logarithms: 92 units / 2^80.  _SPENT
ends the search before, unless gains jump."""

_OVER, _SPENT = 1.0001, 0.995
"""A level is given up once it costs more than the budget by this factor, and taken where it spends this part of it:
what is left is spread in proportion.  Closer takes more levels and moves no gain in precision by more than 0.5%."""

_EXPECTED = math.sqrt(2.0 / math.pi)
"""Mean of the absolute value of a standard normal variable."""


class Allocation:
    """Histograms, dispersions and precisions of the residuals of a closure, and the tables they serve."""

    def __init__(self, layout: Layout, pairs: Incidence, weights: Floats) -> None:
        sets = len(layout.sets)
        self.layout = layout
        self.price = prices(layout)
        self.order = (layout.shapes > 0).sum(axis=1)
        self.histograms = np.zeros((sets, BINS))
        self.dispersion = np.ones(sets)
        self.smooth = self.order > 1
        self.precision = np.zeros(sets)
        self.active = np.zeros(sets, bool)
        self.total = 1.0
        plain = (self.order < 2) | layout.has_levels
        self._shapes = np.where(plain[:, None], 0, layout.shapes)
        self._owners, self._members = pairs.owners, pairs.members
        self._weights = weights
        self.predicted = math.inf

    def describe(self, k: int, table: Floats) -> None:
        """Take over the expected counts of a residual's table."""
        self.describe_all(np.array([k]), np.ascontiguousarray(table, np.float64).reshape(-1))

    def forget(self, numbers: NDArray[np.int64]) -> None:
        """Leave residuals out."""
        self.active[numbers] = False
        self.histograms[numbers] = 0.0

    def describe_all(self, numbers: NDArray[np.int64], tables: Floats) -> None:
        """Take over the expected counts of several tables, flat one after the other."""
        ends = np.concatenate([[0], np.cumsum(self.layout.lengths[numbers])])
        histograms_of(numbers, ends, tables, self._shapes, self.histograms)
        self.active[numbers] = self.price[numbers] > 0

    def disperse_all(self, numbers: NDArray[np.int64], distances: Floats) -> None:
        """Set the dispersions at which the unmeasured tables are ``distances`` wrong."""
        dispersions_of(
            numbers, self.histograms, distances / np.sqrt(self.price[numbers]), LEVELS, self.dispersion
        )

    def errors(self, precision: Floats | None = None) -> Floats:
        """Expected L1 error that each residual contributes."""
        x = self.precision if precision is None else precision
        return np.sqrt(self.price) * expected_errors(self.histograms, self.dispersion, self.smooth, x, LEVELS)

    def table_errors(self, precision: Floats) -> tuple[Floats, Floats]:
        """The part of each (table, residual) pair, and the error of each table (parts add as variances do)."""
        parts = np.minimum(self.errors(precision)[self._members], 2.0 * self.total)
        tables = np.sqrt(np.bincount(self._owners, parts**2, len(self._weights)))
        return parts, tables

    def spend(self, rho: float, allowed: NDArray[np.bool_] | None = None) -> Floats:
        """The precisions that ``rho`` more buys at best; residuals outside ``allowed`` keep theirs."""
        active = self.active if allowed is None else self.active & allowed
        if not active.any():
            return self.precision
        top = math.log(2.0 * rho / self.price[active].min() + self.precision[active].max())
        logs = np.linspace(top - _UNITS, top, GRID)
        gains = np.zeros((len(active), len(logs)))
        tabulate_gains(self.histograms, self.dispersion, self.smooth, active, logs, LEVELS, gains)
        gains *= np.sqrt(self.price)[:, None]
        weight, x = np.zeros(len(active)), self.precision
        for step in range(6):
            parts, tables = self.table_errors(x)
            share = parts / (tables[self._owners] + _NOTHING) * self._weights[self._owners]
            fresh = np.bincount(self._members, share, len(active))
            weight = fresh if step == 0 else np.sqrt(weight * fresh)
            x = water_fill(gains, logs, self.precision, self.price, np.where(active, weight, 0.0), 2.0 * rho)
        _, tables = self.table_errors(x)
        self.predicted = float(tables @ self._weights / self._weights.sum()) / self.total
        return x


@njit(cache=True, nogil=True)
def error_and_gain(cells: Any, phi: float, smooth: bool, x: float, levels: Any) -> tuple[float, float]:
    """Expected L1 error of a table at precision x, and minus its derivative."""
    error, gain = 0.0, 0.0
    for b in range(cells.size):
        if cells[b] > 0:
            q = levels[b]
            v = min(phi * q, 2.0 * math.pi * q * q) if smooth else q * q
            w = 1.0 + v * x
            s = math.sqrt(v / w)
            error += cells[b] * s
            gain += cells[b] * 0.5 * v * s / w
    return _EXPECTED * error, _EXPECTED * gain


@njit(cache=True, nogil=True)
def expected_errors(histograms: Any, phi: Any, smooth: Any, x: Any, levels: Any) -> Any:
    """The error of every table."""
    out = np.empty(x.size)
    for k in range(x.size):
        out[k] = error_and_gain(histograms[k], phi[k], smooth[k], x[k], levels)[0]
    return out


@njit(cache=True, nogil=True)
def histograms_of(numbers: Any, ends: Any, tables: Any, shapes: Any, out: Any) -> None:
    """Cells of flat tables by the half octave of what is free of their expected count, into the rows ``numbers``."""
    for j in range(numbers.size):
        row, free = out[numbers[j]], np.empty(ends[j + 1] - ends[j])
        row[:] = 0.0
        put_free(tables[ends[j] : ends[j + 1]], shapes[numbers[j]], free)
        for k in range(free.size):
            if free[k] > SMALLEST:
                row[bin_of(free[k])] += 1.0


@njit(cache=True, nogil=True)
def dispersions_of(numbers: Any, histograms: Any, distances: Any, levels: Any, out: Any) -> None:
    """The phi of each table at which it has these expected L1 errors while unmeasured, by bisection."""
    for j in range(numbers.size):
        low, high = _LEAST_PHI, _MOST_PHI
        for _ in range(_HALVINGS):
            middle = math.sqrt(low * high)
            if error_and_gain(histograms[numbers[j]], middle, True, 0.0, levels)[0] > distances[j]:
                high = middle
            else:
                low = middle
        out[numbers[j]] = low


@njit(cache=True, nogil=True)
def tabulate_gains(
    histograms: Any, phi: Any, smooth: Any, active: Any, logs: Any, levels: Any, gains: Any
) -> None:
    """The gain of every active residual on a grid of log precisions, one row each."""
    for g in range(phi.size):
        if active[g]:
            for k in range(logs.size):
                gains[g, k] = error_and_gain(histograms[g], phi[g], smooth[g], math.exp(logs[k]), levels)[1]


@njit(cache=True, nogil=True)
def fill_to(
    level: float, gains: Any, logs: Any, start: Any, price: Any, weight: Any, stop: float, x: Any
) -> float:
    """Raise each x until its gain per unit of budget falls to ``level``; gives the budget that takes."""
    spent, step, last = 0.0, logs[1] - logs[0], logs.size - 1
    for g in range(start.size):
        x[g] = start[g]
        if weight[g] <= 0:
            continue
        wanted = level * price[g] / weight[g]
        if gains[g, 0] <= wanted:
            continue
        if gains[g, last] >= wanted:
            value = math.exp(logs[last])
        else:
            a, b = 0, last
            while b - a > 1:
                c = (a + b) // 2
                if gains[g, c] > wanted:
                    a = c
                else:
                    b = c
            part = math.log(gains[g, a] / wanted) / math.log(gains[g, a] / max(gains[g, b], _TINY))
            value = math.exp(logs[a] + step * part)
        if value > start[g]:
            x[g] = value
            spent += price[g] * (value - start[g])
        if spent > stop:
            return spent
    return spent


@njit(cache=True, nogil=True)
def water_fill(gains: Any, logs: Any, start: Any, price: Any, weight: Any, budget: float) -> Any:
    """The x >= start that minimises sum weight error(x) with sum price (x - start) = budget.

    Bisection on the common gain per unit of budget, over the tabulated gains.
    """
    x = start.copy()
    low, high, last = _INFINITE, 0.0, logs.size - 1
    for g in range(start.size):
        if weight[g] > 0 and gains[g, 0] > 0:
            high = max(high, gains[g, 0] * weight[g] / price[g])
            if gains[g, last] > 0:
                low = min(low, gains[g, last] * weight[g] / price[g])
    if high <= 0:
        return x
    low = max(min(low, high) * 0.5, high * _DEEPEST)
    for _ in range(_LEVELS):
        level = math.sqrt(low * high)
        spent = fill_to(level, gains, logs, start, price, weight, budget * _OVER, x)
        if spent > budget:
            low = level
        else:
            high = level
        if _SPENT * budget < spent <= budget:
            break
    spent = fill_to(high, gains, logs, start, price, weight, _INFINITE, x)
    if spent > 0:
        for g in range(start.size):
            x[g] = start[g] + (x[g] - start[g]) * (budget / spent)
    return x
