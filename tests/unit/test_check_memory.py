"""The memory of a check: that of a few frames of records, however many rows there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hushtable.kernel.sources.records import FRAME_BYTES

FRAMES = 5
"""How many frames' worth a check may take: batches that wait, a frame that is made of them, the one that is asked, and
what reading takes."""

CHILD = """
import gc, sys
from pathlib import Path
import numpy as np, polars as pl, pyarrow as pa, pyarrow.parquet as pq
import hushtable as ht

folder, names = Path(sys.argv[1]), [f"r{k}" for k in range(8)]
part = pa.table({name: np.random.default_rng(1).random(100_000).round(2) for name in names})
attributes = {name: {"type": "real", "bounds": [0, 1], "bins": 4} for name in names}
schema, synthetic = ht.Schema.from_dict({"attributes": attributes}), pl.DataFrame({name: [0.5] for name in names})

def memory(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) * 1024

def taken(parts):
    with pq.ParquetWriter(folder / f"{parts}.parquet", part.schema) as file:
        for _ in range(parts):
            file.write_table(part)
    data, ledger = folder / f"{parts}.parquet", folder / f"{len(list(folder.iterdir()))}.ledger"
    session = ht.Session.open(data, schema=schema, ledger=ledger, budget=ht.PureDP(1))
    gc.collect()
    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    session.check("COUNT WHERE r0 > 0.5 AND r1 < 0.25", synthetic, tau=100, budget=ht.PureDP(1))
    return memory("VmHWM") - before

taken(1)
print(taken(1), taken(30))
"""


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's account of memory")
def test_a_check_of_thirty_times_the_rows_takes_the_same_memory_within_five_frames(tmp_path: Path) -> None:
    """3 million rows of eight reals are 192 MB of values, which nothing may hold together."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)], capture_output=True, text=True, timeout=300, check=True
    )
    few, many = map(int, done.stdout.split())
    assert many - few < FRAMES * FRAME_BYTES < 3_000_000 * 8 * 8
