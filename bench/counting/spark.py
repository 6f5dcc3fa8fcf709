"""What counting on Spark costs over reading Parquet here: all pairs of some attributes, with and without a cap.

    PYTHONPATH=. python bench/counting/spark.py [--rows 10000000] [--attributes 10] [--parts 1]
        [--shuffle 200] [--cap no yes]

Of each case, in every combination of what is given, one line of JSON is printed and added to ``--lines``, which
``spark_page`` makes a page of: processor seconds (best, with Java's part and the workers') of every process that took
part, elapsed seconds, bytes of files and shuffled bytes, and the largest memory of driver, Java and Python workers.
Spark runs in this process's own Java, on two cores; the first passes (``--warm``), which compile, are left out. Every
pass opens the table anew, as every session does. ``--parts`` is in how many files the rows lie; of several, each is a
part of Spark's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.shared.places import OUT
from hushtable.kernel import open_counter
from hushtable.marginals import Layout
from hushtable.schema import Schema

KINDS = {
    "c": {"type": "categorical", "values": [f"v{j}" for j in range(5)]},
    "i": {"type": "integer", "bounds": [0, 999], "width": 50},
    "r": {"type": "real", "bounds": [0, 1], "bins": 10},
}
OF_TEN = "cccccciiir"
"""Kinds of ten attributes, and of each ten after them."""
STEP = 1_000_000
TICK = os.sysconf("SC_CLK_TCK")


def names(attributes: int) -> list[str]:
    """Columns by their kind and number."""
    return [f"{OF_TEN[k % 10]}{k}" for k in range(attributes)]


def write(folder: Path, case: Case) -> None:
    """Attributes and a person for each row, at most a million rows at a time."""
    folder.mkdir(parents=True)
    each = -(-case.rows // case.parts)
    for number in range(case.parts):
        first, last = number * each, min((number + 1) * each, case.rows)
        with pq.ParquetWriter(folder / f"{number:04}.parquet", made(0, 0, case.attributes).schema) as writer:
            for start in range(first, last, STEP):
                rows = made(start, min(STEP, last - start), case.attributes)
                writer.write_table(rows, row_group_size=250_000)


def made(start: int, size: int, attributes: int) -> pa.Table:
    """Some rows, by the number of the first."""
    words, random = pa.array([f"v{j}" for j in range(5)]), np.random.default_rng(start)
    columns: dict[str, Any] = {"id": pa.array(np.arange(start, start + size))}
    draw = {
        "c": lambda: words.take(pa.array(random.integers(0, 5, size))),
        "i": lambda: pa.array(random.integers(0, 1000, size)),
        "r": lambda: pa.array(random.random(size).round(4)),
    }
    return pa.table(columns | {name: draw[name[0]]() for name in names(attributes)})


@dataclass(frozen=True)
class Case:
    """What is counted, and how."""

    rows: int
    attributes: int
    parts: int
    shuffle: int
    cap: str
    by: str
    warm: int

    @property
    def schema(self) -> Schema:
        """All attributes, with a cap of one row or without."""
        declared = {name: KINDS[name[0]] for name in names(self.attributes)}
        return Schema.from_dict({"attributes": declared} | ({"person": "id"} if self.cap == "yes" else {}))

    @property
    def layout(self) -> Layout:
        """All pairs."""
        return Layout(self.schema.sizes, tuple(combinations(range(self.attributes), 2)))

    def count(self, data: Any) -> Any:
        """Open and count."""
        return open_counter(data, self.schema).tabulate(self.layout)


def family() -> Iterator[tuple[int, str, float]]:
    """This process and its descendants: number, name and processor seconds."""
    parents: dict[int, int] = {}
    facts: dict[int, tuple[str, float]] = {}
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
        facts[int(entry.name)] = (name, seconds)
    for number, fact in facts.items():
        above = number
        while above not in (0, os.getpid()):
            above = parents.get(above, 0)
        if above == os.getpid():
            yield number, *fact


def megabytes(number: int) -> float:
    """Memory of a process; what several share, as the code of libraries, is divided among them."""
    try:
        lines = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) * 1024 / 1e6


def kind_of(number: int, name: str) -> str:
    """Which kind of process one of them is."""
    return "driver" if number == os.getpid() else "java" if name.startswith("java") else "workers"


class Watched:
    """Processor seconds and the largest memory of all processes that took part, looking four times in a second.

    Workers come and go: what each was last seen to have used is kept.  What looking takes is taken off.
    """

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self._before: dict[int, float] = {}
        self._last: dict[int, tuple[str, float]] = {}
        self._ended = threading.Event()
        self._looking = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watched:
        self._before = {number: seconds for number, _, seconds in family()}
        self._start = time.perf_counter()
        self._looking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.elapsed = time.perf_counter() - self._start
        self._ended.set()
        self._looking.join()

    @property
    def processor(self) -> dict[str, float]:
        """Seconds since it was entered, by kind of process."""
        found: dict[str, float] = {}
        for number, (kind, seconds) in self._last.items():
            found[kind] = found.get(kind, 0) + seconds - self._before.get(number, 0)
        return found | {"driver": max(0.0, found.get("driver", 0) - self._own)}

    def _look(self) -> None:
        while not self._ended.wait(0.25):
            self._see()
        self._see()
        self._own = time.thread_time()

    def _see(self) -> None:
        sums: dict[str, float] = {}
        for number, name, seconds in family():
            kind = kind_of(number, name)
            self._last[number] = kind, seconds
            sums[kind] = sums.get(kind, 0) + megabytes(number)
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


def shuffled(spark: Any) -> int:
    """Bytes that all tasks so far have shuffled, by what Spark says."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    known = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(known.apply(k).totalShuffleWrite() for k in range(known.size()))


