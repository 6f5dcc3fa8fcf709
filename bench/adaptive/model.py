"""The graphical-model AIM of ``smartnoise-synth`` on the same marginals, in a virtual environment of its own.

A run has a limit of processor seconds; the model of its last complete round then answers.  Whatever prevents a run
becomes the reason in its row.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from bench.adaptive.figures import Clock, Figures
from bench.adaptive.tables import DELTA, Table
from bench.peers.environments import SMARTNOISE, Unavailable
from hushtable.privacy import rho_from

BENCH = Path(__file__).resolve().parent
CHILD = f"import sys; sys.path.append({str(BENCH)!r}); import model_child; model_child.main()"
MODEL_MB = 50
"""Largest model, as in aim-grem's experiments."""
PATIENCE = 6.0
"""Elapsed seconds after which a run is ended, per second of its limit."""


def versions(python: Path) -> str:
    """What was installed, with versions."""
    done = subprocess.run([str(python), "-m", "pip", "freeze"], capture_output=True, text=True)
    kept = [line for line in done.stdout.split() if re.match("(smartnoise-synth|mbi|jax|opendp)==", line)]
    return ", ".join(sorted(kept))


def share_spent(log: str, attributes: int, epsilon: float) -> float:
    """The share of the budget that a log speaks of; before the first choice, that of the one-way tables."""
    used = re.findall(r"Budget Used ([0-9.e+-]+)", log)
    if used:
        return float(used[-1])
    first = re.findall(r"Initial Sigma ([0-9.e+-]+)", log)
    rho = float(rho_from(epsilon=epsilon, delta=DELTA))
    return attributes / (2.0 * float(first[0]) ** 2 * rho) if first else 0.0


def one_run(table: Table, epsilon: float, limit: float) -> dict[str, Any]:
    """Errors and times of one run."""
    python = SMARTNOISE.ready()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "codes.npy", np.column_stack(table.source.columns).astype(np.int64))
        job = {
            "sizes": table.sizes,
            "codes": str(folder / "codes.npy"),
            "epsilon": float(epsilon),
            "delta": float(DELTA),
            "model_mb": MODEL_MB,
            "limit": limit,
            "estimates": str(folder / "estimates.npy"),
            "result": str(folder / "result.json"),
        }
        (folder / "job.json").write_text(json.dumps(job))
        log = folder / "log.txt"
        with log.open("w") as file:
            command = [str(python), "-u", "-c", CHILD, str(folder / "job.json")]
            child = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
            try:
                child.wait(limit * PATIENCE)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        text = log.read_text()
        spent = share_spent(text, len(table.sizes), epsilon)
        if not (folder / "result.json").exists():
            if child.returncode < 0:
                raise Unavailable(f"ended after {limit * PATIENCE:.0f} s, spent {spent:.0%} of its budget")
            raise Unavailable(f"it failed: {text.strip().splitlines()[-1][:200]}")
        found = json.loads((folder / "result.json").read_text())
        estimates = np.load(folder / "estimates.npy")
    errors = table.errors(estimates)
    note = (
        ""
        if found["finished"]
        else f"stopped after {found['processor']:.0f} s of processor time, spent {spent:.0%}"
    )
    return found | errors | {"spent": spent, "note": note, "versions": versions(python)}


def run(figures: Figures, names: list[str], epsilon: float, limit: float) -> None:
    """Each table once."""
    for name in names:
        key = f"{name}/{epsilon:g}"
        if key in figures:
            continue
        table, clock = Table.load(name), Clock()
        try:
            row = one_run(table, epsilon, limit)
        except Unavailable as reason:
            row = {"left_out": str(reason), "elapsed": clock.elapsed}
        figures.put(key, table=name, epsilon=epsilon, model_mb=MODEL_MB, **row)
