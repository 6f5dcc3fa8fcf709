"""The pieces that a report is made of: sections with facts, charts and tables.

They hold released values only, already computed; ``page`` turns them into HTML and into CSV files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import polars as pl

from hushtable.report.bar_table import BarTable
from hushtable.report.explorer import Explorer
from hushtable.report.headings import COLUMNS, Heading

BARE = "bare"
"""The kind of a section whose heading is for those who cannot see that it begins."""


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart with the sentence that stands for it where it cannot be seen, and the data behind it.

    ``key`` names its element in the page and its CSV file.
    """

    key: str
    title: str
    alt: str
    chart: alt.TopLevelMixin
    data: pl.DataFrame

    @property
    def spec(self) -> dict[str, Any]:
        """The chart in Vega-Lite; its parts were checked when they were made."""
        return self.chart.to_dict(validate=False)


@dataclass(frozen=True, eq=False)
class Grid:
    """A table; a null is shown as a dash.  ``also`` has columns that are called otherwise here than elsewhere.

    With ``searchable`` it gets a search box and shows its first rows until somebody searches.  ``links`` has an address
    for each row.
    """

    key: str
    caption: str
    data: pl.DataFrame
    searchable: bool = False
    also: Mapping[str, Heading] = field(default_factory=dict[str, Heading])
    links: Sequence[str] = ()
    listed: pl.DataFrame | None = None
    """What the page lists where the data are too long for it."""

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Heading and alignment of every column."""
        return [
            {"heading": self._shown(name)[0], "number": self.data[name].dtype.is_numeric()}
            for name in self.data.columns
        ]

    @property
    def rows(self) -> list[list[str]]:
        """The cells as they are read."""
        data = self.data if self.listed is None else self.listed
        formats = [self._shown(name)[1] for name in data.columns]
        return [[shown(v, f) for v, f in zip(row, formats, strict=True)] for row in data.iter_rows()]

    def _shown(self, name: str) -> Heading:
        return self.also.get(name) or COLUMNS.get(name) or (name, "{:,}")


@dataclass(frozen=True)
class Tile:
    """One number that a reader should take away, with its name and what qualifies it."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, a few numbers, sentences, facts as pairs, bars, charts and tables, and perhaps the explorer.

    ``kind`` is a class of the style sheet.
    """

    key: str
    title: str
    text: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    figures: tuple[Figure, ...] = ()
    grids: tuple[Grid, ...] = ()
    small_figures: bool = False
    tiles: tuple[Tile, ...] = ()
    bars: tuple[BarTable, ...] = ()
    explorer: Explorer | None = None
    kind: str = ""


@dataclass(frozen=True, eq=False)
class Chapter:
    """Sections under one heading; without a title they stand for themselves."""

    key: str
    title: str
    sections: tuple[Section, ...]
    lead: str = ""

    @classmethod
    def of(cls, key: str, title: str, *sections: Section | None, lead: str = "") -> Chapter:
        """A chapter of those sections that there are."""
        return cls(key, title, tuple(section for section in sections if section is not None), lead)


def shown(value: Any, pattern: str = "{:,}") -> str:
    """A cell of a table as text.

    >>> shown(1234.5, "{:,.1f}"), shown(None), shown("age")
    ('1,234.5', '–', 'age')
    """
    if value is None:
        return "–"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return pattern.format(value) if number else str(value)
