"""What is asked of an ordered attribute besides its cells: all ranges, all prefixes, or given intervals.

A workload writes it behind the attribute's name, as in ``age=ranges`` or ``age=18-64,65-99``.  It changes what a plan
minimises; what is measured and released is the same kind of table.  Needs no arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from hushtable.errors import WorkloadError
from hushtable.schema import Attribute, Binned, LabelError

RANGES, PREFIXES, INTERVALS = "ranges", "prefixes", "intervals"


@dataclass(frozen=True)
class Ask:
    """Sums over stretches of one axis: ``length`` categories can be in one, intervals hold both ends."""

    axis: int
    kind: str
    length: int
    intervals: tuple[tuple[int, int], ...] = ()

    @property
    def number(self) -> int:
        """How many sums that is."""
        if self.kind == RANGES:
            return self.length * (self.length + 1) // 2
        return len(self.intervals) if self.kind == INTERVALS else self.length


def read_ask(position: int, axis: int, text: str, of_axis: Callable[[int], Attribute]) -> Ask:
    """What a workload wrote behind ``=``; refuses what is no word for it and no interval of whole bins."""
    kind = of_axis(axis)
    if not isinstance(kind, Binned):
        raise _wrong(position, "asks for ranges of an attribute that is no number and no date")
    if text in (RANGES, PREFIXES):
        return Ask(axis, text, kind.regular)
    found: list[tuple[int, int]] = []
    for part in text.split(","):
        try:
            codes = kind.codes_matching(part.strip())
        except LabelError:
            near = get_close_matches(text, (RANGES, PREFIXES), 1)
            low, high = kind.bounds
            fix = (
                f"Did you mean {near[0]!r}?" if near else "Write age=ranges, age=prefixes or age=18-64,65-99."
            )
            what = f"asks for an interval that is not made of whole bins inside the bounds, {low} to {high}"
            raise _wrong(position, what, fix) from None
        found.append((min(codes), max(codes)))
    return Ask(axis, INTERVALS, kind.regular, tuple(found))


def _wrong(position: int, what: str, fix: str = "Name the attribute alone.") -> WorkloadError:
    return WorkloadError("workload.ranges", f"Marginal {position + 1} of the workload {what}.", fix)


def ask_text(ask: Ask) -> list[Any]:
    """An ask as JSON, for hashes."""
    return [ask.axis, ask.kind, [list(pair) for pair in ask.intervals]]
