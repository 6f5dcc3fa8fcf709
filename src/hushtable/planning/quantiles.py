"""How far a noisy cell may lie from the truth: half-widths of symmetric laws.

Sums of Gaussians use the normal law.  Sums of Laplace noises use the symmetric variance-gamma law with the same
variance and kurtosis: it is exact for one Laplace noise and tends to the normal law as many are added.  A single raw
count with discrete noise has its exact integer half-width.  Loading scipy takes longer than most plans, so that only
plans of many different errors do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from math import ceil, copysign, erfc, exp, inf, lgamma, sqrt, ulp
from statistics import NormalDist
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.errors import WorkloadError
from hushtable.privacy import CountNoise, GaussianNoise, LaplaceNoise

NEARLY_NORMAL = 1e-6
"""Excess kurtosis below which the normal quantile is right to about 1e-7."""

FAR_FROM_NORMAL = 1e4
"""Excess kurtosis from which on nearly all noises are 0 and no smooth law describes them; any law keeps Chebyshev's
bound, a half-width of 1 / sqrt(alpha) standard deviations."""

SMALLEST_ALPHA = 1e-20
"""The smallest probability of missing: down to it half-widths of Laplace noise are right to 1e-7.  At 1e-60, where what
``_LEFT_OUT`` leaves out would matter, they would be 8% too narrow."""

_FEW = 20
"""Different kurtoses up to which each search (2.5 ms) does without scipy, whose ``erfc`` for arrays is three times as
fast once it is loaded, which takes 0.1 s.  Half-widths are the same to 1e-13."""

_MANY = 60
"""Different kurtoses from which on a spline replaces a search for each (0.8 ms), and its points.  Where all are below 3
it is right to 1e-8 with 60 and to 1e-7 with 30; below 100 to 2e-6 and 2e-4."""

_SMOOTH = 100.0
"""Excess kurtosis beyond which a spline of so few points swings; there the larger of two neighbours among ``_STEPS``
points is taken: never too narrow, and too wide by a few hundredths of a standard deviation."""

_CLOSE = 1e-10
"""Two guesses of a root this close, and the later one is right to about the square of it; less costs a step."""

_AT_ZERO = 1e-9
"""A half-width, in standard deviations, below which nobody asks: a law that hardly exceeds it is all but 0."""

_LEFT_OUT = 40.0
"""What lies where a density is below exp(-40) = 4e-18 of its largest value is left out: a float could not add it."""

_LOG_REACH = 60.0
"""Points of a Gamma variable are looked for between exp(-60) and exp(60); beyond, a spread is 0 or never reached."""

_POINTS = 2001
"""Points of a Gamma variable.  Its density falls to nothing at both ends, where trapezoids are most exact; the time of
a half-width grows with their number."""

_MOST_RAW = 400_000
"""Values of a raw count's noise that are added up, 3 MB; wider laws are taken for the normal one."""

_STEPS = 200
"""A sixth of a second of searches; with fewer, half-widths that far from normal are wider."""


def normal_spread(alpha: float) -> float:
    """Half-width in standard deviations that a normal law exceeds with probability ``alpha``."""
    return -NormalDist().inv_cdf(max(check_alpha(alpha) / 2.0, ulp(0.0)))


def spread(alpha: float, excess: ArrayLike) -> NDArray[np.float64]:
    """Half-width in standard deviations for each excess kurtosis (0 is normal, 3 is Laplace), as exact as ``_MANY``."""
    kurtosis = np.atleast_1d(np.asarray(excess, np.float64))
    normal = normal_spread(alpha)
    distinct, where = np.unique(np.where(kurtosis > NEARLY_NORMAL, kurtosis, 0.0), return_inverse=True)
    far = distinct > FAR_FROM_NORMAL
    positive = distinct[(distinct > 0) & ~far]
    smooth = positive <= _SMOOTH
    found = np.concatenate([_interpolated(alpha, positive[smooth]), _enclosed(alpha, positive[~smooth])])
    none = len(distinct) - len(positive) - int(far.sum())
    values = np.concatenate([np.full(none, normal), found, np.full(int(far.sum()), alpha**-0.5)])
    return values[where].reshape(kurtosis.shape)


def _exactly(alpha: float, kurtosis: NDArray[np.float64]) -> NDArray[np.float64]:
    tails = _tails
    if len(kurtosis) > _FEW:
        from scipy.special import erfc as tails
    return np.array([variance_gamma_spread(alpha, k, tails) for k in kurtosis.tolist()])


