"""Amounts of the ledger as a person reads them: exact decimals."""

from __future__ import annotations

from fractions import Fraction

from hushtable.privacy.amounts import text as exact_text
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
    words = {"xi": "epsilon", "rho": "rho", "delta": "delta"}
    written = [f"{words[name]}={value}" for name, value in texts(cost).items() if value != "0"]
    return " and ".join(written) or "rho=0"


def texts(cost: Cost) -> dict[str, str]:
    """The parts of a cost as exact decimals; a delta of 0 is left out.

    >>> texts(Cost(0, 10**11)), texts(Cost(10**12, 0, Fraction(1, 10**7)))
    ({'xi': '0', 'rho': '0.1'}, {'xi': '1', 'rho': '0', 'delta': '1e-7'})
    """
    parts = {"xi": decimal(cost.xi), "rho": decimal(cost.rho)}
    return parts | {"delta": exact_text(Fraction(cost.delta))} if cost.delta else parts


def currency(kind: str) -> str:
    """What a ledger of a kind counts."""
    return {"pure": "pure epsilon", "zcdp": "zCDP rho"}.get(kind, "pure epsilon and zCDP rho")
