"""The inequality between the errors of counts and of their sum that privacy forces: Theorem 3 and its proof.

Its constants k, alpha and beta may be chosen freely; here they are chosen best.  Everything is in logarithms, so that
any number of counts can be given, and mutual information is in nats throughout (the printed proof compares nats with
bits).  What follows for the errors of a release is in ``bounds``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, floor, inf, log, sqrt

import numpy as np
from scipy.optimize import minimize_scalar

from hushtable.arrays import Floats

Excess = Callable[[float, float], float]
"""By how much the inequality fails for errors (C, D) of a count and of the sum; positive: no mechanism has them."""

Curve = Callable[[Floats], tuple[float, Floats, Floats]]
"""A concave function with its gradient and Hessian."""

_ROOF = 14.0
"""Largest log(alpha) and log(beta): 1 / alpha^2 is then below 1e-12 and of no account."""

_ALIKE = 1e-11
"""An error is found to this share of it, which is below what anyone prints."""

_STEPS = 70
"""Halvings of an error's logarithm, after which a bracket of a thousand digits is exact to rounding."""


def excess_of(d: int, epsilon: float, delta: float, rho: float, *, whole: bool) -> Excess:
    """The inequality for d counts under rho-zCDP, or under (epsilon, delta)-DP where rho is 0.

    Every choice of the constants gives a valid inequality, so an inexact search loses a little and claims nothing.
    """
    if d < 3:
        return lambda c, s: -inf
    if rho > 0.0:
        return _Concentrated(log(d - 1), rho, whole).excess
    return _Approximate(log(d - 1), epsilon, delta / epsilon, whole).excess


def last_impossible(excess: Callable[[float], float], unit: float) -> float:
    """The largest error at which ``excess``, which falls with it, is still positive; 0 if it is nowhere."""
    if excess(0.0) <= 0.0:
        return 0.0
    least, most, factor = 0.0, unit, 2.0
    while excess(most) > 0.0:
        least, most, factor = most, most * factor, factor * factor
    for _ in range(_STEPS):
        if most - least <= _ALIKE * most:
            break
        middle = sqrt(least) * sqrt(most) if least > 0.0 else 0.5 * most
        least, most = (middle, most) if excess(middle) > 0.0 else (least, middle)
    return least


@dataclass(frozen=True)
class _Approximate:
    """(delta/epsilon + (4C + 2D + k) / (k (d-1))) exp(2 epsilon (2C + k)) >= 1/4 for every k > 0; alpha = beta = 2.

    The logarithm of its two sides differs by a function of log(k) with one peak, and so does that of m = 2C + k.
    """

    entropy: float
    epsilon: float
    floor: float
    whole: bool

    def excess(self, c: float, s: float) -> float:
        def worth(t: float) -> float:
            return -max(-1e9, self._at(exp(t) / self.epsilon, c, s))

        found = minimize_scalar(worth, bounds=(-12.0, 3.0), method="bounded", options={"xatol": 1e-12})
        if not self.whole:
            return -float(found.fun)
        return max(self._at(m - 2.0 * c, c, s) for m in _beside(2.0 * c + exp(float(found.x)) / self.epsilon))

    def _at(self, k: float, c: float, s: float) -> float:
        left = 0.25 * exp(-min(700.0, 2.0 * self.epsilon * (2.0 * c + k))) - self.floor
        if left <= 0.0 or k <= 0.0:
            return -inf
        return self.entropy + log(left) - log((4.0 * c + 2.0 * s + k) / k)


