"""Tails of the discrete Laplace distribution, as logarithms.

P[X = k] = (1 - a) / (1 + a) a^|k| with a = exp(-1/scale), k whole.  Only formulas: nothing is drawn here.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from hushtable.arrays import Floats, Ints
from hushtable.deciders.noise_loops import geometric_both_ways
from hushtable.errors import QueryError

TAIL = 45.0
"""Scales after which the rest of the mass, below 3e-20, is left out of a sum: less than a float64 of it can tell."""
LARGEST_SUMMED = 2**15
"""Scale of noise up to which probabilities are summed over every value of it: three million terms, some 0.1 s."""


def log_at_least(threshold: ArrayLike, scale: float | Fraction | Floats) -> Floats:
    """log P[X >= threshold] for whole thresholds, each with its own scale or all with one."""
    k = np.asarray(threshold, np.float64)
    s = np.asarray(scale, np.float64)
    logs = -np.where(k > 0, k, 1.0 - k) / s - np.log1p(np.exp(-1.0 / s))
    return np.where(k > 0, logs, np.log1p(-np.exp(logs)))


def log_at_most(threshold: ArrayLike, scale: float | Fraction | Floats) -> Floats:
    """log P[X <= threshold] for whole thresholds, each with its own scale or all with one."""
    return log_at_least(-np.asarray(threshold, np.float64), scale)


def between(first: int, last: int, scale: float | Fraction) -> float:
    """P[first <= X <= last], accurate also when it is tiny."""
    if first > last:
        return 0.0
    if first <= 0 <= last:
        return float(1.0 - np.exp(log_at_least(last + 1, scale)) - np.exp(log_at_most(first - 1, scale)))
    near, beyond = (first, last + 1) if first > 0 else (-last, 1 - first)
    return float(np.exp(log_at_least(near, scale)) * -np.expm1(-(beyond - near) / float(scale)))


def outside(first: int, last: int, scale: float | Fraction) -> float:
    """P[X < first or X > last], for first <= last; accurate also when it is tiny."""
    return float(np.exp(log_at_least(last + 1, scale)) + np.exp(log_at_most(first - 1, scale)))


def difference(log_larger: float, log_smaller: float) -> float:
    """exp(log_larger) - exp(log_smaller) without cancellation in the small numbers."""
    return float(np.exp(log_larger) * -np.expm1(min(0.0, log_smaller - log_larger)))


def support(scale: float | Fraction) -> Ints:
    """Whole numbers that hold all but 1e-19 of the mass; refused when there are millions of them."""
    if scale > LARGEST_SUMMED:
        raise QueryError(
            "query.epsilon-too-small",
            "At so small an epsilon, the error of this decider is too long a sum.",
            'Spend a larger epsilon, or leave the choice to "auto".',
        )
    reach = int(np.ceil(TAIL * float(scale))) + 1
    return np.arange(-reach, reach + 1, dtype=np.int64)


def mass(points: ArrayLike, scale: float | Fraction) -> Floats:
    """P[X = k] for whole k."""
    s = float(scale)
    return np.tanh(0.5 / s) * np.exp(-np.abs(np.asarray(points, np.float64)) / s)


def smooth(weights: Floats, scale: float | Fraction) -> Floats:
    """The distribution of Y + X, with Y distributed as ``weights``; both ends padded by the support of X.

    Small entries keep their relative accuracy.
    """
    s = float(scale)
    reach = (len(support(s)) - 1) // 2
    return np.tanh(0.5 / s) * geometric_both_ways(np.pad(weights, reach), float(np.exp(-1.0 / s)))
