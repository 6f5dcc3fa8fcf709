"""Loops behind exact errors, above all of the sparse vector decider: sums over shared noise.  Only formulas, no draws.

Tails of the discrete Laplace distribution are products of two exponentials, one of the noise and one of the data, so
that a level costs two multiplications per value of the noise.
"""

from __future__ import annotations

import math

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.compiled import njit

NEVER = 750.0  # scales beyond which the probability of noise is zero in double precision


@njit(cache=True, nogil=True)
def geometric_both_ways(weights: Floats, ratio: float) -> Floats:
    """sum_k weights[k] ratio^|i - k| for every i, by two one-sided recursions that keep small entries accurate."""
    size = len(weights)
    found = np.empty(size)
    passed = 0.0
    for i in range(size):
        passed = weights[i] + ratio * passed
        found[i] = passed
    passed = 0.0
    for i in range(size - 1, -1, -1):
        found[i] += ratio * passed
        passed = weights[i] + ratio * passed
    return found


@njit(cache=True, nogil=True)
def first_reached(weights: Floats, start: int, counts: Ints, scale: float) -> Floats:
    """P[the first count with noise that reaches the threshold is number j], the last one when none does.

    The threshold is ``start + i`` with probability ``weights[i]``; the noise has this scale.
    """
    size = len(counts)
    found = np.zeros(size)
    norm = 1.0 + math.exp(-1.0 / scale)
    for i in range(len(weights)):
        left = weights[i]
        for j in range(size):
            gap = start + i - counts[j]
            if gap > 0:
                reached = math.exp(-gap / scale) / norm
                missed = 1.0 - reached
            else:
                missed = math.exp((gap - 1) / scale) / norm
                reached = 1.0 - missed
            found[j] += left * reached
            left *= missed
        found[size - 1] += left
    return found


@njit(cache=True, nogil=True)
def satisfied_by_level(
    weights: Floats, first: int, bits: int, scale: float, above: Ints, inside: Ints
) -> Floats:
    """P[no sum reaches the far end and some sum the near end | levels 1..j are used], for every j.

    The threshold noise is ``first + i`` steps of 2^-bits with probability ``weights[i]`` and has this scale in steps;
    the noise of level j has the scale 2^(j - bits) scale.  ``above`` and ``inside`` are what each sum lacks.
    """
    size = len(weights)
    found = np.zeros(len(above))
    none_above, some_inside = np.ones(size), np.zeros(size)
    falling = np.empty(size + 2**bits)  # exp(-step / scale)
    for i in range(len(falling)):
        falling[i] = math.exp(-(first + i) / scale)
    for j in range(len(above)):
        own = math.ldexp(scale, j + 1 - bits)
        if inside[j] + first * (own / scale) > NEVER * own:
            continue
        norm = 1.0 + math.exp(-1.0 / own)
        far, near = float(above[j]), float(inside[j])
        far_up, far_down = _factors(far, own, norm)
        near_up, near_down = _factors(near, own, norm)
        coarse = 2 ** max(0, bits - j - 1)
        total = 0.0
        for i in range(size):
            step = -((-(first + i)) // coarse) * coarse
            lift = step * (own / scale)
            tail = falling[step - first]
            if lift + far > 0:
                none_above[i] *= 1.0 - _reaching(far_up, tail, far + lift, own, norm)
            else:
                none_above[i] *= _below(far_down, tail, far + lift, own, norm)
            if lift + near > 0:
                reached = _reaching(near_up, tail, near + lift, own, norm)
            else:
                reached = 1.0 - _below(near_down, tail, near + lift, own, norm)
            some_inside[i] += reached * (1.0 - some_inside[i])
            total += weights[i] * none_above[i] * some_inside[i]
        found[j] = total
    return found


@njit(cache=True, nogil=True)
def _factors(gap: float, scale: float, norm: float) -> tuple[float, float]:
    """What the data contribute to P[X >= gap + lift] above zero, and to P[X < gap + lift] at or below it."""
    up = math.exp(-gap / scale) / norm if gap > -NEVER * scale / 2 else 0.0
    down = math.exp((gap - 1.0) / scale) / norm if gap < NEVER * scale / 2 else 0.0
    return up, down


@njit(cache=True, nogil=True)
def _reaching(up: float, tail: float, gap: float, scale: float, norm: float) -> float:
    """P[X >= gap] above zero: the product of both factors, or at once where noise is so small that one overflows."""
    return up * tail if 0.0 < tail < np.inf else math.exp(-gap / scale) / norm


@njit(cache=True, nogil=True)
def _below(down: float, tail: float, gap: float, scale: float, norm: float) -> float:
    """P[X < gap] at or below zero, likewise."""
    return down / tail if 0.0 < tail < np.inf else math.exp((gap - 1.0) / scale) / norm
