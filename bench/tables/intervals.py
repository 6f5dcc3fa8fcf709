"""How often the intervals of released tables hold the true count, class by class, on several populations.

    hush bench intervals -- [--runs 30] [--json] [--page docs/benchmarks-intervals.md]
    hush bench intervals -- --bare --runs 2000 --populations town switches --rhos 0.05 0.5

Whole releases through a session and a ledger in a temporary folder; with ``--bare`` the same exact draws without ledger
or fit, and the intervals before they are widened to hold a fitted estimate, which hold all the less.  A class is what
was measured of a table (fully, partly, derived) and how large the true count is (0, 1 to 10, more).  A run's coverage
is the share of the cells of a class whose interval at 95% holds the truth; the figure is its mean over runs with the
standard error of that mean.
Widths are of the intervals cut at 0, in records.
``--page`` writes the tables between the marks of the page.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import hushtable as ht
from bench.adaptive.errors import measure
from bench.adaptive.figures import Clock
from bench.adaptive.tables import Rows, Table
from bench.shared import standins
from bench.shared.history import keep
from hushtable.arrays import Floats
from hushtable.marginals import ResolvedWorkload
from hushtable.measurement import Answers
from hushtable.reconstruct import from_answers, intervals

Codes = NDArray[np.int64]
Shares = dict[tuple[str, str], list[float]]

FLAGS = ("fully", "partly", "derived")
COUNTS = ("0", "1 to 10", "more")
RHOS = ("0.0005", "0.005", "0.05", "0.5")
WAYS = (
    ("auto", "maxent"),
    ("auto", "nonneg"),
    ("aim", "mle"),
    ("aim", "maxent"),
    ("residual-planner", "mle"),
)
FEWEST = 200
"""Cells of a class, over all runs, below which no figure is given."""
MARKS = ("<!-- intervals -->", "<!-- end of intervals -->")


@dataclass(frozen=True)
class Population:
    """A table of codes and the order of the tables that are released of it."""

    name: str
    sizes: tuple[int, ...]
    codes: Codes
    order: int


def town(people: int = 20_000) -> Population:
    """Five attributes, each depending on those before it."""
    rng = np.random.default_rng(3)
    area = rng.choice(6, people, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    age = np.clip(rng.normal(3.2 + 0.3 * area, 1.9, people), 0, 7).astype(np.int64)
    job = np.where(rng.random(people) < 0.6, np.minimum(age, 6), rng.integers(0, 7, people))
    home = np.clip(rng.normal(3.0 - 0.5 * area + 0.1 * job, 0.8, people), 0, 3).astype(np.int64)
    car = np.where(rng.random(people) < 0.5, (home + job) % 3, rng.choice(3, people, p=[0.7, 0.2, 0.1]))
    return Population("town", (6, 8, 7, 4, 3), np.column_stack([area, age, job, home, car]), 3)


def village(people: int = 1_500) -> Population:
    """Six skewed attributes of up to twelve values: most cells of a pair are empty."""
    rng = np.random.default_rng(4)
    sizes = (12, 10, 9, 8, 6, 5)
    cause = rng.geometric(0.4, people)
    columns = [
        np.minimum(cause * (k + 1) // 2 + rng.geometric(0.6, people) - 1, n - 1) for k, n in enumerate(sizes)
    ]
    return Population("village", sizes, np.column_stack(columns), 2)


def switches(people: int = 5_000) -> Population:
    """Ten yes-or-no attributes with a common cause."""
    rng = np.random.default_rng(5)
    cause = rng.random((people, 1))
    codes = (rng.random((people, 10)) < 0.1 + 0.8 * cause * np.linspace(0.2, 1.0, 10)).astype(np.int64)
    return Population("switches", (2,) * 10, codes, 3)


def stored(name: str, order: int) -> Population | None:
    """A table of the shared folder, where there is one."""
    if not (standins.data_folder() / f"{name}-domain.json").exists():
        return None
    sizes, columns = standins.load(name)
    return Population(name, sizes, np.column_stack(columns).astype(np.int64), order)


POPULATIONS: tuple[Callable[[], Population | None], ...] = (
    town,
    village,
    switches,
    lambda: stored("adult", 2),
    lambda: stored("titanic", 3),
)


def true_counts(of: Population, sets: list[tuple[int, ...]]) -> Codes:
    """Exact counts of marginals, flat."""
    parts: list[Codes] = []
    for s in sets:
        sizes = [of.sizes[a] for a in s]
        flat = np.ravel_multi_index(tuple(of.codes[:, a] for a in s), sizes)
        parts.append(np.bincount(flat, minlength=int(np.prod(sizes))))
    return np.concatenate(parts)


Draw = Callable[[], tuple[Floats, Floats, list[str]]]
"""One release: lower and upper ends of all cells, and by table what was measured."""


@contextmanager
def whole(of: Population, strategy: str, reconstruct: str, rho: str) -> Iterator[Draw]:
    """Releases through a session."""
    names = [f"a{k}" for k in range(len(of.sizes))]
    schema = ht.Schema.from_domain(dict(zip(names, of.sizes, strict=True)))
    frame = pl.DataFrame({name: of.codes[:, k] for k, name in enumerate(names)})
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "t.ledger"
        session = ht.Session.open(frame, schema=schema, ledger=ledger, budget=ht.ZCDP(10**6))
        workload = ht.Workload.all_marginals(schema, order=of.order)

        def draw() -> tuple[Floats, Floats, list[str]]:
            made = session.release(workload, budget=ht.ZCDP(rho), strategy=strategy, reconstruct=reconstruct)
            _, lower, upper = made.published(made.workload)
            return lower, upper, made.accuracy()["measured"].to_list()

        yield draw


@contextmanager
def bare(of: Population, strategy: str, reconstruct: str, rho: str) -> Iterator[Draw]:
    """The same draws without a ledger, and their intervals without a fit."""
    sets = tuple(combinations(range(len(of.sizes)), of.order))
    workload = ResolvedWorkload(sets, (Fraction(1),) * len(sets), of.sizes)
    table = Table(of.name, of.sizes, Rows(list(of.codes.T.astype(np.uint8))), len(of.codes), workload)

    def draw() -> tuple[Floats, Floats, list[str]]:
        measured = measure(table, strategy, reconstruct, Fraction(rho), Clock())
        answers = [Answers(request.part, values) for request, values in measured]
        estimates = from_answers(Answers.pooled(of.sizes, answers))
        found = intervals(estimates, workload.layout, 0.05)
        return np.maximum(found.lower, 0.0), np.maximum(found.upper, 0.0), found.measured

    yield draw


def shares_of(of: Population, draw: Draw, runs: int) -> tuple[Shares, float]:
    """For every class the coverage of each run that has such cells, and the mean width of all finite intervals."""
    sets = list(combinations(range(len(of.sizes)), of.order))
    lengths = [int(np.prod([of.sizes[a] for a in s])) for s in sets]
    truth = true_counts(of, sets)
    size = np.digitize(truth, [1, 11])
    shares: Shares = {(flag, count): [] for flag in FLAGS for count in COUNTS}
    cells, widths = dict.fromkeys(shares, 0), np.empty(runs)
    for run in range(runs):
        lower, upper, measured = draw()
        inside = (lower <= truth) & (truth <= upper)
        width = (upper - lower)[np.isfinite(upper)]
        widths[run] = width.mean() if width.size else np.nan
        flags = np.repeat([FLAGS.index(f) for f in measured], lengths)
        for flag, count in shares:
            some = (flags == FLAGS.index(flag)) & (size == COUNTS.index(count))
            if some.any():
                shares[flag, count].append(float(inside[some].mean()))
                cells[flag, count] += int(some.sum())
    kept = {key: found if cells[key] >= FEWEST else [] for key, found in shares.items()}
    return kept, float(np.nanmean(widths))


def mean(shares: list[float]) -> tuple[float, float] | None:
    """Mean and its standard error; none without runs."""
    if not shares:
        return None
    return float(np.mean(shares)), float(np.std(shares) / np.sqrt(len(shares)))


def text(found: tuple[float, float] | None) -> str:
    """As it stands in a table."""
    return "" if found is None else f"{100 * found[0]:.1f} ± {100 * found[1]:.1f}"


def tables(rows: list[dict[str, object]]) -> str:
    """One table of Markdown for each way, and the least of all figures of each class."""
    classes = [f"{flag}, {count}" for flag in FLAGS for count in COUNTS]
    lines: list[str] = []
    for strategy, reconstruct in WAYS:
        ours = [r for r in rows if (r["strategy"], r["reconstruct"]) == (strategy, reconstruct)]
        if not ours:
            continue
        shown = [c for c in classes if any(r["classes"][c] for r in ours)]
        lines += [f"### {strategy} with {reconstruct}", ""]
        lines += ["| population | rho | width | " + " | ".join(shown) + " |", "|" + "---|" * (3 + len(shown))]
        for r in ours:
            figures = " | ".join(text(r["classes"][c]) for c in shown)
            lines.append(f"| {r['population']} | {r['rho']} | {r['width']:,.1f} | {figures} |")
        least = [min(r["classes"][c][0] for r in ours if r["classes"][c]) for c in shown]
        lines += ["| least | | | " + " | ".join(f"**{100 * x:.1f}**" for x in least) + " |", ""]
    return "\n".join(lines)


def least_shares(rows: list[dict[str, Any]]) -> dict[str, float]:
    """The least share of intervals that hold, over populations and classes of cells, by the way of releasing."""
    least: dict[str, float] = {}
    for row in rows:
        name = f"{row['strategy']}, {row['reconstruct']}: least share that holds"
        held = [found[0] for found in row["classes"].values() if found is not None]
        least[name] = min(least.get(name, 1.0), *held)
    return least


def widths_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Mean widths by population, way and budget."""
    return {
        f"{r['population']}, {r['strategy']}, {r['reconstruct']}, rho {r['rho']}: mean width": r["width"]
        for r in rows
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--bare", action="store_true", help="without ledger and fit")
    parser.add_argument("--populations", nargs="+", help="by default all")
    parser.add_argument("--ways", nargs="+", default=[":".join(way) for way in WAYS])
    parser.add_argument("--rhos", nargs="+", default=list(RHOS), help="for auto; others have one")
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for make in POPULATIONS:
        population = make()
        if population is None or (chosen.populations and population.name not in chosen.populations):
            continue
        for strategy, reconstruct in (way for way in WAYS if ":".join(way) in chosen.ways):
            for rho in chosen.rhos if strategy == "auto" else RHOS[2:3]:
                with (bare if chosen.bare else whole)(population, strategy, reconstruct, rho) as draw:
                    found, width = shares_of(population, draw, chosen.runs)
                classes = {f"{flag}, {count}": mean(s) for (flag, count), s in found.items()}
                facts = {"population": population.name, "strategy": strategy, "reconstruct": reconstruct}
                rows.append({**facts, "rho": rho, "width": width, "classes": classes})
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    keep("intervals", least_shares(rows) | widths_of(rows), runs=str(chosen.runs))
    if chosen.json:
        json.dump(rows, sys.stdout, indent=1)
        return
    made = tables(rows)
    if chosen.page is None:
        print(made)
        return
    before, _, rest = chosen.page.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    chosen.page.write_text(f"{before}{MARKS[0]}\n{made}\n{MARKS[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
