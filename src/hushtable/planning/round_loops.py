"""The plain loops of one adaptive round: how much of it each residual gets, and what its replies change.

The shares are those of the conditional plan (aim-grem, eq. 8): x_tau >= 0 that minimise sum v_tau / (x_tau + a_tau)
with sum p_tau x_tau <= 1, where a_tau is the precision known before.  Replies are pooled by precision.  Compiled,
because a round is short and there may be tens of thousands of them.  Everything here is public.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hushtable.arrays import Floats, Ints
from hushtable.compiled import njit
from hushtable.marginals import add_repeated


@njit(cache=True, nogil=True)
def fill_up(error: Floats, price: Floats, known: Floats) -> Floats:
    """The conditional plan (see ``conditional``): residuals join in order of their levels until the budget is spent."""
    x = np.zeros(error.size)
    rate, joins = np.zeros(error.size), np.empty(error.size)
    for i in range(error.size):
        joins[i] = np.inf
        if error[i] > 0 and known[i] < np.inf:
            rate[i] = np.sqrt(error[i] / price[i])
            joins[i] = known[i] / rate[i]
    order = np.argsort(joins, kind="mergesort")
    slope, paid, theta, last = 0.0, 0.0, 0.0, -1
    for place in range(order.size):
        i = order[place]
        if joins[i] == np.inf:
            break
        slope += price[i] * rate[i]
        paid += price[i] * known[i]
        level = (1.0 + paid) / slope
        if level > joins[i]:
            theta, last = level, place
    spent = 0.0
    for place in range(last + 1):
        i = order[place]
        x[i] = max(theta * rate[i] - known[i], 0.0)
        spent += price[i] * x[i]
    if spent == 0.0 and order.size and joins[order[0]] < np.inf:
        x[order[0]] = (
            1.0 / price[order[0]]
        )  # against all that is known the budget rounds to nothing: one takes it
    return x / max(spent, 1.0)


@njit(cache=True, nogil=True)
def round_precisions(
    members: Ints, error: Floats, price: Floats, known: Floats, twice: float, skip: float, fill: bool
) -> tuple[Ints, Floats]:
    """Which of the members to measure and how precisely, by the conditional plan, for ``twice`` half the budget.

    ``error`` is what a unit of each member's variance adds to the marginal's.  Members whose share is below ``skip``
    are left out; with ``fill`` the others get what they leave.
    """
    prices, prior = np.empty(members.size), np.empty(members.size)
    for j in range(members.size):
        k = members[j]
        prices[j] = price[k]
        prior[j] = known[k] / twice
    share = fill_up(error, prices, prior)
    kept = share * prices >= skip
    if not kept.any():
        kept = share > 0.0
    scale = twice / (share * prices)[kept].sum() if fill else twice
    return members[kept], share[kept] * scale


@njit(cache=True, nogil=True)
def pool_residuals(
    numbers: Ints, offsets: Ints, starts: Ints, gains: Floats, values: Floats, centred: Floats
) -> None:
    """In place: known residuals move towards new ones by their gain, and ``centred`` becomes the moves."""
    for j in range(numbers.size):
        at, to = starts[j], offsets[numbers[j]]
        for i in range(starts[j + 1] - at):
            move = (centred[at + i] - values[to + i]) * gains[j]
            values[to + i] += move
            centred[at + i] = move


@njit(cache=True, nogil=True)
def moved_norm(shape: Ints, masks: Ints, starts: Ints, changes: Any, cells: int) -> float:
    """L1 norm of what the changes of residuals below a marginal add to it."""
    groups = np.empty((shape.size + 2, 3), np.int64)
    delta = np.zeros(cells)
    for j in range(masks.size):
        add_repeated(delta, shape, masks[j], 1.0, changes[starts[j] :], groups)
    return float(np.abs(delta).sum())
