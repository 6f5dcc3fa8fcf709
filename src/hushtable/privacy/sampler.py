"""Exact integer noise: discrete Gaussian, discrete Laplace, Bernoulli, uniform and the exponential mechanism.

Every draw has exactly the distribution it names, for any rational parameter: nothing is rounded (see `exact`, which
defines the draws, and `proofs/discrete-noise.md`).  Results are int64; parameters that could leave that range are
refused.  Nothing here knows budgets or data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Ints
from hushtable.errors import BudgetError
from hushtable.privacy import exact, sampler_loops
from hushtable.privacy.amounts import Number, exact_number
from hushtable.privacy.bits import BitSource, system_bits

Shape = int | tuple[int, ...]

LARGEST_VARIANCE = 2.0**114
"""Of the discrete Gaussian: 2^62 is then 32 standard deviations away, a chance below 1e-222."""

LARGEST_SCALE = 2.0**53
"""Of the discrete Laplace: 2^62 is then 512 scales away, a chance below 1e-222."""

_CHUNK = 1 << 15
"""Words fetched at once: 256 KB, which stay in the cache."""

_SHARED = 1 << 13
"""Draws of at least this many integers are shared by two threads, unless the caller gives the bits."""

_REHEARSED = 1 << 17
"""Integers of a rehearsal: 1 MB, which the allocator keeps; without it a first draw takes half as long again."""

_STEEPEST = 2.0**60
"""Rates above this are as good as infinite: every term but the middle one is below the loops' cutoff."""

_Fill = Callable[..., int]
_Attempt = Callable[[exact.Stream, int], int | None]


def discrete_gaussian(variance: Number, size: Shape, *, bits: BitSource | None = None) -> Ints:
    """Ints with P(x) ~ exp(-x^2 / (2 variance)).

    >>> discrete_gaussian("2.5", (3, 4)).shape
    (3, 4)
    """
    cells = int(np.prod(size))
    return gaussian_segments([exact_number(variance, "variance")], [cells]).draw(bits).reshape(size)


def discrete_laplace(scale: Number, size: Shape, *, bits: BitSource | None = None) -> Ints:
    """Ints with P(x) ~ exp(-|x| / scale).

    >>> discrete_laplace("1/3", 5).dtype
    dtype('int64')
    """
    cells = int(np.prod(size))
    return laplace_segments([exact_number(scale, "scale")], [cells]).draw(bits).reshape(size)


def gaussian_segments(variances: Sequence[Fraction], lengths: Sequence[int]) -> Segments:
    """Ready to be drawn, as one flat array: lengths[i] discrete Gaussians of variances[i], one after another."""
    spreads = np.sqrt(_spreads(variances, 2.0**-120, LARGEST_VARIANCE, "variance"))
    moduli = np.maximum(np.floor(2.0 * spreads), 1.0).astype(np.uint64)
    rates = np.minimum(np.sqrt(0.5) / spreads, _STEEPEST)
    caps = sampler_loops.gaussian_caps(moduli, rates)

    def attempt(stream: exact.Stream, segment: int) -> int | None:
        twice = 2 * Fraction(variances[segment])
        cap = Fraction(float(caps[segment]))
        return exact.attempt(stream, int(moduli[segment]), cap, lambda x: x * x / twice)

    return Segments(
        sampler_loops.fill_gaussian, attempt, (moduli, rates, caps), _ends(lengths, len(variances))
    )


def laplace_segments(scales: Sequence[Fraction], lengths: Sequence[int]) -> Segments:
    """Ready to be drawn, as one flat array: lengths[i] discrete Laplace integers of scales[i], one after another."""
    spreads = _spreads(scales, 2.0**-60, LARGEST_SCALE, "scale")
    moduli = np.maximum(np.floor(spreads), 1.0).astype(np.uint64)
    rates = np.minimum(1.0 / spreads, _STEEPEST)
    caps = sampler_loops.laplace_caps(moduli, rates)

    def attempt(stream: exact.Stream, segment: int) -> int | None:
        scale = Fraction(scales[segment])
        cap = Fraction(float(caps[segment]))
        return exact.attempt(stream, int(moduli[segment]), cap, lambda x: abs(x) / scale)

    return Segments(sampler_loops.fill_laplace, attempt, (moduli, rates, caps), _ends(lengths, len(scales)))


