"""The privacy card: what a release promises, in words and numbers that a reader can check against the ledger."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from importlib.metadata import version
from typing import Any

from hushtable.ledger import Unit
from hushtable.ledger.wording import texts
from hushtable.privacy import UNIT, Cost, epsilon_from
from hushtable.privacy.amounts import text
from hushtable.schema import Schema

DELTAS = ("1e-6", "1e-9", "1e-12")
PACKAGES = ("hushtable", "numpy", "numba", "polars", "pyarrow", "cryptography")


def privacy_card(schema: Schema, unit: Unit, charged: Cost, spend: Mapping[str, Any]) -> dict[str, Any]:
    """The card as plain JSON values; ``spend`` says what was asked for and where the ledger recorded it."""
    return {
        "unit": {
            "person": str(unit),
            "rows_per_person": unit.rows,
            "enforced_by_column": unit.person,
            "note": _unit_note(unit),
        },
        "neighbours": "tables that differ by all records of one person, added or removed",
        "charged": texts(charged),
        "epsilon_by_delta": epsilon_by_delta(charged),
        "learnt_from_data": [mark.path for mark in schema.learnt],
        "schema_sha256": schema.version,
        **spend,
        "versions": dict(_versions()),
    }


def epsilon_by_delta(charged: Cost) -> dict[str, float]:
    """The (epsilon, delta) guarantees that a charge implies; without rho, epsilon at the delta of the charge alone.

    rho is converted with what the charge's own delta leaves.
    """
    xi, own = charged.xi / UNIT, Fraction(charged.delta)
    if charged.rho == 0:
        return {text(own): xi}
    rho = Fraction(charged.rho, UNIT)
    deltas = [delta for delta in DELTAS if Fraction(delta) > own] or [text(2 * own)]
    return {delta: xi + epsilon_from(rho=rho, delta=Fraction(delta) - own) for delta in deltas}


@cache
def _versions() -> tuple[tuple[str, str], ...]:
    """Name and version of everything that made the numbers; looked up once, because each takes a millisecond."""
    return (*((name, version(name)) for name in PACKAGES), ("python", platform.python_version()))


def _unit_note(unit: Unit) -> str:
    if unit.person is not None:
        return f"At most {unit.rows} row(s) of each value of column {unit.person!r} were counted."
    return f"That a person has at most {unit.rows} row(s) is the curator's claim; no column enforces it."
