"""What the first release of an installation costs more than later ones: compiling, in seconds of processor time.

    hush bench first -- [--runs 3] [--keep]

Each run makes an empty folder for compiled loops and releases all tables of three attributes of 400 made-up people
twice, with ``hush release`` and its defaults, from a CSV file that has every type of column.  Printed are the medians
of the first and of the second release, of all their threads, and of their difference run by run.  ``--keep`` adds the
ratio of the two to the history: seconds alone mean nothing on another machine.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.shared.history import keep
from bench.shared.places import ROOT

ROWS = 400
RUN = "import sys; from hushtable.cli.app import run; sys.exit(run(sys.argv[1:]))"
SCHEMA = """\
max_rows_per_person: 1
person: patient
attributes:
  district: {type: categorical, levels: [region, district], tree: {Inland: [North, South], Coast: [Harbour]}}
  age:      {type: integer, bounds: [0, 99], cuts: [18, 40, 60, 75]}
  smoker:   {type: boolean, null: category}
  visits:   {type: integer, bounds: [0, 40], cuts: [1, 2, 4, 8]}
  weight:   {type: real, bounds: [40, 120], cuts: [60, 80, 100]}
  since:    {type: date, bounds: [2000-01-01, 2025-12-31], cuts: [2010-01-01, 2020-01-01]}
"""


def write(folder: Path) -> None:
    """The data and the schema."""
    draw = random.Random(1)
    lines = ["patient,district,age,smoker,visits,weight,since"]
    for number in range(ROWS):
        values = (
            f"K{number:05d}",
            draw.choice(["North", "South", "Harbour"]),
            draw.randint(0, 99),
            draw.choice(["", "yes", "no", "no"]),
            min(40, int(draw.expovariate(0.5))),
            round(draw.uniform(40, 120), 1),
            f"{draw.randint(2000, 2025)}-0{draw.randint(1, 9)}-11",
        )
        lines.append(",".join(map(str, values)))
    (folder / "clinic.csv").write_text("\n".join(lines) + "\n")
    (folder / "clinic.yaml").write_text(SCHEMA)


def hush(folder: Path, *words: str) -> float:
    """Seconds of processor time of a command, with its own cache of compiled loops."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONPATH": str(ROOT / "src")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"hush {words[0]} ended with {done.returncode}:\n{done.stderr}")
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def measure() -> tuple[float, float]:
    """The first release and the second."""
    with tempfile.TemporaryDirectory(prefix="hushtable-first-") as name:
        folder = Path(name)
        write(folder)
        hush(folder, "ledger", "create", "clinic.ledger", "--budget", "rho=0.5")
        given = (
            "--schema",
            "clinic.yaml",
            "--ledger",
            "clinic.ledger",
            "--budget",
            "rho=0.1",
            "--order",
            "3",
        )
        first, second = (
            hush(folder, "release", "clinic.csv", *given, "--again", "--out", out) for out in ("one", "two")
        )
        return first, second


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    runs = [measure() for _ in range(options.runs)]
    first, second = (statistics.median(each) for each in zip(*runs, strict=True))
    more = statistics.median(one - two for one, two in runs)
    print(f"first {first:.1f} s, second {second:.1f} s, more by {more:.1f} s of processor time")
    if options.keep:
        keep("first", {"first release over the second, processor time": first / second})


if __name__ == "__main__":
    main()
