"""Many runs at once of what is linear, and codes in memory in place of confidential rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.tabulate import tabulate
from hushtable.marginals import Layout


class CodesInMemory:
    """A counter of codes, one array per attribute."""

    codes: Sequence[NDArray[np.uint8]]

    def tabulate(self, layout: Layout) -> NDArray[np.int64]:
        return tabulate([self.codes], layout)

    def staged(self) -> CodesInMemory:
        return self


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
