"""What a ledger calls each kind of spend: words of its entries, which no later version may change."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushtable.ledger import Holding

RELEASE, CHECK, CHOOSE = "release", "check", "choose"


def is_choice(holding: Holding) -> bool:
    """Whether a spend is a choice, which names its options."""
    return holding.reservation.kind == CHOOSE and "options" in holding.reservation.detail
