"""Whole records from real weights: the total is exact, the marginals asked for move by less than one.

One or two marginals that do not contain each other (and the total): a flow on a bipartite graph, always possible and
exactly unbiased.  More marginals on a small table: a random walk that keeps all of them, unbiased, until few fractions
are left, which an integer program (HiGHS) settles.  On a large table with many marginals: cell by cell in order,
unbiased, the total exact, marginals only as near as chance allows; ``worst`` says how near.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix, hstack, identity

from hushtable.arrays import Floats, Ints
from hushtable.errors import WorkloadError
from hushtable.microdata import rounding_loops, seeded
from hushtable.microdata.program import cell_labels, stack_labels
from hushtable.microdata.wanted import whole_rows

MOST_SUMS = 300
"""Sums that the random walk keeps at once; the integer program after it takes a second at 200, half a minute at 360."""
MOST_WALK = 3e8
"""Cells times squared sums of a walk: 20 ns each, measured on 1,024 to 4,096 cells."""
# Nodes of the search tree; a limit in time would make the records depend on the machine.
_MILP_NODES = 1


@dataclass(frozen=True, eq=False)
class Rounded:
    """Whole counts.

    ``worst`` is the largest change of a cell of a marginal asked for; ``unbiased`` says whether the expectation of
    every count over seeds is exactly its (rescaled) weight.
    """

    counts: Ints
    worst: float
    unbiased: bool


def round_table(
    weights: ArrayLike, marginals: Sequence[Sequence[int]] = (), *, total: int | None = None, seed: object = 0
) -> Rounded:
    """Round a nonnegative table; every cell becomes the whole number below or above it.

    ``total`` is by default the weights' sum rounded; the weights are first scaled to it.  ``marginals`` are axis sets.
    """
    table = _scaled(weights, total)
    sets = _proper(marginals, table.ndim)
    base = np.floor(table + rounding_loops.EDGE)
    fractions = np.maximum(table - base, 0.0).ravel()
    state = seeded.seeded("round", seed)
    if not sets:
        rounding_loops.round_in_order(fractions, state)
        unbiased = True
    elif len(sets) <= 2:
        _flow(fractions, table, sets, state)
        unbiased = True
    else:
        unbiased = _walk(fractions, table, sets, state)
    counts = (base.ravel() + np.rint(fractions)).astype(np.int64).reshape(table.shape)
    return Rounded(counts, _worst(counts, table, sets), unbiased)


def _scaled(weights: ArrayLike, total: int | None) -> Floats:
    table = np.array(weights, np.float64)
    if not np.isfinite(table).all() or (table < 0.0).any():
        raise WorkloadError(
            "microdata.weights",
            "Weights below zero or without a value cannot become records.",
            "Fit with nnls, max, sequential or reweighted first.",
        )
    sum_now = float(table.sum())
    wanted = whole_rows(round(sum_now) if total is None else total)
    if wanted > 0 and sum_now <= 0.0:
        table[...] = wanted / table.size
    elif sum_now > 0.0:
        table *= wanted / sum_now
    return table


def _proper(marginals: Sequence[Sequence[int]], axes: int) -> list[tuple[int, ...]]:
    """The sets without the total and the table itself, which need no care."""
    sets = {tuple(sorted(int(axis) for axis in s)) for s in marginals}
    if any(not 0 <= axis < axes for s in sets for axis in s):
        raise WorkloadError(
            "microdata.shape", "A marginal names an axis that the table does not have.", "Count axes from 0."
        )
    return sorted(s for s in sets if 0 < len(s) < axes)


def _flow(fractions: Floats, table: Floats, sets: list[tuple[int, ...]], state: seeded.STATE) -> None:
    """Two marginals: cells are edges between their rows and columns, one more of each takes up the fractions."""
    if len(sets) == 2 and set(sets[0]) < set(sets[1]):
        sets = [sets[1], sets[0]]
    sides = [cell_labels(table.shape, s).astype(np.int64) for s in sets]
    if len(sides) == 1:
        sides.append(np.zeros(table.size, np.int64))
    counts = [int(side.max()) + 1 for side in sides]
    gaps = [_gap(side, fractions, count) for side, count in zip(sides, counts, strict=True)]
    left = np.concatenate([sides[0], np.arange(counts[0]), np.full(counts[1], counts[0])])
    right = np.concatenate([sides[1], np.full(counts[0], counts[1]), np.arange(counts[1])])
    every = np.concatenate([fractions, *gaps])
    rounding_loops.round_two_ways(every, left, right, counts[0] + 1, counts[1] + 1, state)
    fractions[:] = every[: fractions.size]


def _gap(labels: Ints, fractions: Floats, count: int) -> Floats:
    """What is missing in each sum to the next whole number."""
    sums = np.asarray(np.bincount(labels, fractions, count), np.float64)
    missing = np.ceil(sums - rounding_loops.EDGE) - sums
    return np.clip(missing, 0.0, 1.0)


def _walk(fractions: Floats, table: Floats, sets: list[tuple[int, ...]], state: seeded.STATE) -> bool:
    counts = [prod(table.shape[axis] for axis in s) for s in sets]
    if not walkable(table.size, sum(counts)):
        rounding_loops.round_in_order(fractions, state)
        return True
    cells = table.size
    rows = stack_labels(
        [np.zeros(cells, np.int32), *(cell_labels(table.shape, s) for s in sets)], [1, *counts], cells
    )
    wanted = csr_matrix((rows.value, rows.row, rows.start), shape=(cells, rows.number)).T.tocsr()
    target = wanted @ fractions
    rounding_loops.round_in_null_space(fractions, rows.start, rows.row, rows.number, state)
    open_cells = np.flatnonzero((fractions > 0.0) & (fractions < 1.0))
    if len(open_cells) == 0:
        return True
    _settle_rest(fractions, wanted, target, open_cells, state)
    return False


def walkable(cells: int, sums: int) -> bool:
    """Whether a walk that keeps so many sums ends within seconds."""
    return sums <= MOST_SUMS and cells * float(sums) ** 2 <= MOST_WALK


def _settle_rest(fractions: Floats, sums: Any, target: Any, open_cells: Ints, state: seeded.STATE) -> None:
    """Whole values for the last open cells: total exact, other sums off by less than one, or by as little as can be."""
    before = fractions[open_cells].copy()
    fractions[open_cells] = 0.0
    part = sums[:, open_cells]
    base = sums @ fractions
    n, m = len(open_cells), len(target)
    chance = seeded.uniforms(state, n)
    cost = np.concatenate(
        [np.where(chance < before, -1.0, 1.0) * np.abs(chance - before), np.full(2 * m, 100.0 * n)]
    )
    slack = identity(m, format="csr")
    low: Any = np.floor(target + 1e-6)
    high: Any = np.ceil(target - 1e-6)
    low[0] = high[0] = round(float(target[0]))
    limits = LinearConstraint(hstack([part, slack, -slack]), low - base, high - base)
    whole = np.concatenate([np.ones(n), np.zeros(2 * m)])
    most: Any = np.concatenate(
        [np.ones(n), np.zeros(1), np.full(m - 1, np.inf), np.zeros(1), np.full(m - 1, np.inf)]
    )
    found = milp(
        cost,
        constraints=limits,
        integrality=whole,
        bounds=Bounds(0.0, most),
        options={"node_limit": _MILP_NODES},
    )
    if found.x is None:
        fractions[open_cells] = before
        rounding_loops.round_in_order(fractions, state)
        return
    fractions[open_cells] = np.rint(found.x[:n])


def _worst(counts: Ints, table: Floats, sets: list[tuple[int, ...]]) -> float:
    gap = counts - table
    worst = 0.0
    for s in sets:
        summed = gap.sum(axis=tuple(k for k in range(table.ndim) if k not in s))
        worst = max(worst, float(np.abs(summed).max()))
    return worst
