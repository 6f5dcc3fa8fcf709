"""The pieces that a report is made of: sections with facts, charts and tables.

They hold released values only, already computed; ``page`` turns them into HTML and into CSV files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import altair as alt
import polars as pl

from hushtable.report.headings import COLUMNS, Heading

SHOWN_ROWS = 25


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

    With ``searchable`` it gets a search box and shows its first rows until somebody searches.
    """

    key: str
    caption: str
    data: pl.DataFrame
    searchable: bool = False
    also: Mapping[str, Heading] = field(default_factory=dict[str, Heading])

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
        formats = [self._shown(name)[1] for name in self.data.columns]
        return [[shown(v, f) for v, f in zip(row, formats, strict=True)] for row in self.data.iter_rows()]

    def _shown(self, name: str) -> Heading:
        return self.also.get(name) or COLUMNS.get(name) or (name, "{:,}")


@dataclass(frozen=True, eq=False)
class Section:
    """A heading, a few sentences, facts as pairs, charts and tables."""

    key: str
    title: str
    text: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    figures: tuple[Figure, ...] = ()
    grids: tuple[Grid, ...] = ()
    small_figures: bool = False


def shown(value: Any, pattern: str = "{:,}") -> str:
    """A cell of a table as text.

    >>> shown(1234.5, "{:,.1f}"), shown(None), shown("age")
    ('1,234.5', '–', 'age')
    """
    if value is None:
        return "–"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return pattern.format(value) if number else str(value)
