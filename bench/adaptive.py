"""Accuracy and speed of adaptive releases: strategies by epsilon, and the fixed sequence of aim-grem's Table 2.

    python bench/adaptive.py [--tables adult titanic ...] [--epsilons 0.1 1 10] [--seeds 5] [--parts errors sequence]

Errors are of all three-way marginals at delta 1e-9, as mean L1, mean L2 and largest L1 over marginals, divided by the
number of records.  Seconds are processor time of this process after a first run that compiles; other programs disturb
it less than elapsed time.  Writes docs/benchmarks-adaptive.md.  Draws are exact; no ledger is opened.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from hushtable.kernel.adaptive import Confidential
from hushtable.kernel.select import Gaps
from hushtable.kernel.tabulate import tabulate
from hushtable.marginals import Layout, ResolvedWorkload, assemble, subsets
from hushtable.planning import (
    AdaptivePlan,
    Measure,
    Purse,
    State,
    conditional_plan,
    plan_adaptive,
    plan_residuals,
)
from hushtable.planning.problem import prices
from hushtable.planning.rounding import round_down
from hushtable.privacy import rho_from
from hushtable.reconstruct import from_answers
from hushtable.reconstruct.fits import fit_state, fit_tables
from hushtable.reconstruct.maxent import MaxentTables
from hushtable.reconstruct.transcript import pooled_answers
from standins import load

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks-adaptive.md"
DELTA = Fraction(1, 10**9)
METHODS = (
    ("auto", "maxent"),
    ("aim", "mle"),
    ("aim", "maxent"),
    ("residual-planner", "mle"),
    ("residual-planner", "maxent"),
)
MEMORY = 8 * 2**30
MOST_LAZY = 1000
"""Longer sequences are extrapolated from this many measurements."""


class Rows:
    """A table in memory, in place of a confidential source."""

    def __init__(self, columns: list[np.ndarray]) -> None:
        self.columns = columns

    def batches(self) -> Iterator[list[np.ndarray]]:
        yield self.columns


@dataclass
class Table:
    """A benchmark table with its exact three-way marginals."""

    name: str
    sizes: tuple[int, ...]
    source: Rows
    records: int
    workload: ResolvedWorkload

    @classmethod
    def load(cls, name: str) -> Table:
        sizes, columns = load(name)
        sets = tuple(combinations(range(len(sizes)), 3))
        workload = ResolvedWorkload(sets, (Fraction(1),) * len(sets), tuple(sizes))
        return cls(name, tuple(sizes), Rows(columns), len(columns[0]), workload)

    def errors(self, estimates: np.ndarray, truth: np.ndarray) -> tuple[float, float, float]:
        """Mean L1, mean L2 and largest L1 over marginals, divided by the records."""
        gap = estimates - truth
        starts = self.workload.layout.offsets[:-1]
        l1 = np.add.reduceat(np.abs(gap), starts) / self.records
        l2 = np.sqrt(np.add.reduceat(gap**2, starts)) / self.records
        return float(l1.mean()), float(l2.mean()), float(l1.max())


def rounds(plan: AdaptivePlan, source: Rows) -> list[tuple[Measure, np.ndarray]]:
    """Run an adaptive plan and give back its measurements."""
    keeping = plan.keeping(MEMORY)
    handle = Confidential(source, plan.layout, wide=keeping.wide, scored=plan.strategy == "aim")
    policy = plan.policy(State.empty(plan.layout), Purse(plan.rho), fit_state, keeping)
    measured, request = [], next(policy)
    while True:
        handle.update(request)
        values = handle.answer(request)
        if isinstance(request, Measure):
            measured.append((request, values))
        try:
            request = policy.send(values)
        except StopIteration:
            return measured


def measured_by(table: Table, strategy: str, rho: Fraction) -> list[tuple[Measure, np.ndarray]]:
    if strategy != "residual-planner":
        return rounds(plan_adaptive(table.workload, strategy=strategy, rho=rho), table.source)
    plan = plan_residuals(table.workload, rho=rho)
    request = Measure(table.sizes, plan.residuals, plan.precisions)
    return [(request, Confidential(table.source, plan.layout, scored=False).measure(request))]


def disagreement(table: Table, fitted: Any, estimates: np.ndarray) -> float:
    """Largest difference of a two-way table as read from two three-way tables, in records."""
    if not isinstance(fitted, MaxentTables):
        return 0.0
    seen: dict[tuple[int, ...], list[np.ndarray]] = {}
    layout = table.workload.layout
    for s in layout.sets:
        cells = layout.view(estimates, s)
        for k in range(3):
            seen.setdefault(s[:k] + s[k + 1 :], []).append(cells.sum(axis=k))
    return float(max(np.ptp(np.array(tables), axis=0).max() for tables in seen.values() if len(tables) > 1))


def errors_part(names: list[str], epsilons: list[float], seeds: int) -> list[str]:
    lines = [
        "## Errors and times by strategy",
        "",
        "Mean over seeds; L1 and L2 are divided by the number of records. `differ` is the largest difference, in",
        "records, of a two-way table read from two maximum-entropy tables.",
        "",
        "| table | epsilon | strategy | reconstruction | mean L1 | mean L2 | max L1 | differ | seconds |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in names:
        table = Table.load(name)
        truth = tabulate(table.source.batches(), table.workload.layout)
        for epsilon in epsilons:
            rho = Fraction(rho_from(epsilon=epsilon, delta=DELTA))
            for strategy, reconstruction in METHODS:
                found = []
                for _ in range(seeds):
                    start = time.process_time()
                    measured = measured_by(table, strategy, rho)
                    estimates = from_answers(pooled_answers(table.sizes, measured))
                    fitted = fit_tables(reconstruction, estimates, table.workload.closure)
                    flat = fitted.estimate_all(table.workload.layout)
                    seconds = time.process_time() - start
                    found.append((*table.errors(flat, truth), disagreement(table, fitted, flat), seconds))
                l1, l2, largest, differ, _ = np.mean(found, axis=0)
                spread, seconds = np.std([f[0] for f in found]), np.median([f[4] for f in found])
                row = f"| {name} | {epsilon:g} | {strategy} | {reconstruction} | {l1:.4f} ± {spread:.4f} "
                row += f"| {l2:.4f} | {largest:.3f} | {differ:.1f} | {seconds:.1f} |"
                print(row, flush=True)
                lines.append(row)
    return lines


def sequence_plan(state: State, gamma: tuple[int, ...], rho: Fraction, noise: str) -> Measure:
    """Residuals below ``gamma`` for ``rho``: by the conditional plan, or as equal noise in its cells."""
    layout = state.layout
    members = np.array([layout.index[s] for s in subsets(gamma)])
    price = prices(layout)[members]
    spread = prod(layout.shape(gamma)) / layout.lengths[members]
    if noise == "iid":
        share = 1.0 / spread
    else:
        share = conditional_plan(price / spread**2, price, state.precisions[members] / float(2 * rho))
    kept = share * price >= (0.0 if noise == "iid" else 1e-3)
    exact = tuple(round_down(x) for x in (share * float(2 * rho))[kept].tolist())
    return Measure(layout.sizes, tuple(layout.sets[k] for k in members[kept]), exact)


def plain_update(layout: Layout, gaps: dict[Any, np.ndarray], changes: Any) -> dict[Any, float]:
    """A NumPy lazy update: every marginal above a changed residual, one broadcast at a time, and its L1 norm."""
    norms = {}
    for k, change in changes:
        tau = layout.sets[k]
        for gamma, gap in gaps.items():
            if set(tau) <= set(gamma):
                wide = [layout.sizes[a] if a in tau else 1 for a in gamma]
                gap -= change.reshape(wide) * (change.size / gap.size)
                norms[gamma] = float(np.abs(gap).sum())
    return norms


def run_sequence(table: Table, noise: str, kind: str, most: int | None) -> tuple[float, float, float, int]:
    """Half the budget on 1-way, half on every 3-way marginal in turn.

    Gives seconds, seconds of updating estimates, the final mean L1 and the number of measurements.
    """
    layout = Layout(table.sizes, table.workload.closure)
    rho = Fraction(rho_from(epsilon=1, delta=DELTA))
    handle = Confidential(table.source, layout, scored=False)
    counts = tabulate(table.source.batches(), layout)
    state = State.empty(layout)
    gaps = Gaps(layout, counts.copy()) if kind == "lazy" else None
    plain = {s: layout.view(counts, s).astype(np.float64) for s in layout.sets} if kind == "numpy" else {}
    ones = [s for s in layout.sets if len(s) == 1]
    every = round_down(float(rho) / len(ones))
    total = sum((every / table.sizes[s[0]] for s in ones), Fraction(0))
    first = Measure(table.sizes, ((), *ones), (total, *(every for _ in ones)))
    done, updating = 0, 0.0
    start = time.process_time()
    requests: list[Callable[[], Measure]] = [lambda: first]
    share = rho / 2 / len(table.workload.sets)
    requests += [lambda s=s: sequence_plan(state, s, share, noise) for s in table.workload.sets[:most]]
    for make in requests:
        request = make()
        changes = state.learn(request, handle.measure(request))
        before = time.process_time()
        if gaps is not None:
            gaps.update(changes)
        elif plain:
            plain_update(layout, plain, changes)
        else:
            flat = assemble(layout, state.values, layout)
            np.add.reduceat(np.abs(flat - counts), layout.offsets[:-1])
        updating += time.process_time() - before
        done += 1
    seconds = time.process_time() - start
    truth = tabulate(table.source.batches(), table.workload.layout)
    l1 = table.errors(assemble(layout, state.values, table.workload.layout), truth)[0]
    return seconds, updating, l1, done - 1


def sequence_part(names: list[str]) -> list[str]:
    lines = [
        "## A fixed sequence: half the budget on 1-way marginals, half on every 3-way marginal in turn (epsilon 1)",
        "",
        "The sequence of aim-grem's Table 2, with exact noise, drawn once per measurement. `full` recomputes every",
        "estimate after each measurement; `numpy` is a plain lazy loop. Both, and long sequences, are run for a few",
        "measurements and extrapolated. `updating` is the part of the time that is not planning and drawing noise.",
        "",
        "| table | loop | noise | seconds | updating | extrapolated | mean L1 |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in names:
        table = Table.load(name)
        total = len(table.workload.sets)
        run_sequence(table, "crp", "lazy", 5)
        for kind, noise, most in (
            ("lazy", "crp", MOST_LAZY),
            ("lazy", "iid", MOST_LAZY),
            ("full", "iid", 50),
            ("numpy", "crp", 50),
        ):
            seconds, updating, l1, done = run_sequence(table, noise, kind, most)
            factor, note = total / done, "no" if done == total else f"from {done}"
            row = f"| {name} | {kind} | {noise} | {seconds * factor:.1f} | {updating * factor:.2f} | {note} "
            row += f"| {l1:.3f} |" if done == total else "| |"
            print(row, flush=True)
            lines.append(row)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", nargs="+", default=["adult", "titanic", "adult_wide"])
    parser.add_argument("--sequences", nargs="+", default=["adult_full", "acs"])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.31, 1, 3.16, 10])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parts", nargs="+", default=["errors", "sequence"])
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    pages = ["# Benchmarks of adaptive releases", "", "Written by `make bench-adaptive`.", ""]
    if "errors" in options.parts:
        errors_part(options.tables[:1], options.epsilons[:1], 1)
        pages += [*errors_part(options.tables, options.epsilons, options.seeds), ""]
    if "sequence" in options.parts:
        pages += [*sequence_part(options.sequences), ""]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    pages += [
        f"Peak memory of this run: {peak:.1f} GB.",
        "",
        "Not run here: the graphical-model AIM of `smartnoise-synth`, which needs a virtual environment of its own.",
        "In-axis operations against Kronecker products: `make bench-residuals`.",
    ]
    options.page.write_text("\n".join(pages) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
