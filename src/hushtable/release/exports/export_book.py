"""What an export is made of: the tables that were asked for, one at a time, and the words that go with all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import polars as pl

from hushtable.reconstruct import FULLY, reconstruction_named
from hushtable.release.exports.column_sets import ColumnSet
from hushtable.release.exports.export_table import Dimension, ExportTable, file_stems
from hushtable.release.promise import MODELLED, interval_promise, value_promise
from hushtable.release.quality import QUALITY_FLAGS
from hushtable.release.table_value import COUNT
from hushtable.watching import Progress, silent

if TYPE_CHECKING:
    from hushtable.release.card import Card
    from hushtable.release.comparison import ReleaseComparison
    from hushtable.release.release import Release
    from hushtable.release.whole_numbers import WholeNumbers
    from hushtable.schema import About

NOISE_ONLY = (
    "Errors are those of the noise that protects people: they say nothing about people who did not answer or were "
    "recorded wrongly."
)


WHOLE = (
    "Published numbers are whole, zero or more, and add up on every level and across all tables of this export: some "
    "file of rows has exactly these tables, also those of attributes that read one column in the same way. They are as "
    "near to the estimates as could be found, which stand beside them and are the better ones for further sums. Their "
    "intervals are for the true count."
)
WHOLE_LIMITED = f"{WHOLE} The search for nearer ones ended at its limit on work."


@dataclass(frozen=True, eq=False)
class ExportBook:
    """Tables of a release with one set of columns, intervals at ``1 - alpha``.

    ``raw``: texts go into CSV as they are, also where a spreadsheet would run them.
    """

    release: Release
    names: tuple[tuple[str, ...], ...]
    columns: ColumnSet
    alpha: float = 0.05
    raw: bool = False
    progress: Progress = silent
    whole: WholeNumbers | None = None
    changes: ReleaseComparison | None = None
    value: str = COUNT

    @property
    def about(self) -> About:
        """What the numbers are about."""
        return self.release.schema.about

    @property
    def card(self) -> Card:
        """The privacy card."""
        return self.release.card

    @property
    def title(self) -> str:
        """Of the whole."""
        return self.about.title or f"Tables of {self.card.ledger.name}"

    @property
    def unit(self) -> str:
        """What is counted, or shown in its place."""
        return (self.about.unit or "records") if self.value == COUNT else self.value

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """A name for the file of each table."""
        return tuple(file_stems(self.names))

    @property
    def cells(self) -> tuple[int, ...]:
        """Cells of each table."""
        sizes = self.release.schema.sizes
        return tuple(prod(sizes[axis] for axis in self.release.schema.axes(names)) for names in self.names)

    @cached_property
    def dimensions(self) -> dict[str, Dimension]:
        """Every attribute or level of the tables, by its name."""
        levels = self.release.schema.levels
        used = dict.fromkeys(self._axis_name(name) for names in self.names for name in names)
        return {name: Dimension.of(name, levels[name]) for name in used}

    def tables(self) -> Iterator[ExportTable]:
        """The tables, each made when it is wanted."""
        taken = self.release.schema.names
        for number, names in enumerate(self.names, 1):
            self.progress("writing tables", number - 1, len(self.names))
            table = self.release.table(*names, alpha=self.alpha, value=self.value)
            if self.whole is not None:
                table = table.with_columns(self.whole.columns(names))
            if self.changes is not None:
                table = table.with_columns(self.changes.columns(names))
            shown = self.table_dimensions(names)
            labels = table.select(dimension.name for dimension in shown)
            columns = self.columns.columns(table, taken, self.alpha)
            yield ExportTable(
                number,
                self.stems[number - 1],
                self.table_title(names),
                tuple(shown),
                self.columns.measures(taken),
                pl.DataFrame([*labels.get_columns(), *columns]),
            )
        self.progress("writing tables", len(self.names), len(self.names))

    def table_dimensions(self, names: Sequence[str]) -> list[Dimension]:
        """The dimensions of a table."""
        return [self.dimensions[self._axis_name(name)] for name in names]

    def table_title(self, names: Sequence[str]) -> str:
        """Such as "Persons by age and sex, Alder, 2025"."""
        shown = [dimension.title for dimension in self.table_dimensions(names)]
        by = (
            f" by {', '.join(shown[:-1])} and {shown[-1]}"
            if len(shown) > 1
            else "".join(f" by {s}" for s in shown)
        )
        where = "".join(f", {text}" for text in (self.about.area, self.about.period) if text)
        unit = self.unit[:1].upper() + self.unit[1:]
        return f"{unit}{by}{where}" if names else f"{unit}, total{where}"

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know, a sentence or two each."""
        estimate = reconstruction_named(self.card.reconstruct).estimate
        modelled = any(flag != FULLY for flag in self.release.accuracy()["measured"])
        return (
            "The numbers are differentially private: noise was added on purpose, to protect the people in the data. "
            f"Price: {self.card}.",
            f"Protected is {self.card.unit}.",
            f"{'Estimate' if self.value == COUNT else 'Counts behind the estimates'}: {estimate}.",
            *(note for note in (self.card.counted, self.card.fixed) if note is not None),
            self._promise,
            *((MODELLED,) if modelled else ()),
            *(() if self.whole is None else (WHOLE if self.whole.finished else WHOLE_LIMITED,)),
            *(() if self.changes is None else (self.changes.note,)),
            *(f"Quality {flag.name}: {flag.meaning}." for flag in QUALITY_FLAGS),
            *self._grades,
            NOISE_ONLY,
            *self.about.footnotes,
        )

    @property
    def _promise(self) -> str:
        if self.value == COUNT:
            return interval_promise(self.card, self.alpha)
        return value_promise(self.card, self.value, self.alpha)

    @property
    def _grades(self) -> tuple[str, ...]:
        scale = self.columns.scale
        if scale is None or self.value != COUNT:
            return ()
        marks = zip(scale.marks, scale.meanings, strict=True)
        least = f"{scale.small:,.0f}"
        small = f"A number below {least} is graded by its half-width, as if it were {least} {self.unit}."
        return (*(f"Grade {mark or 'without a mark'}: {meaning}." for mark, meaning in marks), small)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Headings and texts of what is known about the whole."""
        stamp = self.card.ledger
        account = (
            ("Privacy", f"{self.card}"),
            ("Ledger", f"{stamp.name}, entry {stamp.entry}"),
            ("Head", stamp.head),
        )
        made = (("Made", stamp.time), ("Made by", f"Hushtable {self.card.versions['hushtable']}"))
        return (*self.about.facts, *account, *made)

    def _axis_name(self, name: str) -> str:
        """An attribute may be named where its finest level is meant."""
        (axis,) = self.release.schema.axes((name,))
        return self.release.schema.names[axis]
