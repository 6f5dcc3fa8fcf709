"""Compiled loops of the sampler: the steps of `exact` on the same words, as long as floats with a proven error bound
decide them.

Every comparison of a uniform real with a sum of exponentials keeps a distance of SLACK, which exceeds the rounding
errors of this module (`proofs/discrete-noise.md`).  An attempt that comes closer is left undecided: the loop stops
before it and reports its cell and its first word.  No fast-math here: the bound rests on IEEE double arithmetic.
"""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import njit
from hushtable.privacy.exact import exp_enclosure

DONE, EMPTY, UNDECIDED = 0, 1, 2
"""Why a loop stopped: all cells drawn, words used up, or an attempt for `exact`."""

SLACK = 2.0**-44
"""Distance that a decided comparison keeps; more than twice the error of every sum computed here."""

CUTOFF = 44.0
"""exp(-x) is taken as zero from here on: below 2^-63, counted in the error bound."""

LEVELS = (1.0 - 2.0**-40) / log(2.0)
"""A little below one over log(2), by more than the rounding errors of a level."""

HEAD = 2.0**-53
"""Width of the interval that the first 53 bits of a uniform real leave."""


def _exp_table() -> NDArray[np.float64]:
    """exp(-k/64) for k/64 <= CUTOFF, each within 2^-53 of itself: powers of an enclosed base, in 256-bit integers."""
    base, power, powers = exp_enclosure(Fraction(1, 64), 256)[0], 1 << 256, list[float]()
    for _ in range(64 * int(CUTOFF) + 1):
        powers.append(power / (1 << 256))
        power = power * base >> 256
    return np.array(powers)


_EXP = _exp_table()


@njit(cache=True)
def _exp_minus(x: float) -> float:
    """exp(-x) for 0 <= x < CUTOFF, relative error below 5 * 2^-53."""
    k = int(x * 64.0)
    r = x - k * 0.015625
    tail = 1.0 / 6.0 - r * (1.0 / 24.0 - r * (1.0 / 120.0 - r * (1.0 / 720.0)))
    return _EXP[k] * (1.0 - r * (1.0 - r * (0.5 - r * tail)))


@njit(cache=True)
def _exp_or_zero(x: float) -> float:
    """exp(-x) for x >= 0, absolute error below 2^-50."""
    return _exp_minus(x) if x < CUTOFF else 0.0


