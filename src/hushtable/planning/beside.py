"""What is measured beside the counts of a release, and which share of its budget pays for it.

Totals of m columns and the counts get equal shares: in units of what a row can move them by, each of these m + 1 sets
of tables is then equally exact, and the sum of their variances is as small as it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING

from hushtable.measurement import JointPart, QuantityPart
from hushtable.planning.batch import BatchPlan
from hushtable.planning.quantiles import normal_spread
from hushtable.privacy import Price
from hushtable.schema import SummedColumn, total_of

if TYPE_CHECKING:
    from hushtable.marginals import AttributeSet, ResolvedWorkload
    from hushtable.planning.adaptive import NoisePlan
    from hushtable.planning.error_model import ErrorModel
    from hushtable.schema import Schema

PlanShare = Callable[[int, Fraction], "NoisePlan"]
"""Plans the tables of a quantity of which a person has at most so much, for a share of the budget."""


@dataclass(frozen=True)
class TotalPlan:
    """The tables of one column's totals: their noise, and what a row of weight 1 has of it at most."""

    column: SummedColumn
    noise: BatchPlan

    @property
    def part(self) -> QuantityPart:
        """What is measured."""
        return QuantityPart(total_of(self.column.name), self.noise.part, self.column.largest)

    def variances(self, sets: tuple[AttributeSet, ...], counts: ErrorModel) -> list[tuple[float, float]]:
        """Of a cell of each table: variance of the total about the middle, and of what the count adds to the total."""
        own = self.noise.error_model().cell_variances(sets) * float(self.column.unit) ** 2
        beside = counts.cell_variances(sets) * float(self.column.middle) ** 2
        return list(zip(own.tolist(), beside.tolist(), strict=True))

    def mean_half_width(
        self, attributes: AttributeSet, counts: ErrorModel, group: float, alpha: float
    ) -> float:
        """A mean in a group of so many rows lies this far from the truth, or less, whatever the mean."""
        own = self.noise.error_model().variance(attributes) * float(self.column.unit) ** 2
        low, high = self.column.bounds
        beside = counts.variance(attributes) * ((high - low) / 2.0) ** 2
        return normal_spread(alpha) * sqrt(own + beside) / group


@dataclass(frozen=True)
class BesidePlan:
    """All that is measured beside the counts."""

    totals: tuple[TotalPlan, ...] = ()

    @cached_property
    def parts(self) -> tuple[QuantityPart, ...]:
        """What is measured, in the order of the schema."""
        return tuple(total.part for total in self.totals)

    @property
    def note(self) -> str:
        """What a reader of the price must know."""
        return " ".join(total.column.note for total in self.totals)

    def price(self, rows: int) -> Price:
        """Exact cost for a person with at most ``rows`` rows."""
        return JointPart(self.parts).price(rows)


def share_of_counts(schema: Schema) -> Fraction:
    """The share of a budget that counts get."""
    return Fraction(1, 1 + len(schema.sums))


def plan_beside(schema: Schema, workload: ResolvedWorkload, plan: PlanShare) -> BesidePlan | None:
    """The totals of every column that a schema sums, in the tables of a workload; None where it sums none."""
    if not schema.sums:
        return None
    share, rows = share_of_counts(schema), schema.most_per_person
    totals: list[TotalPlan] = []
    for column in schema.sums.values():
        noise = plan(rows * column.largest, share)
        if isinstance(noise, BatchPlan):
            totals.append(TotalPlan(column, noise))
    made = BesidePlan(tuple(totals))
    for part in made.parts:
        part.check(workload.names)
    return made
