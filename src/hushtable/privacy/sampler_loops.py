"""Compiled loops of the sampler: the steps of `exact` on the same words, as long as floats with a proven error bound
decide them.

Every comparison of a uniform real with a sum of exponentials keeps a distance of SLACK, which exceeds the rounding
errors of this module (`proofs/discrete-noise.md`).  An attempt that comes closer is left undecided: the loop stops
before it and reports its cell and its first word.  No fast-math here: the bound rests on IEEE double arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hushtable.privacy.exact import exp_enclosure

DONE, EMPTY, UNDECIDED = 0, 1, 2
"""Why a loop stopped: all cells drawn, words used up, or an attempt for `exact`."""

SLACK = 2.0**-45
"""Distance that a decided comparison keeps; at least twice the error of every sum computed here."""

CUTOFF = 44.0
"""exp(-x) is taken as zero from here on: below 2^-63, counted in the error bound."""

HEAD = 2.0**-53
"""Width of the interval that the first 53 bits of a uniform real leave."""

_STEP = 64.0


def _exp_table() -> NDArray[np.float64]:
    """exp(-k/64) for k/64 <= CUTOFF, each correctly rounded up to one unit in the last place."""
    rows = [exp_enclosure(Fraction(k, int(_STEP)), 160)[0] for k in range(int(CUTOFF * _STEP) + 1)]
    return np.array([row / (1 << 160) for row in rows])


_EXP = _exp_table()


@njit(cache=True, inline="always")
def _exp_minus(x: float) -> float:
    """exp(-x) for 0 <= x < CUTOFF, relative error below 5 * 2^-53."""
    k = int(x * 64.0)
    r = x - k * 0.015625
    tail = 1.0 / 6.0 - r * (1.0 / 24.0 - r * (1.0 / 120.0 - r * (1.0 / 720.0)))
    return _EXP[k] * (1.0 - r * (1.0 - r * (0.5 - r * tail)))


@njit(cache=True, inline="always")
def _high_half(a: int, b: int) -> int:
    """The upper 64 bits of the product of two 64-bit words."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a0, a1, b0, b1 = a & mask, a >> half, b & mask, b >> half
    low, left, right = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> half) + (left & mask) + right
    return a1 * b1 + (left >> half) + (middle >> half)


