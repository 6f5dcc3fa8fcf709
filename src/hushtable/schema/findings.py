"""What a preflight found: how confidential data fit a schema, in exact numbers.

For the curator's eyes alone.  Nothing of it is noisy, so that nothing of it may be published, kept in a ledger or a
release, or change what a release does.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from hushtable.notebook import html_card
from hushtable.texts import CONFIDENTIAL, counted

MUCH = Fraction(1, 100)
"""Share of rows whose loss is said loudly."""
UNIT = "unit"
"""The code of the hint that the privacy unit may be false; it is said loudly too."""


@dataclass(frozen=True)
class Offender:
    """A text that does not fit, as it stands in the data, and in how many rows; ``what`` is wrong with it."""

    text: str
    rows: int
    what: str


@dataclass(frozen=True)
class ColumnFindings:
    """One attribute: how many rows hold a null, something that is no value of it, or a number beyond its bounds.

    ``dropped`` rows are lost because of it, ``alone`` of them because of nothing else; ``clipped`` were moved to a
    bound.  ``different`` is how many texts that do not fit were told apart; their counts are exact unless it is None.
    """

    attribute: str
    column: str
    nulls: int
    unreadable: int
    below: int
    above: int
    dropped: int
    alone: int
    clipped: int
    offenders: tuple[Offender, ...]
    different: int | None


@dataclass(frozen=True)
class Malformed:
    """Rows of a text file that cannot be split into fields: for one reason, the first of them by line number."""

    reason: str
    rows: int
    lines: tuple[str, ...]


@dataclass(frozen=True)
class PeopleFindings:
    """People whose rows are not dropped: how many, with how many rows each, and what the cap cuts."""

    persons: int
    most: int
    over: int
    spread: tuple[tuple[int, int], ...]
    """(rows, people with so many), for the smallest numbers of rows."""


@dataclass(frozen=True)
class FileLook:
    """What a text file looks like by itself, whatever the schema says of it."""

    encoding: str
    delimiter: str
    header: bool


@dataclass(frozen=True)
class Hint:
    """Something that looks wrong, and what to try."""

    code: str
    message: str
    fix: str


@dataclass(frozen=True, repr=False)
class Preflight:
    """How data fit a schema.  ``rows`` were read; malformed, dropped, nobody's and cut ones do not count."""

    data: str
    rows: int
    malformed: tuple[Malformed, ...]
    dropped: int
    nobody: int
    cut: int
    columns: tuple[ColumnFindings, ...]
    people: PeopleFindings | None
    unused: tuple[str, ...]
    look: FileLook | None
    hints: tuple[Hint, ...] = ()

    @property
    def lost(self) -> int:
        """Rows that a release would not count."""
        return sum(kind.rows for kind in self.malformed) + self.dropped + self.nobody + self.cut

    @property
    def counted(self) -> int:
        """Rows that a release would count."""
        return self.rows - self.lost

    @property
    def loses_much(self) -> bool:
        """Whether more than one row in a hundred would be lost, or nothing would be left."""
        return self.lost > MUCH * self.rows or self.counted == 0

    @property
    def warning(self) -> str:
        """What is said loudly; empty where little is lost and nothing speaks against the unit."""
        unit = " ".join(hint.message for hint in self.hints if hint.code == UNIT)
        return " ".join(filter(None, [self._loss, unit]))

    @property
    def _loss(self) -> str:
        if not self.loses_much:
            return ""
        if not self.rows:
            return "There is no row: a release would be tables of nothing, and would be charged."
        share = f"{100 * self.lost / self.rows:.1f}%"
        none = " Nothing is left: a release would be tables of nothing." if self.counted == 0 else ""
        return f"{share} of the rows ({self.lost:,} of {self.rows:,}) would be lost.{none}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, with the stamp."""
        found = {"stamp": CONFIDENTIAL} | asdict(self)
        return found | {"lost": self.lost, "counted": self.counted, "warning": self.warning}

    def __repr__(self) -> str:
        return f"<Preflight of {self.data}, {CONFIDENTIAL}: {counted(self.lost, 'row')} lost>"

    def _repr_html_(self) -> str:
        facts = {"rows": self.rows, "lost": self.lost, "counted": self.counted, "warning": self.warning}
        rows = [(c.attribute, c.nulls, c.unreadable, c.below + c.above, c.dropped) for c in self.columns]
        head = ("attribute", "nulls", "no value", "beyond bounds", "rows dropped")
        return html_card(f"Preflight of {self.data}: {CONFIDENTIAL}", facts, head, rows)
