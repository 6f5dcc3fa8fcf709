"""What a ledger says of its money at one moment: where the budget went, and what is left of it.

Amounts are public: they depend on what was asked and on released answers, never on the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.notebook import html_card
from hushtable.privacy import UNIT, Cost

if TYPE_CHECKING:
    from hushtable.ledger.ledger import Ledger


class SpentOn(NamedTuple):
    """What one kind of spend used."""

    kind: str
    cost: Cost


@dataclass(frozen=True, repr=False)
class Statement:
    """The limit of a ledger, what each kind of spend used, and what open reservations hold."""

    limit: Cost
    spent: tuple[SpentOn, ...]
    held: Cost

    @property
    def left(self) -> Cost:
        """What may still be spent; refuses amounts that do not add up."""
        return self.limit - self.held - self.whole_spent

    @property
    def whole_spent(self) -> Cost:
        """On everything together."""
        return sum((each.cost for each in self.spent), Cost.ZERO)

    def spent_on(self, kind: str) -> Cost | None:
        """On one kind of spend; None where there was none."""
        return dict(self.spent).get(kind)

    @classmethod
    def of(cls, ledger: Ledger) -> Statement:
        """The amounts of an open ledger."""
        spent: dict[str, Cost] = {}
        for holding in ledger.reservations():
            kind = holding.reservation.kind
            spent[kind] = spent.get(kind, Cost.ZERO) + holding.drawn
        return cls(ledger.limit(), tuple(map(SpentOn._make, spent.items())), ledger.held())

    def to_dict(self) -> dict[str, Any]:
        """Exact decimals."""
        return {
            "limit": self.limit.to_dict(),
            "spent": {kind: cost.to_dict() for kind, cost in self.spent},
            "held": self.held.to_dict(),
            "left": self.left.to_dict(),
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Statement:
        """What ``to_dict`` wrote."""
        spent = tuple(SpentOn(kind, Cost.from_dict(cost)) for kind, cost in given["spent"].items())
        return cls(Cost.from_dict(given["limit"]), spent, Cost.from_dict(given["held"]))

    def __repr__(self) -> str:
        return f"<Statement: {self.limit}, {self.left} left>"

    def _repr_html_(self) -> str:
        facts = {"budget": self.limit, **dict(self.spent), "held": self.held, "left": self.left}
        return html_card("Where the budget went", facts)


@dataclass(frozen=True)
class Remaining:
    """What a ledger still allows, per person: ``epsilon`` of pure privacy, ``rho`` of zCDP, ``delta`` set aside."""

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

    def to_dict(self) -> dict[str, str]:
        """Exact decimals."""
        return self.cost.to_dict()

    def __str__(self) -> str:
        return str(self.cost)

    def __repr__(self) -> str:
        return f"<Remaining: {self}>"

    def _repr_html_(self) -> str:
        return html_card("Remaining per person", {"budget": self})
