"""How fast all three-way marginals are counted, against NumPy on the same records in the same run.

    hush bench tabulate -- [--cases acs adult_full wide] [--threads 2] [--repeats 5] [--pairs N] [--json]

The baseline is one thread of ``numpy.bincount`` over shared two-way prefixes: for each pair the code a * n_b + b is
computed once, then each third attribute is counted from it.  Every pair is timed ``--baseline-repeats`` times and its
fastest run counts; the tabulation is timed as a whole, plan included, and its fastest run counts.  Processor time is
printed beside elapsed time, because it suffers less from other programs; for several threads it is their sum.  Every
table of the baseline is compared with the tabulation.  ``--pairs`` times a random sample of pairs and
extrapolates.  The exit code is 1 when the tabulation of ``acs`` is less than FLOOR times as fast as the baseline.
Peak memory is that of the process so far: only in the first row is it that of the tabulation alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np

from bench.shared.history import keep
from bench.shared.standins import Table, load
from hushtable.kernel.tabulate import Tabulator
from hushtable.marginals import Layout

FLOOR = 3.0
GATED = "acs"
CASES = ("acs", "adult_full", "wide")

Times = tuple[float, float]
"""Elapsed and processor seconds."""
NEVER: Times = (float("inf"), float("inf"))


def table(case: str) -> Table:
    """The records of a case; ``wide`` is a million records of twenty attributes with about thirty values."""
    if case != "wide":
        return load(case)
    rng = np.random.default_rng(20)
    sizes = tuple(range(21, 41))
    common = rng.random(1_000_000)
    mixed = [np.where(rng.random(len(common)) < 0.3, common, rng.random(len(common)) ** 2) for _ in sizes]
    return sizes, [(part * n).astype(np.uint8) for part, n in zip(mixed, sizes, strict=True)]


def now() -> Times:
    return time.perf_counter(), time.process_time()


def fastest(best: Times, start: Times) -> Times:
    """The smaller of the best times so far and the times since ``start``, each by itself."""
    stop = now()
    return min(best[0], stop[0] - start[0]), min(best[1], stop[1] - start[1])


def tabulation(
    layout: Layout, codes: list[np.ndarray], threads: int, repeats: int
) -> tuple[Times, np.ndarray]:
    """Fastest times and the counts."""
    warm = Tabulator(layout, threads=threads)
    warm.add([column[:1000] for column in codes])
    warm.counts()
    best, counts = NEVER, np.zeros(0, np.int64)
    for _ in range(repeats):
        start = now()
        tabulator = Tabulator(layout, threads=threads)
        tabulator.add(codes)
        counts = tabulator.counts()
        best = fastest(best, start)
    return best, counts


def baseline_pair(codes: list[np.ndarray], sizes: tuple[int, ...], a: int, b: int) -> list[np.ndarray]:
    """All three-way tables that begin with one pair."""
    prefix = codes[a] * sizes[b] + codes[b]
    return [
        np.bincount(prefix * sizes[c] + codes[c], minlength=sizes[a] * sizes[b] * sizes[c])
        for c in range(b + 1, len(sizes))
    ]


def baseline(layout: Layout, codes: list[np.ndarray], counts: np.ndarray, pairs: int, repeats: int) -> Times:
    """Times for all marginals; stops the program when a table differs."""
    wide = [column.astype(np.int64) for column in codes]
    d = len(layout.sizes)
    chosen = [(a, b) for a, b in combinations(range(d), 2) if b + 1 < d]
    if pairs and pairs < len(chosen):
        picks = np.random.default_rng(0).choice(len(chosen), pairs, replace=False)
        chosen = [chosen[k] for k in picks]
    elapsed, processor, tables = 0.0, 0.0, 0
    for a, b in chosen:
        best, found = NEVER, []
        for _ in range(repeats):
            start = now()
            found = baseline_pair(wide, layout.sizes, a, b)
            best = fastest(best, start)
        elapsed, processor = elapsed + best[0], processor + best[1]
        tables += len(found)
        for c, cells in enumerate(found, b + 1):
            if not np.array_equal(layout.view(counts, (a, b, c)).reshape(-1), cells):
                sys.exit(f"The marginal of attributes {a}, {b}, {c} differs from the baseline.")
    share = tables / len(layout.sets)
    return elapsed / share, processor / share


def measure(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row of the result."""
    sizes, codes = table(case)
    layout = Layout(sizes, tuple(combinations(range(len(sizes)), 3)))
    ours, counts = tabulation(layout, codes, options.threads, options.repeats)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    numpy = baseline(layout, codes, counts, options.pairs, options.baseline_repeats)
    return {
        "case": case,
        "records": len(codes[0]),
        "attributes": len(sizes),
        "marginals": len(layout.sets),
        "cells": layout.cells,
        "numpy_seconds": round(numpy[0], 3),
        "seconds": round(ours[0], 3),
        "ratio": round(numpy[0] / ours[0], 1),
        "numpy_cpu": round(numpy[1], 3),
        "cpu": round(ours[1], 3),
        "peak_rss_mb": round(peak),
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--baseline-repeats", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=0, help="pairs of the baseline to time (default: all)")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    rows = [measure(case, options) for case in options.cases]
    keep("tabulate", {f"{row['case']}: times NumPy": row["ratio"] for row in rows})
    passed = all(row["ratio"] >= FLOOR for row in rows if row["case"] == GATED)
    if options.json:
        print(
            json.dumps({"threads": options.threads, "floor": FLOOR, "passed": passed, "rows": rows}, indent=1)
        )
    else:
        columns = list(rows[0])
        print("  ".join(f"{name:>16}" for name in columns))
        for row in rows:
            print("  ".join(f"{row[name]!s:>16}" for name in columns))
        print(f"floor {FLOOR} on {GATED}: {'passed' if passed else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
