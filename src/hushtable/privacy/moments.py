"""Moments of the discrete distributions, for error bars.

A discrete Gaussian with parameter s2 has variance s2 up to 1e-8 from s2 = 1 on, and less below; a discrete Laplace
always has less than 2 scale^2.  These are floats for reports: they price nothing.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

from hushtable.errors import BudgetError
from hushtable.privacy.amounts import Number, positive

_DIGITS = Context(prec=60)
_WIDE = Fraction(9)
"""From this parameter on variance and kurtosis differ from the continuous ones by less than 1e-70."""


def discrete_gaussian_variance(variance: Number) -> float:
    """Variance of the integer x with P(x) ~ exp(-x^2 / (2 variance)).

    >>> round(discrete_gaussian_variance("0.25"), 6), discrete_gaussian_variance(100)
    (0.215013, 100.0)
    """
    parameter = positive(variance, "variance")
    return _float(parameter) if parameter > _WIDE else _gaussian_moments(parameter)[0]


def discrete_gaussian_kurtosis(variance: Number) -> float:
    """Excess kurtosis (fourth cumulant over squared variance) of the same distribution; infinite if it is 0 always."""
    parameter = positive(variance, "variance")
    return 0.0 if parameter > _WIDE else _gaussian_moments(parameter)[1]


def discrete_laplace_variance(scale: Number) -> float:
    """Variance of the integer x with P(x) ~ exp(-|x| / scale): 1 / (2 sinh(1 / (2 scale))^2).

    >>> round(discrete_laplace_variance(1), 6)
    1.841347
    """
    half = _float(1 / (2 * positive(scale, "scale")))
    return 0.0 if half > 372.0 else 0.5 / math.sinh(half) ** 2  # below the least float from there on


def discrete_laplace_kurtosis(scale: Number) -> float:
    """Excess kurtosis of the same distribution: 2 + cosh(1 / scale), which is 3 for large scales."""
    rate = _float(1 / positive(scale, "scale"))
    return math.inf if rate > 709.0 else 2.0 + math.cosh(rate)  # beyond the largest float from there on


@lru_cache(maxsize=4096)
def _gaussian_moments(parameter: Fraction) -> tuple[float, float]:
    """(variance, excess kurtosis) from the series to 60 digits; the excess is a small difference of large sums."""
    c = _DIGITS
    rate = c.divide(Decimal(-parameter.denominator), Decimal(2 * parameter.numerator))
    zeroth, second, fourth = Decimal(1), Decimal(0), Decimal(0)
    x = 0
    while True:
        x += 1
        term = c.multiply(Decimal(2), c.exp(c.multiply(rate, Decimal(x * x))))
        if term < Decimal("1e-80") and (x > 1 or term == 0):
            break
        zeroth = c.add(zeroth, term)
        second = c.add(second, c.multiply(term, Decimal(x**2)))
        fourth = c.add(fourth, c.multiply(term, Decimal(x**4)))
    if float(second) == 0.0:
        return 0.0, math.inf
    variance = c.divide(second, zeroth)
    relative = c.divide(c.multiply(fourth, zeroth), c.multiply(second, second))
    return float(variance), float(c.subtract(relative, Decimal(3)))


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise BudgetError(
            "noise.too-large", "The scale is beyond floating point.", "Give a smaller scale."
        ) from None
