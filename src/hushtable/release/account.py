"""Where a dataset's budget went: the ledger's amounts by purpose, as they stood at one moment.

Read from a ledger file, or from what the privacy card kept of it.  Amounts are public: they depend on what was asked
and on released answers, never on the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hushtable.ledger import Ledger
from hushtable.ledger.wording import texts
from hushtable.privacy import UNIT, Cost
from hushtable.privacy.amounts import exact


@dataclass(frozen=True)
class Account:
    """The limit of a ledger, what each kind of spend used, and what open reservations hold."""

    limit: Cost
    spent: Mapping[str, Cost]
    held: Cost

    @property
    def left(self) -> Cost:
        """What may still be spent."""
        return self.limit - self.held - sum(self.spent.values(), Cost.ZERO)

    @classmethod
    def of(cls, ledger: Ledger) -> Account:
        """The amounts of an open ledger."""
        spent: dict[str, Cost] = {}
        for holding in ledger.reservations():
            kind = holding.reservation.kind
            spent[kind] = spent.get(kind, Cost.ZERO) + holding.drawn
        return cls(ledger.limit(), spent, ledger.held())

    def as_dict(self) -> dict[str, Any]:
        """Exact decimal texts, for the privacy card."""
        return {
            "limit": texts(self.limit),
            "spent": {kind: texts(cost) for kind, cost in self.spent.items()},
            "held": texts(self.held),
        }

    @classmethod
    def kept(cls, card: Mapping[str, Any]) -> Account | None:
        """What a privacy card kept of the account; None when it kept nothing."""
        kept = card.get("ledger", {}).get("account")
        if kept is None:
            return None
        spent = {kind: _cost(amounts) for kind, amounts in kept["spent"].items()}
        return cls(_cost(kept["limit"]), spent, _cost(kept["held"]))


@dataclass(frozen=True)
class Remaining:
    """What a ledger still allows, per person: ``epsilon`` of pure privacy, ``rho`` of zCDP, ``delta`` set aside."""

    kind: str
    cost: Cost

    @property
    def epsilon(self) -> float:
        return self.cost.xi / UNIT

    @property
    def rho(self) -> float:
        return self.cost.rho / UNIT

    @property
    def delta(self) -> float:
        return float(self.cost.delta)

    def __str__(self) -> str:
        parts = texts(self.cost)
        shown = {"pure": ("xi",), "zcdp": ("rho",)}.get(self.kind, tuple(parts))
        return ",".join(f"{'epsilon' if name == 'xi' else name}={parts[name]}" for name in shown)


def charged(card: Mapping[str, Any]) -> Cost:
    """What this release was charged."""
    return _cost(card["charged"])


def _cost(amounts: Mapping[str, str]) -> Cost:
    delta = exact(amounts.get("delta", "0"), "delta")
    return Cost(_units(amounts["xi"]), _units(amounts["rho"]), delta or 0)


def _units(text: str) -> int:
    whole, _, part = str(text).partition(".")
    digits = len(str(UNIT)) - 1
    return int(whole) * UNIT + int(part.ljust(digits, "0") or 0)
