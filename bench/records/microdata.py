"""Accuracy and speed of the fits on the benchmark of uncertainty-principle-microdata, and records at scale.

    hush bench microdata -- [--epsilon 0.1 0.5 1] [--rho 0.5] [--runs 1000] [--methods nnls reweighted] [--only PUMA]
                              [--parts fits speed records] [--json FILE] [--page FILE]

16 synthetic tables, made here, and 15 census histograms from the data folder.  Without --epsilon and --rho all six
budgets of the paper are run.  Squared errors of the sum, the cells and each marginal get standard errors that keep
the correlation between cells.  Figures are merged into the JSON file, and the page (with an appendix beside it) is
written from all that the file holds, so a long benchmark may be run in pieces.  Noise here is ordinary floating-point
noise: only the part `records` opens ledgers, in a temporary folder.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import statistics
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from bench.records.large import records_of
from bench.records.page import write_pages
from bench.records.paper import METHODS, printed
from bench.shared.history import keep
from bench.shared.places import ROOT
from bench.shared.standins import data_folder
from hushtable.errors import HushtableError
from hushtable.microdata import Measurement, Noise, fit

QUERIES = ("sum", "id", "marg1", "marg2")
BUDGETS = (("epsilon", 1.0), ("epsilon", 0.5), ("epsilon", 0.1), ("rho", 0.5), ("rho", 0.125), ("rho", 0.005))
OWN = "balanced"


def synthetic() -> dict[str, np.ndarray]:
    """Level 0, 1, 16, 32, Stair, Step 16 and 50, SplitStairs, each as 100 cells and as 10 x 10 filled by columns."""
    cells = np.arange(100)
    flat = {f"Level{k:02d}": np.full(100, float(k)) for k in (0, 1, 16, 32)}
    flat["Stair"] = cells + 1.0
    flat["SplitStairs"] = np.where(cells < 50, cells + 1.0, 0.0)
    for k in (16, 50):
        flat[f"Step{k}"] = np.where(cells < 50, 0.0, float(k))
    made: dict[str, np.ndarray] = {}
    for name, values in flat.items():
        values[0] = 10_000.0
        made[f"{name}-1d"] = values
        made[f"{name}-2d"] = values.reshape(10, 10, order="F")
    return made


def census() -> dict[str, np.ndarray]:
    """The race by Hispanic origin histograms of 15 areas, 9 x 24."""
    made: dict[str, np.ndarray] = {}
    for path in sorted((data_folder() / "pums").glob("ST_*.csv")):
        _, state, _, area = path.stem.split("_")
        made[f"PUMA{state}{area}"] = np.loadtxt(path, delimiter=",", skiprows=1)[:, 1:]
    return made


def answers(table: np.ndarray, noise: Noise, rng: np.random.Generator) -> list[Measurement]:
    """Noisy sum, marginals and cells, in that order."""
    sets = [(), (0,)] if table.ndim == 1 else [(), (0,), (1,), (0, 1)]
    given = []
    for axes in sets:
        true = table.sum(axis=tuple(k for k in range(table.ndim) if k not in axes))
        draw = (
            rng.laplace(0.0, noise.parameter, true.shape)
            if noise == Noise.laplace(noise.parameter)
            else rng.normal(0.0, noise.std, true.shape)
        )
        given.append(Measurement(axes, true + draw, noise))
    return given


def noise_for(table: np.ndarray, currency: str, amount: float) -> Noise:
    groups = 2 if table.ndim == 1 else 4
    return (
        Noise.laplace(groups / amount) if currency == "epsilon" else Noise.gaussian(groups / (2.0 * amount))
    )


def measure(job: tuple) -> dict[str, Any]:
    """Squared errors of one dataset and method over all runs: per query (mean, standard error, largest mean).

    The seed depends on the dataset alone, so all methods see the same noise.
    """
    name, table, method, currency, amount, runs, seed = job
    rng = np.random.default_rng([seed, crc32(name.encode())])
    noise = noise_for(table, currency, amount)
    squares: dict[str, list] = {q: [] for q in (QUERIES if table.ndim == 2 else QUERIES[:2])}
    failed, certificate = 0, 0.0
    start = time.process_time()
    for _ in range(runs):
        given = answers(table, noise, rng)
        try:
            found = fit(given, table.shape, method)
        except HushtableError:
            failed += 1
            continue
        certificate = max(certificate, found.certificate)
        gap = found.weights - table
        squares["sum"].append([gap.sum() ** 2])
        squares["id"].append((gap**2).ravel())
        if table.ndim == 2:
            squares["marg1"].append(gap.sum(axis=1) ** 2)
            squares["marg2"].append(gap.sum(axis=0) ** 2)
    spent = time.process_time() - start
    result: dict[str, Any] = {"runs": runs, "failed": failed, "certificate": certificate, "seconds": spent}
    for query, rows in squares.items():
        every = np.array(rows)
        totals = every.sum(axis=1)
        error = float(totals.std(ddof=1)) / np.sqrt(len(totals))
        result[query] = [float(totals.mean()), float(error), float(every.mean(axis=0).max())]
    return result


def fits_part(kept: dict[str, Any], budgets: list[tuple[str, float]], options: argparse.Namespace) -> None:
    """All datasets, methods and runs; the time of the paper's five methods is taken by itself."""
    tables = {k: v for k, v in {**synthetic(), **census()}.items() if options.only in k}
    with ProcessPoolExecutor(options.jobs) as pool:
        for currency, amount in budgets:
            entry = kept.setdefault("budgets", {}).setdefault(f"{currency} {amount:g}", {"results": {}})
            for group in (METHODS, (OWN,)):
                chosen = [m for m in group if m in options.methods]
                pairs = [(n, m) for n in tables for m in chosen]
                jobs = [(n, tables[n], m, currency, amount, options.runs, options.seed) for n, m in pairs]
                start = time.perf_counter()
                found = list(pool.map(measure, jobs, chunksize=1))
                seconds = time.perf_counter() - start
                for (name, method), result in zip(pairs, found, strict=True):
                    entry["results"].setdefault(name, {})[method] = result
                if len(chosen) == len(METHODS) and len(tables) == 31:
                    spent = sum(result["seconds"] for result in found)
                    entry["five"] = {
                        "seconds": seconds, "processor": spent, "runs": options.runs, "jobs": options.jobs
                    }  # fmt: skip
                print(
                    f"{currency} {amount:g}: {len(jobs)} x {options.runs} runs in {seconds:.0f} s", flush=True
                )
            options.json.write_text(json.dumps(kept, indent=1))


