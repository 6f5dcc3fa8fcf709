"""Speed of the batch arithmetic: plan, measure, reconstruct.

    hush bench residuals -- [--data FOLDER] [--order 3] [--repeat 5] [--json]

All three-way marginals of ``adult_full`` at epsilon 1, delta 1e-9.  Times are the best of several runs after a first
one that compiles; the measurement is the arithmetic and the exact noise, without reading a file or touching a ledger.
In-axis operations against Kronecker products: ``hush bench adaptive -- --parts axes``.
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
from pathlib import Path
from typing import Any

import numpy as np

from bench.shared.history import keep
from bench.shared.places import DATA
from hushtable.kernel.draw import noisy
from hushtable.marginals import Layout, Workload, lift_all
from hushtable.planning import BatchPlan, Problem, minimax_variances, plan_residuals
from hushtable.privacy import rho_from
from hushtable.reconstruct import from_residuals


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
        axes = tuple(codes[:, i] for i in s)
        cells = np.ravel_multi_index(axes, layout.shape(s)) if s else np.zeros(len(codes), np.int64)
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


def measure(counts: np.ndarray, plan: BatchPlan) -> np.ndarray:
    return noisy(lift_all(plan.part.layout, counts), plan.part.noise)


def run(folder: Path, order: int, repeat: int) -> dict[str, Any]:
    domain, codes = load(folder)
    workload = Workload.all_marginals(domain, order=order).resolve(domain)
    rho = Fraction(rho_from(epsilon=1, delta="1e-9"))
    source = workload.layout
    counts = tabulate(codes, source)
    plan_time, plan = best(lambda: plan_residuals(workload, rho=rho), repeat)
    below = tabulate(codes, plan.part.layout)
    arithmetic_time, _ = best(lambda: lift_all(plan.part.layout, below), repeat)
    measure_time, answers = best(lambda: measure(below, plan), repeat)

    def rebuild() -> tuple[np.ndarray, np.ndarray]:
        estimates = from_residuals(plan.part.layout, answers, plan.part.precisions)
        return estimates.estimate_all(source), estimates.model.half_widths(source.sets)

    rebuild_time, (estimate, widths) = best(rebuild, repeat)
    minimax_time, largest = best(
        lambda: minimax_variances(Problem.of(workload.sizes, workload.sets, workload.weights), float(rho)),
        max(1, repeat // 2),
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
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("HUSHTABLE_DATA", DATA)))
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = run(options.data, options.order, options.repeat)
    if options.order == 3:
        keep(
            "residuals",
            {
                "mean L1 error over records": result["mean_l1_over_n"],
                "cells in their interval": result["covered_95"],
            },
        )
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for name, value in result.items():
        print(f"{name:34} {value:.6g}")


if __name__ == "__main__":
    main()
