"""What reading a table of PostgreSQL costs against the same table in Parquet: all pairs of ten attributes.

    PYTHONPATH=.:tests/engines python bench/counting/postgres.py [--rows 1000000 10000000] [--version 18] [--repeats 3]

Starts a server of its own and loads tables of these sizes.  The largest is counted ``--repeats`` times from Parquet and
from PostgreSQL in turn, without a cap and with one row of each person; what counts is processor time, of the server too
(all its processes), and the median of the ratios is held against LIMIT.  Each count is a process of its own, which has
counted the smallest table before: so compiling is not in it, and its peak memory is that of reading.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import psutil
import pyarrow.parquet as pq
from servers import Server, installed

from bench.counting.rows_per_person import ATTRIBUTES
from bench.shared.history import keep
from hushtable.kernel import open_counter
from hushtable.marginals import Layout
from hushtable.schema import Schema

LIMIT = 5.0
SLICE = 500_000
SCHEMAS = {
    "no cap": Schema.from_dict({"attributes": ATTRIBUTES}),
    "one row each": Schema.from_dict({"attributes": ATTRIBUTES, "person": "id"}),
}
COLUMNS = {"id": "bigint"} | {
    name: {"categorical": "text", "integer": "bigint", "real": "double precision"}[given["type"]]
    for name, given in ATTRIBUTES.items()
}


def slices(rows: int) -> Iterator[pl.DataFrame]:
    """Ten attributes and who each row belongs to, a tenth of the people with two rows."""
    words = np.array([f"v{j}" for j in range(5)])
    for start in range(0, rows, SLICE):
        random = np.random.default_rng(start)
        size = min(SLICE, rows - start)
        columns = {"id": np.arange(start, start + size) * 7_919 % int(rows / 1.1)}
        columns |= {f"c{k}": words[random.integers(0, 5, size)] for k in range(6)}
        columns |= {f"i{k}": random.integers(0, 1000, size) for k in range(3)}
        yield pl.DataFrame(columns | {"r": random.random(size).round(4)})


def load(server: Server, rows: int, path: Path) -> None:
    """The table ``people{rows}``, and the same in a file."""
    columns = ", ".join(" ".join(pair) for pair in COLUMNS.items())
    writer = None
    with server.connect() as link:
        link.execute(f"CREATE UNLOGGED TABLE people{rows} ({columns})")
        with link.cursor().copy(f"COPY people{rows} FROM STDIN (FORMAT csv)") as copy:
            for part in slices(rows):
                table = part.to_arrow()
                writer = writer or pq.ParquetWriter(path, table.schema)
                writer.write_table(table)
                copy.write(part.write_csv(include_header=False))
        link.execute(f"VACUUM ANALYZE people{rows}")
        link.execute("CHECKPOINT")  # what loading left to do is not reading
    if writer is not None:
        writer.close()


def spent(pid: int) -> float:
    """Processor seconds of a server: of its first process, of those that have ended, and of those that run."""
    server = psutil.Process(pid)
    times = server.cpu_times()
    whole = times.user + times.system + times.children_user + times.children_system
    for process in server.children(recursive=True):
        times = process.cpu_times()
        whole += times.user + times.system
    return whole


def count(cap: str, warm: str, data: str, pid: int) -> dict[str, float]:
    """Count one table after another, and measure the second."""
    schema = SCHEMAS[cap]
    layout = Layout(schema.sizes, tuple(combinations(range(10), 2)))
    open_counter(warm, schema).tabulate(layout)
    before, start = spent(pid), (time.process_time(), time.perf_counter())
    found = open_counter(data, schema).tabulate(layout)
    client, elapsed = time.process_time() - start[0], time.perf_counter() - start[1]
    time.sleep(0.5)  # a process of the server may be ending
    sums = int(np.dot(found, np.arange(len(found)) % 1009))
    return {
        "client": client,
        "server": spent(pid) - before,
        "elapsed": elapsed,
        "peak": peak_memory(),
        "sums": sums,
    }


def peak_memory() -> int:
    """Bytes; getrusage would give those of the process that started this one, if they were more."""
    (found,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    ]
    return 1024 * int(found.split()[1])


def counted(cap: str, warm: str, data: str, server: Server) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--count", cap, warm, data, str(server.pid)]
    made = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(made.stdout)
    kind = "postgresql" if data.startswith("postgresql") else "parquet"
    times = ", ".join(f"{name} {found[name]:6.2f} s" for name in ("client", "server", "elapsed"))
    print(f"{cap:13} {kind:11} {times}, {found['peak'] / 2**20:.0f} MB", flush=True)
    return found


def measured(server: Server, folder: Path, sizes: Sequence[int], repeats: int) -> dict[str, float]:
    """Ratios of time and memory by what they say."""
    places = {
        size: {"parquet": str(folder / f"{size}.parquet"), "postgresql": server.url(table=f"people{size}")}
        for size in sizes
    }
    figures: dict[str, float] = {}
    for cap in SCHEMAS:
        ratios, peaks = list[float](), dict[int, float]()
        for size in sizes:
            print(f"{size} rows", flush=True)
            for _ in range(repeats if size == sizes[-1] else 1):
                one = {k: counted(cap, places[sizes[0]][k], places[size][k], server) for k in places[size]}
                assert one["parquet"]["sums"] == one["postgresql"]["sums"]
                whole = {
                    k: found["client"] + found["server"] * (k == "postgresql") for k, found in one.items()
                }
                ratios = [*ratios, whole["postgresql"] / whole["parquet"]] if size == sizes[-1] else ratios
                peaks[size] = one["postgresql"]["peak"]
        figures[f"{cap}: processor time, PostgreSQL over Parquet"] = statistics.median(ratios)
        people = (sizes[-1] - sizes[0]) / 1.1
        if cap == "no cap":
            figures[f"{cap}: bytes per further row"] = (peaks[sizes[-1]] - peaks[sizes[0]]) / (people * 1.1)
        else:
            figures[f"{cap}: bytes per further person"] = (peaks[sizes[-1]] - peaks[sizes[0]]) / people
    return figures


def main() -> int:
    """Load, count, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 3_000_000, 10_000_000])
    parser.add_argument("--version", default=max(installed(), key=int))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--count", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.count:
        cap, warm, data, pid = given.count
        print(json.dumps(count(cap, warm, data, int(pid))))
        return 0
    sizes = sorted(given.rows)
    server = Server(installed()[given.version], {"autovacuum": "off", "log_statement": "none"})
    os.environ |= server.environment
    try:
        with TemporaryDirectory() as folder:
            for size in sizes:
                load(server, size, Path(folder) / f"{size}.parquet")
            figures = measured(server, Path(folder), sizes, given.repeats)
    finally:
        server.remove()
    for name, value in figures.items():
        print(f"{name}: {value:.2f}")
    if sizes[-1] >= 10_000_000:
        keep("postgres", figures, server=given.version, rows=str(sizes[-1]))
    return int(figures["no cap: processor time, PostgreSQL over Parquet"] > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
