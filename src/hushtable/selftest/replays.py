"""Draws from known words, compared with a slow reference that follows the definition in 100-digit decimal arithmetic.

The reference shares no arithmetic with the sampler: the words come from SHA-512, exponentials from ``decimal``.  Known
words exist for this comparison only, and nothing here can open a ledger or a table.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate, chain, count, islice

import numpy as np
from numpy.typing import NDArray

from hushtable.privacy import (
    bernoulli,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    sampler_loops,
    uniform_below,
)
from hushtable.selftest.outcomes import require
from hushtable.watching import Progress

SCALES = (*map(Fraction, ("1/20", "1/2", "1", "3/2", "31/10", "355/113", "10000/3", "1000000000001")),)
DRAWS = 12
"""Integers per law and scale."""

_DIGITS = 100
_FAR = 230  # exp(-230) is below the last digit that any comparison here can see
_WORD = 1 << 64

WordStream = Iterator[int]
Chance = Callable[[Fraction, int], Fraction]


class KnownWords:
    """Given words first, then a stream that a label fixes."""

    def __init__(self, label: str, first: tuple[int, ...] = ()) -> None:
        self._stream = known_words(label, first)

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next words."""
        return np.array(list(islice(self._stream, n)), dtype=np.uint64)


def known_words(label: str, first: tuple[int, ...] = ()) -> WordStream:
    """The same words again, one by one."""

    def stream() -> WordStream:
        for block in count():
            digest = hashlib.sha512(f"{label}/{block}".encode()).digest()
            yield from (int.from_bytes(digest[k : k + 8], "big") for k in range(0, 64, 8))

    return chain(first, stream())


def check_replays(progress: Progress) -> str:
    """Every law at every scale; raises Unsound with the first draw that differs from the reference."""
    compared = 0
    with localcontext() as context:
        context.prec = _DIGITS
        for done, scale in enumerate(SCALES):
            progress("replaying known bits", done, len(SCALES))
            compared += _laws(scale)
        compared += _others()
    return f"{compared} draws from known bits are those of a 100-digit reference, ties included"


def _laws(scale: Fraction) -> int:
    """Both kinds of noise at one scale: a stream of words, then words that agree with a boundary in 117 bits."""
    compared = 0
    for name, law, parameter, draw, modulus, cap in (
        ("the discrete Gaussian", gaussian, scale**2, discrete_gaussian, *_gaussian_shape(scale**2)),
        ("the discrete Laplace", laplace, scale, discrete_laplace, *_laplace_shape(scale)),
    ):
        label = f"{name} {scale}"
        tables: list[tuple[int, ...]] = [()]
        if modulus == 1:
            tables += [_tie(law, parameter, cap, shift) for shift in (-1, 1)]
        for first in tables:
            size = 1 if first else DRAWS
            drawn = draw(parameter, size, bits=KnownWords(label, first)).tolist()
            words = known_words(label, first)
            meant = [
                reference(words, modulus, cap, lambda x, p=parameter, law=law: law(p, x)) for _ in range(size)
            ]
            _require(drawn == meant, f"{name} of scale {scale}")
            compared += size
    return compared


def gaussian(variance: Fraction, x: int) -> Fraction:
    """-log of the probability, up to a constant."""
    return Fraction(x * x) / (2 * variance)


def laplace(scale: Fraction, x: int) -> Fraction:
    """-log of the probability, up to a constant."""
    return Fraction(abs(x)) / scale


def reference(words: WordStream, modulus: int, cap: Decimal, exponent: Callable[[int], Fraction]) -> int:
    """One draw: a uniform residue, then a quotient v = 0, -1, 1, ... by inversion of one uniform real; or again."""
    while True:
        residue = reference_below(words, modulus)
        digits, length, place, total = next(words) >> 11, 53, 0, Decimal(0)
        term = None
        while True:
            quotient = place // 2 if place % 2 == 0 else -(place + 1) // 2
            x = residue + modulus * quotient
            if term is None:
                gap = exponent(x)
                term = cap * exp_minus(gap)
                total += term
            if Decimal(digits + 1) <= total * (1 << length):
                return x
            if Decimal(digits) < total * (1 << length):
                digits, length = digits << 64 | next(words), length + 64
                continue
            if place > 2 and exponent(x) > _FAR:
                break
            place, term = place + 1, None