def on_spark(spark: Any, case: Case, place: Path) -> Any:
    """The rows as a DataFrame, and settings as the case has them."""
    spark.conf.set("spark.sql.shuffle.partitions", str(case.shuffle))
    size = (
        "128m" if case.parts > 1 else "4m"
    )  # what opening a file counts as; as much as a part may have: one each
    spark.conf.set("spark.sql.files.openCostInBytes", size)
    return spark.read.parquet(str(place))


def measured(spark: Any, case: Case, place: Path, repeats: int) -> dict[str, Any]:
    """All that is known of a case."""
    size = sum(file.stat().st_size for file in place.iterdir())
    known = asdict(case) | {"bytes": size, "cells": case.layout.cells}
    if case.by == "parquet":
        data = str(place / "*.parquet")
        return known | timed(lambda: case.count(data), case.warm, repeats)
    data = on_spark(spark, case, place)
    known["partitions"] = data.rdd.getNumPartitions()
    before = shuffled(spark)
    found = timed(lambda: case.count(data), case.warm, repeats)
    return known | found | {"shuffled": (shuffled(spark) - before) // (case.warm + repeats)}


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
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000_000])
    parser.add_argument("--attributes", type=int, nargs="+", default=[10])
    parser.add_argument("--parts", type=int, nargs="+", default=[1])
    parser.add_argument("--shuffle", type=int, nargs="+", default=[200])
    parser.add_argument("--cap", nargs="+", choices=["no", "yes"], default=["no", "yes"])
    parser.add_argument("--by", nargs="+", choices=["parquet", "spark"], default=["parquet", "spark"])
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--data", type=Path, help="a folder to keep the rows in, and to take them from")
    parser.add_argument("--lines", type=Path, default=OUT / "spark.jsonl")
    given = parser.parse_args()
    given.lines.parent.mkdir(parents=True, exist_ok=True)
    spark = session() if "spark" in given.by else None
    choices = (given.rows, given.attributes, given.parts, given.shuffle, given.cap, given.by)
    with TemporaryDirectory() as folder, given.lines.open("a", encoding="utf-8") as lines:
        for chosen in product(*choices):
            case = Case(*chosen, given.warm)
            place = (given.data or Path(folder)) / f"{case.rows}-{case.attributes}-{case.parts}"
            if not place.exists():
                write(place, case)
            line = json.dumps(measured(spark, case, place, given.repeats))
            print(line, flush=True)
            print(line, file=lines, flush=True)
    if spark is not None:
        spark.stop()


if __name__ == "__main__":
    main()
