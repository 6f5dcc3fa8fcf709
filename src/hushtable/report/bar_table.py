"""A table of counts drawn without a script: a bar for each, its interval, and the mark of a doubtful number.

It looks as the explorer draws it (``explorer-draw.js``), and is there on paper and where no script runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10
from typing import Any

import polars as pl

from hushtable.release import QUALITY_FLAGS, QualityFlag, quality_codes

MOST_TICKS = 3
"""More numbers would not fit over a bar on a phone."""


@dataclass(frozen=True)
class Tick:
    """A number of the axis: where it stands, in per cent, and how its text is set."""

    at: float
    text: str
    anchor: str


@dataclass(frozen=True)
class BarRow:
    """A line: texts, places of its bar in per cent of the axis, and the place of the records' count, if any."""

    label: str
    value: str
    ends: str
    flag: QualityFlag
    at: float
    low: float
    high: float
    dot: float | None
    dot_is: str


@dataclass(frozen=True, eq=False)
class BarTable:
    """``data`` has cell, estimate, lower and upper, and microdata with microdata_is where records are shown too."""

    key: str
    title: str
    heading: str
    sentence: str
    data: pl.DataFrame
    alpha: float

    @property
    def top(self) -> float:
        """Where the axis ends."""
        columns = [name for name in ("upper", "estimate", "microdata") if name in self.data.columns]
        return max([1.0, *(float(self.data[name].max() or 0.0) for name in columns)])  # pyright: ignore

    @property
    def ticks(self) -> list[Tick]:
        """Round numbers from zero on."""
        found: list[Tick] = []
        step = _step(self.top / MOST_TICKS)
        for k in range(floor(self.top / step + 1e-9) + 1):
            at = _place(k * step, self.top)
            anchor = "start" if at < 6 else "end" if at > 92 else "middle"
            found.append(Tick(at, f"{k * step:,.10g}", anchor))
        return found

    @property
    def rows(self) -> list[BarRow]:
        """One line per cell."""
        numbers = [self.data[name].to_numpy() for name in ("estimate", "lower", "upper")]
        codes = quality_codes(numbers[0], numbers[1], numbers[2], self.alpha)
        digits = 0 if float((numbers[2] - numbers[1]).mean()) >= 20.0 else 1
        return [
            self._row(row, QUALITY_FLAGS[int(code)], digits)
            for row, code in zip(self.data.iter_rows(named=True), codes.tolist(), strict=True)
        ]

    def _row(self, row: dict[str, Any], flag: QualityFlag, digits: int) -> BarRow:
        records = row.get("microdata")
        return BarRow(
            row["cell"],
            count_text(row["estimate"], digits),
            f"{count_text(row['lower'], digits)} – {count_text(row['upper'], digits)}",
            flag,
            _place(row["estimate"], self.top),
            _place(row["lower"], self.top),
            _place(row["upper"], self.top),
            None if records is None else _place(records, self.top),
            row.get("microdata_is", ""),
        )


def count_text(value: float, digits: int = 0) -> str:
    """A count to be read; none is minus zero.

    >>> count_text(-0.2), count_text(1234.56, 1)
    ('0', '1,234.6')
    """
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0.0 else text


def _place(value: float, top: float) -> float:
    return round(min(100.0, max(0.0, 100.0 * value / top)), 2)


def _step(rough: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** floor(log10(rough))
    return next(k * power for k in (1.0, 2.0, 5.0, 10.0) if k * power >= rough * (1 - 1e-9))
