"""Budgets that people set and costs that ledgers add, in exact amounts.

A ledger keeps pairs (xi, rho): every Renyi divergence of what was released is at most xi + alpha rho (Bun and
Steinke), and both parts add.  Amounts on a ledger are integers of 1e-12.  Whatever is allowed is rounded down to that
grid and whatever is charged is rounded up, once.  This module prices nothing: mechanisms know their own costs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Literal

from hushtable.errors import BudgetError
from hushtable.privacy.amounts import Number, exact, positive, text
from hushtable.privacy.conversion import epsilon_from, rho_from

UNIT = 10**12
"""Ledger amounts are integers of 1/UNIT."""

LARGEST = 10**6
"""Budgets above this promise nothing, and would not fit the 64-bit integers of a ledger."""

_ALIKE_BITS = 48
"""Leading bits in which a rho converted here agrees with one converted elsewhere: a float has 53, and five are left for
exponentials and logarithms that differ in their last places."""

Kind = Literal["pure", "zcdp", "approx"]

__all__ = [
    "LARGEST",
    "UNIT",
    "ZCDP",
    "ApproxDP",
    "Budget",
    "Cost",
    "Kind",
    "PureDP",
    "charge",
    "epsilon_from",
    "price_in",
    "rho_from",
]

_WRITE = 'Write "rho=0.1", "epsilon=1" or "epsilon=1,delta=1e-9".'


@dataclass(frozen=True)
class Cost:
    """An amount on a ledger, in units of 1e-12: D_alpha <= (xi + alpha rho) / UNIT for every alpha > 1.

    Comparisons are componentwise, so two costs may be incomparable.

    >>> Cost(1, 5) <= Cost(2, 5), Cost(1, 5) <= Cost(2, 4), Cost(1, 5) + Cost(2, 4)
    (True, False, Cost(xi=3, rho=9))
    """

    xi: int
    rho: int
    ZERO: ClassVar[Cost]

    def __post_init__(self) -> None:
        if type(self.xi) is not int or type(self.rho) is not int or self.xi < 0 or self.rho < 0:
            raise BudgetError(
                "budget.negative-cost",
                "A cost has integer parts that are not negative.",
                "Spend less than remains.",
            )

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.xi + other.xi, self.rho + other.rho)

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.xi - other.xi, self.rho - other.rho)

    def __le__(self, other: Cost) -> bool:
        return self.xi <= other.xi and self.rho <= other.rho

    def __ge__(self, other: Cost) -> bool:
        return other <= self

    def as_dict(self) -> dict[str, int]:
        """Plain integers for ledgers and JSON."""
        return {"xi": self.xi, "rho": self.rho}


Cost.ZERO = Cost(0, 0)


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
        """Read ``rho=0.1``, ``epsilon=1`` or ``epsilon=1,delta=1e-9[,pure=0.2]``.

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

    __str__ = Budget.__str__


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
    """(epsilon, delta)-differential privacy, kept as `pure` set aside for pure mechanisms and rho for the rest.

    `delta` is an exact number off the ledger's grid, and holds for the ledger's whole life.
    """

    epsilon: Fraction
    delta: Fraction
    pure: Fraction
    _rho: int = field(repr=False, compare=False)
    kind: ClassVar[Kind] = "approx"

    def __init__(self, *, epsilon: Number, delta: Number, pure: Number = 0) -> None:
        total, aside, slack = _amount(epsilon, "epsilon"), exact(pure, "pure"), positive(delta, "delta")
        if not 0 <= aside < total:
            raise BudgetError(
                "budget.pure", "pure must be at least 0 and below epsilon.", "Set aside less, as in pure=0.2."
            )
        rho = _converted(total - aside, slack)
        if rho == 0:
            raise _too_small("epsilon")
        for name, value in (("epsilon", total), ("delta", slack), ("pure", aside), ("_rho", rho)):
            object.__setattr__(self, name, value)

    @property
    def limit(self) -> Cost:
        return Cost(_floor(self.pure), min(self._rho, LARGEST * UNIT))

    def has_limit(self, limit: Cost) -> bool:
        """As for every budget; the last digits of the converted rho may be those of another mathematical library."""
        own = self.limit
        return limit.xi == own.xi and abs(limit.rho - own.rho) <= 1 + (own.rho >> _ALIKE_BITS)

    def _parts(self) -> dict[str, Fraction]:
        parts = {"epsilon": self.epsilon, "delta": self.delta}
        return {**parts, "pure": self.pure} if self.pure else parts


def charge(xi: Fraction, rho: Fraction) -> Cost:
    """The ledger's price of exact amounts: rounded up, once.

    >>> charge(Fraction(0), Fraction(1, 10) + Fraction(1, 5)) <= ZCDP("0.3").limit
    True
    """
    return Cost(_ceil(xi), _ceil(rho))


def price_in(
    kind: Kind, xi: Fraction | None, rho: Fraction, *, prefer: Literal["rho", "pure"] = "rho"
) -> tuple[Fraction, Fraction]:
    """The (xi, rho) that a ledger of `kind` charges for a mechanism with pure price `xi` (None: not pure) and zCDP
    price `rho`.  A ledger of kind approx takes rho unless the pure part is preferred.
    """
    if kind == "zcdp" or (kind == "approx" and prefer == "rho"):
        return Fraction(0), rho
    if xi is None:
        raise BudgetError(
            "budget.not-pure",
            "Gaussian noise cannot be charged to a pure epsilon budget.",
            'Use a budget in zCDP or with a delta, as in "rho=0.1" or "epsilon=1,delta=1e-9".',
        )
    return xi, Fraction(0)


def _from_parts(parts: Mapping[str, str]) -> Budget:
    names = set(parts)
    if names == {"rho"}:
        return ZCDP(parts["rho"])
    if names == {"epsilon"}:
        return PureDP(parts["epsilon"])
    if names in ({"epsilon", "delta"}, {"epsilon", "delta", "pure"}):
        return ApproxDP(epsilon=parts["epsilon"], delta=parts["delta"], pure=parts.get("pure", "0"))
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


def _floor(amount: Fraction) -> int:
    return amount.numerator * UNIT // amount.denominator


def _ceil(amount: Fraction) -> int:
    return -(-amount.numerator * UNIT // amount.denominator)
