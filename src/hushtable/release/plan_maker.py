"""What is wanted of a release: refused by names, schema and budget before a ledger is opened or a planner loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hushtable import planning, reconstruct, release
from hushtable.planning import PlanOptions
from hushtable.privacy import Budget, Cost, charge

if TYPE_CHECKING:
    from hushtable.marginals import Workload
    from hushtable.planning import Strategy
    from hushtable.privacy import Kind
    from hushtable.release.plan import Plan
    from hushtable.schema import Schema


@dataclass(frozen=True)
class Way:
    """How a workload is measured and its answers are read: names that there are, and that go together."""

    strategy: str = "residual-planner"
    reconstruct: str | None = None
    reuse: bool = False
    options: PlanOptions = field(default_factory=PlanOptions)

    @cached_property
    def measured_by(self) -> Strategy:
        """The strategy; with ``reuse`` the one that measures what earlier answers lack."""
        chosen = planning.strategy_named(self.strategy)
        return chosen.differences() if self.reuse else chosen

    def strategy_for(self, schema: Schema) -> Strategy:
        """The strategy that measures tables of a schema: with ``known`` ones, a strategy that leaves them out."""
        return self.measured_by.with_known() if schema.free_tables else self.measured_by

    def read_by(self, measured_by: Strategy) -> str:
        """The reconstruction, by default that of the strategy."""
        return reconstruct.reconstruction_named(self.reconstruct or measured_by.reconstruction).name


def plan_release(
    schema: Schema,
    workload: Workload,
    budget: Budget,
    way: Way | None = None,
    currency: Callable[[], Kind] | None = None,
) -> Plan:
    """Plan a release from the schema alone.  ``currency`` gives the kind of the ledger that will be charged."""
    way, budget = way or Way(), Budget.checked(budget)
    chosen = way.strategy_for(schema)
    method = way.read_by(chosen)
    resolved, rows = workload.resolve(schema), schema.most_per_person
    if resolved.has_levels:
        reconstruct.require_levels(method)
    chosen.check_payable(budget)
    kind = budget.kind if currency is None else currency()
    shares = planning.share_of_counts(schema)
    totals, every = chosen.for_totals() if schema.sums else chosen, replace(resolved, known=())
    noise = chosen.plan(resolved, budget, rows, way.options, shares)
    noise.check(resolved.names, planning.steps_of_weights(schema))
    beside = planning.plan_beside(
        schema, resolved, budget, lambda most, share: totals.plan(every, budget, most, way.options, share)
    )
    prefer = "pure" if budget.limit.rho == 0 else "rho"
    asked = (chosen.name, way.options.objective, budget, resolved)
    made = release.Plan(*asked, noise, schema, Cost.ZERO, method, way.reuse, beside)
    return replace(made, cost=charge(*made.price(noise).in_currency(kind, prefer=prefer)))