@dataclass(frozen=True)
class _Concentrated:
    """The inequality of zCDP, from equations 4 and 5 of the proof, for every alpha, beta and k > 0.

    rho (2 alpha C + 2 k)^2 >= (1 - 2/alpha^2 - 1/beta^2) log(d-1) - log((2 alpha C + beta D + k) / k) - log(2).
    Right minus left is concave in the logarithms of alpha, beta and k (minus exponentials, minus log-sum-exp), so
    ascent finds the best.  With m = alpha C + k in the place of k it is concave too, so that the best whole m lies
    beside the best real one.
    """

    entropy: float
    rho: float
    whole: bool

    def excess(self, c: float, s: float) -> float:
        width = -0.5 * log(self.rho)
        most, x = _ascend(lambda x: self._free(c, s, x), [log(2.0), log(2.0), width - 1.5], width + 3.0)
        if not self.whole:
            return most
        return max(self._at(c, s, m) for m in _beside(exp(x[0]) * c + exp(x[2])))

    def _at(self, c: float, s: float, m: int) -> float:
        """With alpha C + k = m."""
        roof = min(_ROOF, log(m / c) - 1e-9) if c > 0.0 else _ROOF
        return _ascend(lambda x: self._held(c, s, m, x), [min(log(2.0), roof - 0.1), log(2.0)], roof)[0]

    def _free(self, c: float, s: float, x: Floats) -> tuple[float, Floats, Floats]:
        reach, slack, k = exp(x[0]) * c, exp(x[1]) * s, exp(x[2])
        m, moved = reach + k, np.array([reach, 0.0, k])
        value, slope, bend = self._sure(x, 3)
        spent = 8.0 * self.rho * m * moved
        value += x[2] - 4.0 * self.rho * m * m
        slope[2] += 1.0
        bend -= 8.0 * self.rho * np.outer(moved, moved) + np.diag(spent)
        return _less_log(value, slope - spent, bend, np.array([2.0 * reach, slack, k]), 0.0)

    def _held(self, c: float, s: float, m: int, x: Floats) -> tuple[float, Floats, Floats]:
        reach, slack = exp(x[0]) * c, exp(x[1]) * s
        if reach >= m:
            return -inf, np.zeros(2), np.eye(2)
        value, slope, bend = self._sure(x, 2)
        ratio = reach / (m - reach)
        value += log(m - reach) - 4.0 * self.rho * m * m
        slope[0] -= ratio
        bend[0, 0] -= ratio * (1.0 + ratio)
        return _less_log(value, slope, bend, np.array([reach, slack]), float(m))

    def _sure(self, x: Floats, size: int) -> tuple[float, Floats, Floats]:
        """(1 - 2/alpha^2 - 1/beta^2) log(d-1) - log(2)."""
        lost = np.zeros(size)
        lost[:2] = self.entropy * np.array([2.0, 1.0]) * np.exp(-2.0 * x[:2])
        return self.entropy - float(lost.sum()) - log(2.0), 2.0 * lost, np.diag(-4.0 * lost)


def _less_log(
    value: float, slope: Floats, bend: Floats, terms: Floats, rest: float
) -> tuple[float, Floats, Floats]:
    """Minus log(sum of ``terms`` + ``rest``), each term the exponential of its variable up to a constant."""
    total = float(terms.sum()) + rest
    share = terms / total
    return value - log(total), slope - share, bend - np.diag(share) + np.outer(share, share)


def _ascend(curve: Curve, start: list[float], last_roof: float) -> tuple[float, Floats]:
    """Newton's method with halved steps; variables stay below a roof, where the function is all but flat."""
    roof = np.full(len(start), _ROOF)
    roof[2 if len(start) == 3 else 0] = last_roof
    x = np.minimum(np.array(start), roof)
    value, slope, bend = curve(x)
    for _ in range(100):
        step = np.linalg.solve(bend - 1e-12 * np.eye(len(x)), -slope)
        step *= min(1.0, 2.0 / float(np.abs(step).max(initial=1e-300)))
        moved = np.minimum(x + step, roof)
        found = curve(moved)
        while found[0] < value and float(np.abs(moved - x).max()) > 1e-13:
            moved = 0.5 * (moved + x)
            found = curve(moved)
        if found[0] <= value + 1e-13 * (1.0 + abs(value)):
            break
        x, (value, slope, bend) = moved, found
    return value, x


def _beside(m: float) -> tuple[int, int]:
    """The whole numbers from 1 on beside ``m``."""
    return max(1, floor(m)), max(1, floor(m)) + 1
