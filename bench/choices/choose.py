"""Decisions and budget of the common mechanism on generated regions, in the grids of the paper's Tables 2 to 7.

    hush bench choose -- [--regions 5000] [--out docs/benchmarks-choose.md]

Every decision is made from exact discrete noise on the parts that a choice would draw, and compared with the decision
that true counts give.  Three kinds of regions are generated: seven binary attributes (blocks), 101 ages by sex (groups
of workers) and 103 ages by sex (tracts).  No ledger is opened and no confidential data are read.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.shared.history import keep
from hushtable import linear
from hushtable.linear import bucket_recreate, sum_cells
from hushtable.measurement import CellPart, DeviationPart, ResidualPart
from hushtable.privacy import discrete_gaussian
from hushtable.release.choices import plan_choice

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CUTS = (
    (),
    (18, 45, 65),
    (5, 18, 25, 35, 45, 55, 65, 75),
    (5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85),
)


@dataclass(frozen=True)
class Row:
    """One line of a table: what was varied, shares of the options, accuracy of the decisions."""

    varied: str
    shares: tuple[float, ...]
    accuracy: float
    other: tuple[float, ...] = ()


def blocks(regions: int, rng: np.random.Generator) -> Ints:
    """Counts over 2^7 cells: small populations, a few common combinations, more or less mixed by region."""
    people = np.maximum(1, rng.lognormal(3.4, 1.3, regions)).astype(np.int64)
    common = rng.choice(128, 14, replace=False)
    base = np.full(128, 0.02 / 128)
    base[common] += rng.dirichlet(np.full(14, 0.35)) * 0.98
    mixes = np.stack([rng.dirichlet(base * 12 + 1e-6) for _ in range(regions)])
    return np.stack([rng.multinomial(n, p / p.sum()) for n, p in zip(people, mixes, strict=True)])


def ages(regions: int, count: int, typical: float, spread_of: float, rng: np.random.Generator) -> Ints:
    """Counts of ``count`` ages by two sexes: a pyramid with a bulge that differs by region."""
    people = np.maximum(1, rng.lognormal(np.log(typical), spread_of, regions)).astype(np.int64)
    age = np.arange(count)
    tables = np.empty((regions, count, 2), np.int64)
    for k, n in enumerate(people):
        pyramid = 1 / (1 + np.exp((age - rng.normal(72, 4)) / 9))
        bulge = rng.gamma(2.0, 0.6) * np.exp(-(((age - rng.normal(35, 10)) / rng.uniform(5, 15)) ** 2))
        weight = (pyramid + bulge) * rng.gamma(40, 1 / 40, count)
        women = rng.beta(25, 25)
        share = np.outer(weight / weight.sum(), (women, 1 - women)).ravel()
        tables[k] = rng.multinomial(n, share / share.sum()).reshape(count, 2)
    return tables


def one_way_noise(sizes: Sequence[int], part: ResidualPart, regions: int) -> dict[int, Floats]:
    """Noise of every 1-way table as the common part would have it, for all regions at once."""
    drawn: dict[tuple[int, ...], Floats] = {}
    for s, mechanism in zip(part.layout.sets, part.mechanisms, strict=True):
        cells = int(np.prod([sizes[i] for i in s]))
        noise = discrete_gaussian(mechanism.noise_variance, (regions, cells)) / cells
        drawn[s] = noise - noise.mean(axis=1, keepdims=True) if s else noise
    return {i: drawn[()] / sizes[i] + drawn[(i,)] for i in range(len(sizes))}


def one_way_truth(tables: Ints, sizes: Sequence[int]) -> dict[int, Floats]:
    wide = tables.reshape(len(tables), *sizes)
    axes = range(len(sizes))
    return {i: wide.sum(axis=tuple(k + 1 for k in axes if k != i)).astype(float) for i in axes}


def single_table_variance(option: linear.MarginalMechanism, axis: int) -> float:
    """Variance of a 1-way cell summed from one table of the option, as in the paper's experiments."""
    gamma, variance = next((g, v) for g, v in option.tables.items() if axis in g)
    return float(variance) * float(np.prod([option.sizes[i] for i in gamma if i != axis]))


def enough(ratios: Floats, share: float, ratio: float) -> NDArray[np.bool_]:
    return (ratios >= ratio - 1e-9).mean(axis=1) >= share - 1e-9


