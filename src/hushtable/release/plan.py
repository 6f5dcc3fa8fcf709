"""A plan as a curator sees it: what a release will cost and how wrong each table will be, before anything is spent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import pi, prod, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from hushtable.ledger import Spend, Unit
from hushtable.marginals import ResolvedWorkload
from hushtable.measurement import QuantityPart
from hushtable.notebook import MOST_ROWS, html_card
from hushtable.planning import (
    AdaptivePlan,
    BatchPlan,
    BesidePlan,
    NoisePlan,
    TotalPlan,
    normal_spread,
    not_foreseen,
)
from hushtable.privacy import Budget, Cost, Price
from hushtable.release.card import PlanFacts, epsilon_by_delta, guarantees
from hushtable.release.details import ReleaseDetail, trees_of
from hushtable.release.repeats import Asking
from hushtable.release.spend_kinds import RELEASE
from hushtable.schema import Schema, total_of
from hushtable.texts import counted

if TYPE_CHECKING:
    import polars as pl


class TableError(NamedTuple):
    """What to expect of one marginal."""

    marginal: str
    cells: int
    std: float
    half_width: float
    expected_l1: float


@dataclass(frozen=True, repr=False)
class Plan:
    """Noise for every measurement of a workload, its price in a ledger's currency, and the errors to expect.

    ``reconstruct`` says how its answers will be read; with ``reuse`` only what earlier answers lack is to be measured.
    """

    strategy: str
    objective: str
    budget: Budget
    workload: ResolvedWorkload
    noise: NoisePlan
    schema: Schema
    cost: Cost
    reconstruct: str = "mle"
    reuse: bool = False
    beside: BesidePlan | None = None
    """Totals that are measured with the counts."""

    @property
    def measured_beside(self) -> tuple[QuantityPart, ...]:
        """What is measured with the counts."""
        return () if self.beside is None else self.beside.parts

    def price(self, counts: NoisePlan) -> Price:
        """Exact cost for a person, with these counts in place of the plan's own."""
        rows = self.schema.most_per_person
        return counts.price(rows) if self.beside is None else counts.price(rows) + self.beside.price(rows)

    @property
    def count_unit(self) -> float:
        """How many persons one measured integer of a count is."""
        return float(self.schema.count_unit)

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return Unit.of(self.schema)

    def tables(self, alpha: float = 0.05) -> pl.DataFrame:
        """One row per marginal: attributes, cells, std, half_width (at level ``1 - alpha``) and expected_l1.

        Ranges, prefixes and intervals that the workload asks for have a row too, with the root of their mean variance.
        """
        import polars as pl  # takes longer to load than most plans take

        return pl.DataFrame(self.table_errors(alpha), schema=TableError._fields, orient="row")

    def table_errors(self, alpha: float = 0.05) -> list[TableError]:
        """The rows of ``tables``."""
        if isinstance(self.noise, AdaptivePlan):
            raise not_foreseen(self.strategy)
        errors = self.noise.error_model().scaled(self.count_unit).errors(self.noise.marginals, alpha)
        cells = [prod(self.workload.sizes[i] for i in s) for s in errors.sets]
        numbers = (errors.std.tolist(), errors.half_width.tolist(), errors.l1.tolist())
        counts = list(map(TableError, map(self.workload.label, errors.sets), cells, *numbers))
        totals = () if self.beside is None else self.beside.totals
        asked = self._asked_errors(self.noise, alpha)
        return [
            *counts,
            *asked,
            *(row for total in totals for row in self._total_errors(total, self.noise, alpha)),
        ]

    def _asked_errors(self, counts: BatchPlan, alpha: float) -> Iterator[TableError]:
        """One row for each marginal of which sums over stretches are asked; their errors differ, the mean is shown."""
        asked = [(s, asks) for s, asks in zip(self.workload.sets, self.workload.asks, strict=False) if asks]
        variances = (
            counts.error_model()
            .scaled(self.count_unit)
            .asked_variances([s for s, _ in asked], [asks for _, asks in asked])
        )
        for (attributes, asks), variance in zip(asked, variances.tolist(), strict=True):
            cells, std = self.workload.asked_sums(attributes, asks), sqrt(variance)
            label = self.workload.label(attributes, asks)
            yield TableError(label, cells, std, normal_spread(alpha) * std, sqrt(2.0 / pi) * cells * std)

    def _total_errors(self, total: TotalPlan, counts: BatchPlan, alpha: float) -> Iterator[TableError]:
        sets, reach = self.workload.sets, normal_spread(alpha)
        model = counts.error_model().scaled(self.count_unit)
        for attributes, (own, beside) in zip(sets, total.variances(sets, model), strict=True):
            cells, std = prod(self.workload.sizes[i] for i in attributes), sqrt(own + beside)
            label = f"{total_of(total.column.name)} by {self.workload.label(attributes)}"
            yield TableError(label, cells, std, reach * std, sqrt(2.0 / pi) * cells * std)

    @property
    def facts(self) -> PlanFacts:
        """The plan in public words, for the ledger and the bundle."""
        noise = self.noise.noise
        cut = "" if noise.bound is None else f", cut off at {noise.bound * self.schema.count_unit}"
        return PlanFacts(
            strategy=self.strategy,
            objective=self.objective,
            noise=f"discrete {noise.law.name.capitalize()}{cut}",
            marginals=len(self.workload.sets),
            cells=self.workload.cells,
            measurements=self.noise.measurements,
            totals=tuple(self.schema.sums) or None,
            work=self.noise.work if isinstance(self.noise, AdaptivePlan) else None,
        )

    def spend(self, spender: str | None, cost: Cost | None = None, **how: str | None) -> Spend:
        """What the ledger is asked for: ``cost`` is what is left of the plan's own, ``how`` says how it is run."""
        about = str(self.budget), self.schema.version, self.facts, self.workload.digest
        detail = ReleaseDetail(*about, **how, trees=trees_of(self.schema) or None)
        return Spend(self.cost if cost is None else cost, RELEASE, detail, spender)

    def asking(self, spender: str | None, data: str) -> Asking:
        """The public facts by which a release by this plan, of data of this name, is found again."""
        detail = {
            "budget": str(self.budget),
            "schema": self.schema.version,
            "strategy": self.strategy,
            "objective": self.objective,
            "workload": self.workload.digest,
        }
        how = {"reconstruct": self.reconstruct, "reuse": self.reuse, "work": self.facts.work, "data": data}
        return Asking(RELEASE, spender, detail, how)

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        """Price, unit, facts, and where they are known beforehand the errors of every table at ``1 - alpha``."""
        known = not isinstance(self.noise, AdaptivePlan)
        return {
            "budget": str(self.budget),
            "charged": self.cost.to_dict(),
            "epsilon_by_delta": dict(epsilon_by_delta(self.cost)),
            "unit": self.unit.to_dict(),
            "counted": None if self.schema.weight is None else self.schema.weight.note,
            "summed": self.beside.note if self.beside is not None and self.beside.totals else None,
            "replicates": None if self.schema.replicates is None else self.schema.replicates.note,
            **self.facts.to_dict(),
            "alpha": alpha,
            "tables": [table._asdict() for table in self.table_errors(alpha)] if known else None,
        }

    def __repr__(self) -> str:
        return f"<Plan by {self.strategy}: {counted(len(self.workload.sets), 'marginal')}, {self.cost} per person>"

    def _repr_html_(self) -> str:
        title, *lines = str(self).splitlines()
        facts = dict(line.split(maxsplit=1) for line in lines)
        if isinstance(self.noise, AdaptivePlan):
            return html_card(title, facts)
        every = self.tables().drop("expected_l1")
        tables = every.head(MOST_ROWS)
        more = every.height - tables.height
        return html_card(title, facts, tables.columns, tables.rows(), more)

    def __str__(self) -> str:
        return (
            f"{self.strategy}: {counted(len(self.workload.sets), 'marginal')}, {counted(self.workload.cells, 'cell')}\n"
            f"price {self.cost} per person ({guarantees(epsilon_by_delta(self.cost))})\n"
            f"unit  {self.unit}"
            + ("" if self.schema.weight is None else f"\nrows  {self.schema.weight.note}")
            + ("" if not self.schema.sums or self.beside is None else f"\nsums  {self.beside.note}")
            + ("" if self.schema.replicates is None else f"\nreps  {self.schema.replicates.note}")
            + ("" if not self.schema.known else f"\nknown {' '.join(t.note for t in self.schema.known)}")
        )
