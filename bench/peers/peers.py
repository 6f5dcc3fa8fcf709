"""Our records and tables beside those of peers that install from PyPI, each in an environment of its own.

    hush bench peers [-- --tables adult --epsilons 1 --seeds 0 --peers "dpmm MST" --limit 900]

Every run of a peer is a process with a limit of processor seconds; one that reaches it, or fails, is a row with its
reason.  Errors are mean L1 over tables divided by the records (2 is the most), of one to four attributes; of more than
``SAMPLED`` tables of a kind, of a fixed random sample.  The real rows that no synthesizer saw, judged as if they were
records, are the row ``real``.  Rows stay in ``bench/history/peers.json``, and what is there is not run again;
``peers_page`` makes a page of them and adds their means to the history.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.environments import DPMM, JUDGE, OPENDP, SMARTNOISE, Environment, Unavailable
from bench.peers.peer_tables import MAKERS, SplitTable
from bench.shared.places import ROOT
from hushtable.kernel.tabulate import tabulate
from hushtable.marginals import Layout
from hushtable.privacy import rho_from

CHILDREN = Path(__file__).resolve().parent / "children"
DELTA = Fraction(1, 10**9)
MOST_ANSWERED = 20_000_000
"""Cells of three-way tables above which released ones are not compared: a frame of each would take minutes."""
MODEL_MB = 50
"""Largest graphical model, as in aim-grem's experiments."""
SAMPLED = 300
"""Tables of one order that errors are taken of: their mean is then known to a few per cent of its spread."""
PATIENCE = 4
"""Elapsed seconds after which a run is ended, per second of processor time: others use the machine too."""
JUDGING = 600
"""Processor seconds for a classifier and a report, which take about twenty."""
TELLING = 10
"""Letters of a line above which it says why a child failed; shorter ones close brackets."""
OWN = "Hushtable"
ROWS = ROOT / "bench" / "history" / "peers.json"
"""Every run, so that it need not be run again."""


@dataclass(frozen=True)
class Peer:
    """A synthesizer: its name on the page, the child that runs it, its method there, and its environment."""

    name: str
    child: str
    method: str
    environment: Environment | None
    """None: the environment that runs this."""

    def python(self) -> Path:
        return Path(sys.executable) if self.environment is None else self.environment.ready()


PEERS = (
    Peer(OWN, "own_child.py", "auto", None),
    Peer("dpmm MST", "dpmm_child.py", "mst", DPMM),
    Peer("dpmm PrivBayes", "dpmm_child.py", "privbayes", DPMM),
    Peer("dpmm AIM", "dpmm_child.py", "aim", DPMM),
    Peer("SmartNoise AIM", "smartnoise_child.py", "aim", SMARTNOISE),
    Peer("OpenDP MST", "opendp_child.py", "mst", OPENDP),
    Peer("OpenDP AIM", "opendp_child.py", "aim", OPENDP),
)


@dataclass(frozen=True)
class Tabled:
    """The sets of attributes that errors are taken of, by order, and the tables that a peer may answer itself."""

    table: SplitTable
    sets: dict[int, tuple[tuple[int, ...], ...]]

    @classmethod
    def of(cls, table: SplitTable) -> Tabled:
        return cls(table, {order: _sets(len(table.sizes), order) for order in (1, 2, 3, 4)})

    @property
    def answered(self) -> tuple[tuple[int, ...], ...]:
        """Three-way tables that are compared as they were released: all of them, or none where they are too large."""
        return self.sets[3] if Layout(self.table.sizes, self.sets[3]).cells <= MOST_ANSWERED else ()

    def errors(self, records: np.ndarray) -> dict[str, float]:
        """Mean L1 over the rows for each order, the records scaled to as many."""
        return {
            f"{order}-way": float(np.mean([self._apart(records, axes) for axes in sets]))
            for order, sets in self.sets.items()
        }

    def _apart(self, records: np.ndarray, axes: tuple[int, ...]) -> float:
        """L1 of two tables over the rows, from occupied cells alone: the others are empty on both sides."""
        sizes = tuple(self.table.sizes[k] for k in axes)
        cells = [np.ravel_multi_index(tuple(codes[:, axes].T), sizes) for codes in (self.table.seen, records)]
        found, at = np.unique(np.concatenate(cells), return_inverse=True)
        here, there = (np.bincount(part, minlength=len(found)) for part in np.split(at, [len(cells[0])]))
        return float(np.abs(here / len(cells[0]) - there / len(cells[1])).sum())

    def of_answers(self, answers: np.ndarray) -> float:
        """Mean L1 over the rows of released three-way tables."""
        layout = Layout(self.table.sizes, self.answered)
        gaps = np.add.reduceat(np.abs(answers - counted(self.table.seen, layout)), layout.offsets[:-1])
        return float(gaps.mean()) / len(self.table.seen)


def _sets(attributes: int, order: int) -> tuple[tuple[int, ...], ...]:
    sets = list(combinations(range(attributes), order))
    if len(sets) > SAMPLED:
        drawn = np.sort(np.random.default_rng(order).choice(len(sets), SAMPLED, replace=False))
        sets = [sets[k] for k in drawn]
    return tuple(sets)