def decide_pair(tables: Ints, sizes: Sequence[int], order: int, rho: Fraction) -> Callable[..., Row]:
    """Decisions between 1-way tables and tables of ``order`` attributes at one budget."""
    plan = plan_choice(tuple(sizes), [linear.marginals(sizes, order=k) for k in (1, order)], rho=rho)
    part = plan.step_part(0, ())
    fine = plan.options[1]
    assert isinstance(part, ResidualPart) and isinstance(fine, linear.MarginalMechanism)
    truth = one_way_truth(tables, sizes)
    noise = one_way_noise(sizes, part, len(tables))

    def decisions(variance: Callable[[int], float], share: float, ratio: float) -> tuple[Floats, float]:
        std = {i: variance(i) ** 0.5 for i in truth}
        true = np.hstack([truth[i] / std[i] for i in truth])
        seen = np.hstack([(truth[i] + noise[i]) / std[i] for i in truth])
        right, made = enough(true, share, ratio), enough(seen, share, ratio)
        return right, float((right == made).mean())

    def row(varied: str, share: float, ratio: float) -> Row:
        right, accuracy = decisions(lambda i: single_table_variance(fine, i), share, ratio)
        _, least_squares = decisions(lambda i: fine.cell_variance((i,)), share, ratio)
        return Row(varied, (float(1 - right.mean()), float(right.mean())), accuracy, (least_squares,))

    return row


def census(tables: Ints, rho: Fraction, share: float, ratio: float) -> Row:
    """Four bucketisations decided one after another, against the best thresholds on the exact total."""
    options = [linear.bucket_table([linear.buckets(103, c), (0, 1)]) for c in CUTS]
    plan = plan_choice((103, 2), options, rho=rho)
    regions = len(tables)
    taken, right = np.full(regions, 3), np.full(regions, 3)
    open_seen, open_true = np.ones(regions, bool), np.ones(regions, bool)
    cells = np.empty(0)
    cost = np.zeros(regions)
    for stage in range(3):
        step, finer = plan.steps[stage], plan.options[stage + 1]
        assert isinstance(step, linear.BucketTable) and isinstance(finer, linear.BucketTable)
        cells = advance(plan.step_part(stage, ()), plan.steps[stage - 1], cells, tables)
        truth = np.stack([sum_cells(t, step.partitions) for t in tables]).reshape(regions, -1)
        std = finer.coarse_variances(step.partitions).astype(float).ravel() ** 0.5
        cost[open_seen] = float(step.rho)
        go_seen, go_true = enough(cells / std, share, ratio), enough(truth / std, share, ratio)
        taken[open_seen & ~go_seen], right[open_true & ~go_true] = stage, stage
        open_seen, open_true = open_seen & go_seen, open_true & go_true
    saved = float(np.mean(cost / (cost + float(rho))))
    shares = tuple(float((right == k).mean()) for k in range(4))
    thresholds = best_thresholds(tables.sum(axis=(1, 2)), right)
    return Row(str(rho), shares, float((taken == right).mean()), (thresholds, saved))


def advance(part: object, before: object, cells: Floats, tables: Ints) -> Floats:
    """Cells of the next step for all regions, with the exact noise of the part that leads to it."""
    if isinstance(part, CellPart):
        exact = np.stack([part.exact(t.sum(axis=0)) for t in tables])
        return exact + noise_of(part, len(tables))
    assert isinstance(part, DeviationPart) and isinstance(before, linear.BucketTable)
    values = np.stack([part.exact(t.ravel()) for t in tables]) + noise_of(part, len(tables))
    known, measured = cells.shape[1], values.shape[1]
    columns = [_recreated(part, before, row[:known], row[known:]) for row in np.eye(known + measured)]
    return np.hstack([cells, values]) @ np.stack(columns)


def _recreated(part: DeviationPart, before: linear.BucketTable, cells: Floats, values: Floats) -> Floats:
    deviations, totals = part.outputs(values)
    return bucket_recreate(
        part.residual, before, cells.reshape(before.variances.shape), deviations, totals
    ).ravel()


def noise_of(part: CellPart | DeviationPart, regions: int) -> Ints:
    runs = zip(part.noise.parameters, part.noise.lengths, strict=True)
    return np.hstack([discrete_gaussian(v, (regions, n)) for v, n in runs])


def best_thresholds(totals: Ints, right: Ints) -> float:
    """Accuracy of the best three thresholds on the exact total, found exactly by dynamic programming."""
    order = np.argsort(totals, kind="stable")
    last = np.append(np.diff(totals[order]) > 0, True)
    hits = np.stack([np.cumsum(right[order] == k) for k in range(4)])
    best = np.where(last, hits[0], -1)
    for k in range(1, 4):
        start = np.maximum.accumulate(np.append(0, np.where(last, best - hits[k], -(10**9)))[:-1])
        start = np.maximum(start, 0)
        best = np.where(last, np.maximum(best, hits[k] + start), -1)
    return float(best[-1] / len(totals))


