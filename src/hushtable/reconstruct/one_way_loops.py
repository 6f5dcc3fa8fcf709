"""The plain loops of the one-way fit: compiled, one attribute per call.

Counts are sorted into levels, the intervals between ``edges``; the levels of neighbouring values form a hidden chain.
A step stays near, by one of several ``kernels`` of level to level, or draws afresh from how often levels occur.  Noisy
counts are emitted with normal noise, a count being even within its level.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hushtable.compiled import njit

SETTLED = 1e-3
"""Rounds of EM end when no share of levels or steps moved by more.  With 1e-4 they take three times as many on adult,
and errors do not move."""

LEAST_FRESH, LEAST_NEAR = 0.5, 0.15
"""Steps of each kind that are added to what was seen, so that no kind is ruled out.  Ten times and a fifth of them move
errors on adult by less than 1%."""

LEAST_LEVELS = 0.5
"""Draws of levels that are added to what was seen, spread evenly.  With 2 one-way errors on adult are 2% larger at
epsilon 0.1 and alike at 1 and 10, with 0.1 alike."""

MOST_SHIFT = 6.0
"""Standard deviations of noise that all values of an attribute may be moved by so that medians have the right sum."""

SHIFTS, SAME_SUM = 40, 1e-5
"""Halvings of that range, and the part of the total at which they end."""

HALVINGS = 30
"""Halvings of a level in search of a median: a billionth of its width."""

_ROOT = math.sqrt(0.5)
"""What turns a standard normal quantile into one of the error function."""


@njit(cache=True, nogil=True)
def between(a: float, b: float) -> float:
    """The probability that a standard normal variable lies between a and b, exact far out too."""
    if a > 0.0:
        return 0.5 * (math.erfc(a * _ROOT) - math.erfc(b * _ROOT))
    return 0.5 * (math.erfc(-b * _ROOT) - math.erfc(-a * _ROOT))


@njit(cache=True, nogil=True)
def put_likelihoods(noisy: Any, shift: float, deviation: float, edges: Any, out: Any) -> None:
    """out[i, l] = how likely the i-th noisy count, moved by ``shift``, is in level l; the largest of a row is 1."""
    for i in range(noisy.size):
        y, top = noisy[i] + shift, 0.0
        for level in range(out.shape[1]):
            a, b = (edges[level] - y) / deviation, (edges[level + 1] - y) / deviation
            out[i, level] = between(a, b) / (edges[level + 1] - edges[level])
            top = max(top, out[i, level])
        for level in range(out.shape[1]):
            out[i, level] /= top


@njit(cache=True, nogil=True)
def put_expected(i: int, steps: Any, shares: Any, ahead: Any, out: Any) -> None:
    """out = shares of the levels of value i given the noisy counts before it."""
    for level in range(shares.size):
        out[level] = shares[level] if i == 0 else 0.0
    if i == 0:
        return
    for before in range(shares.size):
        part = ahead[i - 1, before]
        for level in range(shares.size):
            out[level] += part * steps[before, level]


@njit(cache=True, nogil=True)
def go_forward(likelihoods: Any, steps: Any, shares: Any, ahead: Any) -> None:
    """ahead[i] = shares of the levels of value i given the noisy counts up to i."""
    count, levels = likelihoods.shape
    for i in range(count):
        put_expected(i, steps, shares, ahead, ahead[i])
        total = 0.0
        for level in range(levels):
            ahead[i, level] *= likelihoods[i, level]
            total += ahead[i, level]
        for level in range(levels):
            ahead[i, level] /= total


@njit(cache=True, nogil=True, fastmath=True)
def go_back(
    likelihoods: Any, kernels: Any, kinds: Any, shares: Any, ahead: Any, behind: Any, seen: Any, drawn: Any
) -> None:
    """behind[i] = how likely the noisy counts after i are by the level of i; counts what steps were ``seen``.

    ``seen`` are expected numbers of steps by kind, fresh ones first, and ``drawn`` those of levels that were drawn.
    """
    count, levels = likelihoods.shape
    later = np.empty(levels)
    behind[count - 1] = 1.0
    for i in range(count - 1, 0, -1):
        fresh = 0.0
        for level in range(levels):
            later[level] = likelihoods[i, level] * behind[i, level]
            fresh += shares[level] * later[level]
        parts = np.zeros(kinds.size)
        parts[0] = kinds[0] * fresh
        total = 0.0
        for level in range(levels):
            t = kinds[0] * fresh
            for k in range(kernels.shape[0]):
                s = 0.0
                for after in range(levels):
                    s += kernels[k, level, after] * later[after]
                parts[k + 1] += kinds[k + 1] * ahead[i - 1, level] * s
                t += kinds[k + 1] * s
            behind[i - 1, level] = t
            total += t
        for level in range(levels):
            behind[i - 1, level] /= total
        every = 0.0
        for k in range(kinds.size):
            every += parts[k]
        for k in range(kinds.size):
            seen[k] += parts[k] / every
        for level in range(levels):
            drawn[level] += parts[0] / every * shares[level] * later[level] / fresh
    first = 0.0
    for level in range(levels):
        first += ahead[0, level] * behind[0, level]
    for level in range(levels):
        drawn[level] += ahead[0, level] * behind[0, level] / first


@njit(cache=True, nogil=True)
def put_steps(kernels: Any, kinds: Any, shares: Any, out: Any) -> None:
    """out[l, m] = the probability of a step from level l to m."""
    for level in range(shares.size):
        for after in range(shares.size):
            t = kinds[0] * shares[after]
            for k in range(kernels.shape[0]):
                t += kinds[k + 1] * kernels[k, level, after]
            out[level, after] = t


@njit(cache=True, nogil=True)
def learn_levels(likelihoods: Any, kernels: Any, spread: Any, kinds: Any, shares: Any, rounds: int) -> Any:
    """What the other values say of each value's level: EM from ``kinds`` of steps and ``shares`` of levels, in place.

    After each round the shares are spread over like levels by ``spread``.
    """
    count, levels = likelihoods.shape
    ahead, behind, steps = np.empty((count, levels)), np.empty((count, levels)), np.empty((levels, levels))
    seen, drawn = np.empty(kinds.size), np.empty(levels)
    for _ in range(rounds):
        put_steps(kernels, kinds, shares, steps)
        go_forward(likelihoods, steps, shares, ahead)
        seen[:], drawn[:] = LEAST_NEAR, LEAST_LEVELS / levels
        seen[0] = LEAST_FRESH
        go_back(likelihoods, kernels, kinds, shares, ahead, behind, seen, drawn)
        moved, every, all_drawn = 0.0, 0.0, 0.0
        for k in range(kinds.size):
            every += seen[k]
        for level in range(levels):
            all_drawn += drawn[level]
        for k in range(kinds.size):
            moved = max(moved, abs(seen[k] / every - kinds[k]))
            kinds[k] = seen[k] / every
        for level in range(levels):
            t = 0.0
            for before in range(levels):
                t += drawn[before] / all_drawn * spread[before, level]
            moved = max(moved, abs(t - shares[level]))
            shares[level] = t
        if moved < SETTLED:
            break
    put_steps(kernels, kinds, shares, steps)
    go_forward(likelihoods, steps, shares, ahead)
    go_back(likelihoods, kernels, kinds, shares, ahead, behind, seen, drawn)
    found = np.empty((count, levels))
    for i in range(count):
        put_expected(i, steps, shares, ahead, found[i])
        for level in range(levels):
            found[i, level] *= behind[i, level]
    return found


@njit(cache=True, nogil=True)
def median_of(weights: Any, y: float, deviation: float, edges: Any) -> float:
    """The median of a count that is in its levels with these weights, and normal around y within each."""
    half, level = 0.0, 0
    for k in range(weights.size):  # numba takes longer to compile weights.sum()
        half += 0.5 * weights[k]
    while level < weights.size - 1 and weights[level] < half:
        half -= weights[level]
        level += 1
    low, high = edges[level], edges[level + 1]
    start, wanted = (low - y) / deviation, 0.0
    if weights[level] > 0.0:
        wanted = min(half / weights[level], 1.0) * between(start, (high - y) / deviation)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if between(start, (middle - y) / deviation) < wanted:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@njit(cache=True, nogil=True)
def put_medians(noisy: Any, deviation: float, edges: Any, prior: Any, total: float, out: Any) -> None:
    """Medians of all counts, of noisy ones moved alike so that the medians add up to ``total``."""
    weights = np.empty(prior.shape)
    low, high = -MOST_SHIFT * deviation, MOST_SHIFT * deviation
    shift = 0.0
    for _ in range(SHIFTS):
        put_likelihoods(noisy, shift, deviation, edges, weights)
        summed = 0.0
        for i in range(noisy.size):
            for level in range(prior.shape[1]):
                weights[i, level] *= prior[i, level]
            out[i] = median_of(weights[i], noisy[i] + shift, deviation, edges)
            summed += out[i]
        if abs(summed - total) <= SAME_SUM * total:
            break
        if summed > total:
            high = shift
        else:
            low = shift
        shift = 0.5 * (low + high)
