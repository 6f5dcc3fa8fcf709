"""Where the ledger of a contract test is, and short words for what such tests do with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from hushtable.errors import HushtableError
from hushtable.ledger import Ledger, Reservation, Unit
from hushtable.privacy.budget import ZCDP, Budget, Cost, PureDP

ONE = Unit(rows=1)


def rho(text: str) -> Cost:
    return ZCDP(text).limit


def epsilon(text: str) -> Cost:
    return PureDP(text).limit


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(HushtableError) as caught:
        action()
    assert caught.value.message.endswith(".") and caught.value.fix
    return caught.value.code


def reserve(ledger: Ledger, cost: Cost, request: str | None = None, **more: object) -> Reservation:
    options: dict[str, object] = {"kind": "release", "spender": None, "detail": {}}
    return ledger.reserve(cost=cost, request=request, **(options | more))  # type: ignore[arg-type]


def spend(ledger: Ledger, cost: Cost, spender: str | None = None) -> Reservation:
    reservation = reserve(ledger, cost, spender=spender)
    ledger.store(ledger.charge(reservation, cost), b"noisy")
    ledger.settle(reservation)
    return reservation


@dataclass
class Home:
    """Where the ledger of a test is, and where another may be."""

    address: str
    other: str

    def create(self, budget: Budget, unit: Unit | None = ONE) -> Ledger:
        return Ledger.create(self.address, budget, unit, name="people")

    def open(self, head: str | None = None) -> Ledger:
        return Ledger.open(self.address, head=head)
