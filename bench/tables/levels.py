"""A nation's tree at full size: planned, released, published in whole numbers; and ranges against their lower bound.

    hush bench levels -- [--rows 10000000] [--parts tree auto ranges] [--json]

50 states with 3,200 counties in all, uneven, times sex, 18 age groups and 6 groups: 691,200 cells on the finest level.
The tables are nation, state and county by all pairs of the others, and the full table.  ``tree`` is released by
``residual-planner``, ``auto`` by that; each is published in whole numbers.  Seconds are by the clock, once each, after
a small release that compiles; memory is the most that the process ever had.  Every table is checked: parents are the
sums of their children.  ``ranges``: mean squared error of all ranges of 1,024 values, planned for all of them,
in units of the variance that one count would have for the whole budget.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hushtable as ht
from bench.shared.history import keep
from hushtable.marginals import summed_to
from hushtable.measurement import Answers
from hushtable.planning import plan_residuals
from hushtable.reconstruct import from_answers, sum_variances

STATES, COUNTIES, SEXES, AGES, GROUPS = 50, 3200, 2, 18, 6
OTHERS = ("sex", "age", "group")
RHO = "0.1"
VALUES = 1024
LIMITS = {
    "residual_planner_plan_s": 5,
    "residual_planner_s": 60,
    "auto_s": 300,
    "residual_planner_published_s": 120,
    "auto_published_s": 120,
    "memory_gb": 4,
    "ranges_1024": 18.1,
}
"""What must hold."""


def schema() -> ht.Schema:
    """The tree, with states of two to some hundred counties, and the other attributes."""
    chance = np.random.default_rng(1)
    cuts = np.sort(chance.choice(np.arange(1, COUNTIES // 2), STATES - 1, replace=False)) * 2
    owner = np.searchsorted(cuts, np.arange(COUNTIES), side="right")
    tree: dict[str, list[str]] = {}
    for county, state in enumerate(owner):
        tree.setdefault(f"s{state:02}", []).append(f"c{county:04}")
    return ht.Schema.from_dict(
        {
            "attributes": {
                "place": {"type": "categorical", "levels": ["state", "county"], "tree": tree},
                "sex": {"type": "categorical", "values": ["F", "M"]},
                "age": {"type": "integer", "bounds": [0, AGES - 1]},
                "group": {"type": "integer", "bounds": [0, GROUPS - 1]},
            }
        }
    )


def people(rows: int) -> pl.DataFrame:
    """Made-up rows: counties by a power law, ages and groups that depend on them."""
    chance = np.random.default_rng(2)
    weights = 1.0 / np.arange(1, COUNTIES + 1) ** 0.7
    county = chance.choice(COUNTIES, rows, p=chance.permutation(weights / weights.sum()))
    group = np.where(
        chance.random(rows) < 0.6, county % GROUPS, np.minimum(chance.geometric(0.5, rows) - 1, GROUPS - 1)
    )
    names = pl.Series([f"c{k:04}" for k in range(COUNTIES)])
    return pl.DataFrame(
        {
            "place": names.gather(county),
            "sex": pl.Series(["F", "M"]).gather(chance.integers(0, SEXES, rows)),
            "age": np.clip(chance.normal(8 + group, 4), 0, AGES - 1).astype(np.int64),
            "group": group,
        }
    )


def workload() -> ht.Workload:
    """Nation, state and county by at most two of the others, and the full table."""
    chosen = [c for k in range(3) for c in combinations(OTHERS, k)]
    tables = [(*level, *c) for level in ((), ("state",), ("county",)) for c in chosen]
    return ht.Workload([*filter(None, tables), ("county", *OTHERS)])


def timed(action: Any) -> tuple[float, Any]:
    started = time.perf_counter()
    made = action()
    return time.perf_counter() - started, made


def require_sums(release: ht.Release, whole: Any) -> float:
    """Check that parents are the sums of their children, whole numbers exactly; the largest gap of the estimates."""
    axes, layout = release.schema.sizes, whole.made.layout
    full = layout.sets[-1]
    worst = 0.0
    for k, s in enumerate(layout.sets):
        for flat, exact in ((whole.made.counts, True), (whole.estimates, False)):
            told = layout.at(flat, k)
            added = summed_to(axes, layout.view(flat, full), full, s).reshape(-1)
            if exact and not np.array_equal(told, added):
                raise SystemExit("whole numbers do not add up")
            worst = max(worst, float(np.abs(told - added).max()))
    return worst


def tree(rows: int, strategy: str, folder: Path) -> dict[str, float]:
    """One release of the whole tree by a strategy, and its whole numbers."""
    made, frame = schema(), folder / "people.parquet"
    if not frame.exists():
        people(rows).write_parquet(frame)
    session = ht.Session.open(frame, schema=made, ledger=folder / f"{strategy}.ledger", budget=ht.ZCDP(1))
    small = ht.Workload([("county", "sex")])
    session.release(small, budget=ht.ZCDP("0.01"), strategy=strategy).whole_numbers()
    plan_time, _ = timed(lambda: session.plan(workload(), budget=ht.ZCDP(RHO), strategy=strategy))
    release_time, release = timed(lambda: session.release(workload(), budget=ht.ZCDP(RHO), strategy=strategy))
    tables_time, _ = timed(lambda: [release.table(*names) for names in release.marginals])
    whole_time, whole = timed(release.whole_numbers)
    gap = require_sums(release, whole)
    name = strategy.replace("-", "_")
    apart = whole.distances()
    return {
        f"{name}_plan_s": plan_time,
        f"{name}_s": release_time + tables_time,
        f"{name}_published_s": whole_time,
        f"{name}_passes": whole.made.passes,
        f"{name}_finished": float(whole.finished),
        f"{name}_parents_gap": gap,
        f"{name}_whole_distance_total": apart["largest_distance"][0],
        f"{name}_whole_distance_finest": apart["mean_distance"][-1],
        f"{name}_whole_in_stds": _in_stds(whole),
    }


def _in_stds(whole: Any) -> float:
    """Root mean square of the distance of whole numbers from the estimates, in standard errors."""
    layout, release = whole.made.layout, whole.release
    stds = release.columns(layout.sets, whole.alpha).stds
    apart = (whole.made.counts - whole.estimates) / np.maximum(stds, 0.5)
    return float(np.sqrt(np.mean(apart**2)))


def ranges() -> dict[str, float]:
    """Mean variance of all ranges of some values, times that of one count for the whole budget."""
    made = ht.Schema.from_dict(
        {"attributes": {"x": {"type": "integer", "bounds": [0, VALUES - 1], "levels": "auto"}}}
    )
    resolved = ht.Workload([("x=ranges",)]).resolve(made)
    part = plan_residuals(resolved, rho=1).part
    estimates = from_answers(Answers(part, np.zeros(part.layout.cells, np.int64)))
    below, total = np.tril(np.ones((VALUES, VALUES))), 0.0
    for first in range(VALUES):
        rows = below[first:].copy()
        rows[:, :first] = 0.0
        total += float(sum_variances(estimates, resolved.sets[0], [rows]).sum())
    return {"ranges_1024": total / (VALUES * (VALUES + 1) / 2) * 2.0}


def run(rows: int, parts: list[str]) -> dict[str, float]:
    """All figures of some parts."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        if "tree" in parts:
            found |= tree(rows, "residual-planner", Path(folder))
            found["memory_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        if "auto" in parts:
            found |= tree(rows, "auto", Path(folder))
            found["auto_memory_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return found | (ranges() if "ranges" in parts else {})


def main() -> None:
    """Print and keep the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument(
        "--parts", nargs="+", choices=["tree", "auto", "ranges"], default=["tree", "auto", "ranges"]
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = run(options.rows, options.parts)
    kept = {name: value for name, value in found.items() if not name.endswith("_s")}
    over = {name: value / LIMITS[name] for name, value in found.items() if name in LIMITS}
    keep("levels", kept | {f"{name} over its limit": share for name, share in over.items()})
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        limit = f"  (limit {LIMITS[name]})" if name in LIMITS else ""
        print(f"{name:34} {value:.6g}{limit}")


if __name__ == "__main__":
    main()
