"""Replicate weights of a sample: as many more weights of each row, whose tables tell how far sampling moves a count.

Their tables are sums over confidential rows, as those of any weight are, and are paid for by a share of the budget.
What is measured is how far the weights of a row lie from their own mean, of which a row has little: the price is that
of the longest such list of deviations (proofs/replicate-weights.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any

from hushtable.lazily import Later
from hushtable.privacy import exact_number
from hushtable.schema.coverage import read_share
from hushtable.schema.dialect import Dialect
from hushtable.schema.fields import Fields, is_mapping
from hushtable.schema.row_weight import RowWeight, real_column

if TYPE_CHECKING:
    import numpy as np

    from hushtable.arrays import Ints
else:
    np = Later("numpy")

MOST_REPLICATES = 500
"""A documented limit: as many columns are read of each row; surveys publish 20 to 200."""
USUAL_SHARE = Fraction(1, 10)
"""Of the budget, unless the schema says otherwise: enough where sampling moves counts further than noise does."""
FAY = Fraction(1, 2)
"""The usual coefficient of Fay's method."""
BOOTSTRAP_ROOM = Fraction(9, 4)
"""A bootstrap weight is its weight times a number with mean 1 and variance about 1, so that deviations of many of them
are about as long as those of half-samples; with 1.5 times that length next to no row is shortened."""