@dataclass(frozen=True, eq=False)
class Segments:
    """Noise of many parameters that only has to be drawn: whatever can be computed or refused without bits, was."""

    fill: _Fill
    attempt: _Attempt
    tables: tuple[NDArray[Any], ...]
    ends: Ints

    def draw(self, bits: BitSource | None = None) -> Ints:
        """Run the compiled loop over all segments, with fresh words and exact attempts where it stops for them."""
        out = np.empty(int(self.ends[-1]) if self.ends.size else 0, dtype=np.int64)
        if bits is not None or out.size < _SHARED:
            self._draw_from(0, out, _source(bits))
            return out
        self._draw_by_two(out, _source(None), _source(None))
        return out

    def rehearse(self, bits: BitSource) -> None:
        """Draw as two threads would, for nothing: afterwards threads, loops and memory are at hand."""
        self._draw_by_two(np.empty(int(self.ends[-1]), dtype=np.int64), bits, bits)

    def _draw_by_two(self, out: Ints, first: BitSource, second: BitSource) -> None:
        """This thread draws the first half and the helper the second one."""
        half = out.size // 2
        other = _helper().submit(self._draw_from, half, out, second)
        try:
            self._draw_from(0, out[:half], first)
        finally:
            wait([other])
        other.result()

    def _draw_from(self, first: int, out: Ints, bits: BitSource) -> None:
        """Draw the cells of ``out`` from number ``first`` on."""
        stream, cursor = exact.Stream(bits, _request(out.size - first)), np.zeros(3, dtype=np.int64)
        cursor[0] = first
        while True:
            cursor[2] = stream.position
            status = self.fill(out, self.ends, *self.tables, stream.words, cursor)
            stream.position = int(cursor[2])
            if status == sampler_loops.DONE:
                return
            if status == sampler_loops.EMPTY:
                stream.fetch(_request(out.size - int(cursor[0])))
                continue
            drawn = self.attempt(stream, int(cursor[1]))
            if drawn is not None:
                out[cursor[0]] = drawn
                cursor[0] += 1


def uniform_below(bound: int, size: Shape, *, bits: BitSource | None = None) -> Ints:
    """Uniform integers in [0, bound), 1 <= bound <= 2^63."""
    if not 1 <= bound <= 2**63:
        raise BudgetError(
            "noise.bound", "A uniform draw needs a bound from 1 to 2^63.", "Give a bound in that range."
        )
    out = np.zeros(int(np.prod(size)), dtype=np.int64)
    stream, cursor = exact.Stream(_source(bits), 0), np.zeros(3, dtype=np.int64)
    while (
        bound > 1
        and sampler_loops.fill_uniform(out, np.uint64(bound), stream.words, cursor) != sampler_loops.DONE
    ):
        stream.position = int(cursor[2])
        stream.fetch(min(out.size - int(cursor[0]) + 16, _CHUNK))
        cursor[2] = 0
    return out.reshape(size)


def exponential_mechanism(
    scores: NDArray[Any] | Sequence[int], factor: Number, *, bits: BitSource | None = None
) -> int:
    """An index i with P(i) ~ exp(factor * scores[i]), exactly; scores are integers below 2^62 in size, factor >= 0.

    >>> exponential_mechanism([0, 10**6, 5], 1)
    1
    """
    steepness = exact_number(factor, "factor")
    gaps = _gaps(np.asarray(scores))
    if steepness < 0:
        raise BudgetError("noise.factor", "factor must not be negative.", "Negate the scores instead.")
    rate = float(min(steepness, Fraction(_STEEPEST)))
    deepest = 62 - gaps.size.bit_length()
    levels, several = np.empty(gaps.size, dtype=np.uint8), np.zeros((4, deepest + 1), dtype=np.int64)
    sampler_loops.selection_levels(gaps, rate, deepest, levels, several)
    counts = several[0]
    total = sum(number << (deepest - level) for level, number in enumerate(counts.tolist()))
    stream, cursor = exact.Stream(_source(bits), 16), np.zeros(3, dtype=np.int64)
    while True:
        cursor[2] = stream.position
        status = sampler_loops.select(
            gaps, rate, deepest, levels, counts, np.uint64(total), stream.words, cursor
        )
        stream.position = int(cursor[2])
        if status == sampler_loops.DONE:
            return int(cursor[0])
        if status == sampler_loops.EMPTY:
            stream.fetch(16)
            continue
        index = sampler_loops.candidate_at(exact.uniform_below(stream, total), levels, counts, deepest)
        u = exact.Uniform.draw(stream)
        u.length += int(levels[index])
        if exact.below_exp(u, int(gaps[index]) * steepness):
            return index


