"""How often the intervals of released tables hold the true count, for every strategy, on a drawn table.

    python bench/intervals.py [--runs 60] [--people 20000] [--json]

Five dependent attributes, all three-way tables, whole releases through a session and a ledger in a temporary folder.  A
run's coverage is the share of cells whose interval at 95% holds the truth; the figure is its mean over runs with the
standard error of that mean, apart for tables that were measured in full and for all others.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hushtable as ht

SIZES = {"area": 6, "age": 8, "job": 7, "home": 4, "car": 3}
STRATEGIES = ("auto", "aim", "residual-planner")
ORDER = 3


def draw_people(people: int) -> NDArray[np.int64]:
    """Codes of five attributes, each depending on those before it."""
    rng = np.random.default_rng(3)
    area = rng.choice(6, people, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    age = np.clip(rng.normal(3.2 + 0.3 * area, 1.9, people), 0, 7).astype(np.int64)
    job = np.where(rng.random(people) < 0.6, np.minimum(age, 6), rng.integers(0, 7, people))
    home = np.clip(rng.normal(3.0 - 0.5 * area + 0.1 * job, 0.8, people), 0, 3).astype(np.int64)
    car = np.where(rng.random(people) < 0.5, (home + job) % 3, rng.choice(3, people, p=[0.7, 0.2, 0.1]))
    return np.column_stack([area, age, job, home, car])


def true_table(codes: NDArray[np.int64], axes: tuple[int, ...]) -> NDArray[np.int64]:
    """Exact counts of one marginal, flat."""
    sizes = [list(SIZES.values())[a] for a in axes]
    flat = np.ravel_multi_index(tuple(codes[:, a] for a in axes), sizes)
    return np.bincount(flat, minlength=int(np.prod(sizes)))


def covered(release: ht.Release, truth: dict[tuple[str, ...], NDArray[np.int64]]) -> dict[bool, list[float]]:
    """Cells inside their interval (1 or 0), by whether their table was measured in full."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for names, counts in truth.items():
        table = release.table(*names)
        inside = (table["lower"].to_numpy() <= counts) & (counts <= table["upper"].to_numpy())
        found[table["measured"][0] == "fully"] += inside.astype(float).tolist()
    return found


def measure(strategy: str, rho: str, runs: int, codes: NDArray[np.int64]) -> dict[str, object]:
    """Coverage of one strategy at one budget."""
    names = tuple(SIZES)
    axes = list(combinations(range(len(names)), ORDER))
    truth = {tuple(names[a] for a in s): true_table(codes, s) for s in axes}
    schema = ht.Schema.from_domain(SIZES)
    frame = pl.DataFrame({name: codes[:, k] for k, name in enumerate(names)})
    shares: dict[bool, list[float]] = {True: [], False: []}
    cells = {True: 0, False: 0}
    with tempfile.TemporaryDirectory() as folder:
        session = ht.Session.open(
            frame, schema=schema, ledger=Path(folder) / "t.ledger", budget=ht.ZCDP(10**6)
        )
        workload = ht.Workload.all_marginals(schema, order=ORDER)
        for _ in range(runs):
            made = session.release(workload, budget=ht.ZCDP(rho), strategy=strategy)
            for fully, inside in covered(made, truth).items():
                cells[fully] += len(inside)
                if inside:
                    shares[fully].append(float(np.mean(inside)))
    return {
        "strategy": strategy,
        "rho": rho,
        "fully": _mean(shares[True]),
        "others": _mean(shares[False]),
        "share_fully": cells[True] / (cells[True] + cells[False]),
    }


def _mean(shares: list[float]) -> tuple[float, float] | None:
    if not shares:
        return None
    return float(np.mean(shares)), float(np.std(shares) / np.sqrt(len(shares)))


def _text(mean: tuple[float, float] | None) -> str:
    return "" if mean is None else f"{100 * mean[0]:.2f} ± {100 * mean[1]:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    codes = draw_people(chosen.people)
    rows = [measure(s, rho, chosen.runs, codes) for s in STRATEGIES for rho in ("0.005", "0.05", "0.5")]
    if chosen.json:
        json.dump(rows, sys.stdout, indent=1)
        return
    print(
        "| strategy | rho | % of cells in fully measured tables | coverage there, % | coverage elsewhere, % |"
    )
    print("|---|---|---|---|---|")
    for r in rows:
        share = f"{100 * r['share_fully']:.0f}"
        print(f"| {r['strategy']} | {r['rho']} | {share} | {_text(r['fully'])} | {_text(r['others'])} |")


if __name__ == "__main__":
    main()
