"""How long weighted counts and totals take beside plain counts, on the same records in the same run.

    hush bench weigh -- [--cases acs adult_full wide] [--order 3] [--threads 2] [--repeats 5] [--json]

Plain counts, counts by a weight, and plain counts with the totals of one column beside them, all tables of an order, by
turns: each is timed as a whole, and its fastest run counts.  Everything is compared with sums that NumPy makes of a few
tables.  The exit code is 1 when weighted counts take more than WEIGHTED times as long as plain ones, or totals beside
counts more than SUMMED times.  Plain counts of attributes with two to four values, as in ``acs``, are had 64 records at
a time, which weights cannot be; they are added to few larger tables instead, from which the others are summed, and a
total shares a word with its count.  What is left is one addition a record and table, and finding its cell.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import combinations
from typing import Any

import numpy as np

from bench.counting.tabulate import CASES, NEVER, fastest, now, table
from bench.shared.history import keep
from hushtable.kernel.weighing import RowTabulator
from hushtable.marginals import ROWS, Counting, Layout
from hushtable.schema import Schema

WEIGHTED, SUMMED = 1.5, 2.0
"""Times plain tabulation that these may take."""
CHECKED = 20
"""Tables that are compared with NumPy."""


def schemas(sizes: tuple[int, ...]) -> dict[str, Schema]:
    """The same attributes, with rows that count as one, by a weight, or with a column that is summed."""
    attributes = {f"a{k}": {"type": "categorical", "values": list(range(n))} for k, n in enumerate(sizes)}
    weight = {"weight": {"column": "w", "bounds": [0, 300]}}
    sums = {"sums": {"x": {"bounds": [0, 100_000], "resolution": 100}}}
    made = {"plain": {}, "weighted": weight, "summed": sums}
    return {name: Schema.from_dict({**more, "attributes": attributes}) for name, more in made.items()}


def measure(case: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row of the result."""
    sizes, codes = table(case)
    layout = Layout(sizes, tuple(combinations(range(len(sizes)), options.order)))
    chance = np.random.default_rng(1)
    given = {
        "plain": [],
        "weighted": [chance.integers(1, 301, len(codes[0]))],
        "summed": [chance.integers(-500, 501, len(codes[0]))],
    }
    wanted = [Counting(layout, ROWS)]
    asked = {"plain": wanted, "weighted": wanted, "summed": [*wanted, Counting(layout, "sum(x)")]}
    best, declared = dict.fromkeys(given, NEVER), schemas(sizes)
    for turn in range(options.repeats + 1):
        for way, numbers in given.items():
            rows = slice(0, None if turn else 1000)  # the first turn compiles
            start = now()
            tabulator = RowTabulator(declared[way], asked[way], threads=options.threads)
            tabulator.add([column[rows] for column in (*codes, *numbers)])
            counts = tabulator.counts()
            if turn:
                best[way] = fastest(best[way], start)
                check(layout, codes, numbers[0] if numbers else np.ones(len(codes[0]), np.int64), counts[-1])
    plain, weighted, summed = (best[way] for way in ("plain", "weighted", "summed"))
    return {
        "case": case,
        "records": len(codes[0]),
        "marginals": len(layout.sets),
        "cells": layout.cells,
        "plain_seconds": round(plain[0], 3),
        "weighted_seconds": round(weighted[0], 3),
        "summed_seconds": round(summed[0], 3),
        "weighted": round(weighted[1] / plain[1], 2),
        "summed": round(summed[1] / plain[1], 2),
    }


def check(layout: Layout, codes: list[np.ndarray], values: np.ndarray, found: np.ndarray) -> None:
    """Stop the program when one of some tables differs from NumPy's sums."""
    for s in layout.sets[:: max(1, len(layout.sets) // CHECKED)]:
        shape = [layout.sizes[a] for a in s]
        cells = np.ravel_multi_index([codes[a] for a in s], shape)
        sums = np.bincount(cells, values, int(np.prod(shape)))
        if not np.array_equal(np.rint(sums).astype(np.int64), layout.view(found, s).reshape(-1)):
            sys.exit(f"The marginal of attributes {s} differs from NumPy.")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--order", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    rows = [measure(case, options) for case in options.cases]
    names = {way: f"order {options.order}: {way} to plain" for way in ("weighted", "summed")}
    keep("weigh", {f"{row['case']}, {name}": row[way] for row in rows for way, name in names.items()})
    passed = all(row["weighted"] <= WEIGHTED and row["summed"] <= SUMMED for row in rows)
    if options.json:
        print(json.dumps({"threads": options.threads, "passed": passed, "rows": rows}, indent=1))
    else:
        columns = list(rows[0])
        print("  ".join(f"{name:>16}" for name in columns))
        for row in rows:
            print("  ".join(f"{row[name]!s:>16}" for name in columns))
        print(f"at most {WEIGHTED} weighted, {SUMMED} summed: {'passed' if passed else 'FAILED'}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
