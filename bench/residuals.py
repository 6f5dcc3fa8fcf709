"""Speed of the batch arithmetic: plan, measure, reconstruct; and in-axis decomposition against explicit matrices.

    python bench/residuals.py [--data FOLDER] [--order 3] [--repeat 5] [--json]

All three-way marginals of ``adult_full`` at epsilon 1, delta 1e-9.  Times are the best of several runs after a first
one that compiles; the measurement is the arithmetic and the exact noise, without reading a file or touching a ledger.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from hushtable.marginals import Layout, Workload, decompose, lift_all, project
from hushtable.planning import BatchPlan, Problem, minimax_variances, plan_residuals
from hushtable.privacy import discrete_gaussian_segments, rho_from
from hushtable.reconstruct import from_residuals, half_widths


@dataclass(frozen=True)
class Domain:
    names: tuple[str, ...]
    sizes: tuple[int, ...]


def load(folder: Path) -> tuple[Domain, np.ndarray]:
    sizes = json.loads((folder / "adult_full-domain.json").read_text())
    with gzip.open(folder / "adult_full.csv.gz", "rt") as file:
        codes = np.loadtxt(file, np.int64, delimiter=",", skiprows=1)
    return Domain(tuple(sizes), tuple(sizes.values())), codes


def tabulate(codes: np.ndarray, layout: Layout) -> np.ndarray:
    counts = np.empty(layout.cells, np.int64)
    for s in layout.sets:
        cells = np.ravel_multi_index(tuple(codes[:, i] for i in s), layout.shape(s))
        layout.view(counts, s).ravel()[...] = np.bincount(cells, minlength=int(np.prod(layout.shape(s))))
    return counts


def best(action: Callable[[], Any], repeat: int) -> tuple[float, Any]:
    action()
    times = []
    result = None
    for _ in range(repeat):
        started = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - started)
    return min(times), result


def lifted(counts: np.ndarray, source: Layout, plan: BatchPlan) -> np.ndarray:
    return lift_all(plan.layout, project(counts, source, plan.layout))


def measure(counts: np.ndarray, source: Layout, plan: BatchPlan) -> np.ndarray:
    layout = plan.layout
    variances = [m.noise_variance for m in plan.mechanisms()]
    return lifted(counts, source, plan) + discrete_gaussian_segments(variances, layout.lengths.tolist())


def explicit_matrix(shape: tuple[int, ...]) -> np.ndarray:
    return reduce(np.kron, [np.hstack([-np.ones((n - 1, 1)), np.eye(n - 1)]) for n in shape])


def against_kronecker(repeat: int) -> dict[str, float]:
    """The residual of one 12 x 12 x 12 marginal, in-axis and by the explicit 1331 x 1728 Kronecker matrix."""
    shape = (12, 12, 12)
    mu = np.random.default_rng(0).integers(0, 1000, shape).astype(np.float64)
    in_axis, residual = best(lambda: decompose(mu, (0, 1, 2), (0, 1, 2)), repeat)
    building, matrix = best(lambda: explicit_matrix(shape), 1)
    applying, product = best(lambda: matrix @ mu.ravel(), repeat)
    assert np.allclose(residual.ravel(), product)
    return {
        "in_axis_s": in_axis,
        "kronecker_build_s": building,
        "kronecker_apply_s": applying,
        "apply_ratio": applying / in_axis,
        "total_ratio": (building + applying) / in_axis,
    }


def run(folder: Path, order: int, repeat: int) -> dict[str, Any]:
    domain, codes = load(folder)
    workload = Workload.all_marginals(domain, order=order).resolve(domain)
    rho = Fraction(rho_from(epsilon=1, delta="1e-9"))
    source = workload.layout
    counts = tabulate(codes, source)
    plan_time, plan = best(lambda: plan_residuals(workload, rho=rho), repeat)
    arithmetic_time, _ = best(lambda: lifted(counts, source, plan), repeat)
    measure_time, answers = best(lambda: measure(counts, source, plan), repeat)

    def rebuild() -> tuple[np.ndarray, np.ndarray]:
        estimates = from_residuals(plan.layout, answers, plan.precisions)
        return estimates.estimate_all(source), half_widths(estimates, source)

    rebuild_time, (estimate, widths) = best(rebuild, repeat)
    minimax_time, largest = best(
        lambda: minimax_variances(Problem.of_workload(workload), float(rho)), max(1, repeat // 2)
    )
    error = np.abs(estimate - counts)
    covered = float((error <= np.repeat(widths, source.lengths)).mean())
    return {
        "marginals": len(workload.sets),
        "cells": workload.cells,
        "rho": float(rho),
        "plan_s": plan_time,
        "measure_s": measure_time,
        "measure_without_noise_s": arithmetic_time,
        "reconstruct_s": rebuild_time,
        "together_s": plan_time + measure_time + rebuild_time,
        "max_variance_plan_s": minimax_time,
        "max_variance_gap": largest.gap,
        "mean_l1_over_n": float(error.sum()) / len(workload.sets) / len(codes),
        "covered_95": covered,
        "decompose": against_kronecker(repeat),
    }


def main() -> None:
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("HUSHTABLE_DATA", beside)))
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = run(options.data, options.order, options.repeat)
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for name, value in result.items():
        if isinstance(value, dict):
            for inner, number in value.items():
                print(f"{name}.{inner:24} {number:.6g}")
        else:
            print(f"{name:34} {value:.6g}")


if __name__ == "__main__":
    main()
