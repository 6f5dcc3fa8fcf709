"""Records of whole tables from `auto` releases, for the bench of microdata: time, memory and what they cost.

Errors are mean L1 distances to the true tables divided by the number of records, of the released tables and of the
records made from them.  The ledgers lie in a temporary folder and are thrown away.
"""

from __future__ import annotations

import resource
import tempfile
import time
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hushtable as ht
from bench.shared.standins import load
from hushtable.marginals import Layout
from hushtable.microdata import count_records
from hushtable.release import make_microdata

DELTA = "1e-9"


@dataclass(frozen=True)
class Setting:
    """Budget, the order of the marginals that are released, of those that are compared, and the number of seeds."""

    epsilon: float
    order: int
    compared: int
    seeds: int


SETTINGS = {"adult_full": Setting(1, 3, 3, 3), "acs": Setting(1, 2, 2, 1)}


def records_of(name: str) -> dict[str, Any]:
    """Release a table and make records of it, once per seed."""
    setting = SETTINGS[name]
    sizes, columns = load(name)
    frame = pl.DataFrame({f"a{k}": column for k, column in enumerate(columns)})
    schema = ht.Schema.from_domain({f"a{k}": n for k, n in enumerate(sizes)})
    layout = Layout(tuple(sizes), tuple(combinations(range(len(sizes)), setting.compared)))
    truth = count_records(np.stack(columns, axis=1).astype(np.int32), layout)
    made = []
    for seed in range(setting.seeds):
        found = _once(frame, schema, setting, layout, truth, seed)
        print(name, found, flush=True)
        made.append(found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    shape = {"attributes": len(sizes), "records": frame.height, "peak": peak}
    return {
        **shape,
        "epsilon": setting.epsilon,
        "order": setting.order,
        "compared": setting.compared,
        "runs": made,
    }


def _once(
    frame: pl.DataFrame, schema: ht.Schema, setting: Setting, layout: Layout, truth: np.ndarray, seed: int
) -> dict[str, Any]:
    budget = ht.ApproxDP(epsilon=str(setting.epsilon), delta=DELTA)
    workload = ht.Workload.all_marginals(schema, order=setting.order)
    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        session = ht.Session.open(frame, schema=schema, ledger=Path(folder, "a.ledger"), budget=budget)
        session.release(workload, budget=budget, strategy="auto").save(Path(folder, "out"))
        released_in = clock.lap()
        release = ht.Release.load(Path(folder, "out"))
        made = make_microdata(release, seed=seed)
        made.frame.write_parquet(Path(folder, "people.parquet"))
        records_in = clock.lap()
    errors = [_error(release.fitted.estimate_all(layout), truth, layout, frame.height)]
    errors.append(_error(count_records(made.codes, layout), truth, layout, frame.height))
    times = {"release": released_in, "records": records_in}
    return {
        "made": made.frame.height,
        **times,
        "tables_l1": errors[0],
        "records_l1": errors[1],
        "notes": made.explanation.notes,
    }


class _Clock:
    """Elapsed and processor seconds since the last lap."""

    def __init__(self) -> None:
        self._last = (time.perf_counter(), time.process_time())

    def lap(self) -> list[float]:
        now = (time.perf_counter(), time.process_time())
        spent = [now[0] - self._last[0], now[1] - self._last[1]]
        self._last = now
        return spent


def _error(values: np.ndarray, truth: np.ndarray, layout: Layout, records: int) -> float:
    gaps = np.add.reduceat(np.abs(values - truth), layout.offsets[:-1])
    return float(gaps.mean()) / records
