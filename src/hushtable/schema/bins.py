"""How bounds are cut into bins, exactly.

Edges are computed with rationals from the decimal numbers as they were written, and only then rounded to the nearest
float, so that a label, an edge and the parsed text ``0.3`` agree.  Whole numbers and days are cut in integers.
Nothing here sees data.
"""

from __future__ import annotations

import calendar
import re
from array import array
from collections.abc import Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import Any

from hushtable.privacy import exact_number

MAX_BINS = 1_000_000
"""Of one attribute, documented: 8 MB of edges."""
MAX_SINGLE = 10_000  # values of an integer or date that get one bin each when nothing else is declared
LARGEST = 10**18  # bounds of integers; leaves room in int64 for one step beyond

_WIDTH = re.compile(r"([1-9][0-9]{0,6}) (day|week|month|year)s?\Z", re.ASCII)
DAY_ZERO = date(1970, 1, 1)


class BinError(ValueError):
    """Bins that cannot be made; ``args`` are (message, fix) and the caller adds the field and the line."""


def by_width(low: int, high: int, width: int) -> array[int]:
    """Bins of ``width`` whole steps from low; the last may be shorter."""
    _limit(-((low - high - 1) // width))
    return array("q", [*range(low, high + 1, width), high + 1])


def whole_edges(
    low: int, high: int, width: int | None, bins: int | None, cuts: Sequence[int] | None
) -> array[int]:
    """Bins of whole numbers: by one of width, number (nearly equal ones) and cuts, or one for each.

    A cut starts a new bin: bounds [0, 115] and cuts [18, 65] give 0-17, 18-64, 65-115.
    """
    if width is not None:
        return by_width(low, high, width)
    count = high - low + 1
    if bins is not None:
        _limit(bins)
        if bins > count:
            raise BinError(f"{bins} bins do not fit into {count} whole steps", f"Use at most {count} bins.")
        return array("q", [low + i * count // bins for i in range(bins + 1)])
    if cuts is not None:
        return array("q", _increasing([low, *cuts, high + 1]))
    if count > MAX_SINGLE:
        raise BinError(f"one bin for each of {count} steps is too fine", "Add `width`, `bins` or `cuts`.")
    return by_width(low, high, 1)


def real_edges(
    low: float, high: float, width: float | None, bins: int | None, cuts: Sequence[float] | None
) -> array[float]:
    """Bins of numbers, by width (the last may be narrower), number or cuts."""
    start = exact_number(low, "bounds")
    length = exact_number(high, "bounds") - start
    if cuts is not None:
        return array("d", _increasing([low, *cuts, high]))
    if width is not None:
        step = exact_number(width, "width")
        count = -(-length // step)
    else:
        count = bins or 1
        step = length / count
    _limit(count)
    edges = array("d", [*(float(start + i * step) for i in range(count)), high])
    if any(a >= b for a, b in pairwise(edges)):
        raise BinError("the bins are narrower than numbers can be told apart", "Use wider or fewer bins.")
    return edges


def date_edges(
    low: date, high: date, width: str | None, bins: int | None, cuts: Sequence[date] | None
) -> array[int]:
    """Bins of days, as day numbers."""
    if width is not None:
        return date_by_width(low, high, width)
    numbers = None if cuts is None else [day_number(day) for day in cuts]
    return whole_edges(day_number(low), day_number(high), None, bins, numbers)


def date_by_width(low: date, high: date, width: str) -> array[int]:
    """Bins such as "7 days", "3 months" or "1 year" from the first day of the bounds, as day numbers."""
    match = _WIDTH.match(width)
    if match is None:
        raise BinError(
            "the width of a date is a number of days, weeks, months or years", 'Write "1 year" or "7 days".'
        )
    count, unit = int(match[1]), match[2]
    if unit in ("day", "week"):
        return by_width(day_number(low), day_number(high), count * (7 if unit == "week" else 1))
    months = count * (12 if unit == "year" else 1)
    starts: list[int] = []
    while (start := _add_months(low, months * len(starts))) is not None and start <= high:
        starts.append(day_number(start))
    return array("q", [*starts, day_number(high) + 1])


def day_number(day: date) -> int:
    """Days since 1970-01-01."""
    return (day - DAY_ZERO).days


def days_in_month(year: int, month: int) -> int:
    """28 to 31."""
    return calendar.monthrange(year, month)[1]


def day_of(number: int) -> date:
    """Inverse of ``day_number``."""
    return DAY_ZERO + timedelta(days=number)


def integer_label(low: int, high: int) -> str:
    """ "7", "0-4", or "-5 to -1" when a minus sign would make the dash hard to read."""
    if low == high:
        return str(low)
    return f"{low}-{high}" if low >= 0 else f"{low} to {high}"


def real_label(low: float, high: float, *, last: bool) -> str:
    """ "[0, 10000)"; the last bin is closed: "[490000, 500000]"."""
    return f"[{edge_text(low)}, {edge_text(high)}{']' if last else ')'}"


def date_label(low: date, high: date) -> str:
    """ "1990", "1990-1994", "1990-03", "1990-03-05" or "1990-03-05 to 1990-03-11"."""
    if low == high:
        return low.isoformat()
    if low.day == 1 and high.day == days_in_month(high.year, high.month):
        if low.month == 1 and high.month == 12:
            return f"{low.year:04d}" if low.year == high.year else f"{low.year:04d}-{high.year:04d}"
        if (low.year, low.month) == (high.year, high.month):
            return f"{low.year:04d}-{low.month:02d}"
    return f"{low.isoformat()} to {high.isoformat()}"


def edge_text(number: float) -> str:
    """Shortest text that reads back as the same float, without ".0"."""
    text = repr(float(number))
    return text.removesuffix(".0")


def _add_months(day: date, months: int) -> date | None:
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    if year > date.max.year:
        return None
    return date(year, month, min(day.day, days_in_month(year, month)))


def _limit(bins: int | Fraction) -> None:
    if bins > MAX_BINS:
        raise BinError(f"that makes more than {MAX_BINS:,} bins", "Use a larger `width` or fewer `bins`.")


def _increasing(edges: list[Any]) -> list[Any]:
    _limit(len(edges) - 1)
    if any(a >= b for a, b in pairwise(edges)):
        raise BinError(
            "cuts must increase and lie inside the bounds",
            "A cut is the first value of a new bin: bounds [0, 115], cuts [18, 65].",
        )
    return edges
