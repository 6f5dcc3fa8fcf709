"""The draws, decided with exact integers: the definition of the sampler, and its fallback.

A draw reads 64-bit words in order.  A uniform real u is known by its first 53 bits and gets 64 more whenever those
do not decide a comparison, so every comparison is decided as if u and the exponentials were known exactly.  The
compiled loops follow the same steps on the same words and hand an attempt over to this module when 53 bits and their
enclosures do not decide it.  Slow: one attempt takes a tenth of a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Literal

import numpy as np

from hushtable.privacy.bits import BitSource

HEAD_BITS = 53
"""Bits of a word that begin a uniform real; the rest of the word is not used."""

GUARD_BITS = 75
"""Enclosures are this many bits finer than the uniform real that they are compared with."""


class Stream:
    """Words in order, with the unread ones kept when more are fetched."""

    def __init__(self, bits: BitSource, size: int) -> None:
        self._bits = bits
        self.words = bits.words(size)
        self.position = 0

    def fetch(self, size: int) -> None:
        """Append `size` words and drop those already read."""
        self.words = np.concatenate((self.words[self.position :], self._bits.words(size)))
        self.position = 0

    def take(self) -> int:
        """The next word."""
        if self.position == self.words.size:
            self.fetch(16)
        word = int(self.words[self.position])
        self.position += 1
        return word


@dataclass
class Uniform:
    """A uniform real in [digits, digits + 1) / 2^length, refined on demand."""

    stream: Stream
    digits: int
    length: int

    @classmethod
    def draw(cls, stream: Stream, length: int = HEAD_BITS) -> Uniform:
        """The first `length` bits of the next word."""
        return cls(stream, stream.take() >> (64 - length), length)

    def refine(self) -> None:
        """Learn 64 more bits."""
        self.digits = self.digits << 64 | self.stream.take()
        self.length += 64


def exp_enclosure(x: Fraction, precision: int) -> tuple[int, int]:
    """Integers with low / 2^precision <= exp(-x) <= high / 2^precision, at most a few units apart; x >= 0.

    exp(-x) = exp(-x / 2^h)^(2^h) with x / 2^h < 1/16: alternating Taylor sums enclose the base, squares the power.
    """
    if x == 0:
        return 1 << precision, 1 << precision
    if x > precision:
        return 0, 1
    halvings = 4 + (x.numerator // x.denominator).bit_length()
    wide = precision + halvings + 8
    base = (x.numerator << wide) // (x.denominator << halvings)
    low, high = _taylor(base + 1, wide, even=False), _taylor(base, wide, even=True)
    for _ in range(halvings):
        low, high = low * low >> wide, -(-high * high >> wide)
    drop = wide - precision
    return low >> drop, -(-high >> drop)


def _taylor(r: int, wide: int, *, even: bool) -> int:
    """A bound on 2^wide exp(-r / 2^wide): from above if the last power is even, from below if it is odd."""
    total, high, low, power = 1 << wide, 1 << wide, 1 << wide, 0
    while True:
        power += 1
        low, high = low * r // (power << wide), -(-high * r // (power << wide))
        if power % 2:
            total -= low if even else high
        else:
            total += high if even else low
        if high <= 1 and (power % 2 == 0) == even:
            return total


def below_exp(u: Uniform, x: Fraction) -> bool:
    """Whether u < exp(-x), refining u until that is certain."""
    while True:
        precision = u.length + GUARD_BITS
        low, high = exp_enclosure(x, precision)
        if (u.digits + 1) << GUARD_BITS <= low:
            return True
        if u.digits << GUARD_BITS >= high:
            return False
        u.refine()


def uniform_below(stream: Stream, bound: int) -> int:
    """A uniform integer in [0, bound), 1 <= bound <= 2^63: the high half of word * bound, unless the low half shows
    that the word belongs to the 2^64 mod bound superfluous ones.
    """
    while True:
        high, low = divmod(stream.take() * bound, 1 << 64)
        if low >= (1 << 64) % bound:
            return high


def attempt(stream: Stream, modulus: int, cap: Fraction, exponent: Callable[[int], Fraction]) -> int | None:
    """One attempt at an integer x with P(x) ~ exp(-exponent(x)); None if it is to be repeated.

    A uniform residue r modulo `modulus` is drawn, then a quotient v with probability cap exp(-exponent(r + modulus v)),
    by inversion of one uniform real in the order v = 0, -1, 1, -2, 2, ...  What remains of the unit is rejection.
    """
    residue = uniform_below(stream, modulus) if modulus > 1 else 0
    u = Uniform.draw(stream)
    while True:
        outcome = _invert(u, lambda v: exponent(residue + modulus * v), cap)
        if outcome == "unclear":
            u.refine()
        else:
            return None if outcome is None else residue + modulus * outcome


def _invert(
    u: Uniform, exponent: Callable[[int], Fraction], cap: Fraction
) -> int | Literal["unclear"] | None:
    """The quotient that u falls on, None beyond all of them, or "unclear" if more bits of u are needed.

    Terms shrink by more than exp(-1/2 + 1/100) per step on either side, so what follows a pair of terms is less than
    twice their sum.
    """
    precision = u.length + GUARD_BITS
    start, end = u.digits << GUARD_BITS, (u.digits + 1) << GUARD_BITS
    low = high = tail = 0
    for step in count():
        quotient = step // 2 if step % 2 == 0 else -(step + 1) // 2
        term_low, term_high = exp_enclosure(exponent(quotient), precision)
        term_high = -(-term_high * cap.numerator // cap.denominator)
        low, high = low + term_low * cap.numerator // cap.denominator, high + term_high
        if end <= low:
            return quotient
        if start < high:
            return "unclear"
        tail = tail + term_high if step % 2 == 0 else term_high
        if step and step % 2 == 0:
            if start >= high + 2 * tail:
                return None
            if tail <= 8:
                return "unclear"
    return None
