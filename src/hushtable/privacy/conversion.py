"""Between zero-concentrated and approximate differential privacy, tightly and never in the spender's favour.

A mechanism with D_alpha <= rho alpha for every alpha > 1 is (epsilon, delta)-DP whenever, for some alpha,

    delta >= exp((alpha - 1) (alpha rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha)^alpha

(Canonne, Kamath and Steinke, "The discrete Gaussian", Cor. 13).  Any alpha gives a valid pair, so the search for the
best one runs in floats and only the final formula is evaluated, in 60 digits, and rounded against the spender.  With
a = alpha - 1 and L = log(1/delta) the best alpha solves rho a^2 + log(1 + a) = L.  This module converts; it does not
know ledgers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

from hushtable.errors import BudgetError
from hushtable.privacy.amounts import Number, positive

_EXPONENTS = 999_999
"""Decimal exponents on both sides: what a decimal context has unless it is told, and far beyond every amount."""
_DIGITS = Context(prec=60, Emax=_EXPONENTS, Emin=-_EXPONENTS)
_GUARD = Decimal("1e-35")
"""Well above the error of a formula in 60 digits whose terms are below 1e20."""

_STEPS = 200
"""Halvings of an interval of 1,345: after some 70 of them a double has hardly a further bit.  More change nothing."""
_LOG_ORDERS = (-745.0, 600.0)
"""Where the best log(alpha - 1) is looked for."""


def rho_from(*, epsilon: Number, delta: Number) -> float:
    """The largest rho such that every rho-zCDP mechanism is (epsilon, delta)-DP, rounded down.

    >>> round(rho_from(epsilon=1, delta=1e-9), 6)
    0.014973
    """
    budget, log_delta = positive(epsilon, "epsilon"), _log_inverse(delta)
    target, size = _nearest(budget), float(log_delta)

    def too_large(log_order: float) -> bool:
        return _epsilon_at_best(size, math.exp(log_order)) < target

    order = math.exp(_bisect(too_large))
    return max(_rho_at(budget, log_delta, order), 0.0)


def epsilon_from(*, rho: Number, delta: Number) -> float:
    """The smallest epsilon such that every rho-zCDP mechanism is (epsilon, delta)-DP, rounded up.

    >>> round(epsilon_from(rho=0.5, delta=1e-6), 4)
    5.2215
    """
    budget, log_delta = positive(rho, "rho"), _log_inverse(delta)
    target, size = _nearest(budget), float(log_delta)

    def too_large(log_order: float) -> bool:
        order = math.exp(log_order)
        far = math.sqrt(target) * order > 1e160  # its square would overflow
        return far or target * order * order + math.log1p(order) > size

    order = math.exp(_bisect(too_large))
    return max(_epsilon_at(budget, log_delta, order), 0.0)


def _log_inverse(delta: Number) -> Decimal:
    """L = log(1/delta) to 60 digits."""
    value = positive(delta, "delta")
    if value >= 1:
        raise BudgetError("budget.delta", "delta must be below 1.", "Give a small delta, as in delta=1e-9.")
    return _DIGITS.minus(_DIGITS.ln(_decimal(value)))


def _epsilon_at_best(size: float, order: float) -> float:
    """epsilon where a is the best, decreasing in a: (L - log(1+a)) (1+2a) / a^2 - log(1 + 1/a)."""
    gap = size - math.log1p(order)
    if gap <= 0.0 or order < 1e-150:  # 1 / order^2 would overflow
        return -math.inf if gap <= 0.0 else math.inf
    return gap / order * (1.0 / order + 2.0) - math.log1p(1.0 / order)


def _epsilon_at(rho: Fraction, log_delta: Decimal, order: float) -> float:
    """epsilon = rho (1+a) + (L - log(1+a)) / a - log(1 + 1/a), rounded up; valid for every a > 0."""
    c, a = _DIGITS, Decimal(order)
    high = c.add(c.multiply(_decimal(rho), c.add(a, Decimal(1))), c.divide(_gap(log_delta, a), a))
    return _round(c.subtract(high, _log_ratio(a)), math.inf)


def _rho_at(epsilon: Fraction, log_delta: Decimal, order: float) -> float:
    """rho = (epsilon + log(1 + 1/a) - (L - log(1+a)) / a) / (1 + a), rounded down; valid for every a > 0."""
    c, a = _DIGITS, Decimal(order)
    low = c.subtract(c.add(_decimal(epsilon), _log_ratio(a)), c.divide(_gap(log_delta, a), a))
    return _round(c.divide(low, c.add(a, Decimal(1))), -math.inf)


def _gap(log_delta: Decimal, a: Decimal) -> Decimal:
    return _DIGITS.subtract(log_delta, _log1p(a))


def _log_ratio(a: Decimal) -> Decimal:
    return _log1p(_DIGITS.divide(Decimal(1), a))


def _log1p(a: Decimal) -> Decimal:
    """log(1 + a) with 60 correct digits also for tiny and huge a (60 more are carried for the sum)."""
    carried = max(_DIGITS.prec, _DIGITS.prec - a.adjusted())
    wide = Context(prec=_DIGITS.prec + carried, Emax=_EXPONENTS, Emin=-_EXPONENTS)
    return _DIGITS.plus(wide.ln(wide.add(a, Decimal(1))))


def _decimal(value: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _round(value: Decimal, towards: float) -> float:
    """A float beyond `value` by more than the evaluation's error."""
    guarded = _DIGITS.add(value, _GUARD if towards > 0 else -_GUARD)
    return math.nextafter(float(guarded), towards)


def _bisect(too_large: Callable[[float], bool]) -> float:
    low, high = _LOG_ORDERS
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if too_large(middle):
            high = middle
        else:
            low = middle
    return max(low, -700.0)  # the exponential of less is 0


def _nearest(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        raise BudgetError(
            "budget.too-large", "The amount is too large to convert.", "Give an amount below 1e6."
        ) from None
