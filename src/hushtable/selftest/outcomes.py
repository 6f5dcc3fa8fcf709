"""What a part of the self-test came to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Progress = Callable[[str, int, int], None]
"""Called with a step, how much of it is done, and how much there is."""


class Unsound(Exception):
    """A part of the self-test that failed, and what it found."""


@dataclass(frozen=True)
class Outcome:
    """One part: its name, whether all was well, and what was done or found."""

    name: str
    passed: bool
    said: str
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.name,
            "passed": self.passed,
            "said": self.said,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class Report:
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
