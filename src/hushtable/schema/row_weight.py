"""What a row counts as, where that is not one: a survey weight, or the number of persons that a line stands for.

A weight belongs to its row and is part of what a person contributes, so that the largest one is paid for.  A number of
persons is not: adding a person to a line moves it by one, whatever stands there, unless lines above the bound are
dropped (proofs/weights.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.schema.attribute import OutsideRule, Real
from hushtable.schema.bins import real_edges
from hushtable.schema.dialect import Dialect
from hushtable.schema.fields import Fields, is_number

if TYPE_CHECKING:
    import numpy as np

    from hushtable.arrays import Floats, Ints
else:
    np = Later("numpy")

MOST_WEIGHT = 2**20
"""A documented limit: noise grows with the largest weight, so that far smaller ones leave nothing to see."""
MOST_PERSONS = 10**9
"""Persons in a line: what is above this or the declared bound counts as the bound."""

FIXED = (
    "The guarantee takes the weights as fixed: they were adjusted with the help of other people's records."
)


@dataclass(frozen=True)
class RowWeight:
    """The column that says how much a row counts, in whole numbers from ``bounds``.

    ``kind`` is "design" for weights known from the drawing of the sample alone, "adjusted" for those that depend on
    other people (raked, calibrated, corrected for nonresponse), and "count" for numbers of persons.
    """

    read: Real
    kind: str
    resolution: int = 1

    @property
    def column(self) -> str:
        """Where the weights stand."""
        return self.read.column

    @property
    def largest(self) -> int:
        """The most that a row counts."""
        return rounded(self.read.bounds[1] / self.resolution) * self.resolution

    @property
    def least(self) -> int:
        """The least that a row counts."""
        return 0

    def whole(self, numbers: Floats) -> Ints:
        """What rows with these weights count as."""
        steps = np.floor(np.nan_to_num(numbers) / self.resolution + 0.5)  # as ``rounded``
        return steps.astype(np.int64) * self.resolution

    @property
    def per_row(self) -> int:
        """The most that one person's row can move a count by: a person more may drop a whole line of persons."""
        return 1 if self.kind == "count" and self.read.outside == "clip" else self.largest

    @property
    def note(self) -> str:
        """What a reader of tables must know."""
        if self.kind == "count":
            told = f"Rows count as the number of persons in column {self.column!r}"
            dropped = f", and are paid for as {self.largest:,} rows each: one person more may drop a line"
            return f"{told}." if self.per_row == 1 else f"{told}{dropped}."
        price = (
            f"Rows count by the {self.kind} weight in column {self.column!r}, and are paid for as {self.largest:,} "
            "rows each."
        )
        return f"{price} {FIXED}" if self.kind == "adjusted" else price

    def to_dict(self) -> dict[str, Any]:
        """The fields as a schema has them."""
        low, high = (int(b) if float(b).is_integer() else b for b in self.read.bounds)
        told: dict[str, Any] = {"column": self.column, "bounds": [low, high]}
        if self.read.outside != "clip":
            told["outside"] = self.read.outside
        if self.kind == "count":
            return told
        if self.resolution != 1:
            told["resolution"] = self.resolution
        return told if self.kind == "design" else {**told, "kind": self.kind}


def rounded(weight: float) -> int:
    """To the next whole number, halves upward: a person more in a line is then never two more."""
    return floor(weight + 0.5)


def read_weight(top: Fields, dialect: Dialect) -> RowWeight | None:
    """``weight`` or ``count`` of a schema."""
    given = [name for name in ("weight", "count") if name in top]
    if not given:
        return None
    if len(given) > 1:
        raise top.error(
            "schema.wrong-weight", "count", "contradicts `weight`", "A row has one of the two; keep that."
        )
    return _count(top, dialect) if given == ["count"] else _weight(top, dialect)


def _weight(top: Fields, dialect: Dialect) -> RowWeight:
    fields = top.inner(("weight",), top["weight"])
    fields.only(("column", "bounds", "resolution", "kind", "outside"))
    column = fields.text("column")
    if column is None or "bounds" not in fields:
        raise fields.error(
            "schema.missing-field",
            None,
            "needs `column` and `bounds`",
            "Write `weight: {column: w, bounds: [0, 300]}`; the largest weight is paid for.",
        )
    resolution = fields.above_0("resolution") or 1
    bounds = _bounds(fields, MOST_WEIGHT)
    if resolution != int(resolution) or rounded(bounds[1] / resolution) < 1:
        raise fields.error(
            "schema.wrong-weight",
            "resolution",
            "must be a whole number of at most the largest weight: weights are rounded to multiples of it",
            "Multiply small weights where the file is made, and divide the tables by the same number.",
        )
    kind = fields.choice("kind", ("design", "adjusted"), "design")
    outside = fields.choice("outside", ("clip", "drop"), "clip")
    return RowWeight(real_column(column, column, outside, bounds, dialect), kind, int(resolution))


def _count(top: Fields, dialect: Dialect) -> RowWeight:
    if "person" in top:
        raise top.error(
            "schema.wrong-weight",
            "count",
            "contradicts `person`: a line of several persons is nobody's",
            "Keep one of the two.",
        )
    value = top["count"]
    fields = top.inner(("count",), {"column": value} if isinstance(value, str) else value)
    fields.only(("column", "bounds", "outside"))
    column = fields.text("column")
    if column is None:
        raise fields.error("schema.missing-field", None, "names no column", "Write `count: persons`.")
    outside = fields.choice("outside", ("clip", "drop"), "clip")
    if outside == "drop" and "bounds" not in fields:
        raise fields.error(
            "schema.missing-field",
            None,
            "needs `bounds` with `outside: drop`: one person more may drop a line, so that the largest is paid for",
            "Write `bounds: [0, 500]`, or leave `outside` out: what is above the bound then counts as the bound.",
        )
    bounds = _bounds(fields, MOST_PERSONS if outside == "clip" else MOST_WEIGHT)
    read = real_column(column, column, outside, bounds, dialect)
    if read.bounds[0] != 0:
        raise fields.error(
            "schema.wrong-weight", "bounds", "must begin at 0", "A line of nobody counts nobody."
        )
    return RowWeight(read, "count")


def real_column(
    name: str, column: str, outside: OutsideRule, bounds: tuple[float, float], dialect: Dialect
) -> Real:
    """A column of numbers that is read beside the attributes; a row without one is dropped."""
    return Real(
        name=name,
        column=column,
        null="drop",
        label=None,
        description=None,
        nulls=dialect.nulls,
        decimal=dialect.decimal,
        thousands=dialect.thousands,
        outside=outside,
        starts=real_edges(*bounds, None, 1, None),
        bounds=bounds,
        bins=1,
    )


def _bounds(fields: Fields, most: int) -> tuple[float, float]:
    given = fields.items("bounds")
    if given is None:
        return 0.0, float(most)
    if len(given) != 2 or not all(map(is_number, given)) or not 0 <= given[0] < given[1]:
        raise fields.error(
            "schema.wrong-bounds",
            "bounds",
            "must be two numbers from 0 on, low first",
            "Write `bounds: [0, 300]`.",
        )
    if not 1 <= rounded(given[1]) <= most:
        raise fields.error(
            "schema.wrong-bounds", "bounds", f"must end between 1 and {most:,}", "Noise grows with it."
        )
    return float(given[0]), float(given[1])