@njit(cache=True, inline="always")
def _accepted(low: int, bound: int) -> bool:
    """Whether the low half of word * bound belongs to a word that `exact.uniform_below` keeps."""
    return low >= bound or low >= (np.uint64(0) - bound) % bound


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
        x = float(moduli[s]) * rates[s]
        ratio = _exp_minus(x) if x < CUTOFF else 0.0
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
    """Draw exp(-(x rate)^2) into out[cursor[0]:]; segment s ends before cell ends[s].

    `cursor` holds the cell, its segment and the position in `words`, and is left where the loop stopped.
    """
    cell, segment, position = cursor[0], cursor[1], cursor[2]
    status = DONE
    while cell < out.size and status == DONE:
        while cell >= ends[segment]:
            segment += 1
        bound, rate, cap = moduli[segment], rates[segment], caps[segment]
        modulus = np.int64(bound)
        while cell < ends[segment]:
            begin = position
            residue = np.int64(0)
            while bound > np.uint64(1) and position < words.size:
                word = words[position]
                position += 1
                if _accepted(word * bound, bound):
                    residue = np.int64(_high_half(word, bound))
                    break
            if position >= words.size:
                position, status = begin, EMPTY
                break
            u = float(words[position] >> np.uint64(11)) * HEAD
            position += 1
            total, right, left = 0.0, residue, residue - modulus
            status = UNDECIDED
            while True:
                z = float(right) * rate
                gap_right = z * z
                if gap_right < CUTOFF:
                    total += cap * _exp_minus(gap_right)
                if u < total + SLACK:
                    if u + HEAD <= total - SLACK:
                        out[cell] = right
                        status = DONE
                        cell += 1
                    break
                z = float(left) * rate
                gap_left = z * z
                if gap_left < CUTOFF:
                    total += cap * _exp_minus(gap_left)
                if u < total + SLACK:
                    if u + HEAD <= total - SLACK:
                        out[cell] = left
                        status = DONE
                        cell += 1
                    break
                if gap_right >= CUTOFF and gap_left >= CUTOFF:
                    status = DONE
                    break
                right += modulus
                left -= modulus
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
    """Draw exp(-|x| rate) into out[cursor[0]:]; arguments and cursor as in `fill_gaussian`."""
    cell, segment, position = cursor[0], cursor[1], cursor[2]
    status = DONE
    while cell < out.size and status == DONE:
        while cell >= ends[segment]:
            segment += 1
        bound, rate, cap = moduli[segment], rates[segment], caps[segment]
        modulus = np.int64(bound)
        step = float(bound) * rate
        ratio = _exp_minus(step) if step < CUTOFF else 0.0
        while cell < ends[segment]:
            begin = position
            residue = np.int64(0)
            while bound > np.uint64(1) and position < words.size:
                word = words[position]
                position += 1
                if _accepted(word * bound, bound):
                    residue = np.int64(_high_half(word, bound))
                    break
            if position >= words.size:
                position, status = begin, EMPTY
                break
            u = float(words[position] >> np.uint64(11)) * HEAD
            position += 1
            right, left = residue, residue - modulus
            gap_left = float(-left) * rate
            term_right = cap * _exp_minus(float(right) * rate)
            term_left = cap * _exp_minus(gap_left) if gap_left < CUTOFF else 0.0
            total = 0.0
            status = UNDECIDED
            while True:
                total += term_right
                if u < total + SLACK:
                    if u + HEAD <= total - SLACK:
                        out[cell] = right
                        status = DONE
                        cell += 1
                    break
                total += term_left
                if u < total + SLACK:
                    if u + HEAD <= total - SLACK:
                        out[cell] = left
                        status = DONE
                        cell += 1
                    break
                if term_right + term_left < 2.0**-60:
                    status = DONE
                    break
                right += modulus
                left -= modulus
                term_right *= ratio
                term_left *= ratio
            if status == UNDECIDED:
                position = begin
                break
    cursor[0], cursor[1], cursor[2] = cell, segment, position
    return status


@njit(cache=True, nogil=True)
def fill_uniform(
    out: NDArray[np.int64], bound: int, words: NDArray[np.uint64], cursor: NDArray[np.int64]
) -> int:
    """Uniform integers below `bound` (uint64, at most 2^63) into out[cursor[0]:]; one segment only."""
    cell, position = cursor[0], cursor[2]
    while cell < out.size:
        if position >= words.size:
            cursor[0], cursor[2] = cell, position
            return EMPTY
        word = words[position]
        position += 1
        if _accepted(word * bound, bound):
            out[cell] = np.int64(_high_half(word, bound))
            cell += 1
    cursor[0], cursor[2] = cell, position
    return DONE


@njit(cache=True, nogil=True)
def select(gaps: NDArray[np.int64], rate: float, words: NDArray[np.uint64], cursor: NDArray[np.int64]) -> int:
    """Draw i with P(i) ~ exp(-gaps[i] rate): a uniform i is kept with probability exp(-gaps[i] rate).

    cursor[0] becomes the index when the result is DONE; cursor[2] is the position in `words`.
    """
    bound, position = np.uint64(gaps.size), cursor[2]
    while True:
        begin = position
        index = np.int64(0)
        while bound > np.uint64(1) and position < words.size:
            word = words[position]
            position += 1
            if _accepted(word * bound, bound):
                index = np.int64(_high_half(word, bound))
                break
        if position >= words.size:
            cursor[2] = begin
            return EMPTY
        u = float(words[position] >> np.uint64(11)) * HEAD
        position += 1
        x = float(gaps[index]) * rate
        chance = _exp_minus(x) if x < CUTOFF else 0.0
        if u + HEAD <= chance - SLACK:
            cursor[0], cursor[2] = index, position
            return DONE
        if u < chance + SLACK:
            cursor[2] = begin
            return UNDECIDED