@dataclass(frozen=True)
class ReplicateWeights:
    """Columns of replicate weights, the attribute whose counts they are taken of, and the share that pays for it."""

    columns: tuple[RowWeight, ...]
    by: str
    kind: str
    share: Fraction
    scale: Fraction
    longest: int
    """The most that the deviations of a row may be: the root of the sum of their squares, in integers."""
    coefficient: Fraction | None = None

    @property
    def number(self) -> int:
        """How many there are."""
        return len(self.columns)

    @property
    def note(self) -> str:
        """What a reader of the price must know."""
        return (
            f"{self.number} replicate weights by {self.by} get {float(100 * self.share):.10g}% of the budget; a row's "
            f"deviations are paid for as {float(self.longest * self.columns[0].unit):,.10g} rows."
        )

    def deviations(self, weights: Sequence[Ints]) -> Ints:
        """How far the weights of each row lie from their mean, of shape (replicates, rows), none too long.

        All of it is a function of the row alone.  Rows that are too long are shortened by whole numbers, rounded
        toward 0, so that what is left is never longer than declared.
        """
        given = np.stack(weights).astype(np.int64, copy=False)
        mean = (2 * given.sum(axis=0) + self.number) // (2 * self.number)
        moved = given - mean
        squares = (moved * moved).sum(axis=0)
        long = np.flatnonzero(squares > self.longest**2)
        if len(long):
            length = np.sqrt(squares[long].astype(np.float64)).astype(np.int64) + 1
            part = moved[:, long]
            moved[:, long] = np.sign(part) * (np.abs(part) * self.longest // length)
        return moved

    def to_dict(self) -> dict[str, Any]:
        """The fields as a schema has them."""
        low, high = (int(b) if float(b).is_integer() else b for b in self.columns[0].read.bounds)
        told: dict[str, Any] = {
            "columns": [column.column for column in self.columns],
            "kind": self.kind,
            "by": self.by,
            "bounds": [low, high],
            "share": f"{float(100 * self.share):.10g}%",
            "scale": str(self.scale),
        }
        return told if self.coefficient is None else {**told, "coefficient": str(self.coefficient)}


def replicate_of(number: int) -> str:
    """How the tables of a replicate weight are called among what is counted."""
    return f"replicate({number})"


def read_replicates(outer: Fields, weight: RowWeight | None, dialect: Dialect) -> ReplicateWeights:
    """``replicates`` of a sample."""
    fields = outer.inner(("replicates",), outer["replicates"])
    fields.only(("columns", "kind", "by", "bounds", "share", "scale", "coefficient"))
    if weight is None or weight.kind == "count":
        raise fields.error(
            "schema.replicate-weights",
            None,
            "need `weight`, the one that they are replicates of",
            "Declare `weight`.",
        )
    by = fields.text("by")
    if by is None or "columns" not in fields or "kind" not in fields:
        raise fields.error(
            "schema.replicate-weights",
            None,
            "need `columns`, `kind` and `by`",
            "Write `replicates: {columns: {prefix: rep_, number: 80}, kind: jackknife, by: sex}`.",
        )
    kind = fields.choice("kind", ("jackknife", "brr", "fay", "bootstrap"), None)
    names = _names(fields)
    number = len(names)
    coefficient = _fraction(fields, "coefficient") if "coefficient" in fields else FAY
    if not 0 <= coefficient < 1 or ("coefficient" in fields and kind != "fay"):
        raise fields.error(
            "schema.replicate-weights",
            "coefficient",
            "is Fay's, from 0 to below 1",
            "Write `kind: fay` with it.",
        )
    kept = (1 - coefficient) ** 2
    squared, scale = {
        "jackknife": (Fraction(2), Fraction(number - 1, number)),
        "brr": (Fraction(number), Fraction(1, number)),
        "fay": (number * kept, 1 / (number * kept)),
        "bootstrap": (number * BOOTSTRAP_ROOM, Fraction(1, number - 1)),
    }[kind]
    if "scale" in fields:
        scale = _fraction(fields, "scale")
    bounds = _bounds(fields, weight)
    columns = tuple(
        RowWeight(real_column(name, name, weight.read.outside, bounds, dialect), kind, weight.resolution)
        for name in names
    )
    share = read_share(fields, "share", fields["share"]) if "share" in fields else USUAL_SHARE
    longest = max(1, isqrt(int(weight.largest**2 * squared)))
    return ReplicateWeights(columns, by, kind, share, scale, longest, coefficient if kind == "fay" else None)


def _names(fields: Fields) -> list[str]:
    given = fields["columns"]
    if is_mapping(given):
        inner = fields.inner(("columns",), given)
        inner.only(("prefix", "number"))
        prefix, number = inner.text("prefix"), inner.positive("number")
        names = (
            []
            if prefix is None or number is None
            else [f"{prefix}{k + 1}" for k in range(min(number, 10**4))]
        )
    else:
        names = [name for name in (fields.items("columns") or []) if isinstance(name, str)]
        names = names if len(names) == len(fields.items("columns") or []) else []
    if not 2 <= len(names) <= MOST_REPLICATES or len(set(names)) != len(names):
        raise fields.error(
            "schema.replicate-weights",
            "columns",
            f"must name 2 to {MOST_REPLICATES} different columns",
            "Write `columns: {prefix: rep_, number: 80}` or list their names.",
        )
    return names


def _fraction(fields: Fields, name: str) -> Fraction:
    try:
        found = Fraction(str(fields[name]).strip())
    except (ValueError, ZeroDivisionError):
        found = Fraction(-1)
    if not 0 <= found <= 10**6 or (name == "scale" and not found):
        raise fields.error(
            "schema.replicate-weights",
            name,
            "must be a number above 0",
            "Leave it out: it follows from `kind`.",
        )
    return found


def _bounds(fields: Fields, weight: RowWeight) -> tuple[float, float]:
    """Twice the largest weight, unless declared: what half-samples have, and more than jackknife weights do.  Bootstrap
    samples take next to no row more than six times.  The price does not depend on it."""
    if "bounds" not in fields:
        return 0.0, (6.0 if fields["kind"] == "bootstrap" else 2.0) * weight.read.bounds[1]
    given = fields.items("bounds") or []
    ends = [exact_number(end, "bounds") for end in given if isinstance(end, int | float)]
    if (
        len(given) != 2
        or len(ends) != 2
        or not 0 <= ends[0] < ends[1]
        or ends[1] > 10 * weight.read.bounds[1]
    ):
        raise fields.error(
            "schema.wrong-bounds",
            "bounds",
            "must be two numbers from 0 on, low first, of at most ten times the largest weight",
            "Leave them out for a usual choice.",
        )
    return float(ends[0]), float(ends[1])
