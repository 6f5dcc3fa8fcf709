"""Which numbers of a cell are exported: one set of columns for every format, chosen by name.

A format lists and writes whatever a set has; it knows none of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl

from hushtable.release.quality import QUALITY_FLAGS, quality_column

MeasureKind = Literal["number", "word"]


@dataclass(frozen=True)
class CellColumn:
    """A column beside the attributes: its name, a heading, what it means, and the words that it may hold."""

    name: str
    title: str
    meaning: str
    kind: MeasureKind = "number"
    words: tuple[str, ...] = ()


class ColumnSet(ABC):
    """The columns of an exported table; ``value`` is the one that stands for the cell."""

    name: ClassVar[str]
    summary: ClassVar[str]
    value: ClassVar[str]

    @abstractmethod
    def measures(self, taken: Sequence[str]) -> tuple[CellColumn, ...]:
        """The columns; names that attributes bear are ``taken``."""

    @abstractmethod
    def quality(self, taken: Sequence[str]) -> str:
        """The column with the quality flags."""

    @abstractmethod
    def columns(self, table: pl.DataFrame, taken: Sequence[str], alpha: float) -> list[pl.Series]:
        """Their values for one released table, in the order of ``measures``."""


class WithErrors(ColumnSet):
    """All that a released table says of a cell, and a word for its quality."""

    name = "errors"
    summary = "estimate, standard error, interval, unbiased estimate and quality"
    value = "estimate"

    def measures(self, taken: Sequence[str]) -> tuple[CellColumn, ...]:
        flags = tuple(flag.name for flag in QUALITY_FLAGS)
        listed = (
            CellColumn("estimate", "Estimate", "the published count"),
            CellColumn("std", "Standard error", "of the unbiased estimate; empty where none is known"),
            CellColumn("lower", "Lower end", "of an interval for the true count; never below zero"),
            CellColumn("upper", "Upper end", "of that interval"),
            CellColumn(
                "unbiased", "Unbiased", "estimate that is right on average; empty where not all was measured"
            ),
            CellColumn(
                "unbiased_lower", "Unbiased, lower end", "of its own interval, which may reach below zero"
            ),
            CellColumn("unbiased_upper", "Unbiased, upper end", "of that interval"),
            CellColumn(
                "measured",
                "Measured",
                "fully: every number behind the cell was; otherwise the estimate is a model's guess",
                "word",
                ("fully", "partly", "derived"),
            ),
        )
        word = CellColumn(
            self.quality(taken),
            "Quality",
            "how far noise leaves the number usable; see the notes",
            "word",
            flags,
        )
        return (*(measure for measure in listed if measure.name not in taken), word)

    def quality(self, taken: Sequence[str]) -> str:
        name = "quality"
        while name in taken:
            name += "_flag"
        return name

    def columns(self, table: pl.DataFrame, taken: Sequence[str], alpha: float) -> list[pl.Series]:
        *numbers, word = self.measures(taken)
        return [*(table[measure.name] for measure in numbers), quality_column(table, alpha).alias(word.name)]


COLUMN_SETS: dict[str, ColumnSet] = {made.name: made for made in (WithErrors(),)}
"""Every set by its name."""
