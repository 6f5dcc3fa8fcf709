"""AIM's rounds, scored against tables of maximum entropy instead of sums of residuals.

Selection, measurement and annealing are those of ``aim``; the estimates that candidates are compared with are tables
that the caller fits, after each measurement only where something changed.  Rounds are as large as AIM's, or smaller: at
first the budget would last for sixteen rounds per attribute and for one per marginal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import pi, sqrt

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.marginals import Layout, ResolvedWorkload, assemble
from hushtable.measurement import Policy, Purse
from hushtable.planning.aim import RoundPlanner, State, root_below

Refit = Callable[[State, Sequence[int]], tuple[Ints, Floats]]
"""From a state and the numbers of the residuals that changed: the marginals fitted again, and all tables, flat."""

ROUNDS_PER_ATTRIBUTE = 16
MOST_PER_ATTRIBUTE = 128
"""Where a closure has more marginals than this for each attribute, fitting tables every round would take too long."""

_EXPECTED = sqrt(2.0 / pi)


def aim_tables_policy(
    workload: ResolvedWorkload, state: State, purse: Purse, refit: Refit, *, work: int | None = None
) -> Policy:
    """The loop; ``work`` limits the cells touched, and the round that reaches it spends what is left."""
    loop = RoundPlanner(workload, state, purse, "crp")
    layout, limit = state.layout, purse.limit
    attributes = max(1, sum(len(s) == 1 for s in layout.sets))
    planned = max(ROUNDS_PER_ATTRIBUTE * attributes, len(layout.sets))
    variance = Fraction(planned) / (Fraction(18, 10) * limit)
    epsilon = root_below(Fraction(8, 10) * limit / planned)
    changes = state.learn((yield loop.start(variance)))
    if len(layout.sets) == 1:
        return
    numbers, tables = refit(state, [k for k, _ in changes])
    touched, last = 0, False
    claims = loop.claims(epsilon)
    while not last:
        last = purse.left <= 2 * (1 / (2 * variance) + epsilon**2 / 8)
        last = last or (work is not None and touched > work)
        if last:
            epsilon, variance = root_below(purse.left * Fraction(8, 10)), 1 / (Fraction(18, 10) * purse.left)
        asked = loop.selection(variance, epsilon, numbers=numbers, tables=tables)
        select, chosen, label = loop.chosen((yield asked), variance)
        measure = loop.plan(chosen, purse.left if last else 1 / (2 * variance), fill=last, label=label)
        changes = state.learn((yield measure))
        where = slice(layout.offsets[chosen], layout.offsets[chosen + 1])
        before = tables[where].copy()
        unbiased = assemble(layout, state.values, Layout(layout.sizes, (layout.sets[chosen],)))
        away = float(np.abs(before - unbiased).sum())
        if last:
            state.claims += claims.end(select, chosen, away, state.precisions, changes)
            return
        claims.add(select, chosen, away, state.precisions, changes)
        numbers, tables = refit(state, [k for k, _ in changes])
        touched += int(layout.lengths[numbers].sum())
        if np.abs(tables[where] - before).sum() <= _EXPECTED * sqrt(variance) * loop.cells[chosen]:
            epsilon, variance = 2 * epsilon, variance / 4
