"""What a query may know of an attribute: its public kind, bounds, values and grid, read off a schema.

``Column`` is the narrow view that the query language needs; it never holds data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from fractions import Fraction
from typing import Any, Literal

from hushtable.deciders.intervals import exact
from hushtable.deciders.queries import Term
from hushtable.errors import QueryError
from hushtable.schema import Attribute, Binned, Categorical, Schema

ColumnKind = Literal["categorical", "integer", "real", "boolean", "date"]


@dataclass(frozen=True)
class Column:
    """One attribute.  Numbers are Fractions; ``values`` are the categories, ``other`` says whether others may occur."""

    name: str
    kind: ColumnKind
    low: Fraction | date | None = None
    high: Fraction | date | None = None
    values: tuple[Term, ...] = ()
    resolution: Fraction | None = None
    nullable: bool = False
    other: bool = False

    @property
    def numeric(self) -> bool:
        """Whether it can be summed."""
        return self.kind in ("integer", "real")

    def grid(self) -> range:
        """The possible values in steps of the resolution; refused when bounds or resolution are not declared."""
        if not self.numeric:
            raise QueryError(
                "query.not-a-number",
                f"{self.name!r} is {self.kind}, so it has no sum, average or quantile.",
                "Use COUNT, or an attribute of type integer or real.",
            )
        if not isinstance(self.low, Fraction) or not isinstance(self.high, Fraction):
            raise QueryError(
                "query.no-bounds", f"{self.name!r} has no bounds.", "Declare bounds: [low, high]."
            )
        if self.resolution is None:
            raise QueryError(
                "query.no-resolution",
                f"{self.name!r} has no resolution, so its sums are not exact.",
                "Declare for example resolution: 0.01 in the schema.",
            )
        return range(math.ceil(self.low / self.resolution), math.floor(self.high / self.resolution) + 1)


Columns = Mapping[str, Column]


def columns_of(schema: Schema) -> dict[str, Column]:
    """The columns of a schema by name."""
    return {name: _column(name, attribute) for name, attribute in schema.attributes.items()}


def find(columns: Columns, name: str) -> Column:
    """The column, or a refusal with the nearest names."""
    if name in columns:
        return columns[name]
    near = get_close_matches(name, columns, n=3) or sorted(columns)[:3]
    raise QueryError(
        "query.unknown-column",
        f"The schema has no attribute {name!r}.",
        f"Write for example {' or '.join(repr(other) for other in near)}.",
    )


def _column(name: str, attribute: Attribute) -> Column:
    nullable, other = attribute.null == "category", attribute.outside == "other"
    if isinstance(attribute, Categorical):
        values = tuple(value_of(value) for value in attribute.values)
        return Column(name, "categorical", values=values, nullable=nullable, other=other)
    if not isinstance(attribute, Binned):
        return Column(name, "boolean", values=(False, True), nullable=nullable, other=other)
    low, high = (_end(end) for end in attribute.bounds)
    kind: ColumnKind = (
        "date" if isinstance(low, date) else "integer" if attribute.kind == "integer" else "real"
    )
    return Column(name, kind, low, high, (), attribute.resolution, nullable, other)


def value_of(value: str | int | bool) -> Term:
    """A declared category as the query language writes it."""
    return value if isinstance(value, str | bool) else Fraction(value)


def _end(end: Any) -> Fraction | date:
    return end if isinstance(end, date) else exact(end)