def markdown(title: str, columns: Sequence[str], rows: Sequence[Row]) -> list[str]:
    lines = [f"### {title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for r in rows:
        numbers = [*r.shares, r.accuracy, *r.other]
        lines.append(f"| {r.varied} | " + " | ".join(f"{100 * v:.2f}" for v in numbers) + " |")
    return [*lines, ""]


def pair_tables(tables: Ints, sizes: Sequence[int], orders: dict[int, str], small: bool) -> list[str]:
    lines: list[str] = []
    columns = ["", "% coarse", "% fine", "accuracy", "accuracy, least squares"]
    for order, name in orders.items():
        rho_grid = [Fraction(v) for v in ("2", "1", "1/2", "1/8", "1/32")]
        share, ratio = (0.5, 5.0) if small else (0.3, 3.0)
        fixed = Fraction(1, 8) if small else Fraction(2)
        ratios = (2, 3, 4, 5, 6, 8) if small else (3, 4, 5, 6, 8)
        saved = linear.budget_saved([linear.marginals(sizes, order=k, rho=1) for k in (1, order)])
        by_rho = [decide_pair(tables, sizes, order, r)(f"rho={r}", share, ratio) for r in rho_grid]
        at = decide_pair(tables, sizes, order, fixed)
        by_ratio = [at(f"y={y}", share, float(y)) for y in ratios]
        by_share = [at(f"x={x}", x, ratio) for x in (0.2, 0.3, 0.4, 0.5, 0.6)]
        title = f"{name}: {100 * float(saved):.3f}% of the budget saved"
        lines += markdown(f"{title}; (x, y) = ({share}, {ratio:g})", columns, by_rho)
        lines += markdown(f"{name}, rho = {fixed}, x = {share}", columns, by_ratio)
        lines += markdown(f"{name}, rho = {fixed}, y = {ratio:g}", columns, by_share)
    return lines


def speed() -> list[str]:
    """Planning at scale: sixty attributes, and a dense pair of 2,000 cells."""
    started = time.perf_counter()
    sizes = (3,) * 55 + (4, 5, 6, 7, 8)
    plan = plan_choice(sizes, [linear.marginals(sizes, order=k) for k in (1, 2, 3)], rho=Fraction(1, 10))
    plan.finish_part(0, 2, [plan.step_part(0, ())])
    wide = time.perf_counter() - started
    started = time.perf_counter()
    dense = [linear.marginals((20, 10, 10), order=k, rho=1).dense() for k in (1, 3)]
    pair = plan_choice((20, 10, 10), dense, rho=Fraction(1))
    pair.finish_part(0, 1, [pair.step_part(0, ())])
    narrow = time.perf_counter() - started
    cells = float(np.prod([float(n) for n in sizes]))
    return [
        "## Speed",
        "",
        f"- Orders 1, 2 and 3 over 60 attributes ({cells:.0e} cells), planned with every part: {wide:.1f} s",
        f"- Two matrix options over 2,000 cells (1-way tables against all cells): {narrow:.1f} s",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--regions", type=int, default=5000)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks-choose.md"))
    options = parser.parse_args()
    rng = np.random.default_rng(20231)
    small = blocks(options.regions, rng)
    groups = ages(options.regions, 101, 500.0, 2.2, rng)
    tracts = ages(options.regions, 103, 4000.0, 0.6, rng)
    lines = [HEAD.format(regions=options.regions)]
    lines += ["## Seven binary attributes", ""]
    lines += pair_tables(small, (2,) * 7, {2: "1-way against 2-way", 7: "1-way against all cells"}, True)
    lines += ["## 101 ages by sex", ""]
    lines += pair_tables(groups.reshape(len(groups), -1), (101, 2), {2: "1-way against 2-way"}, False)
    grid = [Fraction(1, k) for k in (8, 32, 72, 128, 200, 288)]
    rows = [census(tracts, rho, 0.5, 20.0) for rho in grid]
    keep(
        "choose",
        {f"rho {row.varied}: right decisions between four bucketisations": row.accuracy for row in rows},
    )
    columns = [
        "rho",
        *(f"% {n}" for n in ("total", "Age4", "Age9", "Age23")),
        "accuracy",
        "best thresholds",
        "% saved",
    ]
    lines += ["## 103 ages by sex, four bucketisations", ""]
    lines += markdown("Decided one after another, (x, y) = (0.5, 20)", columns, rows)
    lines += speed()
    text = "\n".join(lines).rstrip() + "\n"
    print(text)
    options.out.write_text(text, encoding="utf-8")


HEAD = """\
# Choosing between analyses: decisions and budget

Written by `make bench-choose`. {regions:,} generated regions of each kind; numbers are percentages unless they
say otherwise.

- *accuracy*: share of the regions where the decision from the common part equals the decision from true counts.
  A region goes to the finer option when at least a share x of the 1-way cells has a ratio of count to noise of
  at least y. The first accuracy takes the noise of a 1-way cell from one finer table, as in the paper's
  experiments. The second takes what least squares over all tables gives, which is what a release contains; it
  is the harder question, because the counts to be judged are then as exact as the look itself.
- *saved*: price of the common part over the price of an option. The alternate approach, which buys a look of
  the same quality and then starts again, decides equally well and pays this much more. For the four
  bucketisations it is the price of the last look, which contains the earlier ones, over the price of look and
  option together.
- *best thresholds*: the accuracy of the three thresholds on the exact, noise-free total that fit these regions
  best. They are tuned on the truth: nobody could use them.
"""

if __name__ == "__main__":
    main()
