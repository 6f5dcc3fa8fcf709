"""Amounts of the ledger as a person reads them: exact decimals of the grid of 1e-12."""

from __future__ import annotations

from hushtable.privacy.budget import UNIT, Cost

_DIGITS = len(str(UNIT)) - 1


def decimal(amount: int) -> str:
    """An amount in units of 1e-12 as an exact decimal.

    >>> decimal(120_000_000_000), decimal(3), decimal(5 * 10**12)
    ('0.12', '0.000000000003', '5')
    """
    whole, part = divmod(amount, UNIT)
    return f"{whole}.{part:0{_DIGITS}d}".rstrip("0").rstrip(".")


def text(cost: Cost) -> str:
    """A cost in words that ``--budget`` understands.

    >>> text(Cost(xi=0, rho=10**11)), text(Cost(xi=2 * 10**12, rho=0))
    ('rho=0.1', 'epsilon=2')
    """
    if cost.xi and cost.rho:
        return f"epsilon={decimal(cost.xi)} and rho={decimal(cost.rho)}"
    return f"epsilon={decimal(cost.xi)}" if cost.xi else f"rho={decimal(cost.rho)}"


def currency(kind: str) -> str:
    """What a ledger of a kind counts."""
    return {"pure": "pure epsilon", "zcdp": "zCDP rho"}.get(kind, "pure epsilon and zCDP rho")
