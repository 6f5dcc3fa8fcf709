"""A fresh interpreter that makes one request and reports what was loaded or compiled between charges and stores."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from numba.core import event

import hushtable as ht
from hushtable.ledger import failpoints

FRAME = pl.DataFrame({n: [(r * r * k) % 5 for r in range(500)] for k, n in ((1, "a"), (2, "b"), (3, "c"))})
SCHEMA = {"attributes": {n: {"type": "integer", "bounds": [0, 4], "width": 1} for n in FRAME.columns}}


class Compiling(event.Listener):
    """Counts how often the compiler was entered, to compile or to load from its cache."""

    def __init__(self) -> None:
        self.count = 0

    def on_start(self, event: Any) -> None:
        self.count += 1

    def on_end(self, event: Any) -> None:
        pass


def ask(session: ht.Session, way: str) -> None:
    if way == "check":
        session.check(("COUNT WHERE a >= 2", "SUM(b)"), FRAME, tau=5, budget=ht.PureDP("0.3"))
    elif way == "choose":
        options = [ht.linear.marginals(session.schema, order=k) for k in (1, 2)]
        session.choose(options, budget=ht.ZCDP("0.1")).finish(1)
    else:
        workload = ht.Workload.all_marginals(session.schema, order=2)
        budget = ht.PureDP("0.5") if way == "identity" else ht.ZCDP("0.1")
        session.release(workload, budget=budget, strategy=way)


def main(way: str) -> None:
    compiling, found = Compiling(), []
    event.register("numba:compiler_lock", compiling)
    before: list[Any] = [0, set()]

    def watch(step: str) -> None:
        if step == "charge.committed":
            before[:] = [compiling.count, set(sys.modules)]
        elif step == "store.committed":
            found.append([compiling.count - before[0], sorted(set(sys.modules) - before[1])])

    with tempfile.TemporaryDirectory() as folder:
        budget = ht.PureDP(10) if way == "identity" else ht.ZCDP(10)
        session = ht.Session.open(FRAME, schema=SCHEMA, ledger=Path(folder) / "a.ledger", budget=budget)
        failpoints.arm(watch)
        ask(session, way)
    print(json.dumps({"windows": found, "compiled": compiling.count}))


if __name__ == "__main__":
    main(sys.argv[1])
