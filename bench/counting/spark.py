"""What counting on Spark costs over reading Parquet here: all pairs of ten attributes, with and without a cap.

    python bench/counting/spark.py [--rows 10000000] [--files 1] [--warm 2] [--repeats 3] [--cap no yes]

Prints processor seconds (best, with Java's part and the workers') of every process that took part, elapsed seconds, and
the largest memory of driver, Java and Python workers.  Spark runs in this process's own Java, on two cores; the first
passes, which compile, are left out.  Every pass opens the table anew, as every session does.  ``--files`` is in how
many files the rows lie.
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


def write(folder: Path, rows: int, files: int) -> None:
    """Ten attributes and a person for each row, at most a million rows at a time."""
    folder.mkdir()
    each = -(-rows // files)
    for number in range(files):
        first, last = number * each, min((number + 1) * each, rows)
        with pq.ParquetWriter(folder / f"{number:04}.parquet", made(0, 0).schema) as writer:
            for start in range(first, last, STEP):
                writer.write_table(made(start, min(STEP, last - start)), row_group_size=250_000)


def made(start: int, size: int) -> pa.Table:
    """Some rows, by the number of the first."""
    words, random = pa.array([f"v{j}" for j in range(5)]), np.random.default_rng(start)
    columns: dict[str, Any] = {"id": pa.array(np.arange(start, start + size))}
    columns |= {f"c{k}": words.take(pa.array(random.integers(0, 5, size))) for k in range(6)}
    columns |= {f"i{k}": pa.array(random.integers(0, 1000, size)) for k in range(3)}
    return pa.table(columns | {"r": pa.array(random.random(size).round(4))})


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


def kind_of(number: int, name: str) -> str:
    """Which kind of process one of them is."""
    return "driver" if number == os.getpid() else "java" if name.startswith("java") else "workers"


class Watched:
    """Processor seconds and the largest memory of all processes that took part, looking ten times in a second.

    Workers come and go: what each was last seen to have used is kept.
    """

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self._before: dict[int, float] = {}
        self._last: dict[int, tuple[str, float]] = {}
        self._ended = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watched:
        self._before = {number: seconds for number, _, seconds, _ in family()}
        self._start = time.perf_counter()
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.elapsed = time.perf_counter() - self._start
        self._ended.set()
        self._looking.join()
        self._see()

    @property
    def processor(self) -> dict[str, float]:
        """Seconds since it was entered, by kind of process."""
        found: dict[str, float] = {}
        for number, (kind, seconds) in self._last.items():
            found[kind] = found.get(kind, 0) + seconds - self._before.get(number, 0)
        return found

    def _look(self) -> None:
        while not self._ended.wait(0.1):
            self._see()

    def _see(self) -> None:
        sums: dict[str, float] = {}
        for number, name, seconds, megabytes in family():
            kind = kind_of(number, name)
            self._last[number] = kind, seconds
            sums[kind] = sums.get(kind, 0) + megabytes
        sums["all"] = sum(sums.values())
        for kind, value in sums.items():
            self.peaks[kind] = max(self.peaks.get(kind, 0), value)


def timed(count: Callable[[], Any], warm: int, repeats: int) -> dict[str, Any]:
    """Best processor and elapsed seconds, after passes that are not counted, and the largest memory in megabytes."""
    for _ in range(warm):
        count()
    found: list[Watched] = []
    for _ in range(repeats):
        with Watched() as watched:
            count()
        found.append(watched)
    best = min(found, key=lambda each: sum(each.processor.values()))
    cost = {"processor": sum(best.processor.values()), "elapsed": min(each.elapsed for each in found)}
    cost |= {f"{kind} seconds": value for kind, value in best.processor.items()}
    kinds = ("driver", "java", "workers", "all")
    peaks = {f"{kind} MB": round(max(each.peaks.get(kind, 0) for each in found)) for kind in kinds}
    return {key: round(value, 2) for key, value in cost.items()} | peaks


def session() -> Any:
    """Two cores and a small heap."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "1g")
    builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.driver.extraJavaOptions", "-XX:+UseParallelGC")
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def main() -> None:
    """Print one line of JSON for each case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--by", nargs="+", choices=["parquet", "spark"], default=["parquet", "spark"])
    parser.add_argument("--cap", nargs="+", choices=["no", "yes"], default=["no", "yes"])
    parser.add_argument("--data", type=Path, help="a folder to keep the rows in, or to take them from")
    given = parser.parse_args()
    spark = session() if "spark" in given.by else None
    with TemporaryDirectory() as folder:
        place = given.data or Path(folder) / "people"
        if not place.exists():
            write(place, given.rows, given.files)
        tables = {"parquet": str(place / "*.parquet")}
        if spark is not None:
            tables["spark"] = spark.read.parquet(str(place))
        for cap in given.cap:
            schema = Schema.from_dict({"attributes": ATTRIBUTES} | ({"person": "id"} if cap == "yes" else {}))
            layout = Layout(schema.sizes, tuple(combinations(range(10), 2)))
            for name in given.by:
                data = tables[name]

                def count(data: Any = data, schema: Schema = schema, layout: Layout = layout) -> Any:
                    return open_counter(data, schema).tabulate(layout)

                case = {"rows": given.rows, "files": given.files, "cap": cap, "by": name}
                print(json.dumps(case | timed(count, given.warm, given.repeats)), flush=True)
    if spark is not None:
        spark.stop()


if __name__ == "__main__":
    main()
