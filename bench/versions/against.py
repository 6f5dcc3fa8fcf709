"""Whether a change made anything slower, larger or less accurate: versions, run by turns.

    hush bench against -- REVISION [REVISION ...] [--tasks auto checks ...] [--runs 5] [--json]

Each REVISION is checked out beside, compiled once, and then each task runs under it and under this tree by turns, every
run in a process of its own.  A figure is the median over the runs; errors are random, so a small difference may be
chance.  Packages that only an old revision needs come from folders in PYTHONPATH (``pip install --target``).
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
from contextlib import ExitStack, contextmanager
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
    path = os.pathsep.join(filter(None, [str(tree / "src"), str(ROOT), os.environ.get("PYTHONPATH")]))
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


def alternate(task: str, trees: list[Path], runs: int) -> list[Figures]:
    """Each figure of a task, run by run, under each tree."""
    for tree in trees:
        run_once(task, tree)
    found: list[Figures] = [{} for _ in trees]
    for number in range(runs):
        turn = list(zip(trees, found, strict=True))
        for tree, figures in turn if number % 2 == 0 else turn[::-1]:
            for name, value in run_once(task, tree).items():
                figures.setdefault(name, []).append(value)
    return found


def lines(task: str, before: Figures, after: Figures) -> Iterator[dict[str, object]]:
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
    parser.add_argument("revision", nargs="+")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    if not options.json:
        print("| revision | task | figure | before | after | ratio |\n|---|---|---|---|---|---|")
    ratios: dict[str, dict[str, float]] = {revision: {} for revision in options.revision}
    with ExitStack() as stack:
        others = [stack.enter_context(checked_out(revision)) for revision in options.revision]
        for task in options.tasks:
            *before, after = alternate(task, [*others, ROOT], options.runs)
            for revision, figures in zip(options.revision, before, strict=True):
                for line in lines(task, figures, after):
                    ratios[revision][f"{task}, {line['figure']}"] = float(line["ratio"])
                    if options.json:
                        print(json.dumps({"revision": revision, **line}), flush=True)
                    else:
                        mark = " (worse)" if line["ratio"] > WORSE else ""
                        numbers = f"{line['before']:.4g} | {line['after']:.4g} | {line['ratio']:.2f}{mark}"
                        print(f"| {revision} | {task} | {line['figure']} | {numbers} |", flush=True)
    for revision, found in ratios.items():
        keep("against", found, revision=revision, runs=str(options.runs))


if __name__ == "__main__":
    main()
