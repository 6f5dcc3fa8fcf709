"""Budgets that people set and costs that ledgers add, in exact amounts.

A ledger keeps triples (xi, rho, delta): but for a part of probability delta, every Renyi divergence of what was
released is at most xi + alpha rho (Bun and Steinke), and all three add (`proofs/composition.md`).  xi and rho are
integers of 1e-12, delta is an exact number.  Whatever is allowed is rounded down to that grid and whatever is charged
is rounded up, once.  This module prices nothing: mechanisms know their own costs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, cast

from hushtable.errors import BudgetError
from hushtable.privacy.amounts import Number, exact_number, positive, text
from hushtable.privacy.conversion import rho_from

UNIT = 10**12
"""Ledger amounts are integers of 1/UNIT."""

_DIGITS = len(str(UNIT)) - 1

LARGEST = 10**6
"""Budgets above this promise nothing, and would not fit the 64-bit integers of a ledger."""

_ALIKE_BITS = 48
"""Leading bits in which a rho converted here agrees with one converted elsewhere: a float has 53, and five are left for
exponentials and logarithms that differ in their last places."""

Kind = Literal["pure", "zcdp", "approx"]

_WRITE = 'Write "rho=0.1", "epsilon=1" or "epsilon=1,delta=1e-9".'


@dataclass(frozen=True)
class Cost:
    """An amount on a ledger: D_alpha <= (xi + alpha rho) / UNIT for every alpha > 1, but for a part delta.

    xi and rho are in units of 1e-12; delta is an exact rational, the integer 0 for most.  Comparisons are
    componentwise, so two costs may be incomparable.

    >>> Cost(1, 5) <= Cost(2, 5), Cost(1, 5) <= Cost(2, 4), Cost(1, 5) + Cost(2, 4)
    (True, False, Cost(xi=3, rho=9, delta=0))
    """

    xi: int
    rho: int
    delta: Fraction | int = 0
    ZERO: ClassVar[Cost]

    def __post_init__(self) -> None:
        whole = type(self.xi) is int and type(self.rho) is int and type(self.delta) in (int, Fraction)
        if not whole or self.xi < 0 or self.rho < 0 or self.delta < 0:
            raise BudgetError(
                "budget.negative-cost",
                "A cost has exact parts that are not negative.",
                "Spend less than remains.",
            )

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.xi + other.xi, self.rho + other.rho, self.delta + other.delta)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.xi - other.xi, self.rho - other.rho, self.delta - other.delta)

    def __le__(self, other: Cost) -> bool:
        return self.xi <= other.xi and self.rho <= other.rho and self.delta <= other.delta

    def __ge__(self, other: Cost) -> bool:
        return other <= self

    def __str__(self) -> str:
        """How every price is written for people: its parts that are not 0.

        >>> print(Cost(2 * 10**11, 10**11)), print(Cost(0, 0))
        epsilon=0.2 and rho=0.1
        nothing
        (None, None)
        """
        words = {"xi": "epsilon"}
        parts = [f"{words.get(name, name)}={part}" for name, part in self.to_dict().items() if part != "0"]
        return " and ".join(parts) or "nothing"

    def to_dict(self) -> dict[str, str]:
        """Exact decimals; a delta of 0 is left out.

        >>> Cost(0, 10**11).to_dict(), Cost(10**12, 0, Fraction(1, 10**7)).to_dict()
        ({'xi': '0', 'rho': '0.1'}, {'xi': '1', 'rho': '0', 'delta': '1e-7'})
        """
        parts = {"xi": decimal(self.xi), "rho": decimal(self.rho)}
        return parts | {"delta": text(Fraction(self.delta))} if self.delta else parts

    @classmethod
    def from_dict(cls, parts: Mapping[str, str | int]) -> Cost:
        """The cost that `to_dict` wrote; whole numbers are units of 1e-12, as verdicts of version 0.1 have them."""
        delta = exact_number(parts.get("delta", "0"), "delta")
        return cls(_units(parts["xi"]), _units(parts["rho"]), delta or 0)


Cost.ZERO = Cost(0, 0)


def decimal(amount: int) -> str:
    """An amount in units of 1e-12 as an exact decimal.

    >>> decimal(120_000_000_000), decimal(3), decimal(5 * 10**12)
    ('0.12', '0.000000000003', '5')
    """
    whole, part = divmod(amount, UNIT)
    return f"{whole}.{part:0{_DIGITS}d}".rstrip("0").rstrip(".")


def _units(amount: str | int) -> int:
    """What `decimal` was given; an amount off the grid is refused."""
    units = amount if isinstance(amount, int) else exact_number(amount, "amount") * UNIT
    if units.denominator != 1:
        raise BudgetError("budget.unreadable", "An amount is finer than the ledger's grid of 1e-12.", _WRITE)
    return int(units)


class Budget(ABC):
    """What may be spent: `PureDP`, `ZCDP` or `ApproxDP`."""

    kind: ClassVar[Kind]

    @property
    @abstractmethod
    def limit(self) -> Cost:
        """What may be spent, rounded down to the grid."""

    def has_limit(self, limit: Cost) -> bool:
        """Whether `limit` is what this budget allows, as it was computed and written down somewhere."""
        return limit == self.limit

    @abstractmethod
    def _parts(self) -> dict[str, Fraction]:
        """The amounts in the order in which they are written."""

    def __str__(self) -> str:
        return ",".join(f"{name}={text(amount)}" for name, amount in self._parts().items())

    def to_dict(self) -> dict[str, str]:
        """Exact strings; `Budget.from_dict` reads them back."""
        return {"kind": self.kind, **{name: text(amount) for name, amount in self._parts().items()}}

    @staticmethod
    def checked(given: object) -> Budget:
        """The budget itself; a number, a text or anything else is refused with what to write."""
        if isinstance(given, Budget):
            return given
        number = isinstance(given, int | float | Fraction) and not isinstance(given, bool)
        message = (
            "A number alone is no budget: it could be epsilon or rho."
            if number
            else "The budget is not a budget."
        )
        fix = 'Write ht.ZCDP("0.1") for rho, or ht.PureDP("1") for epsilon.'
        raise BudgetError("budget.not-a-budget", message, fix)

    @staticmethod
    def from_dict(parts: Mapping[str, str]) -> Budget:
        """The budget that `to_dict` wrote."""
        amounts = dict(parts)
        kind = amounts.pop("kind", None)
        budget = _from_parts(amounts)
        if kind not in (None, budget.kind):
            raise BudgetError("budget.unreadable", "The budget's kind does not fit its amounts.", _WRITE)
        return budget

    @staticmethod
    def parse(written: str) -> Budget:
        """Read ``rho=0.1``, ``epsilon=1`` or ``epsilon=1,delta=1e-9[,pure=0.2][,truncation=1e-10]``.

        >>> Budget.parse("epsilon=1, delta=1e-9").kind, str(Budget.parse("rho=0.10"))
        ('approx', 'rho=0.1')
        """
        amounts: dict[str, str] = {}
        for part in written.split(","):
            name, equals, value = part.partition("=")
            if not equals or name.strip() in amounts:
                raise BudgetError("budget.unreadable", "The budget cannot be read.", _WRITE)
            amounts[name.strip()] = value.strip()
        return _from_parts(amounts)


@dataclass(frozen=True, init=False)
class PureDP(Budget):
    """epsilon-differential privacy: only pure mechanisms may be charged to it."""

    epsilon: Fraction
    kind: ClassVar[Kind] = "pure"

    def __init__(self, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", _amount(epsilon, "epsilon"))

    @property
    def limit(self) -> Cost:
        return Cost(_floor(self.epsilon), 0)

    def _parts(self) -> dict[str, Fraction]:
        return {"epsilon": self.epsilon}


@dataclass(frozen=True, init=False)
class ZCDP(Budget):
    """rho-zero-concentrated differential privacy."""

    rho: Fraction
    kind: ClassVar[Kind] = "zcdp"

    def __init__(self, rho: Number) -> None:
        object.__setattr__(self, "rho", _amount(rho, "rho"))

    @property
    def limit(self) -> Cost:
        return Cost(0, _floor(self.rho))

    def _parts(self) -> dict[str, Fraction]:
        return {"rho": self.rho}


@dataclass(frozen=True, init=False)
class ApproxDP(Budget):
    """(epsilon, delta)-differential privacy: `pure` is set aside for pure mechanisms, the rest is rho.

    `delta` is an exact number off the ledger's grid, and holds for the ledger's whole life.  `truncation` of it is set
    aside for mechanisms with a delta of their own; rho is converted with what is left of epsilon and delta.  With all
    of delta set aside nothing can be converted, so all of epsilon is pure.
    """

    epsilon: Fraction
    delta: Fraction
    pure: Fraction
    truncation: Fraction
    _rho: int = field(repr=False, compare=False)
    kind: ClassVar[Kind] = "approx"

    def __init__(
        self, *, epsilon: Number, delta: Number, pure: Number | None = None, truncation: Number = 0
    ) -> None:
        total, slack = _amount(epsilon, "epsilon"), positive(delta, "delta")
        cut = exact_number(truncation, "truncation")
        if not 0 <= cut <= slack < 1:
            raise BudgetError(
                "budget.delta",
                "delta must be below 1, and truncation from 0 to delta.",
                "Give a small delta and set aside a part of it, as in delta=1e-6,truncation=5e-7.",
            )
        whole = cut == slack
        aside = exact_number(pure, "pure") if pure is not None else total * whole
        if not (aside == total if whole else 0 <= aside < total):
            raise BudgetError(
                "budget.pure",
                "pure must be at least 0 and below epsilon, or all of it when truncation is all of delta.",
                "Set aside less, as in pure=0.2.",
            )
        rho = 0 if whole else min(_converted(total - aside, slack - cut), LARGEST * UNIT)
        if rho == 0 and not whole:
            raise _too_small("epsilon")
        parts = {"epsilon": total, "delta": slack, "pure": aside, "truncation": cut, "_rho": rho}
        for name, value in parts.items():
            object.__setattr__(self, name, value)

    @property
    def limit(self) -> Cost:
        return Cost(_floor(self.pure), self._rho, self.truncation or 0)

    def has_limit(self, limit: Cost) -> bool:
        """As for every budget; the last digits of the converted rho may be those of another mathematical library."""
        own = self.limit
        alike = abs(limit.rho - own.rho) <= (1 + (own.rho >> _ALIKE_BITS) if own.rho else 0)
        return alike and (limit.xi, limit.delta) == (own.xi, own.delta)

    def _parts(self) -> dict[str, Fraction]:
        parts = {"epsilon": self.epsilon, "delta": self.delta}
        return parts | {k: v for k, v in (("pure", self.pure), ("truncation", self.truncation)) if v}


def charge(xi: Fraction, rho: Fraction, delta: Fraction | int = 0) -> Cost:
    """The ledger's price of exact amounts: rounded up, once; a delta to twelve digits.

    >>> charge(Fraction(0), Fraction(1, 10) + Fraction(1, 5)) <= ZCDP("0.3").limit
    True
    """
    return Cost(_ceil(xi), _ceil(rho), _short_decimal(Fraction(delta)) if delta else 0)


def price_in(
    kind: Kind,
    xi: Fraction | None,
    rho: Fraction,
    delta: Fraction | int = 0,
    *,
    prefer: Literal["rho", "pure"] = "rho",
) -> tuple[Fraction, Fraction, Fraction | int]:
    """The (xi, rho, delta) that a ledger of `kind` charges for a mechanism with pure price `xi` (None: not pure) and
    zCDP price `rho`, each but for a part `delta`.  A ledger of kind approx takes rho unless the pure part is preferred.
    """
    if delta and kind != "approx":
        raise BudgetError(
            "budget.no-delta",
            "Noise that is cut off has a delta of its own, which only a budget with a truncation can pay for.",
            'Use a ledger such as "epsilon=1,delta=1e-6,pure=0.5,truncation=5e-7", or noise that is not cut off.',
        )
    if kind == "zcdp" or (kind == "approx" and prefer == "rho"):
        return Fraction(0), rho, delta
    if xi is None:
        raise BudgetError(
            "budget.not-pure",
            "Gaussian noise cannot be charged to a pure epsilon budget.",
            'Use a budget in zCDP or with a delta, as in "rho=0.1" or "epsilon=1,delta=1e-9".',
        )
    return xi, Fraction(0), delta


def _from_parts(parts: Mapping[str, str]) -> Budget:
    names = set(parts)
    if names == {"rho"}:
        return ZCDP(parts["rho"])
    if names == {"epsilon"}:
        return PureDP(parts["epsilon"])
    if {"epsilon", "delta"} <= names <= {"epsilon", "delta", "pure", "truncation"}:
        return ApproxDP(**cast("Any", parts))
    raise BudgetError("budget.unreadable", "The budget cannot be read.", _WRITE)


def _amount(value: Number, name: str) -> Fraction:
    amount = positive(value, name)
    if amount > LARGEST:
        raise BudgetError(
            "budget.too-large", f"{name} is above one million.", f"Give a useful {name}, as in {name}=1."
        )
    if _floor(amount) == 0:
        raise _too_small(name)
    return amount


def _too_small(name: str) -> BudgetError:
    return BudgetError(
        "budget.too-small",
        f"{name} is below the ledger's grid of 1e-12.",
        f"Give a larger {name}, as in {name}=0.1.",
    )


@lru_cache(maxsize=256)
def _converted(epsilon: Fraction, delta: Fraction) -> int:
    """The rho of a conversion on the ledger's grid; kept, because a ledger reads its budgets at every opening."""
    return _floor(Fraction(rho_from(epsilon=epsilon, delta=delta)))


def _short_decimal(amount: Fraction) -> Fraction:
    """The least decimal of at most twelve digits that is not below the amount."""
    places = 12 - len(str(amount.numerator)) + len(str(amount.denominator))
    step = Fraction(10) ** -places
    return -(-amount // step) * step


def _floor(amount: Fraction) -> int:
    return amount.numerator * UNIT // amount.denominator


def _ceil(amount: Fraction) -> int:
    return -(-amount.numerator * UNIT // amount.denominator)