@njit(cache=True)
def _high_half(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper 64 bits of the product of two words."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> half) + (left & mask) + right
    return a1 * b1 + (left >> half) + (middle >> half)


@njit(cache=True)
def _residue(words: NDArray[np.uint64], position: int, bound: np.uint64) -> tuple[np.int64, int]:
    """A uniform integer below `bound` as `exact.uniform_below` draws it, and the position behind its words.

    When the words end first, that position is their number and the integer means nothing.
    """
    while bound > np.uint64(1) and position < words.size:
        word = words[position]
        position += 1
        low = word * bound
        if low >= bound or low >= (np.uint64(0) - bound) % bound:
            return np.int64(_high_half(word, bound)), position
    return np.int64(0), position


@njit(cache=True)
def _head(word: np.uint64) -> float:
    """The first 53 bits of a uniform real, exactly."""
    return float(word >> np.uint64(11)) * HEAD


@njit(cache=True)
def _hop(hop: np.int64, modulus: np.int64) -> np.int64:
    """Steps that visit r, r - m, r + m, r - 2m, ...: the one after `hop`; the first is -m."""
    return modulus - hop if hop < 0 else -hop - modulus


@njit(cache=True, nogil=True)
def gaussian_caps(moduli: NDArray[np.uint64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1 - 2^-40) / sum over all v of exp(-(modulus v rate)^2): at most one over the sum for any residue."""
    caps = np.empty(moduli.size)
    for s in range(moduli.size):
        total, v = 1.0, 1
        while True:
            z = float(moduli[s]) * v * rates[s]
            if z * z >= CUTOFF:
                break
            total += 2.0 * _exp_minus(z * z)
            v += 1
        caps[s] = (1.0 - 2.0**-40) / total
    return caps


@njit(cache=True, nogil=True)
def laplace_caps(moduli: NDArray[np.uint64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """(1 - 2^-40) / sum over all v of exp(-|modulus v| rate): at most one over the sum for any residue."""
    caps = np.empty(moduli.size)
    for s in range(moduli.size):
        ratio = _exp_or_zero(float(moduli[s]) * rates[s])
        caps[s] = (1.0 - 2.0**-40) * (1.0 - ratio) / (1.0 + ratio)
    return caps


@njit(cache=True, nogil=True)
def fill_gaussian(
    out: NDArray[np.int64],
    ends: NDArray[np.int64],
    moduli: NDArray[np.uint64],
    rates: NDArray[np.float64],
    caps: NDArray[np.float64],
    words: NDArray[np.uint64],
    cursor: NDArray[np.int64],
) -> int:
    """Draw P(x) ~ exp(-(x rate)^2) into out[cursor[0]:]; segment s ends before cell ends[s].

    `cursor` holds the cell, its segment and the position in `words`, and is left at the attempt that the loop
    stopped before.
    """
    cell, segment, position, status = cursor[0], cursor[1], cursor[2], DONE
    while cell < out.size and status == DONE:
        while cell >= ends[segment]:
            segment += 1
        rate, cap, bound = rates[segment], caps[segment], moduli[segment]
        modulus, last = np.int64(bound), min(ends[segment], out.size)
        while cell < last:
            begin = position
            x, position = _residue(words, position, bound)
            if position >= words.size:
                position, status = begin, EMPTY
                break
            u = _head(words[position])
            position += 1
            hop, total, before, status = -modulus, 0.0, 0.0, UNDECIDED
            while True:
                z = float(x) * rate
                gap = z * z
                if gap < CUTOFF:
                    total += cap * _exp_minus(gap)
                if u < total + SLACK:
                    if u + HEAD <= total - SLACK:
                        out[cell] = x
                        cell += 1
                        status = DONE
                    break
                if gap >= CUTOFF and before >= CUTOFF:
                    status = DONE
                    break
                x += hop
                hop = _hop(hop, modulus)
                before = gap
            if status == UNDECIDED:
                position = begin
                break
    cursor[0], cursor[1], cursor[2] = cell, segment, position
    return status


@njit(cache=True, nogil=True)
def fill_laplace(
    out: NDArray[np.int64],
    ends: NDArray[np.int64],
    moduli: NDArray[np.uint64],
    rates: NDArray[np.float64],
    caps: NDArray[np.float64],
    words: NDArray[np.uint64],
    cursor: NDArray[np.int64],
) -> int:
    """Draw P(x) ~ exp(-|x| rate) into out[cursor[0]:]; arguments and cursor as in `fill_gaussian`."""
    cell, segment, position, status = cursor[0], cursor[1], cursor[2], DONE
    while cell < out.size and status == DONE:
        while cell >= ends[segment]:
            segment += 1
        rate, cap, bound = rates[segment], caps[segment], moduli[segment]
        modulus, last = np.int64(bound), min(ends[segment], out.size)
        ratio = _exp_or_zero(float(bound) * rate)
        while cell < last:
            begin = position
            x, position = _residue(words, position, bound)
            if position >= words.size:
                position, status = begin, EMPTY
                break
            u = _head(words[position])
            position += 1
            hop, total, status = -modulus, 0.0, UNDECIDED
            term, other = cap * _exp_or_zero(float(x) * rate), cap * _exp_or_zero(float(modulus - x) * rate)
            while True:
                total += term
                if u < total + SLACK:
                    if u + HEAD <= total - SLACK:
                        out[cell] = x
                        cell += 1
                        status = DONE
                    break
                if term + other < 2.0**-60:
                    status = DONE
                    break
                x += hop
                hop = _hop(hop, modulus)
                term, other = other, term * ratio
            if status == UNDECIDED:
                position = begin
                break
    cursor[0], cursor[1], cursor[2] = cell, segment, position
    return status


@njit(cache=True, nogil=True)
def fill_uniform(
    out: NDArray[np.int64], bound: np.uint64, words: NDArray[np.uint64], cursor: NDArray[np.int64]
) -> int:
    """Uniform integers below `bound`, 2 to 2^63, into out[cursor[0]:]; the words start at cursor[2]."""
    cell, position = cursor[0], cursor[2]
    while cell < out.size and position < words.size:
        begin = position
        x, position = _residue(words, position, bound)
        if position == words.size:  # perhaps without an integer
            position = begin
            break
        out[cell] = x
        cell += 1
    cursor[0], cursor[2] = cell, position
    return DONE if cell == out.size else EMPTY


@njit(cache=True, nogil=True)
def selection_levels(
    gaps: NDArray[np.int64], rate: float, deepest: int, levels: NDArray[np.uint8], several: NDArray[np.int64]
) -> None:
    """levels[i] is at most gaps[i] rate / log(2) and at most `deepest`, so exp(-gaps[i] rate) <= 2^-levels[i].

    several[0, k] becomes the number of candidates of level k; four rows of zeros are counted in, by turns.
    """
    most = float(deepest)
    for i in range(gaps.size):
        level = float(gaps[i]) * rate * LEVELS
        levels[i] = np.uint8(level if level < most else most)
    for i in range(gaps.size):
        several[i & 3, levels[i]] += 1
    for k in range(several.shape[1]):
        several[0, k] += several[1, k] + several[2, k] + several[3, k]


@njit(cache=True, nogil=True)
def candidate_at(place: int, levels: NDArray[np.uint8], counts: NDArray[np.int64], deepest: int) -> int:
    """The candidate that a place in [0, sum of 2^(deepest - level)) belongs to: levels in order, then candidates."""
    level = 0
    while place >= counts[level] << (deepest - level):
        place -= counts[level] << (deepest - level)
        level += 1
    rank, first = place >> (deepest - level), 0
    while True:
        found = 0
        for i in range(first, min(first + 512, levels.size)):
            found += levels[i] == level
        if rank < found:
            break
        rank -= found
        first += 512
    while levels[first] != level or rank > 0:
        rank -= levels[first] == level
        first += 1
    return first


@njit(cache=True, nogil=True)
def select(
    gaps: NDArray[np.int64],
    rate: float,
    deepest: int,
    levels: NDArray[np.uint8],
    counts: NDArray[np.int64],
    total: np.uint64,
    words: NDArray[np.uint64],
    cursor: NDArray[np.int64],
) -> int:
    """Draw i with P(i) ~ exp(-gaps[i] rate): an i drawn with P(i) ~ 2^-level is kept with exp(-gaps[i] rate) 2^level.

    cursor[0] becomes the index when the result is DONE; the words start at cursor[2].
    """
    position = cursor[2]
    while True:
        begin = position
        place, position = _residue(words, position, total)
        if position >= words.size:
            cursor[2] = begin
            return EMPTY
        u = _head(words[position])
        position += 1
        index = candidate_at(np.int64(place), levels, counts, deepest)
        gap = float(gaps[index]) * rate
        if gap >= CUTOFF:
            cursor[2] = begin
            return UNDECIDED
        chance = _exp_minus(gap) * float(np.int64(1) << np.int64(levels[index]))
        if u + HEAD <= chance - SLACK:
            cursor[0], cursor[2] = index, position
            return DONE
        if u < chance + SLACK:
            cursor[2] = begin
            return UNDECIDED
