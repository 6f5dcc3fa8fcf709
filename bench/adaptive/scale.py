"""Whole releases by the command line: from a file to saved tables, with a schema and a ledger, each in its own process.

Elapsed and processor time and the peak memory of that process are measured; errors are read from what it saved.  The
report page is not written.  A release that takes longer than its limit is stopped.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

import hushtable as ht
from bench.adaptive.figures import Clock, Figures
from bench.adaptive.tables import Table
from bench.shared.standins import STANDINS, data_folder
from hushtable.reconstruct import fit_tables, from_answers

HUSH = [str(Path(sys.executable).with_name("hush"))]


@dataclass(frozen=True)
class Case:
    """A release, the most that it should take, and when it is stopped."""

    table: str
    strategy: str
    reconstruction: str
    epsilon: float
    most_seconds: float
    most_gigabytes: float
    limit: float

    @property
    def key(self) -> str:
        return f"{self.table}/{self.strategy}/{self.epsilon:g}"


CASES = (
    Case("adult", "auto", "maxent", 1, 15, 4, 120),
    Case("adult_full", "auto", "maxent", 1, 15, 4, 120),
    Case("acs", "aim", "mle", 10, 180, 4, 600),
    Case("acs", "auto", "maxent", 10, 900, 6, 900),
    Case("loans", "aim", "mle", 10, 1200, 16, 1200),
    Case("loans", "auto", "maxent", 10, 1200, 16, 900),
)


def data_file(table: Table, folder: Path) -> Path:
    """A stored table's own file, or a stand-in as Parquet."""
    if table.name not in STANDINS:
        packed = data_folder() / f"{table.name}.csv.gz"
        return packed if packed.exists() else data_folder() / f"{table.name}.csv"
    columns = {f"a{i}": column for i, column in enumerate(table.source.columns)}
    path = folder / f"{table.name}.parquet"
    pl.DataFrame(columns).write_parquet(path)
    return path


def names(table: Table, data: Path) -> list[str]:
    if data.suffix == ".parquet":
        return list(pl.read_parquet_schema(data))
    return pl.read_csv(data, n_rows=0).columns


def timed(command: list[str], limit: float) -> dict[str, Any]:
    """Run a command and wait for it; times and memory are those of its process alone."""
    with tempfile.TemporaryFile("w+") as errors:
        clock = Clock()
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        alarm = threading.Timer(limit, child.kill)
        alarm.start()
        _, status, used = os.wait4(child.pid, 0)
        alarm.cancel()
        elapsed = clock.elapsed
        child.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        message = errors.read().strip()
    found = measured(elapsed, used)
    if child.returncode < 0:
        return found | {"left_out": f"stopped after {elapsed:.0f} s"}
    if child.returncode > 0:
        return found | {"left_out": f"it failed: {(message.splitlines() or [''])[-1]}"}
    return found


def measured(elapsed: float, used: resource.struct_rusage) -> dict[str, Any]:
    return {
        "elapsed": elapsed,
        "processor": used.ru_utime + used.ru_stime,
        "gigabytes": used.ru_maxrss / 2**20,
    }


def saved_errors(table: Table, folder: Path, reconstruction: str) -> dict[str, Any]:
    """Errors of a saved release, over the tables that errors are taken of."""
    release = ht.Release.load(folder)
    fitted = fit_tables(reconstruction, from_answers(release.answers), table.workload.closure)
    rounds = 0 if release.history is None else release.history.height
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 2**30
    return table.errors(fitted.estimate_all(table.answered)) | {"rounds": rounds, "saved": size}


def one_release(case: Case) -> dict[str, Any]:
    """Prepare the files, release, and read what was saved."""
    table = Table.load(case.table)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = data_file(table, folder)
        sizes = dict(zip(names(table, data), table.sizes, strict=True))
        ht.Schema.from_domain(sizes).save(folder / "schema.yaml")
        budget = f"epsilon={case.epsilon:g},delta=1e-9"
        ledger = str(folder / "bench.ledger")
        subprocess.run(
            [*HUSH, "ledger", "create", ledger, "--budget", budget], check=True, stdout=subprocess.DEVNULL
        )
        command = [*HUSH, "release", str(data), "--schema", str(folder / "schema.yaml"), "--ledger", ledger]
        command += ["--budget", budget, "--order", "3", "--strategy", case.strategy, "--no-report"]
        command += [
            "--reconstruct",
            case.reconstruction,
            "--out",
            str(folder / "out"),
            "--memory",
            f"{case.most_gigabytes:g}GB",
        ]
        found = timed(command, case.limit)
        if "left_out" not in found:
            found |= saved_errors(table, folder / "out", case.reconstruction)
        shutil.rmtree(folder / "out", ignore_errors=True)
    return found


def run(figures: Figures, tables: list[str]) -> None:
    """All cases of these tables, after a small release of each strategy that compiles."""
    todo = [case for case in CASES if case.table in tables and case.key not in figures]
    for strategy in sorted({case.strategy for case in todo}):
        one_release(Case("titanic", strategy, "maxent", 1, 60, 2, 300))
    for case in todo:
        found = one_release(case)
        wanted = {name: value for name, value in asdict(case).items() if name != "limit"}
        figures.put(case.key, **wanted, **found)
