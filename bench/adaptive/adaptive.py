"""Accuracy, speed and scale of adaptive releases.

    hush bench adaptive -- [--parts errors sequence axes model scale] [--tables adult ...] [--seeds 5] [--fresh]
    hush bench adaptive -- --page

Every part keeps its figures in ``bench/out/adaptive-PART.json`` as it goes, and measures only what is missing there, so
an interrupted run goes on; ``--fresh`` forgets what the chosen parts have.  The page and its charts are written at the
end from all the figures; ``--page`` does nothing else.  Draws are exact; only ``scale`` opens ledgers, its own.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

from bench.adaptive import errors as adaptive_errors
from bench.adaptive import model as adaptive_model
from bench.adaptive import page as adaptive_page
from bench.adaptive import scale as adaptive_scale
from bench.adaptive import sequence as adaptive_sequence
from bench.adaptive import summary as adaptive_summary
from bench.adaptive.figures import Figures
from bench.shared.history import keep
from bench.shared.places import OUT

PARTS = ("errors", "sequence", "axes", "model", "scale")
TABLES = ("adult", "titanic", "adult_wide", "acs", "loans")
STANDINS = ("acs", "loans")
ERROR_LIMITS = {"adult": 300, "titanic": 60, "adult_wide": 300, "acs": 360, "loans": 240}
SEQUENCES = {"adult_full": 30, "acs": 60, "loans": 60}
MODELS = ("adult", "titanic")


def errors(figures: Figures, options: argparse.Namespace) -> None:
    seeds = {name: 1 if name in STANDINS else options.seeds for name in options.tables}
    limits = {name: ERROR_LIMITS.get(name, 300) * options.patience for name in options.tables}
    adaptive_errors.run(figures, options.tables, options.epsilons, seeds, limits)


def sequence(figures: Figures, options: argparse.Namespace) -> None:
    limits = {name: seconds * options.patience for name, seconds in SEQUENCES.items()}
    names = [n for n in SEQUENCES if n in options.tables or (n == "adult_full" and "adult" in options.tables)]
    adaptive_sequence.run(figures, names, limits)


def axes(figures: Figures, options: argparse.Namespace) -> None:
    """In a process of its own, so that matrix products use one thread."""
    code = "import sys; from bench.adaptive import axes; axes.alone(*sys.argv[1:])"
    command = [sys.executable, "-c", code, str(options.out), command_line()]
    one = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(command, check=True, env={**os.environ, **one})


def model(figures: Figures, options: argparse.Namespace) -> None:
    adaptive_model.run(
        figures, [n for n in MODELS if n in options.tables], 1.0, options.model_seconds * options.patience
    )


def scale(figures: Figures, options: argparse.Namespace) -> None:
    adaptive_scale.run(figures, [*options.tables, "adult_full"])


def command_line() -> str:
    """What was typed, without what only forgets."""
    return " ".join(["hush bench adaptive --", *(a for a in sys.argv[1:] if a != "--fresh")])


def mean_errors(figures: Figures) -> dict[str, float]:
    """Mean L1 error over records at epsilon 1, of each table and method."""
    found: dict[str, list[float]] = {}
    for row in figures.rows.values():
        if row["epsilon"] == 1 and "l1" in row:
            name = f"{row['table']}, {row['strategy']}, {row['reconstruction']}: mean L1 at epsilon 1"
            found.setdefault(name, []).append(row["l1"])
    return {name: statistics.mean(values) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--tables", nargs="+", default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.1, 0.31, 1, 3.16, 10])
    parser.add_argument("--seeds", type=int, default=5, help="for all but the stand-ins, which have one")
    parser.add_argument(
        "--model-seconds", type=float, default=300, help="processor time of the graphical model"
    )
    parser.add_argument("--patience", type=float, default=1, help="factor of all limits but those of scale")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    for part in () if options.page else options.parts:
        figures = Figures(part, options.out, fresh=options.fresh)
        figures.begin(command_line())
        {"errors": errors, "sequence": sequence, "axes": axes, "model": model, "scale": scale}[part](
            figures, options
        )
    if options.out != OUT:
        adaptive_page.write(options.out, options.out / "page.md")
        return
    if not options.page:
        keep("adaptive", mean_errors(Figures("errors", OUT)))
    adaptive_page.write(OUT)
    adaptive_summary.write(OUT)


if __name__ == "__main__":
    main()
