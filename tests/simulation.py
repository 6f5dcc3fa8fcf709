"""Many runs of a linear estimator at once: its matrix, read off unit vectors, times noise drawn in bulk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hushtable.marginals import Layout


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
