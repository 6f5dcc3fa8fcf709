"""From floating-point plans to exact ones that fit their budget.

A precision becomes a dyadic fraction of 40 significant bits, rounded down, so that its price rounds down too and sums
of many prices keep small denominators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import floor, frexp

from hushtable.errors import BudgetError
from hushtable.privacy import UNIT

BITS = 40
"""Bits of a rounded precision: rounding loses less than 2^-39 of a budget.  With more bits fractions get longer, and a
float has 53 of them; with fewer more is lost."""
JUST_BELOW = 1.0 - 2.0**-BITS
"""By so much an amount that was computed in floats, a root or a rest is taken lower until it is exactly affordable:
about the rounding of ``BITS``.  A smaller factor loses more than this part in 10^12 of a budget."""
_MARGIN = 2.0**-48
"""More than the relative error of the floating-point plan, less than one unit of rounding."""


def round_down(value: float) -> Fraction:
    """The largest fraction ``k 2^e`` with k of 40 bits that is not above ``value``.

    >>> round_down(0.75), round_down(0.1) < Fraction(1, 10)
    (Fraction(3, 4), True)
    """
    mantissa, exponent = frexp(value)
    whole, shift = floor(mantissa * 2**BITS), exponent - BITS
    return Fraction(whole << shift) if shift >= 0 else Fraction(whole, 1 << -shift)


def grid_amount(amount: Fraction, name: str) -> Fraction:
    """What a ledger can grant of ``amount``: rounded down to its grid of 1e-12."""
    units = amount * UNIT // 1
    if units < 1:
        raise BudgetError("budget.too-small", f"{name} is below 1e-12.", f"Give a larger {name}.")
    return Fraction(units, UNIT)


def fitted(
    precisions: Iterable[float], limit: Fraction, cost: Callable[[tuple[Fraction, ...]], Fraction]
) -> tuple[Fraction, ...]:
    """Exact precisions just below the given ones whose exact cost does not exceed ``limit``."""
    wanted = [value * (1.0 - _MARGIN) for value in precisions]
    shrink = 1.0
    while True:
        exact = tuple(round_down(value * shrink) for value in wanted)
        if cost(exact) <= limit:
            return exact
        shrink *= 1.0 - 2.0**-BITS
