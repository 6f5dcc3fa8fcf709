"""Numbers that people type, read as the exact rational they meant.

A float is read by its shortest decimal form, so ``0.1`` is one tenth and not the binary number beside it.  Nothing
here knows what an amount is for: budgets check signs and sizes themselves.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction
from numbers import Rational, Real

from hushtable.errors import BudgetError

Number = int | float | str | Decimal | Fraction
"""What may be given wherever an exact amount is expected."""

LARGEST_EXPONENT = 5_000
"""Decimals beyond 1e±5000 are refused before their digits are written out."""


def exact_number(value: object, name: str) -> Fraction:
    """The rational that `value` stands for; `name` says in errors what it was given for.

    >>> exact_number(0.1, "rho"), exact_number("1e-3", "rho"), exact_number("2/3", "rho")
    (Fraction(1, 10), Fraction(1, 1000), Fraction(2, 3))
    """
    if isinstance(value, bool):
        raise _unreadable(name)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, str):
        return _from_text(value.strip(), name)
    if isinstance(value, Decimal):
        return _from_decimal(value, name)
    if isinstance(value, Real):
        return _from_text(float.__repr__(float(value)), name)
    raise _unreadable(name)


def positive(value: object, name: str) -> Fraction:
    """Like `exact`, and refuses zero and negative amounts."""
    amount = exact_number(value, name)
    if amount <= 0:
        raise BudgetError(
            "budget.not-positive", f"{name} must be above zero.", f"Give {name} as in {name}=0.1."
        )
    return amount


def text(amount: Fraction) -> str:
    """The shortest exact text: a decimal when the amount has one, a ratio otherwise.

    >>> text(Fraction(1, 8)), text(Fraction(1, 3)), text(Fraction(1, 10**9)), text(Fraction(12))
    ('0.125', '1/3', '1e-9', '12')
    """
    digits, places = amount.denominator, 0
    twos = (digits & -digits).bit_length() - 1
    digits >>= twos
    while digits % 5 == 0:
        digits //= 5
        places += 1
    if digits != 1:
        return f"{amount.numerator}/{amount.denominator}"
    places = max(places, twos)
    scaled = amount.numerator * 10**places // amount.denominator
    if scaled != 0 and len(str(abs(scaled))) + 4 < places:
        return f"{scaled}e-{places}"
    decimal = str(abs(scaled)).rjust(places + 1, "0")
    sign = "-" if scaled < 0 else ""
    return sign + (f"{decimal[:-places]}.{decimal[-places:]}" if places else decimal)


def _from_text(value: str, name: str) -> Fraction:
    top, slash, bottom = value.partition("/")
    if slash:
        readable = len(value) <= LARGEST_EXPONENT and top.strip().isdecimal() and bottom.strip().isdecimal()
        if not readable or int(bottom) == 0:
            raise _unreadable(name)
        return Fraction(int(top), int(bottom))
    try:
        return _from_decimal(Decimal(value), name)
    except InvalidOperation:
        raise _unreadable(name) from None


def _from_decimal(value: Decimal, name: str) -> Fraction:
    if not value.is_finite() or abs(int(value.as_tuple().exponent)) > LARGEST_EXPONENT:
        raise _unreadable(name)
    return Fraction(value)


def _unreadable(name: str) -> BudgetError:
    return BudgetError(
        "budget.unreadable", f"{name} is not a finite number.", f"Give {name} as a number, as in {name}=0.1."
    )
