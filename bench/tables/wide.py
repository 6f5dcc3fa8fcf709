"""All pairs of hundreds of columns, as a curator asks for them: ``hush release`` of a CSV file, then ``hush report``.

    hush bench wide -- [--columns 300] [--rows 20000] [--lean 0.4] [--json]

Each command is a process of its own; clock, processor time and memory are those that the operating system counts.
Columns have 2 to 8 categories and a common cause, so that pairs depend on each other, the more the larger ``--lean``;
with 0 they are independent.  The size of the page and ratios are kept; it fails where a report is not below 5 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bench.shared.history import keep
from hushtable.schema import Schema

HUSH = (sys.executable, "-c", "from hushtable.cli import main; main()")
STRATEGIES = ("residual-planner", "auto")
LARGEST = 5_000_000
"""Bytes that the page may have; what does not fit is in files beside it."""


@dataclass(frozen=True)
class Run:
    """What one command took, in seconds and GB."""

    clock: float
    processor: float
    memory: float


def write_data(folder: Path, columns: int, rows: int, lean: float) -> None:
    """``wide.csv`` and its schema: answers of people to questions, more alike the more they lean the same way."""
    rng = np.random.default_rng(6)
    cause = lean * rng.normal(size=rows)
    sizes = {f"q{k:03}": int(rng.integers(2, 9)) for k in range(columns)}
    frame = pl.DataFrame(
        {
            name: np.clip((size / 2 + cause + rng.normal(size=rows)).astype(np.int64), 0, size - 1)
            for name, size in sizes.items()
        }
    )
    frame.write_csv(folder / "wide.csv")
    Schema.from_domain(sizes).save(folder / "wide.yaml")


def timed(*command: str) -> Run:
    """Run a command of ``hush`` that must succeed."""
    start = time.perf_counter()
    with subprocess.Popen([*HUSH, *command], stdout=subprocess.DEVNULL) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    clock = time.perf_counter() - start
    if child.returncode:
        raise SystemExit(f"hush {command[0]} ended with {child.returncode}")
    return Run(clock, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20)


def measured(folder: Path, strategy: str) -> tuple[dict[str, Run], int]:
    """Release and report by a strategy, and the bytes of the page."""
    data, schema, ledger, out = (
        str(folder / name) for name in ("wide.csv", "wide.yaml", f"{strategy}.ledger", strategy)
    )
    timed("ledger", "create", ledger, "--budget", "rho=1", "--name", "wide")
    asked = ("--schema", schema, "--ledger", ledger, "--order", "2", "--budget", "rho=1")
    runs = {
        "release": timed("release", data, *asked, "--strategy", strategy, "--no-report", "--out", out),
        "report": timed("report", out, "--ledger", ledger),
    }
    return runs, (Path(out) / "report.html").stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=300)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument(
        "--lean", type=float, default=0.4, help="standard deviation of what all columns share"
    )
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_data(folder, chosen.columns, chosen.rows, chosen.lean)
        found = {strategy: measured(folder, strategy) for strategy in STRATEGIES}
    processor = {way: sum(run.processor for run in runs.values()) for way, (runs, _) in found.items()}
    figures = {f"lean {chosen.lean:g}: report by {way}, MB": size / 1e6 for way, (_, size) in found.items()}
    figures[f"lean {chosen.lean:g}: processor time, auto over residual-planner"] = (
        processor["auto"] / processor["residual-planner"]
    )
    if chosen.json:
        told = {way: {what: asdict(run) for what, run in runs.items()} for way, (runs, _) in found.items()}
        print(json.dumps(told | {"figures": figures}, indent=1))
    else:
        for way, (runs, size) in found.items():
            for what, run in runs.items():
                print(
                    f"{way:16}  {what:7}  {run.clock:6.1f} s by the clock  {run.processor:6.1f} s of processor time"
                    f"  {run.memory:.1f} GB"
                )
            print(f"{way:16}  page     {size / 1e6:6.1f} MB")
    if max(size for _, size in found.values()) >= LARGEST:
        raise SystemExit("a report has 5 MB or more")
    keep("wide", figures, columns=str(chosen.columns), rows=str(chosen.rows))


if __name__ == "__main__":
    main()
