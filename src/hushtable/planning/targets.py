"""The budget that a wanted accuracy needs: planning read backwards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, isfinite
from typing import TYPE_CHECKING, cast

from hushtable import planning
from hushtable.axes import Axes
from hushtable.errors import WorkloadError
from hushtable.planning.strategies import PlanOptions, Strategy, names_of, strategy_named
from hushtable.privacy import UNIT

if TYPE_CHECKING:  # a wrong target is refused without any planner
    from hushtable.marginals import AttributeSet, ResolvedWorkload
    from hushtable.planning.batch import BatchPlan
    from hushtable.planning.error_model import ErrorModel

Target = Mapping[tuple[str | int, ...], float] | Mapping[tuple[str, ...], float]
"""Half-widths by marginal, which names or axis numbers say."""

REFERENCE = 1e-6
"""A budget so small that discrete noise is as good as continuous."""
CLOSE = 1e-9
"""Relative distance at which a budget counts as found, and by which it is raised to suffice: below what is printed."""
MOST_NAMES = 20
"""Names that a message lists: a line or two."""
SCALINGS = 20
"""Times that a budget is scaled by the law of its errors, which holds after two or three where noise is wide; where it
does not hold, bisection takes over."""


def budget_for(
    workload: ResolvedWorkload,
    target: Target,
    *,
    alpha: float = 0.05,
    strategy: str = "residual-planner",
    objective: str = "sum_variance",
    rows: int = 1,
    pure: bool = False,
) -> Fraction:
    """The smallest rho (``pure``: epsilon) at which every half-width in ``target`` is met.

    ``target`` maps marginals of the workload, or inside them, (names or axis numbers) to half-widths at level
    ``1 - alpha``.  Variances
    scale as 1 / rho and Laplace widths as 1 / epsilon, so one plan at a reference budget gives the answer; it is
    rounded up to the ledger's grid and checked.  Raw counts move in whole steps: where they are wanted,
    bisection finds the budget.
    """
    wanted, options = _resolved(workload, target), PlanOptions(objective)
    sets = tuple(wanted)
    chosen, power = foreseen_strategy(strategy), 1 if pure else 2
    scale = planning.check_rows(rows)

    def model_at(budget: float) -> ErrorModel:
        plan = (
            chosen.pure(workload, _up(budget), Fraction(0), 1)
            if pure
            else chosen.gaussian(workload, _up(budget), 1, options)
        )
        return cast("BatchPlan", plan).error_model()

    def largest(model: ErrorModel) -> float:
        """The largest half-width relative to its target."""
        widths = model.half_widths(sets, alpha).tolist()
        return max(width / wanted[s] for s, width in zip(sets, widths, strict=True))

    def excess(budget: float) -> float:
        return largest(model_at(budget))

    model = model_at(REFERENCE)
    needed = REFERENCE * largest(replace(model, raw={})) ** power
    steps = 0 if any(s in model.raw for s in sets) else SCALINGS
    needed = _scaled(needed, power, excess, steps) or smallest_budget(
        needed, lambda budget: excess(budget) <= 1.0
    )
    return _up(needed * (scale**2 if power == 2 else scale))


def foreseen_strategy(name: str) -> Strategy:
    """A strategy whose errors are known beforehand; refuses others."""
    chosen = strategy_named(name)
    if not chosen.foreseen:
        raise WorkloadError(
            "planning.strategy",
            "A budget can be derived from accuracy only for strategies whose errors are known beforehand.",
            f"Choose {names_of('foreseen')}.",
        )
    return chosen


def _scaled(budget: float, power: int, excess: Callable[[float], float], steps: int) -> float | None:
    """Repeat the scaling law until it holds; None when it does not, as for noise much below one record."""
    for _ in range(steps):
        ratio = excess(budget) ** power
        budget *= ratio
        if abs(ratio - 1.0) < CLOSE:
            return budget * (1.0 + CLOSE)
    return None


def smallest_budget(start: float, enough: Callable[[float], bool]) -> float:
    """The smallest budget that is enough, by bisection from somewhere near."""
    low, high = start, start
    while enough(low):
        low /= 2.0
        if low < 1.0 / UNIT:
            return low
    while not enough(high):
        high *= 2.0
    while high / low > 1.0 + CLOSE:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _resolved(workload: ResolvedWorkload, target: Target) -> dict[AttributeSet, float]:
    axis_of = {name: k for k, name in enumerate(workload.names)}
    sizes = Axes.of(workload.sizes)
    found: dict[AttributeSet, float] = {}
    for marginal, width in target.items():
        strange = [a for a in marginal if isinstance(a, str) and a not in axis_of]
        if strange:
            raise WorkloadError(
                "planning.target",
                f"A target names {strange[0]!r}, which is no attribute and no level.",
                f"Choose among {', '.join(workload.names[:MOST_NAMES])}.",
            )
        axes = [axis_of[a] if isinstance(a, str) else int(a) for a in marginal]
        attributes = tuple(sorted(axes))
        if not sizes.is_set(attributes) or not any(sizes.tells(attributes, s) for s in workload.sets):
            raise WorkloadError(
                "planning.target",
                "A target names a marginal that the workload does not have, nor inside one that it has.",
                "Add it to the workload.",
            )
        if not (isfinite(width) and width > 0):
            raise WorkloadError(
                "planning.target",
                f"The half-width wanted for {workload.label(attributes)} is not positive and finite.",
                "Give the number of records that an answer may be off by.",
            )
        found[attributes] = float(width)
    if not found:
        raise WorkloadError(
            "planning.target", "No target is given.", "Name at least one marginal and a half-width."
        )
    return found


def _up(budget: float) -> Fraction:
    return Fraction(max(1, ceil(Fraction(budget) * UNIT)), UNIT)
