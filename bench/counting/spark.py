"""What counting on Spark costs over reading Parquet here: all pairs of ten attributes, with and without a cap.

    python bench/counting/spark.py [--rows 10000000] [--repeats 2] [--parts 0]

Prints processor seconds (best) of every process that took part, elapsed seconds, and the largest memory of driver,
Java and Python workers.  Spark runs in this process's own Java, on two cores; the first pass, which compiles, is left
out.  ``--parts`` divides the rows before they are counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hushtable.kernel import open_counter
from hushtable.marginals import Layout
from hushtable.schema import Schema

ATTRIBUTES = {
    **{f"c{k}": {"type": "categorical", "values": [f"v{j}" for j in range(5)]} for k in range(6)},
    **{f"i{k}": {"type": "integer", "bounds": [0, 999], "width": 50} for k in range(3)},
    "r": {"type": "real", "bounds": [0, 1], "bins": 10},
}
STEP = 1_000_000
TICK = os.sysconf("SC_CLK_TCK")


def write(path: Path, rows: int) -> None:
    """Ten attributes and a person for each row, a million rows at a time."""
    words = pa.array([f"v{j}" for j in range(5)])
    writer = None
    for start in range(0, rows, STEP):
        size, random = min(STEP, rows - start), np.random.default_rng(start)
        columns: dict[str, Any] = {"id": pa.array(np.arange(start, start + size))}
        columns |= {f"c{k}": words.take(pa.array(random.integers(0, 5, size))) for k in range(6)}
        columns |= {f"i{k}": pa.array(random.integers(0, 1000, size)) for k in range(3)}
        table = pa.table(columns | {"r": pa.array(random.random(size).round(4))})
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=250_000)
    if writer is not None:
        writer.close()


def family() -> Iterator[tuple[int, str, float, float]]:
    """This process and its descendants: number, name, processor seconds and megabytes."""
    parents: dict[int, int] = {}
    facts: dict[int, tuple[str, float, float]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            name, rest = (entry / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:
            continue
        fields = rest.split()
        parents[int(entry.name)] = int(fields[1])
        seconds = sum(map(int, fields[11:13])) / TICK
        facts[int(entry.name)] = (name, seconds, int(fields[21]) * os.sysconf("SC_PAGESIZE") / 1e6)
    for number, fact in facts.items():
        above = number
        while above not in (0, os.getpid()):
            above = parents.get(above, 0)
        if above == os.getpid():
            yield number, *fact


class Watched:
    """Processor seconds and the largest memory of all processes that took part, looking ten times in a second.

    Workers come and go: what each was last seen to have used is kept.
    """

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self._before: dict[int, float] = {}
        self._last: dict[int, float] = {}
        self._ended = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watched:
        self._before = {number: seconds for number, _, seconds, _ in family()}
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._looking.join()
        self._see()

    @property
    def processor(self) -> float:
        """Seconds since it was entered."""
        return sum(seconds - self._before.get(number, 0) for number, seconds in self._last.items())

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            self._see()

    def _see(self) -> None:
        sums: dict[str, float] = {}
        for number, name, seconds, megabytes in family():
            self._last[number] = seconds
            kind = "driver" if number == os.getpid() else "java" if name.startswith("java") else "workers"
            sums[kind] = sums.get(kind, 0) + megabytes
        sums["all"] = sum(sums.values())
        for kind, value in sums.items():
            self.peaks[kind] = max(self.peaks.get(kind, 0), value)


def timed(count: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Best processor and elapsed seconds, after a first pass that is not counted, and the largest memory."""
    count()
    costs: list[dict[str, float]] = []
    for _ in range(repeats):
        start = time.perf_counter()
        with Watched() as watched:
            count()
        elapsed = time.perf_counter() - start
        costs.append({"processor": watched.processor, "elapsed": elapsed, **watched.peaks})
    return min(costs, key=lambda cost: cost["processor"])


def session() -> Any:
    """Two cores and a small heap."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def main() -> None:
    """Print one line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--parts", type=int, default=0)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    spark = session()
    with TemporaryDirectory() as folder:
        path = given.data or Path(folder) / "people.parquet"
        if not path.exists():
            write(path, given.rows)
        frame = spark.read.parquet(str(path))
        frame = frame.repartition(given.parts) if given.parts else frame
        for person in (None, "id"):
            schema = Schema.from_dict(
                {"attributes": ATTRIBUTES, **({} if person is None else {"person": person})}
            )
            layout = Layout(schema.sizes, tuple(combinations(range(10), 2)))
            here, there = open_counter(path, schema), open_counter(frame, schema)
            for name, counter in (("parquet", here), ("spark", there)):
                cost = timed(lambda counter=counter, layout=layout: counter.tabulate(layout), given.repeats)
                case = {"rows": given.rows, "parts": given.parts, "cap": person is not None, "by": name}
                print(json.dumps(case | {key: round(value, 2) for key, value in cost.items()}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
