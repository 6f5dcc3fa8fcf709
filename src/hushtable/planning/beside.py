"""What is measured beside the counts of a release, and which share of its budget pays for it.

Totals of m columns and the counts get equal shares: in units of what a row can move them by, each of these m + 1 sets
of tables is then equally exact, and the sum of their variances is as small as it can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, sqrt
from typing import TYPE_CHECKING

from hushtable.errors import WorkloadError
from hushtable.marginals import COVERAGE, REPLICATES, Counting, Layout
from hushtable.measurement import JointPart, MarginalPart, QuantityPart, StackedPart
from hushtable.planning.batch import BatchPlan
from hushtable.planning.exact_plans import fitted
from hushtable.planning.quantiles import normal_spread
from hushtable.privacy import UNIT, Budget, GaussianNoise, LaplaceNoise, Price
from hushtable.schema import Coverage, ReplicateWeights, SummedColumn, fates_of, replicate_of, total_of

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
    unit: Fraction = Fraction(1)
    """How many persons one integer of a count is."""

    @property
    def part(self) -> QuantityPart:
        """What is measured."""
        return QuantityPart(total_of(self.column.name), self.noise.part, self.column.largest)

    def variances(self, sets: tuple[AttributeSet, ...], counts: ErrorModel) -> list[tuple[float, float]]:
        """Of a cell of each table: variance of the total about the middle, and of what the count adds to the total.

        ``counts`` are the errors of counts in persons.
        """
        own = self.noise.error_model().cell_variances(sets) * float(self.column.unit * self.unit) ** 2
        beside = counts.cell_variances(sets) * float(self.column.middle) ** 2
        return list(zip(own.tolist(), beside.tolist(), strict=True))

    def mean_half_width(
        self, attributes: AttributeSet, counts: ErrorModel, group: float, alpha: float
    ) -> float:
        """A mean in a group of so many rows lies this far from the truth, or less, whatever the mean."""
        own = self.noise.error_model().variance(attributes) * float(self.column.unit * self.unit) ** 2
        low, high = self.column.bounds
        beside = counts.variance(attributes) * ((high - low) / 2.0) ** 2
        return normal_spread(alpha) * sqrt(own + beside) / group


@dataclass(frozen=True)
class BesidePlan:
    """All that is measured beside the counts."""

    totals: tuple[TotalPlan, ...] = ()
    coverage: QuantityPart | None = None
    replicates: QuantityPart | None = None

    @cached_property
    def parts(self) -> tuple[QuantityPart, ...]:
        """What is measured, in the order of the schema."""
        more = (part for part in (self.coverage, self.replicates) if part is not None)
        return (*(total.part for total in self.totals), *more)

    @property
    def note(self) -> str:
        """What a reader of the price must know."""
        return " ".join(total.column.note for total in self.totals) or "none"

    def price(self, rows: int) -> Price:
        """Exact cost for a person with at most ``rows`` rows."""
        return JointPart(self.parts).price(rows)


def share_of_counts(schema: Schema) -> Fraction:
    """The share of a budget that counts get: what coverage and replicate weights leave is divided equally among
    them and all totals."""
    paid = (one.share for one in (schema.coverage, schema.replicates) if one is not None)
    left = 1 - sum(paid, Fraction(0))
    return left / (1 + len(schema.sums))


def coverage_part(schema: Schema, coverage: Coverage, budget: Budget) -> QuantityPart:
    """The counters of what is left out, with the noise that their share of a budget buys.

    A person has k rows, whatever they weigh, each in at most c counters: L2 sensitivity ``k sqrt(c)``, L1 ``k c``.
    """
    rows, limit = schema.max_rows_per_person, budget.limit
    fields = sum(bool(fates_of(field)) for field in schema.row_fields)
    touched = 1 + min(coverage.reasons, fields)
    if limit.rho == 0:
        law, room, each = LaplaceNoise, coverage.share * Fraction(limit.xi, UNIT), Fraction(rows * touched)
    else:
        law, room = GaussianNoise, coverage.share * Fraction(limit.rho, UNIT)
        each = Fraction(rows**2 * touched, 2)
    precisions = fitted([float(room / each)], room, lambda exact: exact[0] * each)
    table = MarginalPart((len(schema.losses),), ((0,),), law, precisions)
    return QuantityPart(COVERAGE, table, Fraction(rows, schema.most_per_person), touched)


def replicate_part(
    schema: Schema, declared: ReplicateWeights, workload: ResolvedWorkload, budget: Budget
) -> QuantityPart:
    """The tables of all replicate weights by one attribute, with the noise that their share of a budget buys.

    A person has k rows, the deviations of each at most so long: L2 sensitivity ``k longest``.
    """
    axis, limit, rows = schema.axis(declared.by), budget.limit, schema.max_rows_per_person
    if limit.rho == 0:
        raise WorkloadError(
            "release.replicates-law",
            "Replicate weights are measured with Gaussian noise, which this budget does not pay for.",
            "Give rho, or epsilon and delta, or declare a design effect in place of replicate weights.",
        )
    if (axis,) not in workload.closure:
        raise WorkloadError(
            "release.replicates-table",
            f"No table of the workload has {declared.by!r}, of which replicate weights are measured.",
            "Add it to a table, or name another attribute under `sample.replicates.by`.",
        )
    room, each = declared.share * Fraction(limit.rho, UNIT), Fraction((rows * declared.longest) ** 2, 2)
    precisions = fitted([float(room / each)], room, lambda exact: exact[0] * each)
    table = MarginalPart((declared.number, schema.sizes[axis]), ((0, 1),), GaussianNoise, precisions)
    layout = Layout(schema.sizes, ((axis,),))
    counted = tuple(Counting(layout, replicate_of(k)) for k in range(declared.number))
    largest = Fraction(rows * declared.longest, schema.most_per_person)
    return StackedPart(REPLICATES, table, largest, counted=counted)


def plan_beside(
    schema: Schema, workload: ResolvedWorkload, budget: Budget, plan: PlanShare
) -> BesidePlan | None:
    """Totals of every column that a schema sums, in the tables of a workload, and what is left out; None: neither."""
    if not schema.sums and schema.coverage is None and schema.replicates is None:
        return None
    share, rows = share_of_counts(schema), schema.most_per_person
    totals: list[TotalPlan] = []
    for column in schema.sums.values():
        noise = plan(rows * column.largest, share)
        if isinstance(noise, BatchPlan):
            totals.append(TotalPlan(column, noise, schema.count_unit))
    lost = None if schema.coverage is None else coverage_part(schema, schema.coverage, budget)
    moved = schema.replicates and replicate_part(schema, schema.replicates, workload, budget)
    made = BesidePlan(tuple(totals), lost, moved)
    for part in made.parts:
        part.table.check(workload.names, ceil(part.largest * steps_of_weights(schema)))
    return made


def steps_of_weights(schema: Schema) -> int:
    """Integers that a person of weight 1 counts as, at most: sums of weights are below 2^36 persons, as rows are."""
    return ceil(1 / schema.count_unit)
