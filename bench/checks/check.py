"""Errors and times of every decider on sixty questions shaped like dp-pqd, Tables 5 and 6.

    hush bench check -- [--out docs/benchmarks-check.md] [--parts errors times]

The confidential tables are drawn (``check_tables``), the synthetic files are our own microdata at three budgets, made
once and kept in the system's temporary directory.  Errors are exact probabilities of the wrong verdict, computed from
the true rows, which no user could do; nothing is simulated.  Times are of the kernel on decoded rows, and of whole
checks with their ledger.  A part that is left out stays on the page as it was.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

import hushtable as ht
from bench.checks import page as check_page
from bench.checks import tables as check_tables
from bench.shared.history import keep
from hushtable.deciders import (
    AGGREGATES,
    DECIDERS,
    MEDIAN,
    Aggregate,
    Facts,
    Interval,
    Supposed,
    Synthetic,
    Tally,
    build,
    columns_of,
    grid_values,
    interval,
    matching,
    parse,
    resolve,
)
from hushtable.deciders.on_margin import MedianThreshold
from hushtable.errors import QueryError
from hushtable.kernel.draw import verdict
from hushtable.kernel.sources.tallying import exact_tally
from hushtable.schema import Schema

TAUS = ("0.2%", "0.8%", "3.2%", "12.8%", "51.2%")
EPSILONS = (Fraction(1, 16), Fraction(1, 8), Fraction(1, 4), Fraction(1, 2), Fraction(1))
MADE_WITH = ("0.1", "1", "10")
NAMES = {
    kind: [n for n in DECIDERS if DECIDERS[n].aggregate.name == kind] for kind in ("count", "sum", "median")
}
TIMES = "## Time of a decision"
TIGHT = range(500_001)  # incomes as they are in the table; a curator who knows that would declare it


@dataclass(frozen=True)
class Case:
    """One confidential table with its questions and its synthetic files."""

    name: str
    schema: Schema
    queries: list[str]
    draw: Callable[[], pl.DataFrame]

    def folder(self) -> Path:
        return Path(tempfile.gettempdir()) / f"hushtable-check-{os.getuid()}" / self.name

    def private(self) -> Path:
        """The confidential table as a Parquet file."""
        path = self.folder() / "private.parquet"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            self.draw().write_parquet(path)
        return path

    def synthetic(self, epsilon: str) -> Path:
        """Our own microdata from all two-way tables at this epsilon, delta 1e-9."""
        path = self.folder() / f"synthetic-{epsilon}.parquet"
        if not path.exists():
            with tempfile.TemporaryDirectory() as folder:
                budget = ht.ApproxDP(epsilon=epsilon, delta="1e-9")
                ledger = Path(folder) / "bench.ledger"
                session = ht.Session.open(self.private(), schema=self.schema, ledger=ledger, budget=budget)
                pairs = ht.Workload.all_marginals(self.schema, order=2)
                session.release(pairs, budget=budget, strategy="residual-planner").microdata().write_parquet(
                    path
                )
        return path


CASES = (
    Case("census", check_tables.census_schema(), check_tables.census_queries(), check_tables.census),
    Case("taxi", check_tables.taxi_schema(), check_tables.taxi_queries(), check_tables.taxi),
)


@dataclass(frozen=True)
class Truth:
    """Matching values and how often each occurs; for COUNT, the rows alone."""

    values: np.ndarray
    counts: np.ndarray

    def tally(self, edges: object) -> Tally:
        places = np.searchsorted(np.asarray(edges, np.int64), self.values)
        size = len(edges) + 1
        sums = np.zeros(size, np.int64)
        np.add.at(sums, places, self.values * self.counts)
        counts = np.zeros(size, np.int64)
        np.add.at(counts, places, self.counts)
        return Tally(counts, sums)

    def with_rows(self, value: int, rows: int) -> Truth:
        """The same with rows added at one value."""
        values, places = np.unique(np.append(self.values, value), return_inverse=True)
        return Truth(values, np.bincount(places, np.append(self.counts, rows)).astype(np.int64))

    def answer(self, kind: str) -> int:
        """The true answer, in grid steps; the lower median."""
        if kind == "count":
            return int(self.counts.sum())
        if kind == "sum":
            return int((self.values * self.counts).sum())
        return int(self.values[np.searchsorted(np.cumsum(self.counts), -(-int(self.counts.sum()) // 2))])


def two_sided(
    name: str, truth: Truth, tau: Fraction, epsilon: Fraction, domain: range | None, kind: str
) -> float:
    """The larger error when the synthetic answer is right and when it is 2 tau off, on the true rows."""
    far = math.ceil(2 * tau)
    centres = (truth.answer(kind) + shift for shift in (0, far, -far))
    made = [build(name, within=Interval(Fraction(c), tau), epsilon=epsilon, domain=domain) for c in centres]
    return max(one.error(truth.tally(one.edges)) for one in made)


def next_door(name: str, truth: Truth, tau: Fraction, epsilon: Fraction, domain: range) -> float | None:
    """The larger error on the true rows and on the nearest ones where the other verdict is as clearly right.

    The synthetic answer is the true median; rows are added at the end of the domain that takes fewer of them.  None
    when that end is within tau of the median.
    """
    within = Interval(Fraction(truth.answer("median")), tau)
    best = MedianThreshold(epsilon, Facts(within))
    exact = truth.tally(best.edges)
    reach = best.margin(exact)
    added = domain[0] if exact.rows - 2 * int(exact.counts[0]) == reach else domain[-1]
    if within.contains(added):
        return None
    moved = truth.with_rows(added, 2 * reach - 1)
    made = build(name, within=within, epsilon=epsilon, domain=domain)
    return max(made.error(rows.tally(made.edges)) for rows in (truth, moved))


def intervals(supposed: Supposed, aggregate: Aggregate) -> dict[str, Interval]:
    """What is close enough, for each tau; nothing when the synthetic file has no answer, or the answer 0."""
    try:
        answer = supposed.answer(aggregate)
        return {tau: interval(answer, tau) for tau in TAUS}
    except QueryError:
        return {}


def errors(case: Case) -> Iterator[dict[str, object]]:
    """The error of every decider for every question, synthetic file, tau and epsilon."""
    columns = columns_of(case.schema)
    private = pl.read_parquet(case.private())
    asked = [resolve(parse(text), columns) for text in case.queries]
    truths = []
    for query in asked:
        if query.column is None:
            truths.append(Truth(np.zeros(1, np.int64), np.array([matching(query, private, columns).height])))
        else:
            truths.append(Truth(*np.unique(grid_values(query, private, columns), return_counts=True)))
    for made_with in MADE_WITH:
        table = Synthetic.of(case.synthetic(made_with), columns)
        for number, (query, truth) in enumerate(zip(asked, truths, strict=True), 1):
            aggregate = AGGREGATES[query.function]
            kind = aggregate.name
            declared = None if query.column is None else columns[query.column].grid()
            domains = {"declared": declared, **({"tight": TIGHT} if query.column == "inctot" else {})}
            spans = intervals(table.suppose(query), aggregate)
            for tau, (name, epsilon) in itertools.product(spans, itertools.product(NAMES[kind], EPSILONS)):
                for bound, domain in domains.items():
                    made = build(name, within=spans[tau], epsilon=epsilon, domain=domain)
                    asked_of = (name, truth, spans[tau].tau, epsilon, domain)
                    yield {
                        "table": case.name,
                        "question": number,
                        "kind": kind,
                        "bound": bound,
                        "made_with": made_with,
                        "tau": tau,
                        "epsilon": float(epsilon),
                        "decider": name,
                        "error": made.error(truth.tally(made.edges)),
                        "two_sided": two_sided(*asked_of, kind),
                        "next_door": next_door(*asked_of) if aggregate is MEDIAN else None,
                    }


def times() -> Iterator[str]:
    """Time of a decision on 1.34 million rows, alone and with its ledger, and of a batch of sixty."""
    case = CASES[0]
    columns = columns_of(case.schema)
    table = Synthetic.of(case.synthetic("1"), columns)
    with tempfile.TemporaryDirectory() as folder:
        session = ht.Session.open(
            case.private(), schema=case.schema, ledger=Path(folder) / "bench.ledger", budget=ht.PureDP(900)
        )
        start = time.perf_counter()
        rows = session._records.frame
        opened = time.perf_counter() - start
        yield (
            f"Decoding {rows.height:,} rows of {rows.width} attributes, once: {opened:.2f} s, "
            f"{rows.estimated_size() / 1e6:.0f} MB kept."
        )
        lines = [
            "| decider | tally and draw, ms (median / worst) | processor | with plan and ledger | processor |"
        ]
        lines.append("|---|---|---|---|---|")
        for name in DECIDERS:
            aggregate = DECIDERS[name].aggregate
            asked = [q for q in case.queries if AGGREGATES[parse(q).function] is aggregate] or [
                "AVG(age) WHERE sex = 'Male'"
            ]
            plans = [
                session.plan_check(q, table, tau="12.8%", budget=ht.PureDP("0.25"), decider=name).questions[0]
                for q in asked
            ]
            inside, busy, whole, whole_busy = [], [], [], []
            for plan in (plans[0], *plans):
                start, work = time.perf_counter(), time.process_time()
                verdict(plan.decider, exact_tally(plan, rows, columns))
                inside.append(1e3 * (time.perf_counter() - start))
                busy.append(1e3 * (time.process_time() - work))
            for text in asked[:5]:
                start, work = time.perf_counter(), time.process_time()
                session.check(text, table, tau="12.8%", budget=ht.PureDP("0.25"), decider=name)
                whole.append(1e3 * (time.perf_counter() - start))
                whole_busy.append(1e3 * (time.process_time() - work))
            inside, busy = inside[1:], busy[1:]
            lines.append(
                f"| {name} | {statistics.median(inside):.1f} / {max(inside):.1f} | {statistics.median(busy):.1f} "
                f"| {statistics.median(whole):.0f} | {statistics.median(whole_busy):.0f} |"
            )
        yield "\n".join(lines)
        batch = [
            *case.queries,
            *(q.replace("SUM(inctot)", "AVG(inctot)") for q in case.queries if "SUM" in q),
        ]
        batch += [q.replace("MEDIAN(age)", "QUANTILE(age, 0.25)") for q in case.queries if "MEDIAN" in q]
        batch += [q.replace("COUNT", "MEDIAN(age)") for q in case.queries if "COUNT" in q]
        start, work = time.perf_counter(), time.process_time()
        session.check(batch[:60], table, tau="6.4%", budget=ht.PureDP(6))
        passed, busy = time.perf_counter() - start, time.process_time() - work
        yield f"60 questions in one batch, with plan and ledger: {passed:.2f} s, {busy:.2f} s of processor time."
    yield f"Load while measuring: {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors."
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    yield f"Peak memory of the process, with the synthetic file: {peak:,.0f} MB."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/benchmarks-check.md"))
    parser.add_argument("--parts", nargs="+", choices=("errors", "times"), default=("errors", "times"))
    options = parser.parse_args()
    kept = options.out.read_text(encoding="utf-8") if options.out.exists() else ""
    errors_part, _, times_part = kept.partition(TIMES)
    if "errors" in options.parts:
        errors_part = page_of([check_page.HEAD, *error_sections(options.out.parent / "images")])
    if "times" in options.parts:
        times_part = page_of(["", *times()])
    page = errors_part.strip() + "\n\n" + TIMES + times_part
    options.out.write_text(page, encoding="utf-8")
    print(page)


def error_sections(images: Path) -> Iterator[str]:
    """The part of the page about errors; its charts go to the folder."""
    found = pl.DataFrame([row for case in CASES for row in errors(case)], infer_schema_length=None)
    spot = found.filter(check_page.SPOT & (pl.col("bound") == "declared"))
    means = spot.group_by("decider", maintain_order=True).agg(pl.col("error").mean())
    keep(
        "check", {f"{name}: mean error at tau 3.2%, epsilon 1/4": error for name, error in means.iter_rows()}
    )
    images.mkdir(parents=True, exist_ok=True)
    charts = [images / f"check-{axis}.svg" for axis in ("tau", "epsilon")]
    check_page.draw_charts(found.filter(pl.col("bound") == "declared"), charts)
    yield from check_page.error_tables(found, [f"{images.name}/{file.name}" for file in charts])


def page_of(sections: list[str]) -> str:
    return "\n\n".join(section.strip() for section in sections) + "\n"


if __name__ == "__main__":
    main()
