"""Memory does not grow with the number of rows."""

import subprocess
import sys

import numpy as np
import polars as pl
import pytest

PROGRAM = """
import resource, sys
from hushtable.kernel.sources import open_source
from hushtable.schema import Schema
schema = Schema.from_dict({"attributes": {"c": {"type": "categorical", "values": ["aaa", "bbb"]},
                                          "i": {"type": "integer", "bounds": [0, 999], "width": 10},
                                          "r": {"type": "real", "bounds": [0, 1], "bins": 10}}})
source = open_source(sys.argv[1], schema, threads=2)
rows = sum(len(batch[0]) for batch in source.batches())
print(rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak_megabytes(path, rows):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=True
    )
    found, peak = map(int, done.stdout.split())
    assert found == rows
    return peak


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_ten_times_the_rows_take_the_same_memory(kind, tmp_path):
    rng = np.random.default_rng(1)
    peaks = []
    for rows in (400_000, 4_000_000):
        frame = pl.DataFrame(
            {
                "c": rng.choice(["aaa", "bbb"], rows),
                "i": rng.integers(0, 1000, rows),
                "r": rng.random(rows).round(6),
            }
        )
        path = tmp_path / f"{rows}.{kind}"
        if kind == "parquet":
            frame.write_parquet(path, row_group_size=rows)
        elif kind == "csv":
            frame.write_csv(path)
        else:
            frame.write_csv(path, compression="gzip")
        peaks.append(peak_megabytes(path, rows))
    assert peaks[1] - peaks[0] < 60, (
        peaks
    )  # the larger table has 70 to 130 MB as text and 92 MB as codes of 8 bytes
