"""What the records cost against the tables: for every released query, how far they lie apart, and which to read.

Compares released tables with tables of the records; knows neither the data nor the truth.  A deviation of about one
standard error is what taking out noise looks like; more than that is a price of being nonnegative and whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from hushtable.arrays import Floats
from hushtable.marginals import AttributeSet, Layout
from hushtable.plain import Finite, PlainRecord, Text, WholeNumber

FAR = 1.5
"""Root mean square deviation, in standard errors, beyond which a table is better read from the release.  Noise alone
gives about 1; a rule of thumb that moves only the advice."""
READING = (
    "Deviations are in standard errors of the released numbers. About 1 or less: the records agree with "
    "the tables up to noise. More: read that table from the release."
)
BANDS = (-np.inf, 0.0, 1.0, 3.0, 10.0, np.inf)
"""Released counts in standard errors, by which the bias of small cells is listed."""
BAND_NAMES = ("below 0", "0 to 1 std", "1 to 3 std", "3 to 10 std", "above 10 std")


@dataclass(frozen=True, eq=False)
class TableComparison:
    """One marginal: released estimates, records' counts, and the standard error of a cell (nan: unknown)."""

    label: str
    attributes: AttributeSet
    released: Floats
    counted: Floats
    std: float


def compare(
    layout: Layout, labels: Sequence[str], released: Floats, counted: Floats, stds: Sequence[float]
) -> Iterator[TableComparison]:
    """One comparison per marginal of a layout."""
    for k, s in enumerate(layout.sets):
        part = slice(int(layout.offsets[k]), int(layout.offsets[k + 1]))
        yield TableComparison(labels[k], s, released[part], counted[part], float(stds[k]))


class TableGap(PlainRecord):
    """How far the records lie from one table: in standard errors where these are known, and in all."""

    marginal: Text
    cells: WholeNumber
    std: Finite | None
    rms_deviation: Finite | None
    largest_deviation: Finite | None
    beyond_two: Finite | None
    l1_share: Finite
    read_from: Literal["tables", "microdata"]

    @classmethod
    def of(cls, given: TableComparison, rows: int) -> TableGap:
        """The comparison of one table with so many records."""
        gap = given.counted - given.released
        known = bool(np.isfinite(given.std) and given.std > 0.0)
        units = gap / given.std if known else np.zeros(0)
        rms = float(np.sqrt(np.mean(units**2))) if known else None
        return cls(
            marginal=given.label,
            cells=len(gap),
            std=given.std if known else None,
            rms_deviation=rms,
            largest_deviation=float(np.abs(units).max()) if known else None,
            beyond_two=float(np.mean(np.abs(units) > 2.0)) if known else None,
            l1_share=float(np.abs(gap).sum() / max(1, rows)),
            read_from="tables" if rms is not None and rms > FAR else "microdata",
        )


class Band(PlainRecord):
    """Bias of the records in the released cells of some size."""

    released: Text
    cells: WholeNumber
    bias: Finite
    bias_of_their_sum: Finite


class Totals(PlainRecord):
    """The total as released, as counted, and as the parts of each table add up to."""

    released: Finite | None
    std: Finite | None
    microdata: WholeNumber
    smallest_sum_of_parts: Finite | None
    largest_sum_of_parts: Finite | None

    @classmethod
    def of(cls, comparisons: Sequence[TableComparison], rows: int) -> Totals:
        """Of so many records."""
        total = next((c for c in comparisons if c.attributes == ()), None)
        parts = [float(c.released.sum()) for c in comparisons if c.attributes != ()]
        return cls(
            released=float(total.released[0]) if total is not None else None,
            std=total.std if total is not None and np.isfinite(total.std) else None,
            microdata=rows,
            smallest_sum_of_parts=min(parts, default=None),
            largest_sum_of_parts=max(parts, default=None),
        )


class Explanation(PlainRecord):
    """What records cost against the tables that they were made from."""

    fit: Text
    rows: WholeNumber
    certificate: Finite | None = None
    notes: Annotated[tuple[Text, ...], Field(strict=False)]
    tables: Annotated[tuple[TableGap, ...], Field(strict=False)]
    small_cells: Annotated[tuple[Band, ...], Field(strict=False)]
    sum: Totals
    reading: Text = READING

    @property
    def agreeing(self) -> int:
        """Tables that the records agree with up to noise."""
        return [table.read_from for table in self.tables].count("microdata")


def small_cells(comparisons: Sequence[TableComparison]) -> tuple[Band, ...]:
    """Bias of the records by the size of the released cell, in standard errors of the cell."""
    known = [c for c in comparisons if np.isfinite(c.std) and c.std > 0.0]
    if not known:
        return ()
    size = np.concatenate([c.released / c.std for c in known])
    gap = np.concatenate([c.counted - c.released for c in known])
    found: list[Band] = []
    for low, high, name in zip(BANDS[:-1], BANDS[1:], BAND_NAMES, strict=True):
        inside = (size >= low) & (size < high)
        count = int(inside.sum())
        bias = float(gap[inside].mean()) if count else 0.0
        found.append(Band(released=name, cells=count, bias=bias, bias_of_their_sum=bias * count))
    return tuple(found)
