"""What the cells of a table can show beside counts, as it is written: totals and means of a column, shares, rates.

count          how many rows, or what they weigh
sum(X)         the total of a column that the schema sums
mean(X)        the total over the count
share(A)       the part that each category of A has of the count of all of them
share(A, X)    the same of the total of X
rate(X, Y)     the total of X over that of Y
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hushtable.errors import WorkloadError

if TYPE_CHECKING:  # what is written is read without it
    from hushtable.schema import Schema

COUNT, SUM, MEAN, SHARE, RATE = "count", "sum", "mean", "share", "rate"
_WRITTEN = re.compile(
    r"\s*(sum|mean|share|rate)\s*\(\s*([^(),]+?)\s*(?:,\s*([^(),]+?)\s*)?\)\s*", re.IGNORECASE
)


@dataclass(frozen=True)
class TableValue:
    """What a table shows: ``kind`` of which ``first`` and perhaps ``second``."""

    kind: str
    first: str = ""
    second: str = ""

    @classmethod
    def parse(cls, written: str, schema: Schema) -> TableValue:
        """Read ``mean(income)`` and the like; refuses columns that the schema does not sum."""
        if written.strip().lower() == COUNT:
            return cls(COUNT)
        match, kind = _WRITTEN.fullmatch(written), value_kind(written)
        if match is None or (match[3] is None if kind == RATE else match[3] is not None and kind != SHARE):
            raise WorkloadError(
                "table.value",
                "What the table shall show cannot be read.",
                "Write count, sum(X), mean(X), share(A), share(A, X) or rate(X, Y).",
            )
        found = cls(kind, match[2], match[3] or "")
        for name in found.columns:
            if name not in schema.sums:
                known = ", ".join(schema.sums) or "none: declare `sums` in the schema and release again"
                raise WorkloadError(
                    "table.no-sum", f"The release has no totals of {name!r}.", f"Totals there are: {known}."
                )
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        """The summed columns that it needs."""
        given = (self.second,) if self.kind == SHARE else (self.first, self.second)
        return tuple(name for name in given if name)

    def __str__(self) -> str:
        inside = ", ".join(name for name in (self.first, self.second) if name)
        return f"{self.kind}({inside})" if inside else self.kind


def value_kind(written: str) -> str:
    """Which kind of value is written, whatever its columns; empty where it cannot be read."""
    if written.strip().lower() == COUNT:
        return COUNT
    match = _WRITTEN.fullmatch(written)
    return "" if match is None else match[1].lower()
