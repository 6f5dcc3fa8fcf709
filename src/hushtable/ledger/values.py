"""What a ledger hands to its callers: the unit it is bound to, reservations, charges, and what was stored.

All are frozen records of what the chain says at one moment; asking again may give a newer one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from hushtable.errors import LedgerError
from hushtable.ledger.names import check_person
from hushtable.notebook import html_card
from hushtable.privacy import Cost
from hushtable.texts import counted

if TYPE_CHECKING:
    from hushtable.schema import Schema

HoldingState = Literal["open", "settled"]


@dataclass(frozen=True)
class Unit:
    """The unit of privacy: all rows of one person, at most ``rows`` of them, told apart by a column if one is named.

    >>> print(Unit(rows=2, person="patient"))
    one person, at most 2 rows, kept by column 'patient'
    """

    rows: int
    person: str | None = None

    @classmethod
    def of(cls, schema: Schema) -> Unit:
        """The unit that a schema declares."""
        return cls(schema.max_rows_per_person, schema.person)

    def __post_init__(self) -> None:
        if type(self.rows) is not int or self.rows < 1:
            raise LedgerError(
                "ledger.bad-unit",
                "The rows per person are not a whole number above 0.",
                "Use rows=1 or more.",
            )
        if self.person is not None:
            check_person(self.person)

    @property
    def note(self) -> str:
        """Who sees to it that nobody has more rows."""
        most = f"at most {counted(self.rows, 'row')}"
        if self.person is not None:
            verb = "is" if self.rows == 1 else "are"
            return f"Of the rows of each value of column {self.person!r}, {most} {verb} counted."
        return f"That a person has {most} is the curator's claim; no column enforces it."

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, with the sentences that a reader needs."""
        return {
            "person": str(self),
            "rows_per_person": self.rows,
            "enforced_by_column": self.person,
            "note": self.note,
        }

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Unit:
        """What ``to_dict`` wrote."""
        return cls(given["rows_per_person"], given["enforced_by_column"])

    def __str__(self) -> str:
        how = "as the curator states" if self.person is None else f"kept by column {self.person!r}"
        return f"one person, at most {counted(self.rows, 'row')}, {how}"


class Detail(Protocol):
    """What tells a spend apart from any other, in public words that an entry keeps as plain JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        ...


@dataclass(frozen=True)
class Spend:
    """What a request asks a ledger for, in public terms, decided before any row is read; ``cost`` is the most."""

    cost: Cost
    kind: str
    detail: Detail
    spender: str | None = None


@dataclass(frozen=True)
class Reservation:
    """An amount set aside.  ``fresh`` is False when the request had reserved before."""

    number: int
    hash: str
    kind: str
    request: str | None
    spender: str | None
    cost: Cost
    detail: dict[str, Any] = field(hash=False)
    time: str
    fresh: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Charge:
    """The right to draw once and to store once; ``number`` names it, ``ordinal`` counts within its reservation."""

    number: int
    reservation: int
    ordinal: int
    cost: Cost


@dataclass(frozen=True)
class StoredCharge:
    """A charge as the chain knows it; without a hash its payload was never stored and its draw is lost."""

    number: int
    ordinal: int
    cost: Cost
    sha256: str | None

    @property
    def stored(self) -> bool:
        return self.sha256 is not None


@dataclass(frozen=True, repr=False)
class Holding:
    """A reservation with what became of it."""

    reservation: Reservation
    state: HoldingState
    charges: tuple[StoredCharge, ...]

    @property
    def drawn(self) -> Cost:
        """What is spent for ever."""
        return sum((c.cost for c in self.charges), Cost.ZERO)

    @property
    def held(self) -> Cost:
        """What is still set aside; zero once settled."""
        return self.reservation.cost - self.drawn if self.state == "open" else Cost.ZERO

    @property
    def lost(self) -> int:
        """Charges whose draw is lost."""
        return sum(1 for charge in self.charges if not charge.stored)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values: who spent what, when, on what, and how it stands."""
        entry = self.reservation
        return {
            "number": entry.number,
            "time": entry.time,
            "kind": entry.kind,
            "spender": entry.spender,
            "request": entry.request,
            "state": self.state,
            "spent": self.drawn.to_dict(),
            "held": self.held.to_dict(),
            "lost_draws": self.lost,
        }

    def __repr__(self) -> str:
        entry = self.reservation
        return f"<{type(self).__name__} {entry.number}: {entry.kind}, {self.state}, {self.drawn} spent>"

    def _repr_html_(self) -> str:
        return html_card(repr(self).strip("<>"), self.to_dict() | {"spent": self.drawn, "held": self.held})


@dataclass(frozen=True, repr=False)
class Stored(Holding):
    """A reservation with the bytes that its charges paid for; None where the draw was lost."""

    payloads: tuple[bytes | None, ...]


@dataclass(frozen=True)
class LedgerReport:
    """What ``verify`` found.  ``head`` is the last hash that could be recomputed."""

    ok: bool
    findings: tuple[str, ...]
    head: str
    entries: int

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"ok": self.ok, "findings": list(self.findings), "head": self.head, "entries": self.entries}

    def __repr__(self) -> str:
        return f"<LedgerReport: {'in order' if self.ok else 'NOT in order'}, {self.entries:,} entries>"

    def _repr_html_(self) -> str:
        return html_card("In order" if self.ok else "NOT in order", self.to_dict())
