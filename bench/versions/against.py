"""Whether a change made anything slower, larger or less accurate: two versions, run by turns.

    hush bench against -- REVISION [--tasks auto checks ...] [--runs 5] [--json]

REVISION is checked out beside, compiled once, and then each task runs under it and under this tree by turns, every
run in a process of its own.  A figure is the median over the runs; errors are random, so a small difference may be
chance.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.shared.history import keep
from bench.shared.places import ROOT
from bench.versions.tasks import TASKS

LIMIT = 900.0
"""Seconds after which a task is given up."""

WORSE = 1.05
"""A ratio above this is marked."""

Figures = dict[str, list[float]]


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """A tree of another revision, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="hushtable-against-") as folder:
        place = Path(folder) / "tree"
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", place, revision], check=True)
        try:
            yield place
        finally:
            subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", place], check=True)


def run_once(task: str, tree: Path) -> dict[str, float]:
    """The figures of one run under one tree."""
    path = os.pathsep.join([str(tree / "src"), str(ROOT)])
    with tempfile.TemporaryDirectory(prefix="hushtable-against-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "bench.versions.tasks", task, folder],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    if done.returncode:
        sys.exit(f"{task} failed under {tree}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def alternate(task: str, trees: tuple[Path, Path], runs: int) -> tuple[Figures, Figures]:
    """Each figure of a task, run by run, under both trees."""
    for tree in trees:
        run_once(task, tree)
    found: tuple[Figures, Figures] = ({}, {})
    for number in range(runs):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            for name, value in run_once(task, trees[which]).items():
                found[which].setdefault(name, []).append(value)
    return found


def lines(task: str, found: tuple[Figures, Figures]) -> Iterator[dict[str, object]]:
    before, after = found
    for name, values in after.items():
        if name in before:
            one, two = statistics.median(before[name]), statistics.median(values)
            yield {
                "task": task,
                "figure": name,
                "before": one,
                "after": two,
                "ratio": two / one if one else 1.0,
            }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    if not options.json:
        print("| task | figure | before | after | ratio |\n|---|---|---|---|---|")
    ratios: dict[str, float] = {}
    with checked_out(options.revision) as other:
        for task in options.tasks:
            for line in lines(task, alternate(task, (other, ROOT), options.runs)):
                ratios[f"{task}, {line['figure']}"] = float(line["ratio"])
                if options.json:
                    print(json.dumps(line), flush=True)
                else:
                    mark = " (worse)" if line["ratio"] > WORSE else ""
                    numbers = f"{line['before']:.4g} | {line['after']:.4g} | {line['ratio']:.2f}{mark}"
                    print(f"| {task} | {line['figure']} | {numbers} |", flush=True)
    keep("against", ratios, revision=options.revision, runs=str(options.runs))


if __name__ == "__main__":
    main()