def _tails(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """``erfc`` of an array."""
    return np.array([erfc(each) for each in x.tolist()])


def _interpolated(alpha: float, kurtosis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of increasing kurtoses, all of them where the half-width is a smooth function of their roots."""
    if len(kurtosis) <= _MANY:
        return _exactly(alpha, kurtosis)
    from scipy.interpolate import CubicSpline

    grid = np.linspace(sqrt(kurtosis[0]), sqrt(kurtosis[-1]), _MANY)
    return np.asarray(CubicSpline(grid, _exactly(alpha, grid**2))(np.sqrt(kurtosis)))


def _enclosed(alpha: float, kurtosis: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of increasing kurtoses far from normal: half-widths that are right, or a little too wide."""
    if len(kurtosis) <= _MANY:
        return _exactly(alpha, kurtosis)
    grid: NDArray[np.float64] = np.geomspace(float(kurtosis[0]), float(kurtosis[-1]), _STEPS)
    known = _exactly(alpha, grid)
    above = np.clip(np.searchsorted(grid, kurtosis), 1, _STEPS - 1)
    return np.maximum(known[above - 1], known[above])


def variance_gamma_spread(
    alpha: float, excess: float, tails: Callable[[NDArray[np.float64]], NDArray[np.float64]] = _tails
) -> float:
    """Quantile of ``sqrt(G) N`` with ``G`` a Gamma variable of mean 1 and shape ``3 / excess``."""
    shape = 3.0 / excess
    scale, mass = _gamma_grid(shape)
    spreads = np.sqrt(2.0 * scale)

    def miss(h: float) -> float:
        return float(mass @ tails(h / spreads)) - alpha

    if miss(_AT_ZERO) <= 0.0:  # nearly all of the law lies at 0
        return alpha**-0.5
    upper = 2.0 * normal_spread(alpha) + 1.0
    while miss(upper) > 0:
        upper *= 2.0
    return _root(miss, _AT_ZERO, upper)


def _gamma_grid(shape: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points of a Gamma variable of mean 1 and their probabilities (trapezoids in its logarithm)."""

    def excess_log(t: float) -> float:
        return shape * (exp(t) - 1.0 - t) - _LEFT_OUT

    right = _root(excess_log, 0.0, _LOG_REACH)
    left = max(_root(excess_log, -_LOG_REACH - (_LEFT_OUT + 2.0) / shape, 0.0), -_LOG_REACH)
    t = np.linspace(left, right, _POINTS)
    log_density = shape * np.log(shape) - lgamma(shape) + shape * (t - np.exp(t))
    mass = np.exp(log_density) * (t[1] - t[0])
    return np.exp(t), mass


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """The simple root of a function of two signs at ``low`` and ``high``, by Ridders' method: each step halves it."""
    at_low, at_high, guess = function(low), function(high), inf
    while at_low and at_high:
        middle = (low + high) / 2.0
        at_middle = function(middle)
        bent = at_middle / sqrt(at_middle**2 - at_low * at_high)
        before, guess = guess, middle + (middle - low) * copysign(bent, at_middle * at_low)
        at_guess = function(guess)
        if abs(guess - before) <= _CLOSE or not at_guess:
            return guess
        for at, found in ((middle, at_middle), (guess, at_guess)):
            if at_low * found > 0.0:
                low, at_low = max((low, at_low), (at, found))
            else:
                high, at_high = min((high, at_high), (at, found))
    return high if at_low else low


@singledispatch
def half_width(noise: CountNoise, alpha: float) -> int:
    """Smallest k such that the noise of one integer exceeds it with probability at most ``alpha``."""
    raise TypeError(f"No half-width is known for {noise.name} noise.")


@half_width.register
def _of_gaussian(noise: GaussianNoise, alpha: float) -> int:
    """P(x) ~ exp(-x^2 / (2 variance))."""
    check_alpha(alpha)
    parameter = float(noise.variance)
    reach = ceil(sqrt(parameter) * 40.0) + 2  # standard deviations: nothing in a float lies beyond
    if reach > _MOST_RAW:
        return ceil(sqrt(parameter) * normal_spread(alpha))
    x = np.arange(reach, dtype=np.float64)
    tail = np.exp(-(x**2) / (2.0 * parameter))[::-1].cumsum()[::-1]
    total = 2.0 * tail[0] - 1.0
    beyond = 2.0 * np.append(tail[1:], 0.0) / total
    return int(np.argmax(beyond <= alpha))


@half_width.register
def _of_laplace(noise: LaplaceNoise, alpha: float) -> int:
    """P(x) ~ exp(-|x| / scale), so that P(|x| > k) = 2 q^(k + 1) / (1 + q) with q = exp(-1 / scale)."""
    check_alpha(alpha)
    decay = 1.0 / float(noise.scale)
    needed = -np.log(alpha * (1.0 + exp(-decay)) / 2.0) / decay - 1.0
    return max(0, ceil(needed - 1e-12))  # a whole number that rounding raised is that number


def check_alpha(alpha: float) -> float:
    """Refuse what is not a probability of missing, and one that half-widths are not right for."""
    if not (isinstance(cast("object", alpha), int | float) and 0.0 < alpha < 1.0):
        raise WorkloadError(
            "planning.alpha", "alpha must lie strictly between 0 and 1.", "Give --alpha 0.05."
        )
    if alpha < SMALLEST_ALPHA:
        raise WorkloadError(
            "planning.alpha-small",
            f"Intervals are not known to miss as seldom as in {SMALLEST_ALPHA:g} of all cases.",
            "Give a larger --alpha, for example 1e-6; of all cells at once, each has its share of it.",
        )
    return float(alpha)