def counted(codes: np.ndarray, layout: Layout) -> np.ndarray:
    """Counts of these rows."""
    columns = [
        np.ascontiguousarray(column.astype(np.min_scalar_type(n - 1)))
        for column, n in zip(codes.T, layout.sizes, strict=True)
    ]
    return tabulate([columns], layout)


def run_child(command: list[str], limit: float) -> dict[str, float]:
    """Processor seconds, elapsed seconds and gigabytes of a child; its reason where it did not end well."""

    def limited() -> None:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))

    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limited)
        too_long = threading.Timer(limit * PATIENCE, os.killpg, (child.pid, signal.SIGKILL))
        too_long.start()
        try:
            _, status, used = os.wait4(child.pid, 0)
        finally:
            too_long.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        processor, elapsed = used.ru_utime + used.ru_stime, time.monotonic() - started
        if child.returncode:
            if child.returncode == -signal.SIGXCPU or processor >= limit or elapsed >= limit * PATIENCE:
                raise Unavailable(f"ended after {processor:.0f} s of processor time")
            said.seek(0)
            lines = [line for line in said.read().splitlines() if len(line.strip()) > TELLING]
            raise Unavailable(f"it failed: {lines[-1].strip()[:200] if lines else child.returncode}")
    return {"processor": processor, "elapsed": elapsed, "memory": used.ru_maxrss / 2**20}


def one_run(peer: Peer, tabled: Tabled, epsilon: Fraction, seed: int, limit: float) -> dict[str, Any]:
    """Errors, judgement and cost of one run."""
    python = peer.python()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = {
            "method": peer.method,
            "sizes": tabled.table.sizes,
            "epsilon": float(epsilon),
            "delta": float(DELTA),
            "rho": float(rho_from(epsilon=epsilon, delta=DELTA)),
            "seed": seed,
            "model_mb": MODEL_MB,
            "tables": tabled.answered,
        } | {part: str(folder / f"{part}.npy") for part in ("codes", "held", "records", "answers")}
        job["judged"] = str(folder / "judged.json")
        np.save(job["codes"], tabled.table.seen)
        np.save(job["held"], tabled.table.held)
        written = folder / "job.json"
        written.write_text(json.dumps(job))
        used = run_child([str(python), str(CHILDREN / peer.child), str(written)], limit)
        records = np.load(job["records"])
        row = used | tabled.errors(records) | judged(job, written)
        if Path(job["answers"]).exists():
            row["tables"] = tabled.of_answers(np.load(job["answers"]))
    return row


def judged(job: dict[str, Any], written: Path) -> dict[str, float]:
    """What the judge says of the records of a job."""
    run_child([str(JUDGE.ready()), str(CHILDREN / "judge_child.py"), str(written)], JUDGING)
    return json.loads(Path(job["judged"]).read_text())


def real_row(tabled: Tabled) -> dict[str, Any]:
    """The held rows as if they were records: what a perfect sampler of the population would have."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        job = {part: str(folder / f"{part}.npy") for part in ("codes", "held", "records")}
        job["judged"] = str(folder / "judged.json")
        half = len(tabled.table.held) // 2
        np.save(job["codes"], tabled.table.held[:half])
        np.save(job["held"], tabled.table.held)
        np.save(job["records"], tabled.table.seen)
        written = folder / "job.json"
        written.write_text(json.dumps(job))
        return tabled.errors(tabled.table.held) | judged(job, written)


class Kept:
    """Rows by table, epsilon, seed and peer, written after each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.rows: list[dict[str, Any]] = json.loads(path.read_text()) if path.exists() else []

    def once(self, make: Callable[[], dict[str, Any]], **key: Any) -> None:
        """Make and keep the row of this key, unless it is there."""
        if any(all(row[k] == v for k, v in key.items()) for row in self.rows):
            return
        try:
            row = make()
        except Unavailable as reason:
            row = {"left_out": str(reason)}
        self.rows.append(key | row)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.rows, indent=1))
        print(
            *(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.rows[-1].items()),
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="+", default=list(MAKERS), choices=list(MAKERS))
    parser.add_argument(
        "--epsilons", nargs="+", type=Fraction, default=[Fraction(1, 10), Fraction(1), Fraction(10)]
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--peers", nargs="+", default=[p.name for p in PEERS], choices=[p.name for p in PEERS]
    )
    parser.add_argument("--limit", type=float, default=900, help="processor seconds of a run")
    parser.add_argument("--out", type=Path, default=ROWS)
    given = parser.parse_args()
    kept = Kept(given.out)
    tables = {name: Tabled.of(SplitTable.of(name)) for name in given.tables}
    for name, tabled in tables.items():
        kept.once(partial(real_row, tabled), table=name, epsilon=0.0, seed=0, peer="real")
    peers = [p for p in PEERS if p.name in given.peers]
    for seed, peer, epsilon, (name, tabled) in product(given.seeds, peers, given.epsilons, tables.items()):
        kept.once(
            partial(one_run, peer, tabled, epsilon, seed, given.limit),
            table=name,
            epsilon=float(epsilon),
            seed=seed,
            peer=peer.name,
        )


if __name__ == "__main__":
    main()
