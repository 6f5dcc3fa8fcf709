"""The budget that wanted accuracies of counts, totals and means need together: a plan read backwards.

Counts and totals share one budget, so that a wish for either is a wish for all of it.  Variances go as 1 / rho.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, isfinite
from typing import TYPE_CHECKING

from hushtable import planning, release
from hushtable.axes import Axes
from hushtable.errors import WorkloadError
from hushtable.marginals import marginal_label
from hushtable.privacy import UNIT, ZCDP
from hushtable.release.table_value import COUNT, MEAN, SUM, TableValue

if TYPE_CHECKING:  # a wish that cannot be is refused without any planner
    from hushtable.marginals import AttributeSet, Workload
    from hushtable.planning import TotalPlan
    from hushtable.release.plan import Plan
    from hushtable.release.wish import Wish
    from hushtable.schema import Schema

_FIRST = 1e-6
"""A budget so small that discrete noise is as good as continuous."""
_STEPS, _CLOSE = 20, 1e-9
"""How often the law of scaling is applied, and how near to 1 the last factor must be: it holds but for noise of a
few records, where bisection takes over.  More steps or closer only take longer."""


def budget_wanted(
    schema: Schema,
    workload: Workload,
    wishes: Sequence[Wish],
    *,
    alpha: float = 0.05,
    strategy: str = "residual-planner",
    objective: str = "sum_variance",
) -> Fraction:
    """The smallest rho at which every wish is met, by a strategy whose errors are known beforehand."""
    if not schema.sums and all(wish.value.lower() == COUNT for wish in wishes):
        unit = float(schema.count_unit)
        resolved, target = workload.resolve(schema), dict[tuple[str | int, ...], float]()
        for wish in wishes:
            axes = _axes(schema, resolved.sets, wish.attributes)
            width = wish.half_width / unit
            target[axes] = min(width, target.get(axes, width))
        return planning.budget_for(
            resolved,
            target,
            alpha=alpha,
            strategy=strategy,
            objective=objective,
            rows=schema.most_per_person,
        )
    planning.foreseen_strategy(strategy)
    if not all(isfinite(wish.half_width) and wish.half_width > 0 for wish in wishes):
        raise WorkloadError(
            "planning.target",
            "A wanted half-width is not positive and finite.",
            "Give how far off is well enough.",
        )
    way = release.Way(strategy, options=planning.PlanOptions(objective))

    def excess(rho: float) -> float:
        plan = release.plan_release(schema, workload, ZCDP(_up(rho)), way)
        return max(_excess(wish, plan, alpha) for wish in wishes)

    rho = _FIRST
    for _ in range(_STEPS):
        ratio = excess(rho) ** 2
        rho *= ratio
        if abs(ratio - 1.0) < _CLOSE:
            break
    return _up(planning.smallest_budget(rho, lambda tried: excess(tried) <= 1.0))


def _excess(wish: Wish, plan: Plan, alpha: float) -> float:
    """The planned half-width relative to the wanted one."""
    value = TableValue.parse(wish.value, plan.schema)
    attributes = _axes(plan.schema, plan.workload.sets, wish.attributes)
    counts = plan.noise
    if not isinstance(counts, planning.BatchPlan):
        return 0.0
    model = counts.error_model().scaled(plan.count_unit)
    if value.kind == COUNT:
        return float(model.half_widths([attributes], alpha)[0]) / wish.half_width
    total = _total(plan, value)
    if value.kind == MEAN:
        return total.mean_half_width(attributes, model, wish.group, alpha) / wish.half_width
    ((own, beside),) = total.variances((attributes,), model)
    return planning.normal_spread(alpha) * (own + beside) ** 0.5 / wish.half_width


def _axes(schema: Schema, sets: Sequence[AttributeSet], names: Sequence[str]) -> AttributeSet:
    """The axes of a table whose accuracy is wanted: one that is asked for, or that lies inside one."""
    known = {*schema.names, *schema.aliases}
    interval = next((name for name in names if "=" in name and name not in known), None)
    if interval is not None:
        raise WorkloadError(
            "planning.target",
            f"{interval!r} is an interval, and an accuracy is wanted of all cells of a table.",
            "Name attributes or levels alone; a release tells the error of each interval.",
        )
    attributes, sizes = tuple(sorted(schema.axes(names))), Axes.of(schema.sizes)
    if not sizes.is_set(attributes):
        raise WorkloadError(
            "planning.target",
            "A target names an attribute twice, or two levels of it.",
            "Name each attribute once, on the finer level.",
        )
    if not any(sizes.tells(attributes, s) for s in sets):
        raise WorkloadError(
            "planning.target",
            f"The table {marginal_label(attributes, schema.names)} is not asked for, nor inside one that is.",
            "Add it to the workload.",
        )
    return attributes


def _total(plan: Plan, value: TableValue) -> TotalPlan:
    totals = () if plan.beside is None else plan.beside.totals
    for total in totals:
        if total.column.name == value.first and value.kind in (SUM, MEAN):
            return total
    raise WorkloadError(
        "planning.target",
        f"No budget can be derived for {value}.",
        "Ask for count, sum(X) or mean(X).",
    )


def _up(budget: float) -> Fraction:
    return Fraction(max(1, ceil(Fraction(budget) * UNIT)), UNIT)
