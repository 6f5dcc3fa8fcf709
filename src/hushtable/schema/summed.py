"""Columns whose totals are released: values on a grid, counted from the middle of their bounds.

A total is measured as the sum of ``value - middle``, in whole steps of the grid (half steps where the middle lies
between two of its points): a row then moves it by at most half the width of the bounds, and that is paid for
(proofs/sums.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.privacy import exact_number
from hushtable.schema.attribute import Attribute, Real
from hushtable.schema.dialect import Dialect
from hushtable.schema.fields import Fields, is_mapping, is_number, key_text
from hushtable.schema.row_weight import nearest_steps, real_column

if TYPE_CHECKING:
    import numpy as np

    from hushtable.arrays import Floats, Ints
else:
    np = Later("numpy")

MOST_STEPS = 2**26
"""A documented limit: steps between the bounds.  With 2^36 rows, sums of larger numbers would leave 64 bits."""
MOST_EXACT = 10**15
"""Halves between steps of a fraction whose numbers are larger are not decided as decimals, which have 15 digits."""
MOST_SUMS = 100
"""A documented limit: each sum is one more set of tables that the budget is split among."""


@dataclass(frozen=True)
class SummedColumn:
    """A column of numbers from ``low`` to ``high``, in steps of ``resolution``."""

    name: str
    read: Real
    resolution: Fraction
    low: int
    high: int
    imputed: bool = False

    @property
    def column(self) -> str:
        """Where the values stand."""
        return self.read.column

    @property
    def halves(self) -> int:
        """2 where the middle of the bounds lies between two steps, and integers count half steps; else 1."""
        return 1 + (self.low + self.high) % 2

    @property
    def middle(self) -> Fraction:
        """The value that counts as 0."""
        return Fraction(self.low + self.high, 2) * self.resolution

    @property
    def unit(self) -> Fraction:
        """The value of one measured integer."""
        return self.resolution / self.halves

    @property
    def largest(self) -> int:
        """The most that a row of weight 1 moves the measured sum by: half the width, in integers."""
        return (self.high - self.low) * self.halves // 2

    @property
    def least(self) -> int:
        """The smallest integer of a row."""
        return -self.largest

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest value."""
        return float(self.low * self.resolution), float(self.high * self.resolution)

    @property
    def note(self) -> str:
        """What a reader of the price must know."""
        half = float(self.largest * self.unit)
        return f"{total_of(self.name)}: a row adds at most {half:,.10g}, half the width of its bounds, to a total."

    def whole(self, numbers: Floats) -> Ints:
        """The integer of each value: to the next step, halves upward, inside the bounds, from the middle."""
        given, grid = np.clip(np.nan_to_num(numbers), *self.bounds), self.resolution
        fine = 1 < grid.denominator <= MOST_EXACT and grid.numerator <= MOST_EXACT
        steps = nearest_steps(given, grid) if fine else np.floor(given / float(grid) + 0.5)
        inside = np.clip(steps, self.low, self.high).astype(np.int64)
        return self.halves * inside - (self.low + self.high) * self.halves // 2

    def to_dict(self) -> dict[str, Any]:
        """The fields as a schema has them."""
        told: dict[str, Any] = {
            "column": self.column,
            "bounds": [_plain(end * self.resolution) for end in (self.low, self.high)],
            "resolution": _plain(self.resolution),
        }
        if self.read.outside != "clip":
            told["outside"] = self.read.outside
        return {**told, "imputed": True} if self.imputed else told


def total_of(name: str) -> str:
    """How the totals of a column are called among what is measured."""
    return f"sum({name})"


def read_sums(top: Fields, attributes: Mapping[str, Attribute], dialect: Dialect) -> dict[str, SummedColumn]:
    """``sums`` of a schema, in the order written."""
    given = top.get("sums")
    if "sums" not in top:
        return {}
    if not is_mapping(given) or not 0 < len(given) <= MOST_SUMS:
        raise top.error(
            "schema.wrong-sum",
            "sums",
            f"must name 1 to {MOST_SUMS} columns",
            "Write `sums: {income: {bounds: [0, 500000], resolution: 100}}`.",
        )
    outer = top.inner(("sums",), given)
    return {name: _sum(outer, name, attributes, dialect) for name in map(key_text, given)}


def _sum(outer: Fields, name: str, attributes: Mapping[str, Attribute], dialect: Dialect) -> SummedColumn:
    if not name.isidentifier():
        raise outer.error(
            "schema.bad-name",
            name,
            "must be a word of letters, digits and _",
            "Tables are asked for by `mean(name)`; give the file's own name in `column:`.",
        )
    fields = outer.inner((name,), outer[name])
    fields.only(("column", "bounds", "resolution", "outside", "imputed"))
    known = attributes.get(name)
    column = fields.text("column") or (name if known is None else known.column)
    if "bounds" not in fields or "resolution" not in fields:
        raise fields.error(
            "schema.missing-field",
            None,
            "needs `bounds` and `resolution`",
            "Write `{bounds: [0, 500000], resolution: 100}`; half the width of the bounds is paid for.",
        )
    resolution = exact_number(fields.above_0("resolution") or 1, "resolution")
    low, high = _steps(fields, resolution)
    ends = float(low * resolution), float(high * resolution)
    outside = fields.choice("outside", ("clip", "drop"), "clip")
    read = real_column(name, column, outside, ends, dialect)
    return SummedColumn(name, read, resolution, low, high, fields.flag("imputed", False))


def _steps(fields: Fields, resolution: Fraction) -> tuple[int, int]:
    """The bounds in steps of the grid, on which they must lie."""
    given = fields.items("bounds") or []
    if len(given) != 2 or not all(map(is_number, given)) or not given[0] < given[1]:
        raise fields.error(
            "schema.wrong-bounds", "bounds", "must be two numbers, low first", "Write `bounds: [0, 500000]`."
        )
    steps = [exact_number(end, "bounds") / resolution for end in given]
    if any(step.denominator != 1 for step in steps):
        raise fields.error(
            "schema.wrong-bounds",
            "bounds",
            "must be multiples of `resolution`",
            "Move them outward to the next ones.",
        )
    low, high = (floor(step) for step in steps)
    if high - low > MOST_STEPS or max(-low, high) > 2**52:
        raise fields.error(
            "schema.wrong-bounds",
            "resolution",
            f"makes more than {MOST_STEPS:,} steps between the bounds, or numbers that are not exact",
            "Give a larger one: noise hides far larger steps.",
        )
    return low, high


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
