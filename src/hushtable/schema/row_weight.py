"""What a row counts as, where that is not one: a survey weight, or the number of persons that a line stands for.

A weight belongs to its row and is part of what a person contributes, so that the largest one is paid for.  A number of
persons is not: adding a person to a line moves it by one, whatever stands there, unless lines above the bound are
dropped (proofs/weights.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.privacy import exact_number
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
"""A documented limit, also of its steps: noise grows with the largest weight, so that far smaller ones leave nothing to
see."""
FINEST_STEP = Fraction(1, 10**6)
"""With finer steps the middle between two of them has more than 15 digits, and numbers as they are read do not tell on
which side of it they lie.  Surveys publish weights with two to six digits after the point."""
MOST_PERSONS = 10**9
"""Persons in a line: what is above this or the declared bound counts as the bound."""

FIXED = (
    "The guarantee takes the weights as fixed: they were adjusted with the help of other people's records."
)


@dataclass(frozen=True)
class RowWeight:
    """The column that says how much a row counts, from ``bounds``, in whole numbers of ``unit``.

    ``kind`` is "design" for weights known from the drawing of the sample alone, "adjusted" for those that depend on
    other people (raked, calibrated, corrected for nonresponse), and "count" for numbers of persons.
    """

    read: Real
    kind: str
    resolution: Fraction | int = 1

    @property
    def unit(self) -> Fraction:
        """How much one counted integer is: 1 where the resolution is whole, else one step of it.

        Everything inside the kernel, and what is measured and priced, is in integers; public numbers are these times
        the unit.
        """
        grid = Fraction(self.resolution)
        return Fraction(1) if grid.denominator == 1 else grid

    @property
    def column(self) -> str:
        """Where the weights stand."""
        return self.read.column

    @property
    def largest(self) -> int:
        """The most that a row counts, in integers: what the upper bound is rounded to, by the rule for rows."""
        grid = Fraction(self.resolution)
        return rounded(self.read.bounds[1], grid) * int(grid / self.unit)

    @property
    def least(self) -> int:
        """The least that a row counts."""
        return 0

    def whole(self, numbers: Floats) -> Ints:
        """What rows with these weights count as."""
        if self.kind == "count":
            persons = np.floor(np.nan_to_num(numbers) + 0.5)  # proofs/weights.md, numbers of persons
            return persons.astype(np.int64)
        grid = Fraction(self.resolution)
        return nearest_steps(numbers, grid) * int(grid / self.unit)

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
            f"Rows count by the {self.kind} weight in column {self.column!r}, and are paid for as "
            f"{float(self.largest * self.unit):,.10g} rows each."
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
            grid = Fraction(self.resolution)
            told["resolution"] = int(grid) if grid.denominator == 1 else float(grid)
        return told if self.kind == "design" else {**told, "kind": self.kind}


def rounded(weight: float, grid: Fraction = Fraction(1)) -> int:
    """One number by the rule of ``nearest_steps``: halves upward, so that a person more in a line is never two more."""
    steps = floor(weight / float(grid) + 0.5)
    steps -= weight < float((2 * steps - 1) * grid / 2)
    return steps + (weight >= float((2 * steps + 1) * grid / 2))


def nearest_steps(numbers: Floats, grid: Fraction) -> Ints:
    """The nearest steps of a grid, halves upward; what is no number is 0.

    A number belongs to the step above from the middle between two on.  One division of whole numbers below 2^53 gives
    each middle as the floating-point number nearest to it, as which a decimal is read too; and decimals of up to 15
    digits that differ do so as such numbers.  Of them no rounding error decides.
    """
    given, p, q = np.nan_to_num(numbers), grid.numerator, 2 * grid.denominator
    steps = np.floor(given / float(grid) + 0.5)
    steps -= given < (2.0 * steps - 1.0) * p / q
    steps += given >= (2.0 * steps + 1.0) * p / q
    return steps.astype(np.int64)


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
    resolution = exact_number(fields.above_0("resolution") or 1, "resolution")
    bounds = _bounds(fields, MOST_WEIGHT)
    fraction = resolution.denominator > 1
    if (resolution / FINEST_STEP).denominator > 1 or not resolution <= 2 * exact_number(bounds[1], "bounds"):
        raise fields.error(
            "schema.wrong-weight",
            "resolution",
            "must have at most six digits after the point, and some weight must round to a multiple of it",
            "Write `resolution: 0.01` for weights such as 1.37.",
        )
    if fraction and not 1 <= exact_number(bounds[1], "bounds") <= MOST_WEIGHT * resolution:
        raise fields.error(
            "schema.wrong-weight",
            "resolution",
            f"makes more than {MOST_WEIGHT:,} steps up to the largest weight, or that is below 1",
            "Give a coarser one: noise hides far larger steps.",
        )
    kind = fields.choice("kind", ("design", "adjusted"), "design")
    outside = fields.choice("outside", ("clip", "drop"), "clip")
    grid = resolution if fraction else int(resolution)
    return RowWeight(real_column(column, column, outside, bounds, dialect), kind, grid)


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
