"""What a part of the self-test came to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from hushtable.notebook import html_card
from hushtable.texts import counted


class Unsound(Exception):
    """A part of the self-test that failed, and what it found."""


def require(holds: bool, what: str) -> None:
    """Fail where something does not hold."""
    if not holds:
        raise Unsound(what)


@dataclass(frozen=True)
class Outcome:
    """One part: its name, whether all was well, and what was done or found."""

    name: str
    passed: bool
    said: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"seconds": round(self.seconds, 3)}


@dataclass(frozen=True, repr=False)
class SelftestReport:
    """All parts, in the order in which they ran."""

    outcomes: tuple[Outcome, ...]

    @property
    def ok(self) -> bool:
        """Whether every part passed."""
        return all(outcome.passed for outcome in self.outcomes)

    @property
    def seconds(self) -> float:
        """How long it took."""
        return sum(outcome.seconds for outcome in self.outcomes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            "parts": [outcome.to_dict() for outcome in self.outcomes],
        }

    def __repr__(self) -> str:
        passed = sum(outcome.passed for outcome in self.outcomes)
        return f"<SelftestReport: {passed} of {counted(len(self.outcomes), 'part')} passed>"

    def _repr_html_(self) -> str:
        rows = [(one.name, "passed" if one.passed else "failed", one.said) for one in self.outcomes]
        return html_card(repr(self).strip("<>"), {}, ["part", "outcome", "what was done"], rows)
