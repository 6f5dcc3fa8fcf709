"""Many runs at once of what is linear, and codes in memory in place of confidential rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.draw import Confidential
from hushtable.kernel.tabulate import tabulate
from hushtable.marginals import Layout, ResolvedWorkload
from hushtable.measurement import Measure, Purse, Reply
from hushtable.planning import STRATEGIES, AdaptivePlan, PlanOptions, State
from hushtable.reconstruct.fits import StateFits
from hushtable.reconstruct.local import LocalTables


class CodesInMemory:
    """A counter of codes, one array per attribute."""

    codes: Sequence[NDArray[np.uint8]]

    def tabulate(self, layout: Layout) -> NDArray[np.int64]:
        return tabulate([self.codes], layout)

    def staged(self, again: int = 0) -> CodesInMemory:
        return self


class DependentRows(CodesInMemory):
    """Three thousand dependent records."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        generator = np.random.default_rng(0)
        cause = generator.integers(0, 5, 3000)
        mixed = [
            np.where(generator.random(3000) < 0.5, cause % n, generator.integers(0, n, 3000)) for n in sizes
        ]
        self.codes = [np.asarray(column, np.uint8) for column in mixed]


def adaptive_loop(
    workload: ResolvedWorkload, layout: Layout, strategy: str, tables: bool
) -> tuple[State, list[tuple[Measure, NDArray[np.int64]]]]:
    """A whole loop on ``DependentRows``: its state, and what it measured.

    With ``tables``, its candidates are scored against tables of maximum entropy.
    """
    plan = STRATEGIES[strategy].gaussian(workload, Fraction(1, 20), 1, PlanOptions())
    assert isinstance(plan, AdaptivePlan)
    state, found = State.empty(layout), list[tuple[Measure, NDArray[np.int64]]]()
    refit = LocalTables(layout).refit if tables else None
    purse = Purse(plan.rho)
    handle = Confidential(DependentRows(layout.sizes), layout, scored=plan.scores and not tables)
    policy = plan.policy(state, purse, StateFits(), plan.keeping(2**30), refit)
    request = next(policy)
    while True:
        purse.pay(request.rho)
        values = handle.prepare(request)()
        found += [(request, values)] if isinstance(request, Measure) else []
        try:
            request = policy.send(Reply(request, values))
        except StopIteration:
            return state, found


def dependent_counts(rows: int, seed: int, sizes: tuple[int, ...]) -> NDArray[np.float64]:
    """The whole table of records with a common cause."""
    generator = np.random.default_rng(seed)
    cause = generator.integers(0, 3, rows)
    codes = [np.where(generator.random(rows) < 0.6, cause % n, generator.integers(0, n, rows)) for n in sizes]
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(codes), 1)
    return counts


def linear_map(
    estimate: Callable[[NDArray[np.int64]], NDArray[np.float64]], measured: Layout
) -> NDArray[np.float64]:
    """The matrix A with ``estimate(y) = y @ A``; row k is the answer to the k-th unit vector (scaled for accuracy)."""
    unit = 1_000_000
    return np.stack([estimate(row) for row in unit * np.eye(measured.cells, dtype=np.int64)]) / unit


def by_run(draws: NDArray[np.int64], measured: Layout, runs: int) -> NDArray[np.float64]:
    """Noise drawn set by set, ``runs`` times each, rearranged to one row per run."""
    parts = np.split(draws, measured.offsets[1:-1] * runs)
    return np.hstack([part.reshape(runs, -1) for part in parts]).astype(np.float64)
