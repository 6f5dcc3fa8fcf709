"""Which numbers of a cell are exported: one set of columns for every format, chosen by name.

A format lists and writes whatever a set has; it knows none of them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import polars as pl

from hushtable.release.benchmarked import adjusts
from hushtable.release.quality import QUALITY_FLAGS, grade_column, quality_column
from hushtable.release.sample_errors import told_error
from hushtable.release.table_value import COUNT, SUM, TableValue

if TYPE_CHECKING:
    from hushtable.release.release import Release
    from hushtable.schema import QualityScale

MeasureKind = Literal["number", "word"]


YES_OR_NO = ("no", "yes")


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
    whole: ClassVar[bool] = False
    """Whether the tables have whole numbers, which are made before they are written."""
    changes: ClassVar[bool] = False
    """Whether the tables say what changed since another release."""

    def __init__(
        self, scale: QualityScale | None = None, *, adjusted: bool = False, sampled: bool = False
    ) -> None:
        self.scale, self.adjusted, self.sampled = scale, adjusted, sampled

    def of(self, release: Release, value: str = COUNT) -> Self:
        """The same columns for tables of a release: numbers marked by its scale, adjusted to its benchmarks, and with
        the error of sampling where that is known."""
        tells, schema = value == COUNT or value.startswith(SUM), release.schema
        sampled = told_error(release, TableValue.parse(value, schema)) is not None
        return type(self)(schema.quality, adjusted=tells and adjusts(schema), sampled=sampled)

    @abstractmethod
    def measures(self, taken: Sequence[str]) -> tuple[CellColumn, ...]:
        """The columns; names that attributes bear are ``taken``."""

    @abstractmethod
    def quality(self, taken: Sequence[str]) -> str:
        """The column with the quality flags."""

    @abstractmethod
    def columns(self, table: pl.DataFrame, taken: Sequence[str], alpha: float) -> list[pl.Series]:
        """Their values for one released table, in the order of ``measures``."""


_BENCHMARKED = (
    CellColumn("benchmarked", "Benchmarked", "the number adjusted to official figures; see the notes"),
    CellColumn(
        "benchmarked_lower", "Benchmarked, lower end", "of an interval that takes the figures as they are"
    ),
    CellColumn("benchmarked_upper", "Benchmarked, upper end", "of that interval"),
)
_SAMPLED = (
    CellColumn("cv_noise", "Relative error, noise", "standard error of the noise over the estimate"),
    CellColumn(
        "cv_sampling", "Relative error, sampling", "by the design effect of the sample; see the notes"
    ),
    CellColumn("cv_total", "Relative error, total", "root of the sum of the squares of both"),
)


class WithErrors(ColumnSet):
    """All that a released table says of a cell, and a word for its quality."""

    name = "errors"
    summary = "estimate, standard error, interval, unbiased estimate and quality"
    value = "estimate"
    graded: ClassVar[str] = "estimate"
    """The number that the grade is of, which ``lower`` and ``upper`` are the interval of."""
    first: ClassVar[tuple[CellColumn, ...]] = ()
    counts: ClassVar[bool] = True
    """Whether the numbers are counts, of which less than a half is next to nothing."""

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
        grade = CellColumn(
            _free("grade", taken), "Grade", "mark of the office's own scale; see the notes", "word", ()
        )
        if self.scale is not None:
            grade = replace(grade, words=self.scale.marks)
        shown = (measure for measure in (*self.first, *listed, *self.beside) if measure.name not in taken)
        return (*shown, *((grade,) if self.scale is not None else ()), word)

    @property
    def beside(self) -> tuple[CellColumn, ...]:
        """Of tables that are adjusted to official figures, and of samples."""
        return (*(_BENCHMARKED if self.adjusted else ()), *(_SAMPLED if self.sampled else ()))

    def quality(self, taken: Sequence[str]) -> str:
        return _free("quality", taken)

    def columns(self, table: pl.DataFrame, taken: Sequence[str], alpha: float) -> list[pl.Series]:
        words = {self.quality(taken): quality_column(table, alpha, counts=self.counts)}
        if self.scale is not None:
            words[_free("grade", taken)] = grade_column(self.scale, table, self.graded, alpha)
        return [
            (words[measure.name] if measure.name in words else table[measure.name]).alias(measure.name)
            for measure in self.measures(taken)
        ]


class WithWhole(WithErrors):
    """The same behind whole numbers that add up."""

    name = "published"
    summary = "whole numbers that add up, each with its interval, and beside them all of errors"
    value = graded = "published"
    whole = True
    first = (
        CellColumn("published", "Published", "whole number, zero or more; all tables of this export add up"),
        CellColumn("published_lower", "Published, lower end", "of an interval for the true count"),
        CellColumn("published_upper", "Published, upper end", "of that interval"),
    )


class WithChanges(WithErrors):
    """The same behind the change since another release."""

    name = "changes"
    summary = "the other release's number, the difference with its error and significance, and all of errors"
    value = "difference"
    changes = True
    first = (
        CellColumn("difference", "Difference", "this release's unbiased estimate less the other's"),
        CellColumn("difference_std", "Difference, standard error", "of the difference, by the noise of both"),
        CellColumn("difference_lower", "Difference, lower end", "of an interval for the true difference"),
        CellColumn("difference_upper", "Difference, upper end", "of that interval"),
        CellColumn("p_value", "p-value", "chance of a difference as large by noise alone"),
        CellColumn(
            "significant", "Significant", "whether noise is ruled out, cell by cell", "word", YES_OR_NO
        ),
        CellColumn(
            "significant_among_all",
            "Significant among all",
            "whether noise is ruled out for all cells of the table together",
            "word",
            YES_OR_NO,
        ),
        CellColumn("last", "Last", "unbiased estimate of the other release"),
    )


class OfValue(WithErrors):
    """What a table of totals, means, shares or rates says of a cell."""

    name = "value"
    summary = "estimate, standard error and interval of a total, mean, share or rate"
    counts = False

    def measures(self, taken: Sequence[str]) -> tuple[CellColumn, ...]:
        listed = (
            CellColumn("estimate", "Estimate", "what was asked for, as the title says"),
            CellColumn("std", "Standard error", "of its noise; empty where the denominator is near zero"),
            CellColumn("lower", "Lower end", "of an interval for the true value"),
            CellColumn("upper", "Upper end", "of that interval"),
        )
        word = CellColumn(
            self.quality(taken), "Quality", "how far noise leaves the number usable; see the notes", "word",
            tuple(flag.name for flag in QUALITY_FLAGS),
        )  # fmt: skip
        return (*listed, *self.beside, word)


def _free(name: str, taken: Sequence[str]) -> str:
    """A name that no attribute bears."""
    while name in taken:
        name += "_flag"
    return name


COLUMN_SETS: dict[str, ColumnSet] = {
    made.name: made for made in (WithErrors(), WithWhole(), WithChanges(), OfValue())
}
"""Every set by its name."""