def reference_below(words: WordStream, bound: int) -> int:
    """A uniform integer below a bound: the upper half of word * bound, without the superfluous words."""
    while bound > 1:
        high, low = divmod(next(words) * bound, _WORD)
        if low >= _WORD % bound:
            return high
    return 0


def exp_minus(x: Fraction) -> Decimal:
    """exp(-x) to the digits of the context."""
    return (Decimal(-x.numerator) / Decimal(x.denominator)).exp()


def _tie(law: Chance, parameter: Fraction, cap: Decimal, shift: int) -> tuple[int, int]:
    """Two words of a uniform real one unit of 2^-117 beside the boundary behind the second term."""
    boundary = cap * (1 + exp_minus(law(parameter, -1)))
    digits = int(boundary * (1 << 117)) + shift
    return (digits >> 64) << 11, digits % _WORD


def _gaussian_shape(variance: Fraction) -> tuple[int, Decimal]:
    spread = np.sqrt(variance.numerator / variance.denominator)
    return _shape(int(2 * spread), np.sqrt(0.5) / spread, sampler_loops.gaussian_caps)


def _laplace_shape(scale: Fraction) -> tuple[int, Decimal]:
    spread = scale.numerator / scale.denominator
    return _shape(int(spread), 1 / spread, sampler_loops.laplace_caps)


def _shape(modulus: int, rate: float, caps: Callable[..., NDArray[np.float64]]) -> tuple[int, Decimal]:
    """Modulus and cap, two constants that a draw is defined with; its law does not depend on them."""
    modulus = max(modulus, 1)
    return modulus, Decimal(float(caps(np.array([modulus], np.uint64), np.array([rate]))[0]))


def _others() -> int:
    """Uniform integers, coins and selections."""
    for bound in (2, 3, 1000, 3 * 2**61, 2**63):
        label = f"below {bound}"
        words = known_words(label)
        meant = [reference_below(words, bound) for _ in range(DRAWS)]
        _require(uniform_below(bound, DRAWS, bits=KnownWords(label)).tolist() == meant, "a uniform integer")
    third, inverse_e = Decimal(1) / 3, exp_minus(Fraction(1))
    coins: tuple[tuple[Decimal, Callable[[KnownWords], bool]], ...] = (
        (third, lambda bits: bernoulli(Fraction(1, 3), bits=bits)),
        (inverse_e, lambda bits: bernoulli_exp(1, bits=bits)),
    )
    for chance, coin in coins:
        digits = int(chance * (1 << 128))
        tries = [(digits + shift) for shift in (-1, 1, -(1 << 64), 1 << 64)]
        for number in tries:
            first = (number >> 64, number % _WORD)
            _require(coin(KnownWords("coin", first)) == (number <= digits), "a coin")
    gaps, rate = [0, 1, 2, 5, 9, 40], Fraction(3, 10)
    for k in range(4 * DRAWS):
        chosen = exponential_mechanism([-gap for gap in gaps], rate, bits=KnownWords(f"select {k}"))
        _require(chosen == _selected(known_words(f"select {k}"), gaps, rate), "the exponential mechanism")
    return 5 * DRAWS + 8 + 4 * DRAWS


def _selected(words: WordStream, gaps: list[int], rate: Fraction) -> int:
    """A candidate proposed with weight 2^-level, level = floor(gap rate / log 2), and kept with what is missing."""
    deepest = 62 - len(gaps).bit_length()
    factor = Decimal(rate.numerator) / rate.denominator
    levels = [min(int(gap * factor / Decimal(2).ln()), deepest) for gap in gaps]
    weights = [1 << (deepest - level) for level in levels]
    while True:
        place = reference_below(words, sum(weights))
        u = Decimal(next(words) >> 11) / (1 << 53)
        order = sorted(range(len(gaps)), key=lambda i: levels[i])
        ends = accumulate(weights[i] for i in order)
        index = next(i for i, end in zip(order, ends, strict=True) if place < end)
        if u < exp_minus(gaps[index] * rate) * (1 << levels[index]):
            return index


def _require(holds: bool, what: str) -> None:
    require(holds, f"{what} is not what the reference draws from the same bits")
