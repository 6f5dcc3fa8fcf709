"""Exact discrete Gaussians per second on one core: Hushtable against OpenDP in the same run.

    hush bench sampler -- [--json]

Both draw the same distribution exactly.  Exits 1 if any ratio is below 30.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from fractions import Fraction

import opendp.prelude as dp

from bench.shared.history import keep
from hushtable.privacy import discrete_gaussian

STDS = ["0.5", "1", "3", "10", "100", "1e4", "1e6", "1e9", "1e12"]
LEAST_RATIO = 30.0
OURS, THEIRS, REPEATS = 1_000_000, 10_000, 3


def rate(draw: Callable[[], object], draws: int) -> float:
    """Draws per second, the best of a few repeats."""
    best = float("inf")
    for _ in range(REPEATS):
        start = time.perf_counter()
        draw()
        best = min(best, time.perf_counter() - start)
    return draws / best


def opendp_draw(std: float) -> Callable[[], object]:
    domain = dp.vector_domain(dp.atom_domain(T=int))
    measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=std)
    zeros = [0] * THEIRS
    return lambda: measurement(zeros)


def compare(std: str) -> dict[str, float]:
    variance = Fraction(std) ** 2
    ours = rate(lambda: discrete_gaussian(variance, OURS), OURS)
    theirs = rate(opendp_draw(float(std)), THEIRS)
    return {
        "std": float(std),
        "hushtable_per_second": ours,
        "opendp_per_second": theirs,
        "ratio": ours / theirs,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    arguments = parser.parse_args()
    dp.enable_features("contrib")
    discrete_gaussian(1, 10)  # compiles
    rows = [compare(std) for std in STDS]
    ratios = [row["ratio"] for row in rows]
    keep(
        "sampler", {"least ratio to OpenDP": min(ratios), "median ratio to OpenDP": statistics.median(ratios)}
    )
    if arguments.json:
        print(json.dumps({"least_ratio": LEAST_RATIO, "rows": rows}, indent=2))
    else:
        print(f"{'std':>8} {'Hushtable, M/s':>15} {'OpenDP, M/s':>12} {'ratio':>7}")
        for row in rows:
            ours, theirs = row["hushtable_per_second"] / 1e6, row["opendp_per_second"] / 1e6
            print(f"{row['std']:>8g} {ours:>15.1f} {theirs:>12.3f} {row['ratio']:>7.0f}")
    return 0 if all(row["ratio"] >= LEAST_RATIO for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
