"""A wanted accuracy as it is written: a half-width of the cells of a table, or of the means in it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hushtable.errors import UsageError
from hushtable.release.table_value import COUNT, MEAN, value_kind

GROUP = 1000
"""Rows of a group in which a mean is wanted, unless a wish says otherwise: a mean in a group of half the size is twice
as uncertain.  A round number that is said wherever it is used, not tuned."""
_WRITTEN = re.compile(
    r"\s*(?:([a-z]+\([^()]*\)|count)\s+by\s+)?(.*?)\s*=\s*([^=]+?)(?:\s+for\s+([0-9][0-9,_]*))?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wish:
    """A half-width of every cell of a table; of a mean, in groups of so many rows."""

    value: str
    attributes: tuple[str, ...]
    half_width: float
    group: int = GROUP

    @classmethod
    def parse(cls, written: str) -> Wish:
        """Read ``age,sex=50`` or ``mean(income) by sex,district = 500 for 200``."""
        match = _WRITTEN.fullmatch(written)
        try:
            width = None if match is None else float(match[3])
        except ValueError:
            width = None
        if match is None or width is None or not match[2]:
            raise UsageError(
                "usage.want",
                "A wanted accuracy cannot be read.",
                'Write "age,sex=50", or "mean(income) by sex,district = 500" for groups of 1,000 rows.',
            )
        names = tuple(name.strip() for name in match[2].split(","))
        group = int(re.sub("[,_]", "", match[4])) if match[4] else GROUP
        return cls(match[1] or COUNT, names, width, max(group, 1))

    def __str__(self) -> str:
        groups = f" in groups of {self.group:,} rows" if value_kind(self.value) == MEAN else ""
        return f"{self.value} by {', '.join(self.attributes)} within ±{self.half_width:,.10g}{groups}"
