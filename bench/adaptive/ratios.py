"""The default, ``auto``, over the best of all our strategies and ways of reading, by table and epsilon.

    hush bench ratios -- [--tables adult titanic ...] [--epsilons 1 10] [--seeds 5] [--fresh]
    hush bench ratios -- --page

Every figure is the mean L1 error over all tables of one order, divided by the records, with exact noise at delta 1e-9.
Draws of different strategies are independent, so a ratio has an error: that of the two means, taken run by run.
Figures stay in ``bench/out/adaptive-ratios.json`` and only what is missing there is measured; a run without ``--page``
keeps its ratios in the history and writes the page.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bench.adaptive.errors import Measured, OutOfTime, fit, measured_by, stopped_after
from bench.adaptive.figures import Clock, Figures
from bench.adaptive.page import header, measured_when, prose
from bench.adaptive.tables import DELTA, MEMORY, Table
from bench.shared.history import keep
from bench.shared.places import OUT, ROOT
from hushtable.planning import STRATEGIES, PlanOptions
from hushtable.privacy import rho_from

PAGE = ROOT / "docs" / "benchmarks-ratios.md"
EPSILONS = (0.1, 0.31, 1.0, 3.16, 10.0)
OWN = "auto, maxent"
LIMIT = 1.03
"""Above it a ratio is marked on the page: more than a seed's chance on most tables."""

PATIENCE = 300.0
"""Seconds that one strategy may take on one table: longer, and nobody would choose it for these tables."""

LARGE_CELLS = 10_000_000
"""Closures above it are read by ``nonneg`` for the first seed alone: it takes minutes there."""

SLOW_LOOPS = 5_000
"""Tables of a closure above which ``aim`` runs once: its loop takes minutes there, and it is far behind."""


@dataclass(frozen=True)
class Subject:
    """A table with the order of its workload and how often each strategy runs."""

    name: str
    seeds: int
    order: int = 3
    epsilons: tuple[float, ...] = EPSILONS


SUBJECTS = (
    Subject("adult", 5),
    Subject("adult_full", 5),
    Subject("adult_wide", 5),
    Subject("titanic", 20),
    *(
        Subject(f"{kind}{width}", 20 if width == 16 else 5)
        for width in (16, 40)
        for kind in ("chain", "classes", "parity")
    ),
    Subject("acs", 2, epsilons=(1.0, 10.0)),
    Subject("loans", 2, order=2, epsilons=(1.0, 10.0)),
)


@dataclass(frozen=True)
class Method:
    """A strategy with its options, and the ways in which one measurement of it is read."""

    strategy: str
    ways: tuple[str, ...]
    label: str = ""
    objective: str = "sum_variance"

    @property
    def name(self) -> str:
        return self.label or self.strategy


METHODS = (
    Method("auto", ("maxent", "mle", "nonneg")),
    Method("aim", ("mle", "nonneg")),
    Method("aim", ("maxent",), "aim in maxent"),
    Method("residual-planner", ("maxent", "mle", "nonneg")),
    Method("residual-planner", ("maxent", "mle"), "residual-planner, max_variance", "max_variance"),
    Method("identity", ("maxent", "mle")),
)


def measured(table: Table, method: Method, epsilon: float) -> Measured:
    """One run of a strategy."""
    options = PlanOptions(objective=method.objective)
    plan = STRATEGIES[method.strategy].gaussian(
        table.workload, Fraction(rho_from(epsilon=epsilon, delta=DELTA)), 1, options
    )
    return measured_by(plan, method.ways[0], table, Clock(PATIENCE))


def reason(table: Table, method: Method, seed: int) -> str | None:
    """Why a strategy is left out."""
    if method.strategy in ("residual-planner", "identity") and 40 * table.layout.cells > MEMORY:
        return f"{table.layout.cells / 1e9:.1f} billion numbers would be measured at once"
    if seed and method.strategy == "aim" and len(table.layout.sets) > SLOW_LOOPS:
        return "one run only: its loop takes minutes"
    return None


def one_run(figures: Figures, table: Table, method: Method, epsilon: float, seed: int) -> None:
    """Measure once, and read in all ways that are missing."""
    keys = {way: f"{table.name}/{epsilon:g}/{method.name}/{way}/{seed}" for way in method.ways}
    missing = {way: key for way, key in keys.items() if key not in figures}
    if seed and table.layout.cells > LARGE_CELLS:
        missing.pop("nonneg", None)
    if not missing:
        return
    same: dict[str, Any] = {"table": table.name, "epsilon": epsilon, "method": method.name, "seed": seed}
    why = reason(table, method, seed)
    if why is None:
        try:
            with stopped_after(PATIENCE):
                found = measured(table, method, epsilon)
        except OutOfTime as ended:
            why = str(ended)
    for way, key in missing.items():
        if why is not None:
            figures.put(key, **same, way=way, left_out=why)
            continue
        try:
            with stopped_after(PATIENCE):
                figures.put(key, **same, way=way, **fit(table, found, way))
        except OutOfTime as ended:
            figures.put(key, **same, way=way, left_out=str(ended))


