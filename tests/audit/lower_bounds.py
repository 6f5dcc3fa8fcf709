"""Certified lower bounds on the privacy loss of a mechanism, from runs with and without one person.

Every bound holds with 95% confidence (Clopper-Pearson intervals, shared out over the events looked at).  A claim fails
only when the bounds of several fresh batches of runs all exceed it, which by chance happens at the rate
``AUDIT_FALSE_ALARM`` and to a mechanism with 10% too little noise nearly always.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from thresholds import AUDIT_BATCHES, AUDIT_ERROR

Floats = NDArray[np.float64]
Curve = Callable[[float], float]
"""Smallest chance of missing a person, given the chance of a false accusation."""

STEPS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""Where the likelihood ratio is cut, in its standard deviations from the middle between the two tables."""


def highest(hits: int, runs: int, error: float) -> float:
    """Upper Clopper-Pearson bound of a chance."""
    return 1.0 if hits == runs else float(stats.beta.isf(error, hits + 1, runs - hits))


def lowest(hits: int, runs: int, error: float) -> float:
    """Lower Clopper-Pearson bound of a chance."""
    return 0.0 if hits == 0 else float(stats.beta.ppf(error, hits, runs - hits + 1))


def normal_curve(mu: float) -> Curve:
    """The trade-off curve of Gaussian noise at ``mu`` standard deviations."""
    return lambda false_alarms: float(stats.norm.cdf(stats.norm.isf(false_alarms) - mu))


def discrete_law(moved: Sequence[int], variance: float, reach: int = 12) -> tuple[NDArray[np.int64], Floats]:
    """Values and chances of ``sum(moved_i x_i)`` for independent discrete Gaussians ``x_i``, by convolution."""
    width = int(reach * variance**0.5) + 2
    x = np.arange(-width, width + 1)
    mass = np.exp(-(x**2) / (2 * variance))
    law = np.ones(1)
    for factor in np.abs([m for m in moved if m]):
        spread = np.zeros((len(x) - 1) * int(factor) + 1)
        spread[:: int(factor)] = mass / mass.sum()
        law = np.convolve(law, spread)
    return np.arange(len(law)) - len(law) // 2, law


def discrete_curve(moved: Sequence[int], variance: float) -> Curve:
    """The exact trade-off curve of integers that one person moves by ``moved``, under discrete Gaussian noise."""
    values, law = discrete_law(moved, variance)
    shift = int(np.square(moved).sum())
    tail = np.append(law[::-1].cumsum()[::-1], 0.0)
    below = np.append(0.0, law.cumsum())
    cuts = np.arange(values[0], values[-1] + 2)
    missed = below[np.clip(cuts - shift - values[0], 0, len(law))]
    return lambda false_alarms: float(np.interp(false_alarms, tail[::-1], missed[::-1]))


def gaussian_excess(
    absent: Floats, present: Floats, curve: Curve, *, middle: float, deviation: float
) -> float:
    """How far the runs lie below the claimed curve, at 95%; 0 or less when the claim stands."""
    error = AUDIT_ERROR / (2 * len(STEPS))
    found = []
    for step in STEPS:
        cut = middle + step * deviation
        accused = highest(int((absent > cut).sum()), len(absent), error)
        missed = highest(int((present <= cut).sum()), len(present), error)
        found.append(curve(accused) - missed)
    return max(found)


def pure_bound(absent: Sequence[bool], present: Sequence[bool]) -> float:
    """Lower bound on epsilon from one event, looked at in both directions, at 95%."""
    error = AUDIT_ERROR / 4
    a, b = np.asarray(absent), np.asarray(present)
    event = lowest(int(b.sum()), b.size, error) / highest(int(a.sum()), a.size, error)
    rest = lowest(int((~a).sum()), a.size, error) / highest(int((~b).sum()), b.size, error)
    return log(max(event, rest, 1e-300))


def range_bound(absent: Sequence[bool], present: Sequence[bool]) -> float:
    """Lower bound, at 95%, on how far the log ratios of two outcomes lie apart; a bounded range has at most epsilon."""
    error = AUDIT_ERROR / 2
    a, b = np.asarray(absent), np.asarray(present)
    high, low = highest(int(a.sum()), a.size, error), lowest(int(b.sum()), b.size, error)
    return log(max(low / (1 - low), 1e-300)) - log(high / (1 - high))


def always_exceeds(batch: Callable[[], float], batches: int = AUDIT_BATCHES) -> bool:
    """Whether the excess of every fresh batch of runs is above zero."""
    return all(batch() > 0.0 for _ in range(batches))
