"""What reading a table of PostgreSQL costs against the same table in Parquet: all pairs of ten attributes.

    PYTHONPATH=.:tests/engines python bench/counting/postgres.py [--rows 10000000] [--version 18]

Starts a server of its own, loads the table, and prints processor seconds of server and client (the server's are those
of all its processes) and the client's peak memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import psutil
from servers import Server, installed

from bench.counting.rows_per_person import ATTRIBUTES, table
from hushtable.kernel import open_counter
from hushtable.marginals import Layout
from hushtable.schema import Schema


def server_seconds(pid: int, seen: dict[int, float]) -> float:
    """Processor seconds of the server so far; ``seen`` keeps those of processes that have ended."""
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        times = process.cpu_times()
        seen[process.pid] = times.user + times.system
    ended = psutil.Process(pid).cpu_times()
    return max(sum(seen.values()), ended.user + ended.system + ended.children_user + ended.children_system)


def main() -> None:
    """Load, count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--version", default=max(installed(), key=int))
    given = parser.parse_args()
    schemas = {
        "no cap": Schema.from_dict({"attributes": ATTRIBUTES}),
        "k = 1": Schema.from_dict({"attributes": ATTRIBUTES, "person": "id"}),
    }
    server = Server(installed()[given.version])
    os.environ |= server.environment
    try:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "people.parquet"
            frame = table(given.rows, 1.1)
            frame.write_parquet(path)
            kinds = {pl.String: "text", pl.Int64: "bigint", pl.Float64: "double precision"}
            columns = ", ".join(f"{name} {kinds[kind]}" for name, kind in frame.schema.items())
            with server.connect() as link:
                link.execute(f"CREATE UNLOGGED TABLE people ({columns})")
                with link.cursor().copy("COPY people FROM STDIN (FORMAT csv)") as copy:
                    for part in frame.iter_slices(500_000):
                        copy.write(part.write_csv(include_header=False))
                link.execute("VACUUM ANALYZE people")
            del frame
            for what, schema in schemas.items():
                layout = Layout(schema.sizes, tuple(combinations(range(10), 2)))
                spent: dict[str, float] = {}
                tables = []
                for name, data in (("parquet", path), ("postgresql", server.url(table="people"))) * 2:
                    seen: dict[int, float] = {}
                    before = server_seconds(server.pid, seen)
                    start = time.process_time(), time.perf_counter()
                    tables.append(open_counter(data, schema).tabulate(layout))
                    client = time.process_time() - start[0]
                    whole = client + server_seconds(server.pid, seen) - before
                    elapsed = time.perf_counter() - start[1]
                    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
                    times = f"client {client:6.2f} s, with server {whole:6.2f} s, elapsed {elapsed:6.2f} s"
                    print(f"{what:7} {name:10} {times}, {peak} MB", flush=True)
                    spent[name] = min(spent.get(name, whole), whole)
                assert all((found == tables[0]).all() for found in tables)
                print(f"{what:7} ratio {spent['postgresql'] / spent['parquet']:.2f}")
    finally:
        server.remove()


if __name__ == "__main__":
    main()