def run(figures: Figures, subjects: list[Subject], epsilons: tuple[float, ...], seeds: int | None) -> None:
    """All methods on all tables."""
    for subject in subjects:
        table = Table.load(subject.name, subject.order)
        asked = [epsilon for epsilon in subject.epsilons if epsilon in epsilons]
        for seed, epsilon, method in product(range(seeds or subject.seeds), asked, METHODS):
            one_run(figures, table, method, epsilon, seed)


@dataclass(frozen=True)
class Ratio:
    """``auto`` over the best other way, with its standard error where there is more than one run."""

    own: float
    best: float
    method: str
    ratio: float
    error: float | None
    runs: int


def ratio_of(rows: list[dict[str, Any]]) -> Ratio | None:
    """Of the runs of one table and epsilon."""
    by_method: dict[str, dict[int, float]] = defaultdict(dict)
    for row in rows:
        if "l1" in row:
            by_method[f"{row['method']}, {row['way']}"][row["seed"]] = row["l1"]
    own = by_method.pop(OWN, {})
    if not own or not by_method:
        return None
    best = min(by_method, key=lambda name: float(np.mean(list(by_method[name].values()))))
    other = by_method[best]
    ratio = float(np.mean(list(own.values())) / np.mean(list(other.values())))
    both = sorted(own.keys() & other.keys())
    error = None
    if len(both) > 1:
        apart = np.array([own[seed] - ratio * other[seed] for seed in both])
        error = float(apart.std(ddof=1) / np.sqrt(len(both)) / np.mean([other[seed] for seed in both]))
    return Ratio(
        float(np.mean(list(own.values()))), float(np.mean(list(other.values()))), best, ratio, error, len(own)
    )


def ratios(figures: Figures) -> dict[tuple[str, float], Ratio]:
    """By table, in the order of the subjects, and epsilon."""
    grouped: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for row in figures.rows.values():
        grouped[row["table"], row["epsilon"]].append(row)
    order = [subject.name for subject in SUBJECTS]
    found = {key: ratio_of(rows) for key, rows in grouped.items()}
    return {
        key: found[key]  # type: ignore[misc]
        for key in sorted(found, key=lambda key: (order.index(key[0]), key[1]))
        if found[key] is not None
    }


def page(figures: Figures) -> str:
    """The table of all ratios."""
    found = ratios(figures)
    above = [(key, r) for key, r in found.items() if r.ratio > LIMIT]
    lines = [
        "# The default beside all our strategies",
        "",
        *prose(
            f"""
            Written by `hush bench ratios`. Mean L1 error over all three-way tables (of `loans` two-way) divided by the
            records, delta 1e-9, exact noise: `auto` read by maximum entropy, and the best of every strategy and way
            of reading otherwise. Constants of `auto` were tuned on `adult`. The error of a ratio is the standard error
            over runs of both; the best is chosen after the fact, which favours it by chance. Marked: above {LIMIT:g}.
            """
        ),
        "",
        *_above(above),
        "",
        *header("table | epsilon | runs | auto | best other | error of it | ratio"),
    ]
    for (name, epsilon), r in found.items():
        error = "" if r.error is None else f" ± {r.error:.3f}"
        mark = " **above**" if r.ratio > LIMIT else ""
        lines.append(
            f"| {name} | {epsilon:g} | {r.runs} | {r.own:.4g} | {r.method} | {r.best:.4g} "
            f"| {r.ratio:.3f}{error}{mark} |"
        )
    return "\n".join([*lines, "", *_left_out(figures), "", *measured_when(figures)]).rstrip() + "\n"


def _above(above: list[tuple[tuple[str, float], Ratio]]) -> Iterator[str]:
    if not above:
        yield "No ratio is above the limit."
        return
    yield "Another way is better, by more than the limit, on:"
    yield ""
    for (name, epsilon), r in above:
        yield f"- {name} at epsilon {epsilon:g}: {r.method}, {r.best:.4g} against {r.own:.4g}"


def _left_out(figures: Figures) -> Iterator[str]:
    reasons: dict[str, set[str]] = defaultdict(set)
    for row in figures.rows.values():
        if "left_out" in row:
            reasons[f"{row['method']} on {row['table']}"].add(row["left_out"])
    if reasons:
        yield "Left out:"
        yield ""
        for what, why in sorted(reasons.items()):
            yield f"- {what}: {'; '.join(sorted(why))}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tables", nargs="+", default=[s.name for s in SUBJECTS], choices=[s.name for s in SUBJECTS]
    )
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", type=int, help="instead of each table's own number")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--page", action="store_true", help="only write the page")
    options = parser.parse_args()
    figures = Figures("ratios", options.out, fresh=options.fresh)
    if not options.page:
        figures.begin("hush bench ratios")
        run(
            figures, [s for s in SUBJECTS if s.name in options.tables], tuple(options.epsilons), options.seeds
        )
    if options.out != OUT:
        (options.out / "ratios.md").write_text(page(figures), encoding="utf-8")
        return
    if not options.page:
        keep(
            "ratios",
            {
                f"{name}, epsilon {e:g}: auto over the best other": r.ratio
                for (name, e), r in ratios(figures).items()
            },
        )
    PAGE.write_text(page(figures), encoding="utf-8")


if __name__ == "__main__":
    main()