@overload
def bernoulli(p: Number, size: None = None, *, bits: BitSource | None = None) -> bool: ...
@overload
def bernoulli(p: Number, size: Shape, *, bits: BitSource | None = None) -> NDArray[np.bool_]: ...
def bernoulli(
    p: Number, size: Shape | None = None, *, bits: BitSource | None = None
) -> bool | NDArray[np.bool_]:
    """True with probability exactly p, a rational in [0, 1]; one bool, or an array of shape `size`."""
    chance = exact_number(p, "p")
    if not 0 <= chance <= 1:
        raise BudgetError("noise.chance", "A probability lies between 0 and 1.", "Give p in that range.")

    def below(u: exact.Uniform) -> bool:
        while True:
            scaled = chance.numerator << u.length
            if (u.digits + 1) * chance.denominator <= scaled:
                return True
            if u.digits * chance.denominator >= scaled:
                return False
            u.refine()

    return _compare((chance.numerator << 64) // chance.denominator, below, size, bits)


@overload
def bernoulli_exp(x: Number, size: None = None, *, bits: BitSource | None = None) -> bool: ...
@overload
def bernoulli_exp(x: Number, size: Shape, *, bits: BitSource | None = None) -> NDArray[np.bool_]: ...
def bernoulli_exp(
    x: Number, size: Shape | None = None, *, bits: BitSource | None = None
) -> bool | NDArray[np.bool_]:
    """True with probability exactly exp(-x), x a rational that is not negative."""
    exponent = exact_number(x, "x")
    if exponent < 0:
        raise BudgetError(
            "noise.chance", "exp(-x) is a probability for x from 0 on only.", "Give x = 0 or above."
        )
    threshold, precision = exact.exp_enclosure(exponent, 128), 128
    while threshold[0] >> (precision - 64) != threshold[1] >> (precision - 64):
        precision *= 2
        threshold = exact.exp_enclosure(exponent, precision)
    return _compare(threshold[0] >> (precision - 64), lambda u: exact.below_exp(u, exponent), size, bits)


def _compare(
    threshold: int, below: Callable[[exact.Uniform], bool], size: Shape | None, bits: BitSource | None
) -> bool | NDArray[np.bool_]:
    """Uniform reals below a number whose first 64 bits are `threshold`; `below` decides when those bits are equal."""
    shape = () if size is None else size
    stream = exact.Stream(_source(bits), int(np.prod(shape, dtype=np.int64)))
    words = stream.words
    stream.position = words.size
    if threshold >> 64:
        result = np.ones(words.size, dtype=np.bool_)
    else:
        result = words < np.uint64(threshold)
        for tie in np.flatnonzero(words == np.uint64(threshold)):
            result[tie] = below(exact.Uniform(stream, threshold, 64))
    return bool(result[0]) if size is None else result.reshape(shape)


def _ends(lengths: Sequence[int], parameters: int) -> Ints:
    """Where each segment ends."""
    if len(lengths) != parameters or (len(lengths) and min(lengths) < 0):
        raise BudgetError(
            "noise.lengths", "Every segment needs a length of 0 or more.", "Give one length per scale."
        )
    return np.cumsum(np.asarray(lengths, dtype=np.int64), dtype=np.int64)


def get_ready(rehearsal: BitSource) -> None:
    """Key the random streams of both threads of a long draw, which takes no bits of theirs, and rehearse one."""
    system_bits().words(0)
    _helper().submit(system_bits().words, 0).result()
    gaussian_segments([Fraction(3)], [_REHEARSED]).rehearse(rehearsal)


@cache
def _helper() -> ThreadPoolExecutor:
    """A second thread for long draws, with a cipher stream of its own; a forked child starts another."""
    return ThreadPoolExecutor(1, thread_name_prefix="hushtable-noise")


os.register_at_fork(after_in_child=_helper.cache_clear)


def _request(cells: int) -> int:
    return min(2 * cells + cells // 16 + 8, _CHUNK)


def _gaps(scores: NDArray[Any]) -> Ints:
    """Distance of each score from the largest."""
    if scores.ndim != 1 or scores.size == 0 or scores.dtype.kind not in "iu":
        raise BudgetError(
            "noise.scores", "Scores are a list of one or more integers.", "Round them to a grid first."
        )
    low, high = int(scores.min()), int(scores.max())
    if low < -(2**62) or high >= 2**62:
        raise BudgetError(
            "noise.too-large", "A score is beyond 62 bits.", "Use a coarser grid for the scores."
        )
    return high - scores.astype(np.int64, copy=False)


def _source(bits: BitSource | None) -> BitSource:
    return system_bits() if bits is None else bits


def _spreads(values: Sequence[Fraction], smallest: float, largest: float, name: str) -> NDArray[np.float64]:
    """Each value as the nearest double; below `smallest` it makes no difference how small."""
    if any(value.numerator <= 0 for value in values):
        raise BudgetError(
            "noise.not-positive", f"{name} must be above zero.", f"Give {name} as in {name}=2.5."
        )
    try:
        spreads = np.array([value.numerator / value.denominator for value in values], dtype=np.float64)
    except OverflowError:
        spreads = np.array([np.inf])
    if spreads.size and spreads.max() > largest:
        raise BudgetError(
            "noise.too-large",
            f"Noise with {name} above {largest:.1e} does not fit 64-bit integers.",
            "Spend a larger budget or measure smaller tables.",
        )
    return np.maximum(spreads, smallest)
