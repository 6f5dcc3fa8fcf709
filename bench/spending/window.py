"""How long a charge waits for its payload, against drawing, hashing and writing alone.

    hush bench window -- [--runs 5] [--json]

What was charged and not yet stored is lost in a crash, so everything else has to come before.  Each run is a process of
its own: cold with an empty cache of compiled loops, warm with a filled one.  In it a request is made once; the
window is the time from the end of the charge to the end of the store, by the clock and on the processor.  Then the same
draws are made again, and their payload is stored again in a ledger of its own: the same three things alone.  Both are
added up over the charges of a request.  The limit is for the clock: that is how long a crash can come.  Most of it is
the disk; what a request does beyond the three things shows on the processor.  Rounds of ``aim`` are charged in groups
on purpose: their window holds the work between the draws as well.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hushtable as ht
from bench.shared.history import keep
from bench.shared.places import ROOT
from hushtable.kernel import run as loop
from hushtable.kernel.draw import Confidential
from hushtable.ledger import Ledger, Unit
from hushtable.privacy import Cost

WAYS = ("residual-planner", "identity", "choose", "check", "auto", "aim")
MOST = 1.5
"""The window may be so many times the three things alone."""
REPEATS = 7
ATTRIBUTES = 12


def table(people: int = 20_000) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Made-up people with some attributes of six values."""
    rng = np.random.default_rng(5)
    names = [f"a{k}" for k in range(ATTRIBUTES)]
    frame = pl.DataFrame({name: np.minimum(rng.geometric(0.3, people), 6) for name in names})
    return frame, {"attributes": {n: {"type": "integer", "bounds": [1, 6], "width": 1} for n in names}}


Times = NDArray[np.float64]
"""Seconds by the clock, and on the processor."""


def now() -> Times:
    return np.array([time.perf_counter(), time.process_time()])


class Watch:
    """Times of windows, and what was drawn in them."""

    def __init__(self) -> None:
        self.windows: list[Times] = []
        self.draws: list[list[Callable[[], Any]]] = []
        self.lines: list[list[Any]] = []
        self._charged = now()

    def install(self) -> None:
        """Stand beside the steps of the ledger and of the kernel; nothing is changed but for reading a clock."""
        charge, store = Ledger.charge, Ledger.store
        prepare, written = Confidential.prepare, loop.lines_to_bytes

        def charged(ledger: Ledger, *args: Any, **kwargs: Any) -> Any:
            made = charge(ledger, *args, **kwargs)
            self.draws.append([])
            self.lines.append([])
            self._charged = now()
            return made

        def stored(ledger: Ledger, *args: Any, **kwargs: Any) -> Any:
            kept = store(ledger, *args, **kwargs)
            self.windows.append(now() - self._charged)
            return kept

        def prepared(handle: Confidential, request: Any) -> Any:
            return self._kept(prepare(handle, request))

        def kept_lines(lines: Any, columns: Any = None) -> bytes:
            self.lines[-1] = [list(lines), columns]
            return written(lines, columns)

        Ledger.charge, Ledger.store = charged, stored  # type: ignore[method-assign]
        Confidential.prepare = prepared  # type: ignore[method-assign]
        loop.lines_to_bytes = kept_lines

    def _kept(self, drawing: Callable[[], Any]) -> Callable[[], Any]:
        def call() -> Any:
            self.draws[-1].append(drawing)
            return drawing()

        return call

    def alone(self, number: int, scratch: Ledger) -> Times:
        """Seconds of the draws of a charge and of storing their payload, made again: the median of several times."""
        draws, lines = self.draws[number], self.lines[number]
        times: list[Times] = []
        for _ in range(REPEATS):
            cost = Cost(0, 1)
            charge = scratch.charge(scratch.reserve(cost=cost, kind="release", detail={}), cost)
            start = now()
            for draw in draws:
                draw()
            _STORE(scratch, charge, _LINES(*lines))
            times.append(now() - start)
        return np.median(times, axis=0)


_STORE = Ledger.store
_LINES = loop.lines_to_bytes


def ask(session: ht.Session, way: str) -> None:
    """One request."""
    if way == "check":
        queries = tuple(f"COUNT WHERE a0 >= {k}" for k in (2, 3, 4))
        session.check(queries, table(1000)[0], tau=50, budget=ht.PureDP("0.3"))
    elif way == "choose":
        options = [ht.linear.marginals(session.schema, order=k) for k in (1, 2)]
        session.choose(options, budget=ht.ZCDP("0.1")).finish(1)
    else:
        session.release(
            ht.Workload.all_marginals(session.schema, order=3), budget=ht.ZCDP("0.1"), strategy=way
        )


def child(way: str) -> dict[str, Any]:
    """One request in this process: the sum of its windows, and of the same things alone."""
    frame, schema = table()
    watch = Watch()
    with tempfile.TemporaryDirectory() as folder:
        session = ht.Session.open(
            frame, schema=schema, ledger=Path(folder) / "a.ledger", budget=ht.ZCDP(1000)
        )
        scratch = Ledger.create(Path(folder) / "scratch.ledger", ht.ZCDP(1), Unit(1))
        watch.install()
        ask(session, way)
        windows = list(watch.windows)
        alone = [watch.alone(number, scratch) for number in range(len(windows))]
    return {
        "charges": len(windows),
        "window": np.sum(windows, axis=0).tolist(),
        "alone": np.sum(alone, axis=0).tolist(),
    }


def run(way: str, cache: str | None) -> dict[str, Any]:
    """One request in a fresh interpreter; with an empty cache of compiled loops if one is given."""
    environment = {**os.environ, **({} if cache is None else {"NUMBA_CACHE_DIR": cache})}
    done = subprocess.run(
        [sys.executable, "-m", "bench.spending.window", "--child", way],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def measure(way: str, runs: int) -> list[dict[str, Any]]:
    """Medians over so many warm runs and cold runs; the first warm one fills the cache and does not count."""
    run(way, None)
    found: list[dict[str, Any]] = []
    for start in ("warm", "cold"):
        results: list[dict[str, Any]] = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as cache:
                results.append(run(way, cache if start == "cold" else None))
        window, alone = (np.array([one[name] for one in results]) for name in ("window", "alone"))
        (ratio, processor), (clock, _), (least, _) = (
            np.median(values, axis=0).tolist() for values in (window / alone, window, alone)
        )
        found.append(
            {
                "way": way,
                "start": start,
                "charges": int(results[0]["charges"]),
                "window": clock,
                "alone": least,
                "ratio": ratio,
                "processor": processor,
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--ways", nargs="*", default=WAYS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        json.dump(child(chosen.child), sys.stdout)
        return
    rows: list[dict[str, Any]] = []
    if not chosen.json:
        print(
            "| request | start | charges | window, ms | draw, hash, write alone, ms | ratio | on the processor |"
        )
        print("|---|---|---|---|---|---|---|")
    for way in chosen.ways:
        for r in measure(way, chosen.runs):
            rows.append(r)
            times = f"{1000 * r['window']:.1f} | {1000 * r['alone']:.1f} | {r['ratio']:.2f} | {r['processor']:.2f}"
            if not chosen.json:
                line = f"| {r['way']} | {r['start']} | {r['charges']} | {times} |"
                print(line, flush=True)
    if chosen.json:
        json.dump(rows, sys.stdout, indent=1)
    keep("window", {f"{r['way']}, {r['start']}: window over what it must hold": r["ratio"] for r in rows})
    if any(r["ratio"] > MOST for r in rows):
        sys.exit(f"A window is more than {MOST} times what it must hold.")


if __name__ == "__main__":
    main()