def speed_part(kept: dict[str, Any]) -> None:
    """Processor time of one fit of a 9 x 24 table (median of 300), and of a 1,000 x 1,000 table, one core."""
    table = census()["PUMA0101301"]
    small: dict[str, float] = {}
    for method in (*METHODS, OWN):
        rng = np.random.default_rng(5)
        noise = noise_for(table, "epsilon", 0.5)
        times = []
        for _ in range(300):
            given = answers(table, noise, rng)
            start = time.process_time()
            fit(given, table.shape, method)
            times.append(time.process_time() - start)
        small[method] = 1e3 * float(np.median(times))
        print(f"9 x 24 {method}: {small[method]:.2f} ms", flush=True)
    rng = np.random.default_rng(12)
    large: dict[str, list[float]] = {}
    for side in (250, 500, 1000):
        wide = np.where(rng.random((side, side)) < 0.9, 0.0, rng.integers(0, 100, (side, side)))
        given = answers(wide.astype(float), Noise.laplace(8.0), rng)
        for method in ("nnls", "sequential", "reweighted", OWN):
            start = time.process_time()
            fit(given, wide.shape, method)
            large.setdefault(method, []).append(time.process_time() - start)
    kept["speed"] = {"small": small, "large": large}
    print(large, flush=True)


def ratios_of_records(kept: dict[str, Any]) -> dict[str, float]:
    """Mean L1 error of the tables of the records over that of the released tables."""
    return {
        f"{name}: error of records over tables": statistics.mean(
            run["records_l1"] / run["tables_l1"] for run in found["runs"]
        )
        for name, found in kept.get("records", {}).items()
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epsilon", type=float, nargs="+", default=[])
    parser.add_argument("--rho", type=float, nargs="+", default=[])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="part of a dataset's name")
    parser.add_argument("--methods", nargs="+", default=[*METHODS, OWN], choices=[*METHODS, OWN])
    parser.add_argument("--parts", nargs="+", default=["fits", "speed", "records"])
    parser.add_argument("--tables", nargs="+", default=["adult_full", "acs"], help="of the part records")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--json", type=Path, default=ROOT / "bench" / "out" / "microdata.json")
    parser.add_argument("--page", type=Path, default=ROOT / "docs" / "benchmarks-microdata.md")
    return parser.parse_args()


def main() -> None:
    options = parse()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    kept: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    budgets = [("epsilon", e) for e in options.epsilon] + [("rho", r) for r in options.rho]
    if "fits" in options.parts:
        fits_part(kept, budgets or list(BUDGETS), options)
    if "speed" in options.parts:
        speed_part(kept)
    if "records" in options.parts:
        for name in options.tables:
            kept.setdefault("records", {})[name] = records_of(name)
    options.json.write_text(json.dumps(kept, indent=1))
    keep("microdata", ratios_of_records(kept))
    folder = Path(os.environ.get("HUSHTABLE_PAPERS", data_folder().parent / "papers"))
    write_pages(kept, printed(folder / "uncertainty-principle-microdata.txt"), options.page)


if __name__ == "__main__":
    main()
