"""Decomposition and reconstruction of one marginal, in its axes and by Kronecker products (aim-grem, Figure 3).

The baseline multiplies by one small matrix per attribute and shuffles (Plateau); it never forms the product.  Times
are elapsed, the best of several runs; the matrices are made beforehand.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.adaptive.figures import Figures
from hushtable.marginals import decompose, reconstruct

SETTINGS = (
    *(("16 values, by attributes", 16, degree) for degree in range(2, 7)),
    *(("3 attributes, by values", n, 3) for n in (2, 4, 8, 16, 32, 64, 128, 256)),
)
ENOUGH = 0.4
"""Seconds for which a measurement is repeated, at least three times."""


def shuffled(matrix: np.ndarray, vector: np.ndarray, degree: int) -> np.ndarray:
    """The Kronecker product of ``degree`` copies of a matrix times a vector."""
    for _ in range(degree):
        vector = (matrix @ vector.reshape(matrix.shape[1], -1)).T
    return vector.ravel()


def in_turn(actions: list[Callable[[], Any]]) -> list[float]:
    """The best time of each action, measured alternately so that a disturbance hits all of them."""
    best = [float("inf")] * len(actions)
    start, rounds = time.perf_counter(), 0
    while rounds < 3 or time.perf_counter() - start < ENOUGH * len(actions):
        for k, action in enumerate(actions):
            before = time.perf_counter()
            action()
            best[k] = min(best[k], time.perf_counter() - before)
        rounds += 1
    return best


def compare(n: int, degree: int) -> dict[str, Any]:
    """Both operations on one marginal of ``degree`` attributes of ``n`` values."""
    axes, shape = tuple(range(degree)), (n,) * degree
    mu = np.random.default_rng(0).integers(0, 1000, shape).astype(np.float64)
    difference = np.hstack([-np.ones((n - 1, 1)), np.eye(n - 1)])
    inverse = np.linalg.pinv(difference)
    residual = decompose(mu, axes, axes)
    part = reconstruct(residual, axes, axes, shape)
    if not np.allclose(shuffled(difference, mu, degree), residual.ravel()):
        raise SystemExit("The two decompositions differ.")
    if not np.allclose(shuffled(inverse, residual, degree), part.ravel()):
        raise SystemExit("The two reconstructions differ.")
    down, down_kron, up, up_kron = in_turn(
        [
            lambda: decompose(mu, axes, axes),
            lambda: shuffled(difference, mu, degree),
            lambda: reconstruct(residual, axes, axes, shape),
            lambda: shuffled(inverse, residual, degree),
        ]
    )
    return {
        "values": n,
        "attributes": degree,
        "cells": n**degree,
        "decompose": down,
        "decompose_kronecker": down_kron,
        "reconstruct": up,
        "reconstruct_kronecker": up_kron,
    }


def run(figures: Figures) -> None:
    """Both settings."""
    for setting, n, degree in SETTINGS:
        key = f"{setting}/{n}/{degree}"
        if key not in figures:
            figures.put(key, setting=setting, **compare(n, degree))


def alone(folder: str, options: str) -> None:
    """``run`` in a process of its own."""
    figures = Figures("axes", Path(folder))
    figures.begin(options)
    run(figures)
