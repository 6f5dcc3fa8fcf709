"""Discrete Laplace noise that is cut off: its delta, and where to cut.

The truncated double geometric law of uncertainty-principle-microdata (Theorem 4, item 5): every draw beyond a bound is
replaced by the bound, so that no error is ever larger.  It costs a delta of its own (`proofs/truncated-noise.md`).
Nothing here draws noise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from hushtable.errors import BudgetError
from hushtable.privacy.exact import exp_enclosure
from hushtable.privacy.mechanism import LaplaceNoise, Price

_BITS = 96
"""Precision of the exponentials that price a delta: an excess of 2^-90 of it."""

_BELOW_ROUNDING = 1 - Fraction(1, 10**11)
"""A charge rounds a delta up to twelve digits, by less than this share."""

_LARGEST_EXPONENT = 2_000
"""Beyond this times log(e) a delta is too small to be computed quickly, and smaller than anyone asks for."""


@dataclass(frozen=True)
class TruncatedNoise:
    """The cells of a marginal + DiscreteLaplace(scale) cut off at -bound and bound.

    One row costs epsilon = 1 / scale and delta_1 = e^(-epsilon bound) / (1 + e^-epsilon) (1 + max(0, 1 + e^epsilon -
    e^(2 epsilon))), exactly the excess of one law over e^epsilon times the other.
    """

    scale: Fraction
    bound: int

    def __post_init__(self) -> None:
        if type(self.bound) is not int or self.bound < 1:
            raise BudgetError(
                "noise.bound-below-one", "Noise is cut off at a whole number from 1 on.", "Give bound=40."
            )

    def price(self, rows: int = 1) -> Price:
        """Cost for a person with at most `rows` rows: that of the noise without a bound, and a delta."""
        whole = LaplaceNoise(self.scale).price(rows)
        return Price(whole.xi, whole.rho, self.delta(rows))

    def delta(self, rows: int = 1) -> Fraction:
        """A rational just above delta_1 (1 + e^epsilon + ... + e^((rows - 1) epsilon)), by group privacy."""
        rate = 1 / self.scale
        low, high = _exp(-rate)
        ends = 1 + max(Fraction(0), 1 + 1 / high - 1 / high**2)
        return _exp(-rate * self.bound)[1] / (1 + low) * ends * _geometric(rate, rows)


def shared_bound(scales: Sequence[Fraction], delta: Fraction, rows: int = 1) -> int:
    """The smallest bound at which noises of these scales have equal shares of `delta`, to be charged after rounding."""
    share = delta * _BELOW_ROUNDING / len(scales)
    return max(least_bound(scale, share, rows) for scale in scales)


@lru_cache(maxsize=256)
def least_bound(scale: Fraction, delta: Fraction, rows: int = 1) -> int:
    """The smallest bound at which noise of a scale costs a person with `rows` rows at most `delta`."""
    low, high = 0, 1
    while TruncatedNoise(scale, high).delta(rows) > delta:
        low, high = high, 2 * high
        if high > _LARGEST_EXPONENT * scale:
            raise BudgetError(
                "noise.delta-too-small",
                "The truncation is too small for noise that is cut off.",
                "Set more of delta aside, or use noise that is not cut off.",
            )
    between = range(low + 1, high)
    return low + 1 + bisect_left(between, True, key=lambda b: TruncatedNoise(scale, b).delta(rows) <= delta)


def _exp(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bounds on e^x, x <= 0, of `_BITS` significant bits."""
    precision = int(-x * 3 / 2) + _BITS
    low, high = exp_enclosure(-x, precision)
    return Fraction(low, 1 << precision), Fraction(high, 1 << precision)


@lru_cache(maxsize=256)
def _geometric(rate: Fraction, rows: int) -> Fraction:
    """A bound above 1 + e^rate + ... + e^((rows - 1) rate), by Horner's rule, rounded up at each step."""
    ratio, total = 1 / _exp(-rate)[0], Fraction(1)
    for _ in range(rows - 1):
        total = Fraction(-(-(1 + ratio * total) * (1 << _BITS) // 1), 1 << _BITS)
    return total
